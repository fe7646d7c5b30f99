//! The text of one document, read as JSON or YAML.

use serde::de::DeserializeSeed;
use serde_json::Value;
use serde_saphyr::budget::BudgetBreach;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy, NonFiniteFloatPolicy};
use serde_saphyr::{Error as YamlError, Options};

use crate::error::{Finding, ManifestError, Problem};
use crate::limits::{MAX_ALIAS_DEPTH, MAX_ALIAS_EVENTS, MAX_ANCHOR_BYTES, MAX_DEPTH, MAX_EXPANDED_BYTES, MAX_NODES};
use crate::node::Building;
use crate::words::cut;

/// What to do with a key that an object holds twice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DuplicateKeys {
    /// An error with the key's path: one of the two values is lost otherwise, and nobody knows which was meant.
    #[default]
    Refuse,
    /// The later value counts. The contract of `lint`, where a duplicate key is no error.
    LastWins,
}

/// Where a document is.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    pub(crate) file: &'a str,
    pub(crate) number: usize,
    pub(crate) line: usize,
}

impl Place<'_> {
    /// A finding at this place.
    pub(crate) fn error(self, object: Option<String>, finding: Finding) -> ManifestError {
        let Finding { field, problem, hint } = finding;
        ManifestError {
            file: self.file.to_owned(),
            document: Some(self.number),
            line: Some(self.line),
            object,
            field: (!field.is_empty()).then_some(field),
            problem,
            hint,
        }
    }
}

/// What the documents of one file may use together.
pub(crate) struct Allowance {
    duplicate_keys: DuplicateKeys,
    nodes: usize,
    bytes: usize,
}

impl Allowance {
    pub(crate) fn new(duplicate_keys: DuplicateKeys) -> Self {
        Self { duplicate_keys, nodes: 0, bytes: 0 }
    }

    /// Whether reading further documents would only repeat the same refusal.
    pub(crate) fn is_used_up(&self) -> bool {
        self.nodes > MAX_NODES || self.bytes > MAX_EXPANDED_BYTES
    }
}

/// Reads one document, which starts at this line of its file.
pub(crate) fn parse(text: &str, first_line: usize, allowance: &mut Allowance) -> Result<Value, Finding> {
    if looks_like_json(text) {
        match parse_json(text, first_line, allowance) {
            Err(error) if matches!(error.problem, Problem::Syntax { .. }) => {
                // `{a: b}` is YAML and no JSON, and so is JSON with a comma too many. When YAML makes no object of it
                // either, the JSON reader's words are the clearer ones.
                return match parse_yaml(text, first_line, allowance) {
                    Ok(value) if value["kind"].is_string() => Ok(value),
                    Err(other) if !matches!(other.problem, Problem::Syntax { .. }) => Err(other),
                    _ => Err(error),
                };
            }
            read => return read,
        }
    }
    parse_yaml(text, first_line, allowance)
}

/// Reads one YAML or JSON text that is no object of Kubernetes, such as an entry of a ConfigMap, under the same limits.
pub fn read_value(text: &str) -> Result<Value, String> {
    parse(text, 1, &mut Allowance::new(DuplicateKeys::Refuse)).map_err(|finding| {
        let place = if finding.field.is_empty() { String::new() } else { format!("{}: ", finding.field) };
        format!("{place}{}", finding.problem)
    })
}

fn looks_like_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

fn parse_json(text: &str, first_line: usize, allowance: &mut Allowance) -> Result<Value, Finding> {
    let building = Building::new(allowance.duplicate_keys, allowance.nodes, allowance.bytes);
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = building.root().deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    (allowance.nodes, allowance.bytes) = building.used();
    read.map_err(|error| {
        building.finding().unwrap_or_else(|| {
            // serde_json appends the place, counted from the start of the document.
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or_default();
            if words == "number out of range" {
                let (expected, found) = ("a number of at most 64 bits".to_owned(), "a larger one".to_owned());
                return Finding { field: building.path(), problem: Problem::Unfitting { expected, found }, hint: None };
            }
            syntax(first_line + error.line().saturating_sub(1), error.column(), words)
        })
    })
}

fn parse_yaml(text: &str, first_line: usize, allowance: &mut Allowance) -> Result<Value, Finding> {
    let building = Building::new(allowance.duplicate_keys, allowance.nodes, allowance.bytes);
    let options = options(allowance.duplicate_keys);
    let read = serde_saphyr::with_deserializer_from_str_with_options(text, options, |reader| {
        building.root().deserialize(reader)
    });
    (allowance.nodes, allowance.bytes) = building.used();
    read.map_err(|error| building.finding().unwrap_or_else(|| yaml_finding(&error, building.path(), first_line)))
}

/// YAML as kubectl reads it: 1.1 booleans and octal numbers (`defaultMode: 0644`), merge keys, last of all our limits.
fn options(duplicate_keys: DuplicateKeys) -> Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            // Replayed values are counted instead: a label set used a hundred times is fine.
            enforce_alias_anchor_ratio: false,
            max_recorded_anchor_bytes: MAX_ANCHOR_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: MAX_ALIAS_EVENTS,
            max_replay_stack_depth: MAX_ALIAS_DEPTH,
        },
        duplicate_keys: match duplicate_keys {
            DuplicateKeys::Refuse => DuplicateKeyPolicy::Error,
            DuplicateKeys::LastWins => DuplicateKeyPolicy::LastWins,
        },
        merge_keys: MergeKeyPolicy::Merge,
        non_finite_float_policy: NonFiniteFloatPolicy::Reject,
        legacy_octal_numbers: true,
        // Nothing here reads comments, and the parser refuses long runs of them when it has to keep them.
        emit_comments: false,
        reject_unsupported_tags: true,
        with_snippet: false,
    }
}

fn yaml_finding(error: &YamlError, path: String, first_line: usize) -> Finding {
    let location = location(error);
    let mut hint = None;
    let problem = match innermost(error) {
        YamlError::DuplicateMappingKey { key, .. } => {
            let key = cut(key.as_deref().unwrap_or_default());
            let field = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            let line = first_line + location.0 - 1;
            let hint = Some(format!("remove one of the two; the second is on line {line}"));
            return Finding { field, problem: Problem::DuplicateKey { key }, hint };
        }
        YamlError::NonFiniteFloat { value, .. } => {
            let hint = Some("put it in quotes if it is text");
            return Finding::unfitting(path, "a finite number", format!("the number {}", cut(value))).with_hint(hint);
        }
        YamlError::RecursiveReferencesRequireWeakTypes { .. } => "an alias leads back into its own anchor".to_owned(),
        YamlError::AliasReplayLimitExceeded { .. }
        | YamlError::AliasReplayStackDepthExceeded { .. }
        | YamlError::AliasExpansionLimitExceeded { .. } => return too_much(path, ALIASES),
        YamlError::Budget { breach: BudgetBreach::Depth { .. }, .. } => return too_much(path, DEPTH),
        YamlError::Budget { breach: BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. }, .. } => {
            return too_much(path, NODES);
        }
        YamlError::Budget { .. } => return too_much(path, ALIASES),
        YamlError::UnknownAnchor { .. } => "an alias names an anchor that this document does not define".to_owned(),
        YamlError::Unexpected { expected: "string scalar", .. } => {
            hint = Some("render templates such as {{ .Values.name }} first, or put them in quotes");
            "a key must be text".to_owned()
        }
        other => match plain_words(other) {
            words if words.contains("recursion limit") => format!("nested deeper than {MAX_DEPTH} levels"),
            words => words,
        },
    };
    syntax(first_line + location.0 - 1, location.1, &plain(&problem)).with_hint(hint)
}

/// What the parser's own limits are about, and ours behind them.
const ALIASES: (&str, usize) = ("number of values repeated by aliases", MAX_ALIAS_EVENTS);
const DEPTH: (&str, usize) = ("nesting depth", MAX_DEPTH);
const NODES: (&str, usize) = ("number of values", MAX_NODES);

fn too_much(field: String, (what, limit): (&str, usize)) -> Finding {
    Finding { field, problem: Problem::TooMuch { what: what.to_owned(), limit }, hint: None }
}

/// Line and column in the document, both from 1.
fn location(error: &YamlError) -> (usize, usize) {
    let number = |number: u64| usize::try_from(number).unwrap_or(1).max(1);
    error.location().map_or((1, 1), |location| (number(location.line()), number(location.column())))
}

/// The error itself, without the alias it was met through.
fn innermost(error: &YamlError) -> &YamlError {
    match error.without_snippet() {
        YamlError::AliasError { error, .. } => innermost(error),
        other => other,
    }
}

/// The parser's words on one line, without the place, which it counts from the start of the document.
fn plain_words(error: &YamlError) -> String {
    let words = error.to_string();
    let first = words.lines().next().unwrap_or_default();
    first.split(" at line ").next().unwrap_or_default().trim_end_matches(':').to_owned()
}

fn plain(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn syntax(line: usize, column: usize, text: &str) -> Finding {
    let problem = Problem::Syntax { line, column: column.max(1), text: cut(text) };
    Finding { field: String::new(), problem, hint: None }
}
