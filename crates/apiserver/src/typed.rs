//! What typed decoding does to built-in kinds: unknown fields vanish, values of the wrong type are refused, and empty
//! values of optional fields are not kept. Only the levels in the table are typed; what lies deeper passes as it is.

use serde_json::{Map, Value};

use crate::encoding::from_base64;
use crate::object::map_mut;
use crate::registry::Resource;

/// Resource (empty for all), path (`[]` goes into a list), Go type, fields.
///
/// A field is a name, a colon and a letter: `i` int32, `l` int64, `s` string, `b` bool, `m` map of strings, `*` not
/// looked at. A `0` after it: an empty value is dropped.
type Row = (&'static str, &'static str, &'static str, &'static str);

const TABLE: &[Row] = &[
    (
        "",
        "metadata",
        "ObjectMeta",
        "name:s generateName:s namespace:s selfLink:s uid:s resourceVersion:s generation:l creationTimestamp:s \
         deletionTimestamp:s deletionGracePeriodSeconds:l labels:m annotations:m ownerReferences:* finalizers:* \
         managedFields:*",
    ),
    ("configmaps", "", "ConfigMap", "immutable:b data:m binaryData:m"),
    ("secrets", "", "Secret", "immutable:b data:* stringData:m type:s"),
    ("pods", "", "Pod", "spec:* status:*"),
    ("pods", "spec", "PodSpec", POD_SPEC),
    ("pods", "spec.containers[]", "Container", CONTAINER),
    ("pods", "spec.initContainers[]", "Container", CONTAINER),
    ("services", "", "Service", "spec:* status:*"),
    (
        "services",
        "spec",
        "ServiceSpec",
        "ports:* selector:m clusterIP:s clusterIPs:* type:s externalIPs:* sessionAffinity:s loadBalancerIP:s0 \
         loadBalancerSourceRanges:* externalName:s0 externalTrafficPolicy:s0 healthCheckNodePort:i0 \
         publishNotReadyAddresses:b0 sessionAffinityConfig:* ipFamilies:* ipFamilyPolicy:s \
         allocateLoadBalancerNodePorts:b loadBalancerClass:s internalTrafficPolicy:s trafficDistribution:s",
    ),
    ("services", "spec.ports[]", "ServicePort", "name:s0 protocol:s appProtocol:s port:i targetPort:* nodePort:i0"),
    ("deployments.apps", "", "Deployment", "spec:* status:*"),
    (
        "deployments.apps",
        "spec",
        "DeploymentSpec",
        "replicas:i selector:* template:* strategy:* minReadySeconds:i0 revisionHistoryLimit:i paused:b0 \
         progressDeadlineSeconds:i",
    ),
    (
        "deployments.apps",
        "status",
        "DeploymentStatus",
        "observedGeneration:l0 replicas:i0 updatedReplicas:i0 readyReplicas:i0 availableReplicas:i0 \
         unavailableReplicas:i0 terminatingReplicas:i conditions:* collisionCount:i",
    ),
    ("replicasets.apps", "", "ReplicaSet", "spec:* status:*"),
    ("replicasets.apps", "spec", "ReplicaSetSpec", "replicas:i minReadySeconds:i0 selector:* template:*"),
    (
        "replicasets.apps",
        "status",
        "ReplicaSetStatus",
        "replicas:i fullyLabeledReplicas:i0 readyReplicas:i0 availableReplicas:i0 terminatingReplicas:i \
         observedGeneration:l0 conditions:*",
    ),
    ("statefulsets.apps", "", "StatefulSet", "spec:* status:*"),
    (
        "statefulsets.apps",
        "spec",
        "StatefulSetSpec",
        "replicas:i selector:* template:* volumeClaimTemplates:* serviceName:s podManagementPolicy:s \
         updateStrategy:* revisionHistoryLimit:i minReadySeconds:i0 persistentVolumeClaimRetentionPolicy:* ordinals:*",
    ),
    (
        "statefulsets.apps",
        "status",
        "StatefulSetStatus",
        "observedGeneration:l0 replicas:i readyReplicas:i0 currentReplicas:i0 updatedReplicas:i0 currentRevision:s0 \
         updateRevision:s0 collisionCount:i conditions:* availableReplicas:i",
    ),
    ("deployments.apps", "spec.template.spec", "PodSpec", POD_SPEC),
    ("replicasets.apps", "spec.template.spec", "PodSpec", POD_SPEC),
    ("statefulsets.apps", "spec.template.spec", "PodSpec", POD_SPEC),
    ("jobs.batch", "spec.template.spec", "PodSpec", POD_SPEC),
    ("deployments.apps", "spec.template.spec.containers[]", "Container", CONTAINER),
    ("replicasets.apps", "spec.template.spec.containers[]", "Container", CONTAINER),
    ("statefulsets.apps", "spec.template.spec.containers[]", "Container", CONTAINER),
    ("jobs.batch", "spec.template.spec.containers[]", "Container", CONTAINER),
    ("poddisruptionbudgets.policy", "", "PodDisruptionBudget", "spec:* status:*"),
    ("horizontalpodautoscalers.autoscaling", "", "HorizontalPodAutoscaler", "spec:* status:*"),
    ("leases.coordination.k8s.io", "", "Lease", "spec:*"),
    (
        "leases.coordination.k8s.io",
        "spec",
        "LeaseSpec",
        "holderIdentity:s leaseDurationSeconds:i acquireTime:s renewTime:s leaseTransitions:i strategy:s \
         preferredHolder:s",
    ),
    ("ingresses.networking.k8s.io", "", "Ingress", "spec:* status:*"),
    ("ingresses.networking.k8s.io", "spec", "IngressSpec", "ingressClassName:s defaultBackend:* tls:* rules:*"),
];

const POD_SPEC: &str = "volumes:* initContainers:* containers:* ephemeralContainers:* restartPolicy:s \
    terminationGracePeriodSeconds:l activeDeadlineSeconds:l dnsPolicy:s nodeSelector:m serviceAccountName:s0 \
    serviceAccount:s0 automountServiceAccountToken:b nodeName:s0 hostNetwork:b0 hostPID:b0 hostIPC:b0 \
    shareProcessNamespace:b securityContext:* imagePullSecrets:* hostname:s0 subdomain:s0 affinity:* schedulerName:s \
    tolerations:* hostAliases:* priorityClassName:s0 priority:i dnsConfig:* readinessGates:* runtimeClassName:s \
    enableServiceLinks:b preemptionPolicy:s overhead:* topologySpreadConstraints:* setHostnameAsFQDN:b os:* hostUsers:b \
    schedulingGates:* resourceClaims:* resources:* hostnameOverride:s workloadRef:* schedulingGroup:*";

const CONTAINER: &str = "name:s image:s0 command:* args:* workingDir:s0 ports:* envFrom:* env:* resources:* \
    resizePolicy:* restartPolicy:s restartPolicyRules:* volumeMounts:* volumeDevices:* livenessProbe:* \
    readinessProbe:* startupProbe:* lifecycle:* terminationMessagePath:s terminationMessagePolicy:s imagePullPolicy:s \
    securityContext:* stdin:b0 stdinOnce:b0 tty:b0";

/// Decodes the metadata of a custom object. Returns the paths of unknown fields, which are dropped.
pub(crate) fn decode_metadata(metadata: &mut Value) -> Result<Vec<String>, String> {
    let fields = TABLE.iter().find(|row| row.1 == "metadata").map(|row| row.3).unwrap_or_default();
    match metadata {
        Value::Null => Ok(Vec::new()),
        Value::Object(map) => {
            let known: Vec<&str> = fields.split_whitespace().filter_map(|f| f.split(':').next()).collect();
            let unknown = map.keys().filter(|key| !known.contains(&key.as_str())).cloned().collect();
            decode_map(map, "ObjectMeta", fields, false)?;
            Ok(unknown)
        }
        other => {
            let found = go_kind(other, false);
            Err(format!("json: cannot unmarshal {found} into Go value of type v1.ObjectMeta"))
        }
    }
}

/// Decodes a built-in object as the real server does; the error is the text of Go's decoder. Returns problems such as
/// `unknown field "spec.x"`.
pub(crate) fn decode(resource: &Resource, object: &mut Value) -> Result<Vec<String>, String> {
    let rows = TABLE.iter().filter(|row| row.0.is_empty() || row.0 == resource.id);
    for (_, path, go_type, fields) in rows {
        let parts: Vec<&str> = path.split('.').filter(|p| !p.is_empty()).collect();
        descend(object, &parts, &mut |map| {
            let place = path.replace("[]", "");
            let prefix = if place.is_empty() { (*go_type).to_owned() } else { format!("{go_type}.{place}") };
            decode_map(map, &prefix, fields, parts.is_empty())
        })?;
    }
    if resource.id == "secrets" {
        check_base64(object)?;
    }
    Ok(Vec::new())
}

fn descend(
    value: &mut Value,
    path: &[&str],
    change: &mut impl FnMut(&mut Map<String, Value>) -> Result<(), String>,
) -> Result<(), String> {
    let Some((first, rest)) = path.split_first() else {
        return if value.is_object() { change(map_mut(value)) } else { Ok(()) };
    };
    match (first.strip_suffix("[]"), value) {
        (Some(key), Value::Object(map)) => match map.get_mut(key) {
            Some(Value::Array(items)) => items.iter_mut().try_for_each(|item| descend(item, rest, change)),
            _ => Ok(()),
        },
        (None, Value::Object(map)) => map.get_mut(*first).map_or(Ok(()), |below| descend(below, rest, change)),
        _ => Ok(()),
    }
}

fn decode_map(map: &mut Map<String, Value>, prefix: &str, fields: &str, top: bool) -> Result<(), String> {
    let known: Vec<(&str, &str)> = fields.split_whitespace().filter_map(|f| f.split_once(':')).collect();
    map.retain(|key, _| {
        known.iter().any(|(name, _)| name == key) || top && matches!(key.as_str(), "kind" | "apiVersion" | "metadata")
    });
    for (name, kind) in known {
        let Some(value) = map.get(name).filter(|v| !v.is_null()) else { continue };
        if let Some((found, wanted)) = mismatch(value, kind) {
            return Err(format!(
                "json: cannot unmarshal {found} into Go struct field {prefix}.{name} of type {wanted}"
            ));
        }
        let empty = value.as_i64() == Some(0) || value.as_str() == Some("") || value.as_bool() == Some(false);
        if kind.ends_with('0') && empty {
            map.remove(name);
        }
    }
    Ok(())
}

fn mismatch(value: &Value, kind: &str) -> Option<(String, &'static str)> {
    let fits_i32 = |v: &Value| v.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
    let (fits, wanted) = match kind.trim_end_matches('0') {
        "i" => (fits_i32(value), "int32"),
        "l" => (value.is_i64(), "int64"),
        "s" => (value.is_string(), "string"),
        "b" => (value.is_boolean(), "bool"),
        "m" => match value {
            Value::Object(map) => match map.values().find(|v| !v.is_string() && !v.is_null()) {
                Some(wrong) => return Some((go_kind(wrong, false), "string")),
                None => (true, ""),
            },
            _ => (false, "map[string]string"),
        },
        _ => (true, ""),
    };
    (!fits).then(|| (go_kind(value, matches!(wanted, "int32" | "int64")), wanted))
}

fn go_kind(value: &Value, show_number: bool) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(number) if show_number => format!("number {number}"),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) => "array".to_owned(),
        Value::Object(_) => "object".to_owned(),
    }
}

fn check_base64(secret: &Value) -> Result<(), String> {
    for value in secret.get("data").and_then(Value::as_object).into_iter().flat_map(Map::values) {
        let text = value.as_str().unwrap_or_default();
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        if let Some(position) = text.find(|c| !legal(c)) {
            return Err(format!("illegal base64 data at input byte {position}"));
        }
        if text.len() % 4 != 0 || from_base64(text).is_none() {
            return Err(format!("illegal base64 data at input byte {}", text.len() / 4 * 4));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    fn decoded(id: &str, mut object: Value) -> Result<Value, String> {
        let resource = Registry::built_in().by_id(id).unwrap();
        decode(&resource, &mut object).map(|_| object)
    }

    #[test]
    fn unknown_fields_and_empty_optional_values_vanish() {
        let set =
            json!({"kind": "ReplicaSet", "spec": {"replicas": 0, "nope": 1}, "status": {"readyReplicas": 0}, "x": 1});
        let seen = decoded("replicasets.apps", set).unwrap();
        assert_eq!(seen, json!({"kind": "ReplicaSet", "spec": {"replicas": 0}, "status": {}}));
    }

    #[test]
    fn values_of_the_wrong_type_are_refused_in_gos_words() {
        let text = |id: &str, object: Value| decoded(id, object).unwrap_err();
        assert_eq!(
            text("services", json!({"spec": {"ports": [{"port": "x"}]}})),
            "json: cannot unmarshal string into Go struct field ServicePort.spec.ports.port of type int32"
        );
        assert_eq!(
            text("replicasets.apps", json!({"spec": {"replicas": 1.5}})),
            "json: cannot unmarshal number 1.5 into Go struct field ReplicaSetSpec.spec.replicas of type int32"
        );
        assert_eq!(
            text("configmaps", json!({"metadata": {"labels": {"a": 1}}})),
            "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string"
        );
        assert_eq!(text("secrets", json!({"data": {"a": "!!"}})), "illegal base64 data at input byte 0");
    }
}
