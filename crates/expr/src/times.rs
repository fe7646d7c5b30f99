//! Times and durations for those who print them: templates of notifications use the same values.

use jiff::Timestamp;

use crate::eval::times;
use crate::value::{Function, Moment, Value};
use crate::{ExprError, go_text, layout};

/// Calls a function that is a value.
pub fn call(function: Function, given: &[Value], now: Timestamp) -> Result<Value, ExprError> {
    times::function_value(function, given, now)
}

/// Calls a method of a time or a duration: `Format`, `Minutes`, ...
pub fn method(base: &Value, name: &str, given: &[Value]) -> Result<Value, ExprError> {
    times::value_method(base, name, given)
}

/// A time in a layout such as `2006-01-02 15:04:05`.
pub fn format_time(moment: Moment, layout: &str) -> String {
    layout::format(moment, layout)
}

/// The time a text says in a layout; UTC where it names no zone.
pub fn parse_time(text: &str, layout: &str) -> Option<Moment> {
    layout::parse(text, layout, 0)
}

/// Nanoseconds as people write them: `1h30m0s`.
pub fn format_duration(nanoseconds: i64) -> String {
    go_text::duration(nanoseconds)
}

/// The nanoseconds of a duration as people write it.
pub fn parse_duration(text: &str) -> Result<i64, ExprError> {
    times::duration(text).map_err(ExprError::Run)
}
