//! Top-level objects: what `apiVersion`, `kind` and `metadata` add to a spec and a status.

use crate::wire::{FieldPath, Shape};

/// The API group of all five kinds.
pub const GROUP: &str = "argoproj.io";
/// The only version of all five kinds.
pub const VERSION: &str = "v1alpha1";
/// Group and version as objects carry them.
pub const API_VERSION: &str = "argoproj.io/v1alpha1";

/// Whether objects of a kind live in a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One set per namespace.
    Namespaced,
    /// One set per cluster.
    Cluster,
}

/// One of the five kinds.
pub trait Kind {
    /// The kind, such as `Rollout`.
    const KIND: &'static str;
    /// The name in URLs, such as `rollouts`.
    const PLURAL: &'static str;
    /// Where its objects live.
    const SCOPE: Scope;

    /// The shape of the whole object for the CRD.
    fn shape() -> Shape;

    /// The path of every field, in spec and status, that no type declares.
    fn unknown_fields(&self) -> Vec<String>;
}

/// Collects unknown fields of one part of an object.
pub(crate) fn collect<T: crate::wire::Wire>(name: &str, part: &T, found: &mut Vec<String>) {
    FieldPath::root().within(name, |path| part.unknown_fields(path, found));
}

/// Declares a top-level kind: typed metadata, a spec, a status if it has one, and whatever else came.
macro_rules! kind {
    (
        $(#[doc = $doc:literal])*
        pub struct $name:ident {
            kind: $kind:literal, plural: $plural:literal, scope: $scope:ident,
            spec: $spec:ty $(, status: $status:ty)? $(,)?
        }
    ) => {
        $(#[doc = $doc])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            /// Name, namespace, labels, owners.
            pub metadata: k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta,
            /// What the user asks for.
            pub spec: $spec,
            $(
                /// What the controller has seen and done.
                pub status: Option<$status>,
            )?
            /// Top-level fields this version does not know, kept as they came.
            pub unknown: $crate::wire::Unknown,
        }

        impl $crate::kind::Kind for $name {
            const KIND: &'static str = $kind;
            const PLURAL: &'static str = $plural;
            const SCOPE: $crate::kind::Scope = $crate::kind::Scope::$scope;

            fn shape() -> $crate::wire::Shape {
                use $crate::wire::{Field, Shape, Wire};
                let part = |name, required, doc: &str, shape| Field { name, required, doc: doc.to_owned(), shape };
                Shape::Object(vec![
                    part("apiVersion", false, "Always argoproj.io/v1alpha1.", Shape::Text),
                    part("kind", false, concat!("Always ", $kind, "."), Shape::Text),
                    part("metadata", false, "Standard object metadata.", Shape::ObjectMeta),
                    part("spec", true, "What is asked for.", <$spec>::shape()),
                    $(part("status", false, "What has been seen and done. Written by the controller.", <$status>::shape()),)?
                ])
            }

            fn unknown_fields(&self) -> Vec<String> {
                let mut found: Vec<String> = self.unknown.keys().cloned().collect();
                $crate::kind::collect("spec", &self.spec, &mut found);
                $(
                    if let Some(status) = &self.status {
                        $crate::kind::collect::<$status>("status", status, &mut found);
                    }
                )?
                found
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                map.serialize_entry("apiVersion", $crate::kind::API_VERSION)?;
                map.serialize_entry("kind", $kind)?;
                map.serialize_entry("metadata", &self.metadata)?;
                map.serialize_entry("spec", &self.spec)?;
                $(
                    let status: &Option<$status> = &self.status;
                    if let Some(status) = status {
                        map.serialize_entry("status", status)?;
                    }
                )?
                for (name, value) in &self.unknown {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Parts;

                impl<'de> serde::de::Visitor<'de> for Parts {
                    type Value = $name;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a ", $kind, " object"))
                    }

                    fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<$name, A::Error> {
                        let mut read = $name::default();
                        while let Some(name) = map.next_key::<String>()? {
                            match name.as_str() {
                                "apiVersion" => $crate::kind::expect(map.next_value()?, $crate::kind::API_VERSION)?,
                                "kind" => $crate::kind::expect(map.next_value()?, $kind)?,
                                "metadata" => read.metadata = map.next_value::<Option<_>>()?.unwrap_or_default(),
                                "spec" => read.spec = map.next_value::<Option<_>>()?.unwrap_or_default(),
                                $("status" => read.status = map.next_value::<Option<$status>>()?,)?
                                _ => {
                                    if let Some(value) = map.next_value()? {
                                        read.unknown.insert(name, value);
                                    }
                                }
                            }
                        }
                        Ok(read)
                    }
                }

                deserializer.deserialize_map(Parts)
            }
        }

        #[cfg(feature = "kube")]
        impl kube_core::Resource for $name {
            type DynamicType = ();
            type Scope = $crate::kind::kube_scope!($scope);

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                $kind.into()
            }

            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                $crate::kind::GROUP.into()
            }

            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                $crate::kind::VERSION.into()
            }

            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }

            fn meta(&self) -> &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}
pub(crate) use kind;

#[cfg(feature = "kube")]
macro_rules! kube_scope {
    (Namespaced) => {
        kube_core::NamespaceResourceScope
    };
    (Cluster) => {
        kube_core::ClusterResourceScope
    };
}
#[cfg(feature = "kube")]
pub(crate) use kube_scope;

/// Refuses an object of another kind or version; absence is fine (list items of some servers carry neither).
pub(crate) fn expect<E: serde::de::Error>(found: Option<String>, wanted: &str) -> Result<(), E> {
    match found {
        Some(found) if found != wanted => Err(E::custom(format_args!("expected {wanted:?}, found {found:?}"))),
        _ => Ok(()),
    }
}
