//! What is wrong with a template or a run, as far as it can be told before anything is measured: every problem with the
//! metric and the field, so that nobody has to wait for a rollout to find it.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::Value as Json;
use tidegate_api::analysis::{AnalysisRunSpec, AnalysisTemplateSpec, Argument, Metric};
use tidegate_api::wire::{Items, Text};
use tidegate_expr::Program;
use tidegate_validate::analysis::{check_run, substitute};

/// Stands for an argument that only a Rollout gives.
const GIVEN_LATER: &str = "given-later";
/// As deep as anything in a metric is looked into.
const MAX_DEPTH: usize = 64;

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The metric, if it is one's.
    pub metric: Option<String>,
    /// The field.
    pub field: String,
    /// What is wrong with it.
    pub text: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(metric) = &self.metric {
            write!(f, "metric '{metric}': ")?;
        }
        write!(f, "{}: {}", self.field, self.text)
    }
}

fn general(field: impl Into<String>, text: impl Into<String>) -> Problem {
    Problem { metric: None, field: field.into(), text: text.into() }
}

/// What is wrong with a template.
pub fn examine_template(spec: &AnalysisTemplateSpec) -> Vec<Problem> {
    let mut problems = Vec::new();
    let references = spec.templates.items();
    if spec.metrics.items().is_empty() && references.is_empty() {
        problems.push(general("spec.metrics", "a template needs metrics, or templates that have some"));
    }
    for (index, reference) in references.iter().enumerate() {
        if reference.template_name.text().is_empty() {
            problems.push(general(format!("spec.templates[{index}].templateName"), "must not be empty"));
        }
    }
    let run = AnalysisRunSpec {
        metrics: spec.metrics.clone(),
        args: spec.args.clone(),
        dry_run: spec.dry_run.clone(),
        measurement_retention: spec.measurement_retention.clone(),
        ..AnalysisRunSpec::default()
    };
    // Rules may be about metrics of the templates it names.
    let is_whole = references.is_empty();
    problems.extend(examine(&run, is_whole));
    problems
}

/// What is wrong with a run.
pub fn examine_run(spec: &AnalysisRunSpec) -> Vec<Problem> {
    let mut problems = Vec::new();
    if spec.metrics.items().is_empty() {
        problems.push(general("spec.metrics", "no metrics specified"));
    }
    let unresolved =
        spec.args.items().iter().enumerate().filter(|(_, arg)| arg.value.is_none() && arg.value_from.is_none());
    problems.extend(unresolved.map(|(index, arg)| {
        general(format!("spec.args[{index}]"), format!("argument \"{}\" was not supplied", arg.name.text()))
    }));
    problems.extend(examine(spec, true));
    problems
}

fn examine(spec: &AnalysisRunSpec, is_whole: bool) -> Vec<Problem> {
    let mut problems = arguments(spec.args.items());
    let declared: BTreeSet<&str> = spec.args.items().iter().map(|arg| arg.name.text()).collect();
    let mut whole = spec.clone();
    let metrics = spec.metrics.items();
    let mut filled_all = true;
    let mut filled = Vec::new();
    for metric in metrics {
        let unknown = placeholders(metric, &declared);
        if unknown.is_empty() {
            match substitute(metric, &with_values(spec.args.items(), GIVEN_LATER)) {
                Ok(metric) => filled.push(metric),
                Err(error) => {
                    filled_all = false;
                    problems.push(of(metric, "provider", error.to_string()));
                }
            }
        }
        filled_all &= unknown.is_empty();
        problems.extend(unknown);
        problems.extend(conditions(metric, spec.args.items()));
    }
    if filled_all && !metrics.is_empty() {
        whole.metrics = Some(filled);
        problems.extend(check_run(&whole).into_iter().filter_map(|text| rule(metrics, &text, is_whole)));
    }
    problems
}

fn of(metric: &Metric, field: &str, text: String) -> Problem {
    Problem { metric: Some(metric.name.text().to_owned()), field: field.to_owned(), text }
}

fn arguments(args: &[Argument]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut names = BTreeSet::new();
    for (index, arg) in args.iter().enumerate() {
        let (field, name) = (format!("spec.args[{index}]"), arg.name.text());
        if name.is_empty() {
            problems.push(general(format!("{field}.name"), "must not be empty"));
        } else if !names.insert(name) {
            problems.push(general(format!("{field}.name"), format!("argument '{name}' is declared twice")));
        }
        let Some(from) = &arg.value_from else { continue };
        if arg.value.is_some() {
            problems.push(general(field.clone(), format!("arg '{name}' has both Value and ValueFrom fields")));
        }
        if let Some(secret) = &from.secret_key_ref
            && (secret.name.text().is_empty() || secret.key.text().is_empty())
        {
            problems.push(general(format!("{field}.valueFrom.secretKeyRef"), "needs a name and a key"));
        }
    }
    problems
}

fn with_values(args: &[Argument], default: &str) -> Vec<Argument> {
    let filled =
        |arg: &Argument| Argument { value: arg.value.clone().or_else(|| Some(default.to_owned())), ..arg.clone() };
    args.iter().map(filled).collect()
}

/// Placeholders that nobody fills, with their place.
fn placeholders(metric: &Metric, declared: &BTreeSet<&str>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let value = serde_json::to_value(metric).unwrap_or_default();
    each_text(&value, "", 0, &mut |path, text| {
        let mut rest = text;
        while let Some((_, inside)) = rest.split_once("{{") {
            let Some((tag, tail)) = inside.split_once("}}") else {
                problems.push(of(metric, path, "\"{{\" without \"}}\"".to_owned()));
                return;
            };
            let is_known = tag.trim().strip_prefix("args.").is_some_and(|name| declared.contains(name));
            if !is_known {
                problems.push(of(metric, path, format!("failed to resolve {{{{{tag}}}}}")));
            }
            rest = tail;
        }
    });
    problems
}

fn each_text(value: &Json, path: &str, depth: usize, tell: &mut impl FnMut(&str, &str)) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Json::String(text) => tell(path, text),
        _ if depth >= MAX_DEPTH => {}
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                each_text(item, &format!("{path}[{index}]"), depth + 1, tell);
            }
        }
        Json::Object(fields) => fields.iter().for_each(|(name, value)| each_text(value, &below(name), depth + 1, tell)),
        _ => {}
    }
}

/// Expressions that nobody can read, whatever value comes.
fn conditions(metric: &Metric, args: &[Argument]) -> Vec<Problem> {
    // A number stands wherever a name, a number or a part of a text does.
    let Ok(filled) = substitute(metric, &with_values(args, "1")) else { return Vec::new() };
    let all = [("successCondition", &filled.success_condition), ("failureCondition", &filled.failure_condition)];
    let problem = |(field, text): (&str, &Option<String>)| {
        let text = text.as_ref().filter(|text| !text.is_empty())?;
        Some(of(metric, field, Program::read(text).err()?.to_string()))
    };
    all.into_iter().filter_map(problem).collect()
}

/// A broken rule of the contract, with the field its text is about. What only a Rollout's values can break is left out.
fn rule(metrics: &[Metric], text: &str, is_whole: bool) -> Option<Problem> {
    if text.contains(GIVEN_LATER) {
        return None;
    }
    let Some((index, rest)) = text.strip_prefix("metrics[").and_then(|rest| rest.split_once("]: ")) else {
        let (field, rest) = text.split_once(": ").unwrap_or(("metrics", text));
        let is_elsewhere = !is_whole && rest.contains("didn't match");
        return (!is_elsewhere).then(|| general(format!("spec.{field}"), rest));
    };
    let metric = metrics.get(index.parse::<usize>().ok()?)?;
    Some(of(metric, field_of(rest), rest.to_owned()))
}

fn field_of(text: &str) -> &'static str {
    let known = [
        ("duplicate name", "name"),
        ("startDelay", "initialDelay"),
        ("interval", "interval"),
        ("provider", "provider"),
        ("count", "count"),
        ("failureLimit", "failureLimit"),
        ("consecutiveSuccessLimit", "consecutiveSuccessLimit"),
        ("inconclusiveLimit", "inconclusiveLimit"),
        ("consecutiveErrorLimit", "consecutiveErrorLimit"),
    ];
    let place = |(word, field): &(&str, &'static str)| text.find(word).map(|at| (at, *field));
    known.iter().filter_map(place).min().map_or("metrics", |(_, field)| field)
}
