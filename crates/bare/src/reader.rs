//! Stands between a format and a type, and passes over one field of one of its parts.

use std::borrow::Cow;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, CowStrDeserializer};
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};

/// Reads an object without its `metadata.managedFields`.
pub fn whole<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(Reader { inner: deserializer, part: Part::Object })
}

/// Reads the metadata of an object without `managedFields`: for `#[serde(deserialize_with = ..)]`.
pub fn metadata<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    T::deserialize(Reader { inner: deserializer, part: Part::Metadata })
}

/// What is being read.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Object,
    Metadata,
}

/// A format, a visitor or a seed of which one part is read.
struct Reader<T> {
    inner: T,
    part: Part,
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Reader<D> {
    type Error = D::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(Reader { inner: visitor, part: self.part })
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_map(Reader { inner: visitor, part: self.part })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_struct(name, fields, Reader { inner: visitor, part: self.part })
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_option(Reader { inner: visitor, part: self.part })
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_newtype_struct(name, Reader { inner: visitor, part: self.part })
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct enum identifier ignored_any
    }
}

/// Passes everything on as it is; only what lies in a map is looked at.
impl<'de, V: Visitor<'de>> Visitor<'de> for Reader<V> {
    type Value = V::Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(formatter)
    }

    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.inner.visit_map(Entries { inner: entries, part: self.part, enters_metadata: false })
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(Reader { inner: deserializer, part: self.part })
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(Reader { inner: deserializer, part: self.part })
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<V::Value, E> {
        self.inner.visit_unit()
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<V::Value, E> {
        self.inner.visit_bool(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<V::Value, E> {
        self.inner.visit_i64(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<V::Value, E> {
        self.inner.visit_u64(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<V::Value, E> {
        self.inner.visit_f64(value)
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<V::Value, E> {
        self.inner.visit_str(value)
    }

    fn visit_borrowed_str<E: serde::de::Error>(self, value: &'de str) -> Result<V::Value, E> {
        self.inner.visit_borrowed_str(value)
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<V::Value, E> {
        self.inner.visit_string(value)
    }

    fn visit_seq<A: serde::de::SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(items)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Reader<S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(Reader { inner: deserializer, part: self.part })
    }
}

/// The entries of an object or of its metadata.
struct Entries<A> {
    inner: A,
    part: Part,
    /// The value that comes next is the metadata.
    enters_metadata: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        loop {
            let Some(Name(name)) = self.inner.next_key()? else { return Ok(None) };
            if self.part == Part::Metadata && name == "managedFields" {
                self.inner.next_value::<IgnoredAny>()?;
                continue;
            }
            self.enters_metadata = self.part == Part::Object && name == "metadata";
            let key = match name {
                Cow::Borrowed(name) => seed.deserialize(BorrowedStrDeserializer::new(name)),
                Cow::Owned(name) => {
                    let name: CowStrDeserializer<'_, A::Error> = Cow::Owned::<str>(name).into_deserializer();
                    seed.deserialize(name)
                }
            };
            return key.map(Some);
        }
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        if self.enters_metadata {
            return self.inner.next_value_seed(Reader { inner: seed, part: Part::Metadata });
        }
        self.inner.next_value_seed(seed)
    }
}

/// The name of a field, not copied where the format allows.
struct Name<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;
        impl<'de> Visitor<'de> for Names {
            type Value = Name<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("the name of a field")
            }

            fn visit_borrowed_str<E>(self, name: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(name)))
            }

            fn visit_str<E>(self, name: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name.to_owned())))
            }

            fn visit_string<E>(self, name: String) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(name)))
            }
        }
        deserializer.deserialize_str(Names)
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use kube::core::DynamicObject;
    use serde_json::{Value, json};

    use super::*;

    fn pod() -> Value {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "a", "labels": {"managedFields": "a label of that name"}, "unknown": [1, null, 1.5, -1, true],
                "managedFields": [{"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:spec": {}}}],
                "resourceVersion": "7",
            },
            "spec": {"containers": [{"name": "main"}], "metadata": {"managedFields": "not of the object"}},
            "status": {"phase": "Running"},
        })
    }

    fn read<T: for<'de> Deserialize<'de>>(text: &str) -> T {
        whole(&mut serde_json::Deserializer::from_str(text)).unwrap()
    }

    fn without_managed_fields() -> Value {
        let mut wanted = pod();
        wanted["metadata"].as_object_mut().unwrap().remove("managedFields");
        wanted
    }

    #[test]
    fn an_object_is_read_as_it_is_but_for_its_managed_fields() {
        let wanted: Pod = serde_json::from_value(without_managed_fields()).unwrap();
        assert_eq!(read::<Pod>(&pod().to_string()), wanted);
        assert!(wanted.metadata.managed_fields.is_none());
    }

    #[test]
    fn what_has_the_name_of_managed_fields_elsewhere_stays() {
        assert_eq!(read::<Value>(&pod().to_string()), without_managed_fields());
        let dynamic: DynamicObject = read(&pod().to_string());
        assert_eq!(serde_json::to_value(dynamic).unwrap()["spec"]["metadata"]["managedFields"], "not of the object");
    }

    #[test]
    fn names_that_are_escaped_in_the_text_are_names() {
        let text = r#"{"metad\u0061ta": {"managed\u0046ields": [], "n\u0061me": "a"}}"#;
        assert_eq!(read::<Value>(text), json!({"metadata": {"name": "a"}}));
    }

    #[test]
    fn metadata_that_is_missing_null_or_no_object_is_told_as_the_type_tells_it() {
        for text in
            ["{}", r#"{"metadata": null}"#, r#"{"metadata": 3}"#, r#"{"metadata": {"name": 3}}"#, "[]", "3", "null"]
        {
            let bare: Result<Pod, _> = whole(&mut serde_json::Deserializer::from_str(text));
            let plain: Result<Pod, _> = serde_json::from_str(text);
            assert_eq!(bare.map_err(|e| e.to_string()), plain.map_err(|e| e.to_string()), "{text}");
        }
    }

    #[test]
    fn an_optional_metadata_is_read_without_managed_fields_too() {
        #[derive(Deserialize)]
        struct Loose {
            metadata: Option<Value>,
        }
        let found: Loose = read(&pod().to_string());
        assert!(found.metadata.unwrap().get("managedFields").is_none());
        let only: Value = metadata(pod()["metadata"].clone()).unwrap();
        assert_eq!(only.get("managedFields"), None);
        assert_eq!(only["name"], "a");
    }
}
