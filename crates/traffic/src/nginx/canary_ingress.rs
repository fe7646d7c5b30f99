//! The canary Ingress, made from the stable one.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tidegate_api::rollout::NginxTrafficRouting;
use tidegate_api::wire::Text;

use crate::ingress::{annotation, names, paths, rules, service};
use crate::router::fields::{at, fields_mut};
use crate::router::{ObjectRef, RouterError, Wanted, Wording, Written};

/// The longest name an object may have.
const LONGEST_NAME: usize = 253;
const SUFFIX: &str = "-canary";
const CLASS: &str = "kubernetes.io/ingress.class";
const DEFAULT_PREFIX: &str = "nginx.ingress.kubernetes.io";
/// What is copied from the stable Ingress, besides rules.
const COPIED: [&str; 2] = ["ingressClassName", "tls"];

/// `ROLLOUT-INGRESS-canary`.
pub(super) fn name(rollout: &str, ingress: &str) -> String {
    let beginning: String = format!("{rollout}-{ingress}").chars().take(LONGEST_NAME - SUFFIX.len()).collect();
    beginning + SUFFIX
}

/// The annotation keys of the ingress controller.
pub(super) struct Keys {
    prefix: String,
    pub(super) canary: String,
    pub(super) weight: String,
    pub(super) total: String,
}

impl Keys {
    pub(super) fn of(spec: &NginxTrafficRouting) -> Self {
        let prefix = match spec.annotation_prefix.text() {
            "" => DEFAULT_PREFIX,
            prefix => prefix,
        };
        let key = |name: &str| format!("{prefix}/{name}");
        Self {
            prefix: prefix.to_owned(),
            canary: key("canary"),
            weight: key("canary-weight"),
            total: key("canary-weight-total"),
        }
    }
}

/// The canary Ingress as it should be.
pub(super) struct CanaryIngress {
    annotations: BTreeMap<String, String>,
    /// Annotations of ours that have no place in it.
    unwanted: Vec<String>,
    /// `rules`, and what is copied, as none where the stable Ingress has none.
    spec: BTreeMap<&'static str, Option<Value>>,
}

impl CanaryIngress {
    /// From the stable Ingress `ingress`.
    pub(super) fn of(
        spec: &NginxTrafficRouting,
        ingress: &ObjectRef,
        stable: &Value,
        wanted: &Wanted<'_>,
    ) -> Result<Self, RouterError> {
        let services = &wanted.services;
        let followed: Vec<Value> = rules(stable)
            .iter()
            .filter(|rule| names(rule, services.stable))
            .map(|rule| renamed(rule, wanted))
            .collect();
        if followed.is_empty() {
            let wording = Wording::NginxBackend { ingress: ingress.name.clone(), service: services.stable.to_owned() };
            let hint = format!("{ingress}: add a path with backend.service.name {} to spec.rules", services.stable);
            return Err(wording.hint(hint));
        }
        let mut fields = BTreeMap::from([("rules", Some(Value::Array(followed)))]);
        for field in COPIED {
            fields.insert(field, Some(at(stable, &["spec", field]).clone()).filter(|value| !value.is_null()));
        }
        let keys = Keys::of(spec);
        let mut annotations = BTreeMap::new();
        annotations.extend(annotation(stable, CLASS).map(|class| (CLASS.to_owned(), class.to_owned())));
        for (key, value) in spec.additional_ingress_annotations.iter().flatten() {
            let key = if key.starts_with(&keys.prefix) { key.clone() } else { format!("{}/{key}", keys.prefix) };
            annotations.insert(key, value.clone());
        }
        let verbatim = spec.canary_ingress_annotations.iter().flatten();
        annotations.extend(verbatim.map(|(key, value)| (key.clone(), value.clone())));
        annotations.insert(keys.canary, "true".to_owned());
        annotations.insert(keys.weight, i64::from(wanted.weight).clamp(0, wanted.whole()).to_string());
        if wanted.max_weight.is_some() {
            annotations.insert(keys.total.clone(), wanted.whole().to_string());
        }
        // Both would say something else than the stable Ingress and the Rollout do.
        let ours = [keys.total, CLASS.to_owned()];
        let unwanted = ours.into_iter().filter(|key| !annotations.contains_key(key)).collect();
        Ok(Self { annotations, unwanted, spec: fields })
    }

    /// A new object.
    pub(super) fn body(&self, name: &ObjectRef, wanted: &Wanted<'_>) -> Value {
        let set = self.spec.iter().filter_map(|(field, value)| Some(((*field).to_owned(), value.clone()?)));
        let spec: Map<String, Value> = set.collect();
        json!({
            "apiVersion": name.resource.api_version(), "kind": name.resource.kind,
            "metadata": {
                "name": name.name, "namespace": name.namespace, "annotations": self.annotations,
                "ownerReferences": [wanted.rollout.reference()],
            },
            "spec": spec,
        })
    }

    /// The object that is there as it should be; annotations and fields of others stay.
    pub(super) fn merged(&self, name: &ObjectRef, found: &Value) -> Result<(Value, Vec<Written>), RouterError> {
        let mut body = found.clone();
        let mut written = Vec::new();
        let shape =
            |field: &str| RouterError::Shape { object: name.to_string(), field: field.to_owned(), wanted: "an object" };
        let wanted = self.annotations.iter().map(|(key, value)| (key, Some(value)));
        for (key, value) in wanted.chain(self.unwanted.iter().map(|key| (key, None))) {
            let live =
                fields_mut(&mut body, &["metadata", "annotations"]).ok_or_else(|| shape("metadata.annotations"))?;
            let before = live.get(key).map(shown);
            let after = value.cloned();
            if before == after {
                continue;
            }
            match &after {
                Some(value) => live.insert(key.clone(), json!(value)),
                None => live.remove(key),
            };
            written.push(Written::Field { field: format!("annotation {key}"), before, after });
        }
        for (field, value) in &self.spec {
            let live = fields_mut(&mut body, &["spec"]).ok_or_else(|| shape("spec"))?;
            if live.get(*field).filter(|live| !live.is_null()) == value.as_ref() {
                continue;
            }
            let before = live.get(*field).map(ToString::to_string);
            match value {
                Some(value) => live.insert((*field).to_owned(), value.clone()),
                None => live.remove(*field),
            };
            let after = value.as_ref().map(ToString::to_string);
            written.push(Written::Field { field: format!("spec.{field}"), before, after });
        }
        let body = if written.is_empty() { found.clone() } else { body };
        Ok((body, written))
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A rule with its paths to stable leading to the canary; all others stay, whatever they lead to.
fn renamed(rule: &Value, wanted: &Wanted<'_>) -> Value {
    let mut rule = rule.clone();
    let list = paths(&rule).to_vec();
    let list = list.into_iter().map(|mut path| {
        if service(&path) == wanted.services.stable
            && let Some(backend) = fields_mut(&mut path, &["backend", "service"])
        {
            backend.insert("name".to_owned(), json!(wanted.services.canary));
        }
        path
    });
    let list = list.collect();
    if let Some(http) = fields_mut(&mut rule, &["http"]) {
        http.insert("paths".to_owned(), Value::Array(list));
    }
    rule
}
