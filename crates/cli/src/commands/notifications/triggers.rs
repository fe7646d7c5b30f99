//! `trigger get` and `trigger run`.

use serde_json::{Map, Value as Json, json as object};
use tidegate_clock::Clock;
use tidegate_notify::Condition;
use tidegate_view::aligned;

use super::listing::{Listing, warn};
use super::source::Source;
use super::two;
use crate::arguments::{GetConfigured, RunTrigger};
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::{Outcome, Streams};

pub(super) async fn get(
    get: &GetConfigured,
    source: &mut Source<'_, impl AsyncFn() -> Result<Cluster, Failure>>,
    streams: &mut Streams<'_>,
) -> Result<Outcome, Failure> {
    let form = get.form()?;
    let config = source.config().await?;
    let listing = Listing {
        all: &config.triggers,
        head: ["NAME", "TEMPLATE", "CONDITION"],
        rows: |name, conditions| conditions.iter().enumerate().map(|row| cells(name, row)).collect(),
        source: |conditions| conditions.iter().map(source_of).collect(),
    };
    listing.show(get, form, &config, streams)
}

/// The name stands only beside the first condition.
fn cells(name: &str, (index, condition): (usize, &Condition)) -> [String; 3] {
    let name = if index == 0 { name } else { "" };
    [name.to_owned(), condition.send.join(", "), condition.when.clone()]
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
