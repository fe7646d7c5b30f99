//! Options of a service.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value as Json};

use crate::message::Failure;

/// Options by name. Its `Debug` shows names only: values may be credentials.
#[derive(Clone, Default, PartialEq)]
pub struct Options(Map<String, Json>);

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Options {
    pub(crate) fn read(value: Json) -> Result<Self, String> {
        match value {
            Json::Object(fields) => Ok(Self(fields)),
            Json::Null => Ok(Self::default()),
            _ => Err("a service must have options such as token or url".to_owned()),
        }
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        match self.0.get(name) {
            None | Some(Json::Null) => false,
            Some(Json::String(text)) => !text.is_empty(),
            Some(Json::Array(items)) => !items.is_empty(),
            Some(Json::Object(fields)) => !fields.is_empty(),
            Some(_) => true,
        }
    }

    /// A text; numbers count as such, nothing is the empty one.
    pub(crate) fn text(&self, name: &str) -> String {
        plain(self.0.get(name).unwrap_or(&Json::Null))
    }

    /// A text that is not empty.
    pub(crate) fn some_text(&self, name: &str) -> Option<String> {
        Some(self.text(name)).filter(|text| !text.is_empty())
    }

    /// A text that is data, or the data itself as people may write it in YAML.
    pub(crate) fn text_or_data(&self, name: &str) -> String {
        match self.0.get(name) {
            Some(data @ Json::Object(_)) => data.to_string(),
            _ => self.text(name),
        }
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        match self.0.get(name) {
            Some(Json::Bool(value)) => *value,
            Some(Json::String(text)) => text == "true",
            _ => false,
        }
    }

    pub(crate) fn number(&self, name: &str) -> Option<i64> {
        match self.0.get(name) {
            Some(Json::Number(number)) => number.as_i64(),
            Some(Json::String(text)) => text.parse().ok(),
            _ => None,
        }
    }

    /// A duration as people write it, or seconds.
    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        let nanoseconds = match self.0.get(name)? {
            Json::String(text) => tidegate_expr::parse_duration(text).ok()?,
            Json::Number(number) => number.as_i64()?.checked_mul(1_000_000_000)?,
            _ => return None,
        };
        u64::try_from(nanoseconds).ok().map(Duration::from_nanos)
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Json::Array(items)) => items.iter().map(plain).collect(),
            Some(Json::String(text)) => vec![text.clone()],
            _ => Vec::new(),
        }
    }

    /// Items of a list.
    pub(crate) fn items(&self, name: &str) -> &[Json] {
        self.0.get(name).and_then(Json::as_array).map_or(&[], Vec::as_slice)
    }

    /// Fields of an option.
    pub(crate) fn fields(&self, name: &str) -> Option<&Map<String, Json>> {
        self.0.get(name).and_then(Json::as_object)
    }

    /// A field of an option.
    pub(crate) fn inner(&self, name: &str, field: &str) -> String {
        plain(self.0.get(name).and_then(|value| value.get(field)).unwrap_or(&Json::Null))
    }

    /// What a recipient stands for in an option that maps names to addresses or keys.
    pub(crate) fn by_recipient(&self, name: &str, recipient: &str) -> Result<String, Failure> {
        Some(self.inner(name, recipient)).filter(|found| !found.is_empty()).ok_or_else(|| {
            let known: Vec<&String> =
                self.0.get(name).and_then(Json::as_object).into_iter().flat_map(Map::keys).collect();
            Failure::lasting(format!("the option {name} has no entry for recipient '{recipient}' (found {known:?})"))
        })
    }

    /// `Basic` credentials of the option `basicAuth`.
    pub(crate) fn basic_auth(&self) -> Option<String> {
        let (user, password) = (self.inner("basicAuth", "username"), self.inner("basicAuth", "password"));
        let pair = format!("{user}:{password}");
        (!user.is_empty() || !password.is_empty())
            .then(|| format!("Basic {}", tidegate_expr::base64::encode(pair.as_bytes())))
    }
}

fn plain(value: &Json) -> String {
    match value {
        Json::String(text) => text.clone(),
        Json::Number(number) => number.to_string(),
        Json::Bool(value) => value.to_string(),
        _ => String::new(),
    }
}
