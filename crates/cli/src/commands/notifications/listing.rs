//! What is configured, in the form that was asked for.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};
use tidegate_notify::Config;
use tidegate_view::aligned;

use crate::arguments::{ConfiguredForm, GetConfigured};
use crate::commands::printed::{json, yaml};
use crate::failure::Failure;
use crate::{Outcome, Streams};

/// How things of one kind are shown.
pub(super) struct Listing<'a, T, const COLUMNS: usize> {
    pub(super) all: &'a BTreeMap<String, T>,
    pub(super) head: [&'static str; COLUMNS],
    /// The rows of one, with its name.
    pub(super) rows: fn(&str, &T) -> Vec<[String; COLUMNS]>,
    /// One as it is written in a ConfigMap.
    pub(super) source: fn(&T) -> Json,
}

impl<T, const COLUMNS: usize> Listing<'_, T, COLUMNS> {
    /// All of them, or the one of a name.
    pub(super) fn show(
        &self,
        get: &GetConfigured,
        form: ConfiguredForm,
        config: &Config,
        streams: &mut Streams<'_>,
    ) -> Result<Outcome, Failure> {
        let is_asked = |known: &str| get.name.as_deref().is_none_or(|name| name == known);
        let found = || self.all.iter().filter(|(name, _)| is_asked(name));
        let values = || found().map(|(name, one)| (name.clone(), (self.source)(one))).collect::<Map<_, _>>();
        let text = match form {
            ConfiguredForm::Wide => {
                let head = self.head.map(str::to_owned);
                let rows = found().flat_map(|(name, one)| (self.rows)(name, one));
                aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
            }
            ConfiguredForm::Name => found().map(|(name, _)| format!("{name}\n")).collect(),
            ConfiguredForm::Yaml => yaml(&values())?,
            ConfiguredForm::Json => json(&values())?,
        };
        warn(config, streams)?;
        streams.out.write_all(text.as_bytes())?;
        Ok(Outcome::Success)
    }
}

/// What is wrong with the configuration, before it is missed.
pub(super) fn warn(config: &Config, streams: &mut Streams<'_>) -> Result<(), Failure> {
    for problem in &config.problems {
        writeln!(streams.err, "Warning: {problem}")?;
    }
    Ok(())
}
