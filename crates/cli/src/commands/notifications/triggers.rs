//! `trigger get` and `trigger run`.

use serde_json::{Map, Value as Json, json as object};
use tidegate_clock::Clock;
use tidegate_notify::Condition;
use tidegate_view::aligned;

use super::source::Source;
use super::templates::warn;
use super::{selected, two};
use crate::arguments::{ConfiguredForm, GetConfigured, RunTrigger};
use crate::cluster::Cluster;
use crate::commands::printed::{json, yaml};
use crate::failure::Failure;
use crate::{Outcome, Streams};

pub(super) async fn get(
    get: &GetConfigured,
    source: &mut Source<'_, impl AsyncFn() -> Result<Cluster, Failure>>,
    streams: &mut Streams<'_>,
) -> Result<Outcome, Failure> {
    let form = get.form()?;
    let config = source.config().await?;
    let found = selected(&config.triggers, get.name.as_deref());
    let text = match form {
        ConfiguredForm::Wide => {
            let head = ["NAME", "TEMPLATE", "CONDITION"].map(str::to_owned);
            let rows =
                found.flat_map(|(name, conditions)| conditions.iter().enumerate().map(move |row| cells(name, row)));
            aligned(&std::iter::once(head).chain(rows).collect::<Vec<_>>())
        }
        ConfiguredForm::Name => found.map(|(name, _)| format!("{name}\n")).collect(),
        ConfiguredForm::Yaml => yaml(&all(found))?,
        ConfiguredForm::Json => json(&all(found))?,
    };
    warn(&config, streams)?;
    streams.out.write_all(text.as_bytes())?;
    Ok(Outcome::Success)
}

/// The name stands only beside the first condition.
fn cells(name: &str, (index, condition): (usize, &Condition)) -> [String; 3] {
    let name = if index == 0 { name } else { "" };
    [name.to_owned(), condition.send.join(", "), condition.when.clone()]
}

fn all<'a>(found: impl Iterator<Item = (&'a String, &'a Vec<Condition>)>) -> Json {
    let entry =
        |(name, conditions): (&String, &Vec<Condition>)| (name.clone(), conditions.iter().map(source_of).collect());
    found.map(entry).collect::<Map<_, _>>().into()
}

/// A condition as it is written in a ConfigMap.
fn source_of(condition: &Condition) -> Json {
    let mut fields = Map::new();
    let texts = [("when", &condition.when), ("oncePer", &condition.once_per), ("description", &condition.description)];
    for (name, text) in texts.into_iter().filter(|(_, text)| !text.is_empty()) {
        fields.insert(name.to_owned(), object!(text));
    }
    fields.insert("send".to_owned(), object!(condition.send));
    Json::Object(fields)
}

pub(super) async fn run(
    run: &RunTrigger,
    source: &mut Source<'_, impl AsyncFn() -> Result<Cluster, Failure>>,
    clock: Clock,
    streams: &mut Streams<'_>,
) -> Result<Outcome, Failure> {
    let (name, resource) = two(&run.words)?;
    let config = source.config().await?;
    warn(&config, streams)?;
    let variables = source.variables(resource, &config).await?;
    let Some(conditions) = config.triggers.get(name) else {
        let known: Vec<&str> = config.triggers.keys().map(String::as_str).collect();
        return Err(Failure::said(format!("trigger with name '{name}' does not exist (found {})", known.join(", "))));
    };
    let mut rows = vec![["CONDITION", "RESULT"].map(str::to_owned)];
    for (index, condition) in conditions.iter().enumerate() {
        let verdict = condition.judge(index, &variables, clock.now());
        if let Some(error) = verdict.error {
            writeln!(streams.err, "Warning: {}", config.redact(&error))?;
        }
        rows.push([condition.when.clone(), verdict.holds.to_string()]);
    }
    streams.out.write_all(aligned(&rows).as_bytes())?;
    Ok(Outcome::Success)
}
