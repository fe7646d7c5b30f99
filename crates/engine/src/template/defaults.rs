//! What the API server fills into a pod template, so far as it can tell an old ReplicaSet from a new template.

use serde_json::{Map, Value, json};

type Fields = Map<String, Value>;
/// A path and what is filled in there.
type Defaults<'a> = (&'a [&'a str], &'a [(&'a str, Value)]);

/// Fills in what is absent.
pub(crate) fn apply(template: &mut Value) {
    let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) else { return };
    fill(
        spec,
        &[
            ("dnsPolicy", json!("ClusterFirst")),
            ("restartPolicy", json!("Always")),
            ("securityContext", json!({})),
            ("terminationGracePeriodSeconds", json!(30)),
            ("schedulerName", json!("default-scheduler")),
        ],
    );
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        each(spec, list, container);
    }
    each(spec, "volumes", volume);
}

fn is_unset(fields: &Fields, name: &str) -> bool {
    match fields.get(name) {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

fn fill(fields: &mut Fields, defaults: &[(&str, Value)]) {
    for (name, value) in defaults {
        if is_unset(fields, name) {
            fields.insert((*name).to_owned(), value.clone());
        }
    }
}

/// A number whose zero means that nothing was said.
fn fill_number(fields: &mut Fields, name: &str, default: i64) {
    if fields.get(name).is_none_or(|value| value.is_null() || value.as_i64() == Some(0)) {
        fields.insert(name.to_owned(), default.into());
    }
}

fn each(fields: &mut Fields, list: &str, visit: impl Fn(&mut Fields)) {
    let items = fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
    items.filter_map(Value::as_object_mut).for_each(visit);
}

fn inside<'a>(fields: &'a mut Fields, path: &[&str]) -> Option<&'a mut Fields> {
    match path {
        [] => Some(fields),
        [first, rest @ ..] => inside(fields.get_mut(*first)?.as_object_mut()?, rest),
    }
}

/// An image without a tag or with the tag `latest` is pulled each time, unless a digest fixes it.
fn pull_policy(image: &str) -> &'static str {
    let name = image.rsplit('/').next().unwrap_or(image);
    let tag = name.split_once(':').map_or("latest", |(_, tag)| tag);
    if image.contains('@') || tag != "latest" { "IfNotPresent" } else { "Always" }
}

fn container(container: &mut Fields) {
    let policy = pull_policy(container.get("image").and_then(Value::as_str).unwrap_or_default());
    fill(
        container,
        &[
            ("imagePullPolicy", json!(policy)),
            ("terminationMessagePath", json!("/dev/termination-log")),
            ("terminationMessagePolicy", json!("File")),
        ],
    );
    each(container, "ports", |port| fill(port, &[("protocol", json!("TCP"))]));
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if let Some(probe) = inside(container, &[name]) {
            fill_number(probe, "timeoutSeconds", 1);
            fill_number(probe, "periodSeconds", 10);
            fill_number(probe, "successThreshold", 1);
            fill_number(probe, "failureThreshold", 3);
            if let Some(grpc) = inside(probe, &["grpc"]) {
                grpc.entry("service").or_insert_with(|| json!(""));
            }
            http_get(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        if let Some(handler) = inside(container, &["lifecycle", hook]) {
            http_get(handler);
        }
    }
    each(container, "env", |variable| {
        if let Some(reference) = inside(variable, &["valueFrom", "fieldRef"]) {
            fill(reference, &[("apiVersion", json!("v1"))]);
        }
    });
}

fn http_get(handler: &mut Fields) {
    if let Some(request) = inside(handler, &["httpGet"]) {
        fill(request, &[("path", json!("/")), ("scheme", json!("HTTP"))]);
    }
}

fn volume(volume: &mut Fields) {
    if volume.iter().all(|(name, source)| name == "name" || source.is_null()) {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
    for source in ["secret", "configMap", "downwardAPI", "projected"] {
        if let Some(source) = inside(volume, &[source]) {
            fill(source, &[("defaultMode", json!(420))]);
        }
    }
    if let Some(files) = inside(volume, &["downwardAPI"]) {
        each(files, "items", field_reference);
    }
    if let Some(projected) = inside(volume, &["projected"]) {
        each(projected, "sources", |source| {
            if let Some(token) = inside(source, &["serviceAccountToken"]) {
                fill(token, &[("expirationSeconds", json!(3600))]);
            }
            if let Some(files) = inside(source, &["downwardAPI"]) {
                each(files, "items", field_reference);
            }
        });
    }
    rare_volume(volume);
}

fn field_reference(file: &mut Fields) {
    if let Some(reference) = inside(file, &["fieldRef"]) {
        fill(reference, &[("apiVersion", json!("v1"))]);
    }
}

fn rare_volume(volume: &mut Fields) {
    if let Some(path) = inside(volume, &["hostPath"]) {
        path.entry("type").or_insert_with(|| json!(""));
    }
    let defaults: [Defaults<'_>; 5] = [
        (&["iscsi"], &[("iscsiInterface", json!("default"))]),
        (&["rbd"], &[("pool", json!("rbd")), ("user", json!("admin")), ("keyring", json!("/etc/ceph/keyring"))]),
        (
            &["azureDisk"],
            &[
                ("cachingMode", json!("ReadWrite")),
                ("fsType", json!("ext4")),
                ("readOnly", json!(false)),
                ("kind", json!("Shared")),
            ],
        ),
        (&["scaleIO"], &[("storageMode", json!("ThinProvisioned")), ("fsType", json!("xfs"))]),
        (&["ephemeral", "volumeClaimTemplate", "spec"], &[("volumeMode", json!("Filesystem"))]),
    ];
    for (path, values) in defaults {
        if let Some(source) = inside(volume, path) {
            fill(source, values);
        }
    }
    if let Some(image) = inside(volume, &["image"]) {
        let policy = pull_policy(image.get("reference").and_then(Value::as_str).unwrap_or_default());
        fill(image, &[("pullPolicy", json!(policy))]);
    }
}

/// Visits every quantity of a pod template.
pub(crate) fn each_quantity(template: &mut Value, visit: &mut dyn FnMut(&mut Value)) {
    let Some(spec) = template.get_mut("spec").and_then(Value::as_object_mut) else { return };
    resources(spec, visit);
    values(spec, "overhead", visit);
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
        for container in containers.filter_map(Value::as_object_mut) {
            resources(container, visit);
            let variables = container.get_mut("env").and_then(Value::as_array_mut).into_iter().flatten();
            variables.filter_map(|v| v.pointer_mut("/valueFrom/resourceFieldRef/divisor")).for_each(&mut *visit);
        }
    }
    let volumes = spec.get_mut("volumes").and_then(Value::as_array_mut).into_iter().flatten();
    for volume in volumes.filter_map(Value::as_object_mut) {
        if let Some(limit) = inside(volume, &["emptyDir"]).and_then(|source| source.get_mut("sizeLimit")) {
            visit(limit);
        }
        if let Some(claim) = inside(volume, &["ephemeral", "volumeClaimTemplate", "spec"]) {
            resources(claim, visit);
        }
    }
}

fn resources(owner: &mut Fields, visit: &mut dyn FnMut(&mut Value)) {
    if let Some(resources) = inside(owner, &["resources"]) {
        values(resources, "limits", visit);
        values(resources, "requests", visit);
    }
}

fn values(owner: &mut Fields, name: &str, visit: &mut dyn FnMut(&mut Value)) {
    if let Some(map) = inside(owner, &[name]) {
        map.values_mut().for_each(visit);
    }
}

#[cfg(test)]
mod tests {
    use super::pull_policy;

    #[test]
    fn images_that_may_change_under_their_name_are_pulled_each_time() {
        for (image, policy) in [
            ("web", "Always"),
            ("web:latest", "Always"),
            ("host:5000/web", "Always"),
            ("host:5000/web:1", "IfNotPresent"),
            ("web@sha256:abc", "IfNotPresent"),
            ("web:latest@sha256:abc", "IfNotPresent"),
        ] {
            assert_eq!(pull_policy(image), policy, "{image}");
        }
    }
}
