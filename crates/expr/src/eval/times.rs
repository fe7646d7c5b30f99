//! Times and durations.

use super::operators::{between, shift};
use super::{Evaluated, Machine, fail};
use crate::ast::Id;
use crate::builtins;
use crate::layout::{self, civil};
use crate::value::{Function, Moment, Value};
use crate::{ExprError, go_text};

use jiff::Timestamp;

impl Machine<'_> {
    pub(super) fn time_function(&mut self, name: &str, given: &[Value]) -> Evaluated {
        let text = |index: usize| match given.get(index) {
            Some(Value::Text(text)) => Some(&**text),
            _ => None,
        };
        match name {
            "now" => Ok(self.now()),
            "duration" => duration(text(0).unwrap_or_default()).map_or_else(fail, |d| Ok(Value::Duration(d))),
            "timezone" => match zone(text(0).unwrap_or_default()) {
                Some(_) => Ok(given[0].clone()),
                None => fail(format!("unknown time zone {}", text(0).unwrap_or_default())),
            },
            _ => {
                let Some(offset) = zone(text(2).unwrap_or("UTC")) else {
                    return fail(format!("unknown time zone {}", text(2).unwrap_or_default()));
                };
                let written = text(0).unwrap_or_default();
                let moment = match text(1) {
                    Some(layout) => layout::parse(written, layout, offset),
                    None => layout::parse_common(written, offset),
                };
                moment.map_or_else(|| fail(format!("invalid date {written}")), |moment| Ok(Value::Time(moment)))
            }
        }
    }

    pub(super) fn method(&mut self, base: Id, name: &str, arguments: &[Id]) -> Evaluated {
        let base = self.visit(base)?;
        let given = arguments.iter().map(|argument| self.visit(*argument)).collect::<Result<Vec<_>, _>>()?;
        if let Value::Map(fields) = &base
            && let Some(Value::Function(function)) = fields.get(name)
        {
            return Ok(function_value(*function, &given, self.world.now)?);
        }
        Ok(value_method(&base, name, &given)?)
    }
}

/// What a function that is a value gives.
pub(crate) fn function_value(function: Function, given: &[Value], now: Timestamp) -> Result<Value, ExprError> {
    match (function, given) {
        (Function::TimeNow, []) => Ok(Value::Time(layout::utc(now))),
        (Function::TimeParse, [Value::Text(text)]) => {
            let moment = layout::parse(text, "2006-01-02T15:04:05Z07:00", 0);
            moment
                .map(Value::Time)
                .ok_or_else(|| ExprError::other(format!("{text:?} is no time such as 2026-01-02T03:04:05Z")))
        }
        (Function::TimeNow, _) => Err(ExprError::other("Now takes nothing")),
        (Function::TimeParse, _) => Err(ExprError::other("Parse takes one text")),
    }
}

/// What a method of a time or a duration gives.
pub(crate) fn value_method(base: &Value, name: &str, given: &[Value]) -> Result<Value, ExprError> {
    let none = || ExprError::other(format!("type {} has no method {name}", base.go_type()));
    let fits = builtins::method(&base.static_type(), name)
        .is_some_and(|(takes, _)| given.iter().map(Value::static_type).eq(takes.iter().cloned()));
    match base {
        Value::Duration(nanoseconds) if fits => Ok(duration_method(*nanoseconds, name, given)),
        Value::Time(moment) if fits => {
            time_method(*moment, name, given).ok_or_else(|| ExprError::other("time out of range"))
        }
        _ => Err(none()),
    }
}

/// Seconds east of UTC. There is no table of time zones here; UTC is what controllers run in.
fn zone(name: &str) -> Option<i32> {
    matches!(name, "" | "UTC" | "GMT" | "Local" | "Etc/UTC").then_some(0)
}

fn duration_method(nanoseconds: i64, name: &str, given: &[Value]) -> Value {
    let unit = match given.first() {
        Some(Value::Duration(unit)) => *unit,
        _ => 0,
    };
    let cut = |to_nearest: bool| {
        if unit <= 0 {
            return nanoseconds;
        }
        let rest = nanoseconds % unit;
        let down = nanoseconds - rest;
        if to_nearest && rest.unsigned_abs() >= unit.unsigned_abs() - rest.unsigned_abs() {
            down.saturating_add(unit * rest.signum())
        } else {
            down
        }
    };
    match name {
        "Hours" => Value::Float(nanoseconds as f64 / 3.6e12),
        "Minutes" => Value::Float(nanoseconds as f64 / 6e10),
        "Seconds" => Value::Float(nanoseconds as f64 / 1e9),
        "Milliseconds" => Value::Int(nanoseconds / 1_000_000),
        "Microseconds" => Value::Int(nanoseconds / 1_000),
        "Nanoseconds" => Value::Int(nanoseconds),
        "String" => Value::text(go_text::duration(nanoseconds)),
        "Abs" => Value::Duration(nanoseconds.saturating_abs()),
        "Round" => Value::Duration(cut(true)),
        _ => Value::Duration(cut(false)),
    }
}

fn time_method(moment: Moment, name: &str, given: &[Value]) -> Option<Value> {
    let at = civil(moment);
    let int = |number: i64| Some(Value::Int(number));
    match (name, given.first()) {
        ("Year", _) => int(at.year().into()),
        ("Month", _) => int(at.month().into()),
        ("Day", _) => int(at.day().into()),
        ("Hour", _) => int(at.hour().into()),
        ("Minute", _) => int(at.minute().into()),
        ("Second", _) => int(at.second().into()),
        ("Nanosecond", _) => int(at.subsec_nanosecond().into()),
        ("Weekday", _) => int(at.weekday().to_sunday_zero_offset().into()),
        ("YearDay", _) => int(at.day_of_year().into()),
        ("Unix", _) => int(moment.at.as_second()),
        ("UnixMilli", _) => int(moment.at.as_millisecond()),
        ("UnixNano", _) => int(i64::try_from(moment.at.as_nanosecond()).ok()?),
        ("UTC", _) => Some(Value::Time(Moment { offset: 0, ..moment })),
        ("String", _) => Some(Value::text(layout::default_text(moment))),
        ("Format", Some(Value::Text(text))) => Some(Value::text(layout::format(moment, text))),
        ("Add", Some(Value::Duration(by))) => shift(moment, *by),
        ("Sub", Some(Value::Time(other))) => Some(Value::Duration(between(moment, *other))),
        ("Before", Some(Value::Time(other))) => Some(Value::Bool(moment.at < other.at)),
        ("After", Some(Value::Time(other))) => Some(Value::Bool(moment.at > other.at)),
        ("Equal", Some(Value::Time(other))) => Some(Value::Bool(moment.at == other.at)),
        _ => None,
    }
}

/// Nanoseconds of a duration as people write it.
pub(crate) fn duration(text: &str) -> Result<i64, String> {
    tidegate_api::duration::GoDuration::parse(text)
        .map(tidegate_api::duration::GoDuration::as_nanoseconds)
        .map_err(|error| error.to_string())
}
