//! Carrying out a query.

use std::cell::Cell;
use std::collections::BTreeMap;

use super::QueryError;
use super::aggregation::aggregate;
use super::ast::{Expr, Selector};
use super::selector::NAME;
use super::typing::{Type, type_of};
use crate::Millis;
use crate::telemetry::{Labels, Sample, Series, Store, is_stale};

/// A sample older than this says nothing about now.
const LOOKBACK: Millis = 5 * 60 * 1000;
/// Points of one series in a range query, at most.
const MOST_POINTS: Millis = 11_000;
/// Samples that one query may look at.
const MOST_SAMPLES: u64 = 50_000_000;

/// A value with labels at the moment of the query.
#[derive(Clone, Debug, PartialEq)]
pub struct Element {
    /// Its labels.
    pub labels: Labels,
    /// Its value.
    pub value: f64,
}

/// Values over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Their labels.
    pub labels: Labels,
    /// Oldest first.
    pub samples: Vec<Sample>,
}

/// What a query gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Scalar(f64),
    /// Numbers with labels.
    Vector(Vec<Element>),
    /// Numbers over time.
    Matrix(Vec<Row>),
    /// A text.
    Text(String),
}

/// Carries out a query at a moment. Elements are in the order of their labels.
pub fn evaluate(store: &Store, expr: &Expr, at: Millis) -> Result<Value, QueryError> {
    let samples = Cell::new(0);
    let mut value = Evaluator { store, at, samples: &samples }.value(expr)?;
    match &mut value {
        Value::Vector(vector) => vector.sort_by(|one, other| one.labels.cmp(&other.labels)),
        Value::Matrix(rows) => rows.sort_by(|one, other| one.labels.cmp(&other.labels)),
        Value::Scalar(_) | Value::Text(_) => {}
    }
    Ok(value)
}

/// Carries out a query at every step from one moment to another. Rows are in the order of their labels.
pub fn evaluate_range(
    store: &Store,
    expr: &Expr,
    (from, to): (Millis, Millis),
    step: Millis,
) -> Result<Vec<Row>, QueryError> {
    let wrong = |what: String| Err(QueryError::Parameter(what));
    let kind = type_of(expr);
    if !matches!(kind, Type::Scalar | Type::Vector) {
        let kind = kind.name();
        return wrong(format!("invalid expression type \"{kind}\" for range query, must be Scalar or instant Vector"));
    }
    if to < from {
        return wrong("invalid parameter \"end\": end timestamp must not be before start time".to_owned());
    }
    if step <= 0 {
        return wrong(
            "invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a positive integer"
                .to_owned(),
        );
    }
    if to.saturating_sub(from) / step > MOST_POINTS {
        return wrong(
            "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)".to_owned(),
        );
    }
    let samples = Cell::new(0);
    let mut rows = BTreeMap::<Labels, Vec<Sample>>::new();
    let mut at = from;
    while at <= to {
        let evaluator = Evaluator { store, at, samples: &samples };
        let elements = match evaluator.value(expr)? {
            Value::Scalar(value) => vec![Element { labels: Labels::new(), value }],
            Value::Vector(vector) => vector,
            Value::Matrix(_) | Value::Text(_) => Vec::new(),
        };
        for Element { labels, value } in elements {
            rows.entry(labels).or_default().push(Sample { at, value });
        }
        at = at.saturating_add(step);
    }
    Ok(rows.into_iter().map(|(labels, samples)| Row { labels, samples }).collect())
}

/// A query at one moment.
pub(super) struct Evaluator<'a> {
    pub(super) store: &'a Store,
    pub(super) at: Millis,
    /// Looked at so far.
    samples: &'a Cell<u64>,
}

impl Evaluator<'_> {
    pub(super) fn value(&self, expr: &Expr) -> Result<Value, QueryError> {
        let value = match expr {
            Expr::Number(value) => Value::Scalar(*value),
            Expr::Text(text) => Value::Text(text.clone()),
            Expr::Selector(selector) => Value::Vector(self.instant(selector)?),
            Expr::Range(selector, span) => Value::Matrix(self.range(selector, *span)?),
            Expr::Kept(inner) => self.value(inner)?,
            Expr::Negated(inner) => match self.value(inner)? {
                Value::Scalar(value) => Value::Scalar(-value),
                Value::Vector(vector) => Value::Vector(vector.into_iter().map(negated).collect()),
                other => other,
            },
            Expr::Binary(binary) => self.binary(binary)?,
            Expr::Aggregation(aggregation) => Value::Vector(aggregate(aggregation, self.vector(&aggregation.of)?)),
            Expr::Call(function, arguments) => self.call(*function, arguments)?,
        };
        match &value {
            // Names were taken off: two elements may look alike now.
            Value::Vector(vector) if !matches!(expr, Expr::Selector(_)) => all_differ(vector)?,
            _ => {}
        }
        Ok(value)
    }

    pub(super) fn vector(&self, expr: &Expr) -> Result<Vec<Element>, QueryError> {
        match self.value(expr)? {
            Value::Vector(vector) => Ok(vector),
            _ => Err(QueryError::Execution("an instant vector is needed here".to_owned())),
        }
    }

    pub(super) fn scalar(&self, expr: &Expr) -> Result<f64, QueryError> {
        match self.value(expr)? {
            Value::Scalar(value) => Ok(value),
            _ => Err(QueryError::Execution("a scalar is needed here".to_owned())),
        }
    }

    fn chosen(&self, selector: &Selector) -> impl Iterator<Item = &Series> {
        self.store.series().filter(|series| selector.fits(&series.labels))
    }

    /// The last sample of each series, unless it is too old or says that the series has ended.
    fn instant(&self, selector: &Selector) -> Result<Vec<Element>, QueryError> {
        let to = self.at.saturating_sub(selector.offset);
        let from = to.saturating_sub(LOOKBACK);
        let mut elements = Vec::new();
        for series in self.chosen(selector) {
            self.spend(1)?;
            let last = series.between(from, to).next_back();
            if let Some(sample) = last.filter(|sample| !is_stale(sample.value)) {
                elements.push(Element { labels: (*series.labels).clone(), value: sample.value });
            }
        }
        Ok(elements)
    }

    /// The samples of a window, both ends included.
    pub(super) fn range(&self, selector: &Selector, span: Millis) -> Result<Vec<Row>, QueryError> {
        let to = self.at.saturating_sub(selector.offset);
        let from = to.saturating_sub(span);
        let mut rows = Vec::new();
        for series in self.chosen(selector) {
            let samples: Vec<Sample> = series.between(from, to).filter(|sample| !is_stale(sample.value)).collect();
            self.spend(u64::try_from(samples.len()).unwrap_or(u64::MAX))?;
            if !samples.is_empty() {
                rows.push(Row { labels: (*series.labels).clone(), samples });
            }
        }
        Ok(rows)
    }

    fn spend(&self, samples: u64) -> Result<(), QueryError> {
        self.samples.set(self.samples.get().saturating_add(samples));
        if self.samples.get() <= MOST_SAMPLES {
            return Ok(());
        }
        let what = "query processing would load too many samples into memory in query execution";
        Err(QueryError::Execution(what.to_owned()))
    }
}

fn negated(element: Element) -> Element {
    Element { labels: without_name(element.labels), value: -element.value }
}

fn all_differ(vector: &[Element]) -> Result<(), QueryError> {
    let mut seen = std::collections::BTreeSet::new();
    if vector.iter().all(|element| seen.insert(&element.labels)) {
        return Ok(());
    }
    Err(QueryError::Execution("vector cannot contain metrics with the same labelset".to_owned()))
}

pub(super) fn without_name(mut labels: Labels) -> Labels {
    labels.remove(NAME);
    labels
}

/// Labels as Prometheus writes them.
pub(super) fn text(labels: &Labels) -> String {
    let name = labels.get(NAME).map(String::as_str).unwrap_or_default();
    let others: Vec<String> =
        labels.iter().filter(|(key, _)| *key != NAME).map(|(key, value)| format!("{key}={value:?}")).collect();
    if others.is_empty() && !name.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", others.join(", ")) }
}
