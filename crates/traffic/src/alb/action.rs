//! Actions of a listener rule, in the form of an annotation.

use serde_json::Value;

/// What a rule does: forward to Services by weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Action {
    pub(super) targets: Vec<ActionTarget>,
    /// For how many seconds a client stays with one of them.
    pub(super) sticky_seconds: Option<i64>,
}

/// A Service with a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ActionTarget {
    pub(super) service: String,
    pub(super) port: String,
    pub(super) weight: i64,
}

impl Action {
    /// One Service gets everything.
    pub(super) fn to(service: &str, port: &str, sticky_seconds: Option<i64>) -> Self {
        let target = ActionTarget { service: service.to_owned(), port: port.to_owned(), weight: 100 };
        Self { targets: vec![target], sticky_seconds }
    }

    /// Byte for byte as others write it: other programs compare the text.
    pub(super) fn json(&self) -> String {
        let target = |found: &ActionTarget| {
            let (service, port, weight) = (quoted(&found.service), quoted(&found.port), found.weight);
            format!("{{\"ServiceName\":{service},\"ServicePort\":{port},\"Weight\":{weight}}}")
        };
        let targets: Vec<String> = self.targets.iter().map(target).collect();
        let sticky = self.sticky_seconds.map_or_else(String::new, |seconds| {
            format!(",\"TargetGroupStickinessConfig\":{{\"Enabled\":true,\"DurationSeconds\":{seconds}}}")
        });
        format!("{{\"Type\":\"forward\",\"ForwardConfig\":{{\"TargetGroups\":[{}]{sticky}}}}}", targets.join(","))
    }

    /// Reads it; names of fields may have any case, as the load balancer controller reads them.
    pub(super) fn read(text: &str) -> Option<Self> {
        let action: Value = serde_json::from_str(text).ok()?;
        let config = field(&action, "ForwardConfig")?;
        let mut targets = Vec::new();
        for found in field(config, "TargetGroups")?.as_array()? {
            let port = match field(found, "ServicePort") {
                Some(Value::String(port)) => port.clone(),
                Some(Value::Number(port)) => port.to_string(),
                _ => String::new(),
            };
            let weight = field(found, "Weight").map_or(Some(1), Value::as_i64).filter(|weight| *weight >= 0)?;
            targets.push(ActionTarget { service: field(found, "ServiceName")?.as_str()?.to_owned(), port, weight });
        }
        let sticky = field(config, "TargetGroupStickinessConfig");
        let sticky = sticky.filter(|sticky| field(sticky, "Enabled") == Some(&Value::Bool(true)));
        let sticky_seconds = sticky.and_then(|sticky| field(sticky, "DurationSeconds")?.as_i64());
        Some(Self { targets, sticky_seconds })
    }
}

fn field<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.as_object()?.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

/// A JSON string as Go writes it, which spells out what HTML could misread.
pub(super) fn quoted(text: &str) -> String {
    let mut json = Value::from(text).to_string();
    for (character, escaped) in
        [('<', "\\u003c"), ('>', "\\u003e"), ('&', "\\u0026"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")]
    {
        json = json.replace(character, escaped);
    }
    json
}
