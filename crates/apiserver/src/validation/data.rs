//! Rules for config maps and secrets.

use serde_json::Value;

use super::rules::Findings;
use crate::encoding::from_base64;
use crate::object::text;
use crate::status::Cause;

const FROZEN: &str = "field is immutable when `immutable` is set";

/// Config maps.
pub(super) fn config_map(object: &Value, old: Option<&Value>, found: &mut Findings) {
    keys(object, &[("data", false), ("binaryData", true)], found);
    for key in object.get("data").and_then(Value::as_object).into_iter().flat_map(|map| map.keys()) {
        if object.get("binaryData").is_some_and(|binary| binary.get(key).is_some()) {
            found.invalid(format!("data[{key}]"), key.as_str(), "duplicate of key present in binaryData");
        }
    }
    if let Some(old) = old {
        frozen(object, old, &["data", "binaryData"], found);
    }
}

/// Secrets: what each type must contain.
pub(super) fn secret(object: &Value, old: Option<&Value>, found: &mut Findings) {
    keys(object, &[("data", true)], found);
    let kind = text(object, &["type"]);
    let has = |key: &str| object.get("data").is_some_and(|data| data.get(key).is_some());
    let wanted: &[&str] = match kind {
        "kubernetes.io/tls" => &["tls.crt", "tls.key"],
        "kubernetes.io/ssh-auth" => &["ssh-privatekey"],
        "kubernetes.io/dockercfg" => &[".dockercfg"],
        "kubernetes.io/dockerconfigjson" => &[".dockerconfigjson"],
        "kubernetes.io/basic-auth" if !has("username") && !has("password") => &["username", "password"],
        _ => &[],
    };
    for key in wanted.iter().filter(|key| !has(key)) {
        found.required(format!("data[{key}]"));
    }
    if kind == "kubernetes.io/service-account-token" {
        let account = object.get("metadata").and_then(|m| m.get("annotations"));
        if account.is_none_or(|a| text(a, &["kubernetes.io/service-account.name"]).is_empty()) {
            found.required("metadata.annotations[kubernetes.io/service-account.name]");
        }
    }
    let Some(old) = old else { return };
    if text(old, &["type"]) != kind {
        found.invalid("type", kind, "field is immutable");
    }
    frozen(object, old, &["data"], found);
}

fn frozen(object: &Value, old: &Value, parts: &[&str], found: &mut Findings) {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return;
    }
    if object.get("immutable") != Some(&Value::Bool(true)) {
        found.forbidden("immutable", FROZEN);
    }
    for part in parts {
        if object.get(part) != old.get(part) {
            found.forbidden(*part, FROZEN);
        }
    }
}

/// Keys and size; the flag says that values are base64.
fn keys(object: &Value, parts: &[(&str, bool)], found: &mut Findings) {
    let mut size = 0_usize;
    for (part, encoded) in parts {
        for (key, value) in object.get(part).and_then(Value::as_object).into_iter().flatten() {
            found.problems(&format!("{part}[{key}]"), key, key_problems(key));
            let value = value.as_str().unwrap_or_default();
            size = size.saturating_add(if *encoded { from_base64(value).map_or(0, |b| b.len()) } else { value.len() });
        }
    }
    if size > 1024 * 1024 {
        let message = "Too long: may not be more than 1048576 bytes".to_owned();
        found.0.push(Cause { reason: "FieldValueTooLong".to_owned(), message, field: String::new() });
    }
}

fn key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || !key.chars().all(fits) {
        let text = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
            'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
        problems.push(text.to_owned());
    }
    match key {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        _ if key.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}
