//! Templates of messages: every text in them is a template of its own.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value as Json};
use tidegate_expr::Value;
use tidegate_gotemplate::{Template, TemplateError};

use crate::message::Notification;

/// A part of a template.
#[derive(Clone, Debug)]
enum Part {
    Text(Box<Template>),
    Fixed(Json),
    List(Vec<Part>),
    Fields(BTreeMap<String, Part>),
}

/// A template of a message.
#[derive(Clone, Debug)]
pub struct NotificationTemplate {
    parts: BTreeMap<String, Part>,
    /// As it was written.
    pub source: Json,
}

impl NotificationTemplate {
    /// Reads `{message, slack: {..}, email: {..}, ..}`.
    pub(crate) fn read(name: &str, source: Json) -> Result<Self, String> {
        let fields = match &source {
            Json::Object(fields) => fields.clone(),
            Json::Null => Map::new(),
            _ => return Err("a template must have fields such as message".to_owned()),
        };
        let parts = fields.iter().map(|(field, value)| Ok((field.clone(), part(&format!("{name}.{field}"), value)?)));
        let parts = parts.collect::<Result<_, TemplateError>>().map_err(|error| error.to_string())?;
        Ok(Self { parts, source })
    }

    /// Adds what this template says to a message: what is not empty replaces what was there.
    pub fn write(&self, into: &mut Notification, data: &Value, now: Timestamp) -> Result<(), TemplateError> {
        for (name, part) in &self.parts {
            let written = written(part, data, now)?;
            match (name.as_str(), written) {
                ("message", Json::String(text)) if !text.is_empty() => into.message = text,
                ("message", _) => {}
                (_, written) => merge(into.sections.entry(name.clone()).or_default(), written),
            }
        }
        Ok(())
    }
}

fn part(place: &str, value: &Json) -> Result<Part, TemplateError> {
    Ok(match value {
        Json::String(text) => Part::Text(Box::new(Template::parse(place, text)?)),
        Json::Array(items) => Part::List(items.iter().map(|item| part(place, item)).collect::<Result<_, _>>()?),
        Json::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| Ok((name.clone(), part(&format!("{place}.{name}"), value)?)));
            Part::Fields(fields.collect::<Result<_, _>>()?)
        }
        other => Part::Fixed(other.clone()),
    })
}

fn written(part: &Part, data: &Value, now: Timestamp) -> Result<Json, TemplateError> {
    Ok(match part {
        Part::Text(template) => Json::String(template.render(data, now)?),
        Part::Fixed(value) => value.clone(),
        Part::List(items) => Json::Array(items.iter().map(|item| written(item, data, now)).collect::<Result<_, _>>()?),
        Part::Fields(fields) => {
            let fields = fields.iter().map(|(name, value)| Ok((name.clone(), written(value, data, now)?)));
            Json::Object(fields.collect::<Result<_, _>>()?)
        }
    })
}

fn merge(into: &mut Json, from: Json) {
    match (into, from) {
        (Json::Object(into), Json::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name).or_insert(Json::Null), value);
            }
        }
        (_, Json::Null) => {}
        (Json::String(_), Json::String(text)) if text.is_empty() => {}
        (into, from) => *into = from,
    }
}

/// What templates see: the variables, the type of the service and the recipient.
pub(crate) fn data(variables: &BTreeMap<String, Value>, service_type: &str, recipient: &str) -> Value {
    let mut variables = variables.clone();
    variables.insert("serviceType".to_owned(), Value::text(service_type));
    variables.insert("recipient".to_owned(), Value::text(recipient));
    Value::Map(Arc::new(variables))
}
