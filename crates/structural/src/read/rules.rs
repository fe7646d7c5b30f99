//! Reads `x-kubernetes-validations`.

use serde_json::Value;

use super::keywords::Keywords;
use super::problem;
use crate::SchemaError;
use crate::cel;
use crate::node::Rule;
use crate::text::quote;

/// The most rules at one place.
const MAX_RULES: usize = 1_000;

pub(super) fn read(keywords: &Keywords<'_>) -> Result<Vec<Rule>, SchemaError> {
    let name = "x-kubernetes-validations";
    let rules = keywords.list(name)?.map(Vec::as_slice).unwrap_or_default();
    if rules.len() > MAX_RULES {
        return problem(keywords.at(name), format!("Too many: {}: must have at most {MAX_RULES} items", rules.len()));
    }
    rules.iter().enumerate().map(|(index, rule)| read_one(rule, &format!("{}[{index}]", keywords.at(name)))).collect()
}

fn read_one(rule: &Value, place: &str) -> Result<Rule, SchemaError> {
    let Value::Object(members) = rule else { return problem(place, "Invalid value: a rule must be an object") };
    let keywords = Keywords { members, place };
    let source = keywords.text("rule")?.unwrap_or_default();
    if source.trim().is_empty() {
        return problem(keywords.at("rule"), "Required value: rule is not specified");
    }
    let expression = match cel::parser::parse(source) {
        Ok(expression) => expression,
        Err(error) => return problem(keywords.at("rule"), format!("Invalid value: compilation failed: {error}")),
    };
    if keywords.flag("optionalOldSelf")? {
        return problem(keywords.at("optionalOldSelf"), "Invalid value: optional values are not supported by this API");
    }
    let message_expression = match keywords.text("messageExpression")?.filter(|source| !source.is_empty()) {
        None => None,
        Some(source) => match cel::parser::parse(source) {
            Ok(expression) => Some(expression),
            Err(error) => {
                return problem(
                    keywords.at("messageExpression"),
                    format!("Invalid value: messageExpression compilation failed: {error}"),
                );
            }
        },
    };
    Ok(Rule {
        place: place.to_owned(),
        source: source.to_owned(),
        transition: expression.mentions("oldSelf"),
        expression,
        message: read_message(&keywords)?,
        message_expression,
        reason: read_reason(&keywords)?,
        field_path: read_field_path(&keywords)?,
    })
}

fn read_message(keywords: &Keywords<'_>) -> Result<Option<String>, SchemaError> {
    match keywords.text("message")?.map(str::trim).filter(|message| !message.is_empty()) {
        Some(message) if message.contains('\n') => {
            problem(keywords.at("message"), format!("Invalid value: {}: must not contain line breaks", quote(message)))
        }
        message => Ok(message.map(str::to_owned)),
    }
}

fn read_reason(keywords: &Keywords<'_>) -> Result<Option<String>, SchemaError> {
    const REASONS: [&str; 4] =
        ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];
    match keywords.text("reason")? {
        Some(reason) if !REASONS.contains(&reason) => problem(
            keywords.at("reason"),
            format!(
                "Unsupported value: {}: supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \
                 \"FieldValueInvalid\", \"FieldValueRequired\"",
                quote(reason)
            ),
        ),
        reason => Ok(reason.map(str::to_owned)),
    }
}

/// `.a.b['c.d']`. Whether the schema has such a field is checked with the rules.
fn read_field_path(keywords: &Keywords<'_>) -> Result<Vec<String>, SchemaError> {
    let Some(path) = keywords.text("fieldPath")?.filter(|path| !path.is_empty()) else { return Ok(Vec::new()) };
    match split_field_path(path) {
        Some(steps) => Ok(steps),
        None => problem(keywords.at("fieldPath"), format!("Invalid value: {}: must be a valid path", quote(path))),
    }
}

fn split_field_path(path: &str) -> Option<Vec<String>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        if let Some(named) = rest.strip_prefix('.') {
            let end = named.find(['.', '[']).unwrap_or(named.len());
            let (step, after) = named.split_at(end);
            steps.push(step.to_owned());
            rest = after;
        } else {
            let (step, after) = rest.strip_prefix("['")?.split_once("']")?;
            steps.push(step.to_owned());
            rest = after;
        }
    }
    steps.iter().all(|step| !step.is_empty()).then_some(steps)
}
