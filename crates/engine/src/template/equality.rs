//! Whether two pod templates mean the same pod, however the API server or an older controller wrote them down.

use serde_json::Value;
use tidegate_api::names::labels;
use tidegate_hash::quantity::Quantity;

use super::{Injected, defaults, strip_affinity};

/// Whether the template of a ReplicaSet is the one asked for.
///
/// What we inject, the hash label and the old name of the service account do not count; defaults count as written;
/// quantities count by value. A template that the Kubernetes types cannot hold equals nothing.
pub(crate) fn is_same(wanted: &Value, of_set: &Value, injected: &Injected) -> bool {
    let mut of_set = of_set.clone();
    injected.remove_from(&mut of_set);
    strip_affinity(&mut of_set);
    match (normal(wanted.clone()), normal(of_set)) {
        (Some(wanted), Some(of_set)) => wanted == of_set,
        _ => false,
    }
}

fn normal(mut template: Value) -> Option<String> {
    if let Some(all) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        all.remove(labels::POD_TEMPLATE_HASH);
    }
    if let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("serviceAccount");
    }
    defaults::apply(&mut template);
    defaults::each_quantity(&mut template, &mut by_value);
    let text = serde_json::value::to_raw_value(&template).ok()?;
    tidegate_hash::canonical_pod_template(&text).ok()
}

/// One spelling per value: a plain decimal count of thousandths. Smaller parts are rounded up, as the API server does.
fn by_value(quantity: &mut Value) {
    let text = match quantity {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return,
    };
    if let Ok(parsed) = text.parse::<Quantity>() {
        *quantity = Value::String(parsed.round_up_to_milli().decimal_text());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_api_server_fills_in_makes_no_difference() {
        let wanted = json!({"metadata": {"labels": {"app": "a"}}, "spec": {
            "containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80}],
                "resources": {"requests": {"cpu": "1000m", "memory": "1Gi"}},
                "readinessProbe": {"httpGet": {"port": 80}}}],
            "volumes": [{"name": "v"}, {"name": "c", "configMap": {"name": "c"}}],
        }});
        let stored = json!({"metadata": {"labels": {"app": "a", labels::POD_TEMPLATE_HASH: "abc", "role": "canary"}, "annotations": {}}, "spec": {
            "containers": [{"name": "c", "image": "i:1", "ports": [{"containerPort": 80, "protocol": "TCP"}],
                "resources": {"requests": {"cpu": "1", "memory": "1073741824"}}, "imagePullPolicy": "IfNotPresent",
                "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File",
                "readinessProbe": {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}, "timeoutSeconds": 1,
                    "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}}],
            "volumes": [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c", "defaultMode": 420}}],
            "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
            "securityContext": {}, "terminationGracePeriodSeconds": 30, "serviceAccount": "old",
            "affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"labelSelector":
                {"matchExpressions": [{"key": labels::POD_TEMPLATE_HASH, "operator": "In", "values": ["x"]}]}}]}},
        }});
        let injected = Injected { labels: [("role".to_owned(), "canary".to_owned())].into(), ..Injected::default() };

        assert!(is_same(&wanted, &stored, &injected));

        assert!(!is_same(&wanted, &stored, &Injected::default()), "a label nobody recorded counts");
        let mut other = stored.clone();
        other["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!("1001m");
        assert!(!is_same(&wanted, &other, &injected));
        let mut as_root = wanted;
        as_root["spec"]["containers"][0]["securityContext"] = json!({"runAsUser": 0});
        assert!(!is_same(&as_root, &stored, &injected), "zero is not nothing where the type tells them apart");
    }

    #[test]
    fn a_template_no_pod_could_have_equals_nothing() {
        let bad = json!({"spec": {"containers": "none"}});
        assert!(!is_same(&bad, &bad, &Injected::default()));
    }
}
