//! What the typed kinds of the real server do to JSON: unknown fields vanish, values of the wrong type are refused in the
//! words of its decoder, and what is written back has one form, with zero values shown or left out as each field says.

mod decode;
mod kind;
mod protobuf;
mod quantity;
mod schema;
mod shape;
mod table;
mod times;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::registry::Resource;
use decode::Reader;

pub(crate) use kind::Kind;
pub(crate) use quantity::nanos;

/// The name in the tables for the kind of a resource, if it is a typed one.
fn type_of(resource: &Resource) -> Option<&'static str> {
    let name = match resource.id.as_str() {
        "horizontalpodautoscalers.autoscaling" => "v2.HorizontalPodAutoscaler",
        _ if resource.custom.is_some() => return None,
        _ => resource.kind.as_str(),
    };
    table::known(name)
}

/// Reads an object from protobuf, as the JSON that it would have been.
pub(crate) fn read_protobuf(body: &[u8]) -> Result<Value, String> {
    protobuf::read(body)
}

/// What the tables say of the kind of a resource.
pub(crate) fn kind_of(resource: &Resource) -> Option<Kind> {
    type_of(resource).map(Kind::named)
}

/// Adds the JSON schemas of the kind of a resource, and gives the name of the first; none for a kind without tables.
pub(crate) fn schemas(resource: &Resource, found: &mut BTreeMap<String, Value>) -> Option<String> {
    let kind = type_of(resource)?;
    schema::collect(kind, found);
    Some(schema::name_of(kind))
}

/// Adds the JSON schemas of metadata, and gives the name of the first.
pub(crate) fn metadata_schema(found: &mut BTreeMap<String, Value>) -> String {
    schema::collect("ObjectMeta", found);
    schema::name_of("ObjectMeta")
}

/// Decodes an object as its kind: gives the paths of unknown fields, which are removed; the error is the text of the
/// decoder. Fields that are the same in an object that is `stored` are left alone: they were decoded when that was written.
pub(crate) fn decode(resource: &Resource, object: &mut Value, stored: Option<&Value>) -> Result<Vec<String>, String> {
    type_of(resource).map_or_else(|| Ok(Vec::new()), |name| decode::object(name, object, Reader::Json, stored))
}

/// The same for the result of a strategic merge patch, which is refused in other words.
pub(crate) fn convert(resource: &Resource, object: &mut Value, stored: &Value) -> Result<Vec<String>, String> {
    type_of(resource)
        .map_or_else(|| Ok(Vec::new()), |name| decode::object(name, object, Reader::Converter, Some(stored)))
}

/// Decodes something that is not a resource: `Binding`, `Eviction`, `Scale`, `DeleteOptions`.
pub(crate) fn decode_as(name: &'static str, object: &mut Value) -> Result<Vec<String>, String> {
    decode::object(name, object, Reader::Json, None)
}

/// Gives something that is not a resource the form in which it is written.
pub(crate) fn shape_as(name: &'static str, object: &mut Value) {
    shape::object(name, object, None);
}

/// Gives an object the form in which its kind is written: zero values shown or left out, field by field. A field that is
/// `settled` has that form.
pub(crate) fn shape(resource: &Resource, object: &mut Value, settled: Option<&str>) {
    if let Some(name) = type_of(resource) {
        shape::object(name, object, settled);
    }
}

/// A value as text, with its fields in the order that its type has them.
pub(crate) fn print(name: &'static str, value: &Value) -> String {
    shape::print(name, value)
}

/// An object of the kind with nothing in it, as it is written.
pub(crate) fn empty(resource: &Resource) -> Value {
    let mut object = Value::Object(serde_json::Map::new());
    shape(resource, &mut object, None);
    object
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    fn decoded(id: &str, mut object: Value) -> Result<(Value, Vec<String>), String> {
        let resource = Registry::built_in().by_id(id).unwrap();
        decode(&resource, &mut object, None).map(|unknown| (object, unknown))
    }

    fn refused(id: &str, object: Value) -> String {
        decoded(id, object).unwrap_err()
    }

    #[test]
    fn every_built_in_kind_but_definitions_has_a_table() {
        let registry = Registry::built_in();
        let without: Vec<&str> = registry.all().filter(|r| type_of(r).is_none()).map(|r| r.id.as_str()).collect();
        assert_eq!(without, [crate::crd::DEFINITIONS]);
    }

    #[test]
    fn unknown_fields_vanish_at_every_level_and_are_told() {
        let pod = json!({"kind": "Pod", "x": 1, "spec": {"containers": [{"name": "a"}, {"name": "b", "nope": 1,
            "env": [{"name": "A", "deep": true}]}]}});
        let (object, unknown) = decoded("pods", pod).unwrap();
        assert_eq!(
            object,
            json!({"kind": "Pod", "spec": {"containers": [{"name": "a"}, {"name": "b", "env": [{"name": "A"}]}]}})
        );
        assert_eq!(unknown, ["spec.containers[1].env[0].deep", "spec.containers[1].nope", "x"]);
    }

    #[test]
    fn values_of_the_wrong_type_are_refused_in_gos_words() {
        let into = "json: cannot unmarshal";
        for (id, object, text) in [
            (
                "services",
                json!({"spec": {"ports": [{"port": "x"}]}}),
                "string into Go struct field ServicePort.spec.ports.port of type int32",
            ),
            (
                "replicasets.apps",
                json!({"spec": {"replicas": 1.5}}),
                "number 1.5 into Go struct field ReplicaSetSpec.spec.replicas of type int32",
            ),
            (
                "configmaps",
                json!({"metadata": {"labels": {"a": 1}}}),
                "number into Go struct field ObjectMeta.metadata.labels of type string",
            ),
            (
                "pods",
                json!({"spec": {"containers": "x"}}),
                "string into Go struct field PodSpec.spec.containers of type []v1.Container",
            ),
            (
                "pods",
                json!({"spec": {"restartPolicy": 1}}),
                "number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
            ),
            (
                "pods",
                json!({"spec": {"containers": [{"livenessProbe": {"httpGet": {"port": true}}}]}}),
                "bool into Go struct field HTTPGetAction.spec.containers.livenessProbe.ProbeHandler.httpGet.port of type int32",
            ),
            (
                "pods",
                json!({"spec": {"containers": [{"resources": {"limits": "x"}}]}}),
                "string into Go struct field ResourceRequirements.spec.containers.resources.limits of type v1.ResourceList",
            ),
            (
                "configmaps",
                json!({"metadata": "x"}),
                "string into Go struct field ConfigMap.metadata of type v1.ObjectMeta",
            ),
        ] {
            assert_eq!(refused(id, object), format!("{into} {text}"));
        }
        assert_eq!(refused("secrets", json!({"data": {"a": "!!"}})), "illegal base64 data at input byte 0");
    }

    #[test]
    fn what_a_strategic_patch_leaves_is_refused_in_the_words_of_the_converter() {
        let text = |id: &str, mut object: Value| {
            let resource = Registry::built_in().by_id(id).unwrap();
            convert(&resource, &mut object, &Value::Null).unwrap_err()
        };
        assert_eq!(text("configmaps", json!({"metadata": {"labels": "x"}})), "cannot restore map from string");
        assert_eq!(text("configmaps", json!({"metadata": {"labels": {"a": 1}}})), "cannot convert int64 to string");
        assert_eq!(text("deployments.apps", json!({"spec": [1]})), "cannot restore struct from: slice");
        assert_eq!(text("deployments.apps", json!({"spec": {"replicas": "x"}})), "unrecognized type: int32");
        assert_eq!(text("services", json!({"spec": {"type": 5}})), "cannot convert int64 to v1.ServiceType");
        let secret = json!({"data": {"a": "!!"}});
        assert_eq!(text("secrets", secret), "error decoding from json: illegal base64 data at input byte 0");
    }

    #[test]
    fn zero_values_are_shown_or_left_out_as_each_field_says() {
        let resource = Registry::built_in().by_id("replicasets.apps").unwrap();
        let mut set = json!({"spec": {"replicas": 0, "minReadySeconds": 0}, "status": {"readyReplicas": 0}});
        shape(&resource, &mut set, None);
        let template = json!({"metadata": {}, "spec": {"containers": null}});
        assert_eq!(
            set,
            json!({"metadata": {}, "spec": {"replicas": 0, "selector": null, "template": template},
            "status": {"replicas": 0}})
        );
        let event = Registry::built_in().by_id("events").unwrap();
        assert_eq!(empty(&event)["eventTime"], Value::Null);
        assert_eq!(empty(&event)["reportingComponent"], "");
    }
}
