//! Times and durations. The clock is the caller's, and there is no zone but UTC and what a time was written in.

use jiff::{SignedDuration, Timestamp};
use tidegate_expr::{Moment, Value, format_duration, format_time, parse_duration, parse_time};

use super::numbers::to_int;
use super::{Call, Given, text};

pub(super) const NAMES: &[&str] = &[
    "now",
    "date",
    "dateInZone",
    "date_in_zone",
    "htmlDate",
    "htmlDateInZone",
    "dateModify",
    "date_modify",
    "ago",
    "duration",
    "durationRound",
    "unixEpoch",
    "toDate",
];

const SECOND: i64 = 1_000_000_000;

pub(super) fn call(name: &str, call: &mut Call<'_>) -> Option<Given> {
    let now = Moment { at: call.now, offset: 0 };
    let moment = |index: usize| moment(&call.any(index), now);
    Some(match name {
        "now" => Ok(Some(Value::Time(now))),
        "date" => call.text(0).and_then(|layout| text(format_time(moment(1), &layout))),
        "dateInZone" | "date_in_zone" => {
            call.text(0).and_then(|layout| text(format_time(Moment { offset: 0, ..moment(1) }, &layout)))
        }
        "htmlDate" | "htmlDateInZone" => text(format_time(moment(0), "2006-01-02")),
        "dateModify" | "date_modify" => call.text(0).map(|by| Some(Value::Time(modified(&by, moment(1))))),
        "ago" => text(format_duration(rounded_seconds(call.now.duration_since(moment(0).at)))),
        "duration" => text(format_duration(to_int(&call.any(0)).saturating_mul(SECOND))),
        "durationRound" => text(coarse(&call.any(0), call.now)),
        "unixEpoch" => text(moment(0).at.as_second().to_string()),
        "toDate" => call.text(0).and_then(|layout| {
            let written = call.text(1)?;
            let found = parse_time(&written, &layout).ok_or_else(|| format!("{written:?} is no time like {layout:?}"));
            found.map(|moment| Some(Value::Time(moment)))
        }),
        _ => return None,
    })
}

/// Times as they are, numbers as seconds since 1970, everything else is now.
fn moment(value: &Value, now: Moment) -> Moment {
    let seconds = |seconds: i64| Timestamp::from_second(seconds).map_or(now, |at| Moment { at, offset: 0 });
    match value {
        Value::Time(moment) => *moment,
        Value::Int(number) => seconds(*number),
        _ => now,
    }
}

/// A duration that cannot be read changes nothing.
fn modified(by: &str, moment: Moment) -> Moment {
    let nanoseconds = parse_duration(by.trim_start_matches('+')).unwrap_or(0);
    let at = moment.at.checked_add(SignedDuration::from_nanos(nanoseconds));
    at.map_or(moment, |at| Moment { at, ..moment })
}

fn rounded_seconds(duration: SignedDuration) -> i64 {
    let seconds = (duration.as_secs_f64()).round();
    (seconds as i64).saturating_mul(SECOND)
}

/// The largest unit only: `3d`, `2h`.
fn coarse(value: &Value, now: Timestamp) -> String {
    let nanoseconds = match value {
        Value::Text(written) => parse_duration(written).unwrap_or(0),
        Value::Int(number) | Value::Duration(number) => *number,
        Value::Time(moment) => i64::try_from(now.duration_since(moment.at).as_nanos()).unwrap_or(0),
        _ => 0,
    };
    let seconds = nanoseconds.unsigned_abs() / SECOND.unsigned_abs();
    let sign = if nanoseconds < 0 { "-" } else { "" };
    const HOUR: u64 = 3_600;
    let units = [("y", 24 * 365 * HOUR), ("mo", 24 * 30 * HOUR), ("d", 24 * HOUR), ("h", HOUR), ("m", 60), ("s", 1)];
    let found = units.iter().find(|(_, length)| seconds > *length || (*length == 1 && seconds >= 1));
    found.map_or_else(|| "0s".to_owned(), |(unit, length)| format!("{sign}{}{unit}", seconds / length))
}
