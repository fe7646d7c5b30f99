//! Values as text: `%v` and what stands for nothing.

use tidegate_expr::{Forms, Moment, Value, plain_as, shortest};

/// What an action prints: nil is no value.
pub(crate) fn top(value: &Value) -> String {
    match value {
        Value::Nil => "<no value>".to_owned(),
        value => plain(value),
    }
}

/// A value as `%v` shows it.
pub fn plain(value: &Value) -> String {
    plain_as(value, &Forms { float: general, time })
}

fn time(moment: Moment) -> String {
    tidegate_expr::format_time(moment, "2006-01-02 15:04:05 -0700 MST")
}

/// The shortest decimal that reads back as the number, with an exponent below 1e-04 and from 1e+06 on.
pub(crate) fn general(number: f64) -> String {
    shortest(number, -4, 6)
}
