//! Two expressions joined by an operator.

use std::collections::{BTreeMap, BTreeSet};

use super::QueryError;
use super::ast::{Binary, Matching, Operator};
use super::evaluator::{Element, Evaluator, Value, text, without_name};
use super::selector::NAME;
use crate::telemetry::Labels;

impl Evaluator<'_> {
    pub(super) fn binary(&self, binary: &Binary) -> Result<Value, QueryError> {
        let (left, right) = (self.value(&binary.left)?, self.value(&binary.right)?);
        match (left, right) {
            (Value::Scalar(left), Value::Scalar(right)) => Ok(Value::Scalar(number(binary.operator, left, right))),
            (Value::Vector(vector), Value::Scalar(scalar)) => {
                Ok(Value::Vector(with_scalar(binary, vector, |value| (value, scalar))))
            }
            (Value::Scalar(scalar), Value::Vector(vector)) => {
                Ok(Value::Vector(with_scalar(binary, vector, |value| (scalar, value))))
            }
            (Value::Vector(left), Value::Vector(right)) if binary.operator.is_set() => {
                Ok(Value::Vector(set(binary, left, right)))
            }
            (Value::Vector(left), Value::Vector(right)) => one_to_one(binary, left, right).map(Value::Vector),
            _ => Err(QueryError::Execution("a range vector or a text cannot be calculated with".to_owned())),
        }
    }
}

/// What an operator makes of two numbers; comparisons give 1 or 0.
fn number(operator: Operator, left: f64, right: f64) -> f64 {
    match operator {
        Operator::Add => left + right,
        Operator::Subtract => left - right,
        Operator::Multiply => left * right,
        Operator::Divide => left / right,
        Operator::Modulo => left % right,
        Operator::Power => left.powf(right),
        _ => f64::from(u8::from(holds(operator, left, right))),
    }
}

fn holds(operator: Operator, left: f64, right: f64) -> bool {
    match operator {
        Operator::Equal => left == right,
        Operator::NotEqual => left != right,
        Operator::Less => left < right,
        Operator::LessOrEqual => left <= right,
        Operator::Greater => left > right,
        Operator::GreaterOrEqual => left >= right,
        _ => false,
    }
}

/// A comparison without `bool` filters and keeps the value `kept` and the name; all else makes a new value without one.
fn joined(binary: &Binary, kept: f64, (left, right): (f64, f64)) -> Option<f64> {
    if binary.operator.is_comparison() && !binary.to_bool {
        return holds(binary.operator, left, right).then_some(kept);
    }
    Some(number(binary.operator, left, right))
}

fn keeps_name(binary: &Binary) -> bool {
    binary.operator.is_comparison() && !binary.to_bool
}

fn with_scalar(binary: &Binary, vector: Vec<Element>, sides: impl Fn(f64) -> (f64, f64)) -> Vec<Element> {
    let one = |element: Element| {
        let value = joined(binary, element.value, sides(element.value))?;
        let labels = if keeps_name(binary) { element.labels } else { without_name(element.labels) };
        Some(Element { labels, value })
    };
    vector.into_iter().filter_map(one).collect()
}

/// The labels by which elements find each other.
fn signature(binary: &Binary, labels: &Labels) -> Labels {
    let mut labels = labels.clone();
    match &binary.matching {
        None => drop(labels.remove(NAME)),
        Some(Matching::On(names)) => labels.retain(|name, _| names.contains(name)),
        Some(Matching::Ignoring(names)) => labels.retain(|name, _| name != NAME && !names.contains(name)),
    }
    labels
}

fn set(binary: &Binary, left: Vec<Element>, right: Vec<Element>) -> Vec<Element> {
    let signatures = |vector: &[Element]| -> BTreeSet<Labels> {
        vector.iter().map(|element| signature(binary, &element.labels)).collect()
    };
    let is_in = |known: &BTreeSet<Labels>, element: &Element| known.contains(&signature(binary, &element.labels));
    if binary.operator == Operator::Or {
        let known = signatures(&left);
        let others = right.into_iter().filter(|element| !is_in(&known, element));
        return left.into_iter().chain(others).collect();
    }
    let known = signatures(&right);
    let wanted = binary.operator == Operator::And;
    left.into_iter().filter(|element| is_in(&known, element) == wanted).collect()
}

fn one_to_one(binary: &Binary, left: Vec<Element>, right: Vec<Element>) -> Result<Vec<Element>, QueryError> {
    let mut partners = BTreeMap::<Labels, Element>::new();
    if left.is_empty() || right.is_empty() {
        return Ok(Vec::new());
    }
    for element in right {
        let group = signature(binary, &element.labels);
        if let Some(known) = partners.get(&group) {
            return Err(QueryError::Execution(format!(
                "found duplicate series for the match group {} on the right hand-side of the operation: [{}, {}];\
                 many-to-many matching not allowed: matching labels must be unique on one side",
                text(&group),
                text(&element.labels),
                text(&known.labels)
            )));
        }
        partners.insert(group, element);
    }
    let mut matched = BTreeSet::new();
    let mut result = Vec::new();
    for element in left {
        let group = signature(binary, &element.labels);
        let Some(partner) = partners.get(&group) else { continue };
        let Some(value) = joined(binary, element.value, (element.value, partner.value)) else { continue };
        if !matched.insert(group) {
            return Err(QueryError::Execution(
                "multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)"
                    .to_owned(),
            ));
        }
        result.push(Element { labels: result_labels(binary, element.labels), value });
    }
    Ok(result)
}

fn result_labels(binary: &Binary, mut labels: Labels) -> Labels {
    if !keeps_name(binary) {
        labels.remove(NAME);
    }
    match &binary.matching {
        None => {}
        Some(Matching::On(names)) => labels.retain(|name, _| names.contains(name)),
        Some(Matching::Ignoring(names)) => labels.retain(|name, _| !names.contains(name)),
    }
    labels
}
