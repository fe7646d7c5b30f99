//! Triggers: lists of conditions, each with the templates it sends.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value as Json;
use tidegate_expr::{Program, Value};

use crate::marks::condition_key;

/// One condition of a trigger.
#[derive(Clone, Debug)]
pub struct Condition {
    /// When it holds, as written; empty for always.
    pub when: String,
    program: Option<Program>,
    /// What it is told once for, as written; empty for every time.
    pub once_per: String,
    once_per_program: Option<Program>,
    /// The templates it sends.
    pub send: Vec<String>,
    /// What it is for.
    pub description: String,
}

/// What a condition says about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The name of the condition in marks.
    pub key: String,
    /// Whether it holds.
    pub holds: bool,
    /// The value it is told once for.
    pub once_per: Option<String>,
    /// Why it could not be evaluated.
    pub error: Option<String>,
}

impl Condition {
    /// Reads one entry of a trigger.
    pub(crate) fn read(entry: &Json) -> Result<Self, String> {
        let text = |name: &str| match &entry[name] {
            Json::Null => Ok(String::new()),
            Json::String(text) => Ok(text.trim().to_owned()),
            Json::Bool(value) => Ok(value.to_string()),
            _ => Err(format!("{name} must be text")),
        };
        if !entry.is_object() {
            return Err("each condition must have the fields when and send".to_owned());
        }
        let program = |name: &str, text: &str| match text {
            "" => Ok(None),
            text => Program::read(text).map(Some).map_err(|error| format!("{name} {text:?}: {error}")),
        };
        let (when, once_per) = (text("when")?, text("oncePer")?);
        let send = match &entry["send"] {
            Json::Array(names) => names.iter().map(|name| name.as_str().map(str::to_owned)).collect::<Option<_>>(),
            Json::String(name) => Some(vec![name.clone()]),
            Json::Null => Some(Vec::new()),
            _ => None,
        };
        Ok(Self {
            program: program("when", &when)?,
            once_per_program: program("oncePer", &once_per)?,
            send: send.ok_or("send must be a list of template names")?,
            description: text("description")?,
            when,
            once_per,
        })
    }

    /// Whether there is nothing to evaluate.
    pub fn is_unconditional(&self) -> bool {
        self.program.is_none()
    }

    /// Evaluates it. An error counts as not holding.
    pub fn judge(&self, index: usize, variables: &BTreeMap<String, Value>, now: Timestamp) -> Verdict {
        let key = condition_key(index, &self.when);
        let Some(program) = &self.program else { return Verdict { key, holds: false, once_per: None, error: None } };
        let (holds, error) = match program.run_with(variables, now) {
            Ok(Value::Bool(holds)) => (holds, None),
            Ok(other) => (false, Some(format!("when {:?} gives {}, not true or false", self.when, other.go_type()))),
            Err(error) => (false, Some(format!("when {:?}: {error}", self.when))),
        };
        let once_per = self.once_per_program.as_ref().filter(|_| holds);
        let once_per = once_per.and_then(|program| program.run_with(variables, now).ok());
        let once_per =
            once_per.filter(|value| *value != Value::Nil).map(|value| tidegate_gotemplate::plain_text(&value));
        Verdict { key, holds, once_per, error }
    }
}
