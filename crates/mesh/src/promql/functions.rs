//! The functions that are supported.

use super::QueryError;
use super::ast::Expr;
use super::evaluator::{Element, Evaluator, Value, without_name};
use super::histogram::histogram_quantile;
use super::rates;
use super::typing::Type;
use crate::telemetry::Labels;

/// A function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `absent(v)`.
    Absent,
    /// `clamp_max(v, s)`.
    ClampMax,
    /// `clamp_min(v, s)`.
    ClampMin,
    /// `histogram_quantile(s, v)`.
    HistogramQuantile,
    /// `increase(r)`.
    Increase,
    /// `irate(r)`.
    InstantRate,
    /// `rate(r)`.
    Rate,
    /// `round(v, s)`.
    Round,
    /// `scalar(v)`.
    Scalar,
    /// `vector(s)`.
    Vector,
}

impl Function {
    const ALL: [Self; 10] = [
        Self::Absent,
        Self::ClampMax,
        Self::ClampMin,
        Self::HistogramQuantile,
        Self::Increase,
        Self::InstantRate,
        Self::Rate,
        Self::Round,
        Self::Scalar,
        Self::Vector,
    ];

    /// As it is written in a query.
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "absent",
            Self::ClampMax => "clamp_max",
            Self::ClampMin => "clamp_min",
            Self::HistogramQuantile => "histogram_quantile",
            Self::Increase => "increase",
            Self::InstantRate => "irate",
            Self::Rate => "rate",
            Self::Round => "round",
            Self::Scalar => "scalar",
            Self::Vector => "vector",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// The types of the arguments and how many must be there.
    pub(super) fn arguments(self) -> (&'static [Type], usize) {
        match self {
            Self::Absent | Self::Scalar => (&[Type::Vector], 1),
            Self::ClampMax | Self::ClampMin => (&[Type::Vector, Type::Scalar], 2),
            Self::HistogramQuantile => (&[Type::Scalar, Type::Vector], 2),
            Self::Increase | Self::InstantRate | Self::Rate => (&[Type::Range], 1),
            Self::Round => (&[Type::Vector, Type::Scalar], 1),
            Self::Vector => (&[Type::Scalar], 1),
        }
    }
}

impl Evaluator<'_> {
    pub(super) fn call(&self, function: Function, arguments: &[Expr]) -> Result<Value, QueryError> {
        let first = arguments.first();
        let vector = |index: usize| arguments.get(index).map_or(Ok(Vec::new()), |one| self.vector(one));
        let scalar = |index: usize| arguments.get(index).map_or(Ok(f64::NAN), |one| self.scalar(one));
        let changed = |vector: Vec<Element>, change: &dyn Fn(f64) -> f64| {
            let one = |element: Element| Element { labels: without_name(element.labels), value: change(element.value) };
            vector.into_iter().map(one).collect()
        };
        let elements: Vec<Element> = match function {
            Function::Scalar => {
                let only = <[Element; 1]>::try_from(vector(0)?).ok().map(|[element]| element.value);
                return Ok(Value::Scalar(only.unwrap_or(f64::NAN)));
            }
            Function::Vector => return Ok(Value::Vector(vec![Element { labels: Labels::new(), value: scalar(0)? }])),
            Function::Absent => absent(first, &vector(0)?),
            Function::ClampMax => {
                let most = scalar(1)?;
                changed(vector(0)?, &|value| bounded(value, most, f64::min))
            }
            Function::ClampMin => {
                let least = scalar(1)?;
                changed(vector(0)?, &|value| bounded(value, least, f64::max))
            }
            Function::Round => {
                // Dividing by the inverse keeps steps such as 0.1 exact.
                let inverse = if arguments.len() > 1 { 1.0 / scalar(1)? } else { 1.0 };
                changed(vector(0)?, &|value| (value * inverse + 0.5).floor() / inverse)
            }
            Function::HistogramQuantile => histogram_quantile(scalar(0)?, vector(1)?),
            Function::Increase => self.over_range(first, &|range| rates::increase(&range))?,
            Function::Rate => self.over_range(first, &|range| rates::rate(&range))?,
            Function::InstantRate => self.over_range(first, &|range| rates::instant_rate(range.samples))?,
        };
        Ok(Value::Vector(elements))
    }

    fn over_range(
        &self,
        argument: Option<&Expr>,
        function: &dyn Fn(rates::Range<'_>) -> Option<f64>,
    ) -> Result<Vec<Element>, QueryError> {
        let Some(Expr::Range(selector, span)) = argument else { return Ok(Vec::new()) };
        let end = self.at.saturating_sub(selector.offset);
        let rows = self.range(selector, *span)?;
        let one = |row: super::evaluator::Row| {
            let range = rates::Range { samples: &row.samples, from: end.saturating_sub(*span), to: end };
            Some(Element { value: function(range)?, labels: without_name(row.labels) })
        };
        Ok(rows.into_iter().filter_map(one).collect())
    }
}

/// Nothing becomes 1, something becomes nothing.
fn absent(argument: Option<&Expr>, found: &[Element]) -> Vec<Element> {
    if !found.is_empty() {
        return Vec::new();
    }
    let labels = match argument {
        Some(Expr::Selector(selector)) => selector.asked_labels(),
        _ => Labels::new(),
    };
    vec![Element { labels, value: 1.0 }]
}

/// Unlike Rust's, Go's minimum and maximum with something that is no number are no number, unless the other side is
/// beyond all numbers on that very end.
fn bounded(value: f64, bound: f64, choose: fn(f64, f64) -> f64) -> f64 {
    let end = choose(f64::INFINITY, f64::NEG_INFINITY);
    if value == end || bound == end {
        end
    } else if value.is_nan() || bound.is_nan() {
        f64::NAN
    } else {
        choose(value, bound)
    }
}
