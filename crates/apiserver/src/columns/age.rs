//! Ages as people read them: two figures at most.

use jiff::Timestamp;
use serde_json::Value;

use crate::object::text;

/// The age of an object.
pub(super) fn of_object(object: &Value, now: Timestamp) -> String {
    since(text(object, &["metadata", "creationTimestamp"]), now)
}

/// How long ago a time was.
pub(super) fn since(time: &str, now: Timestamp) -> String {
    if time.is_empty() {
        return "<unknown>".to_owned();
    }
    match time.parse::<Timestamp>() {
        Ok(then) => between(then, now),
        Err(_) => "<invalid>".to_owned(),
    }
}

/// The time between two moments.
pub(super) fn between(from: Timestamp, to: Timestamp) -> String {
    human(to.as_second() - from.as_second())
}

/// Seconds as people say them.
fn human(seconds: i64) -> String {
    // Clocks of two machines may differ a little.
    if seconds < -1 {
        return "<invalid>".to_owned();
    }
    let seconds = seconds.max(0);
    let (minutes, hours) = (seconds / 60, seconds / 3600);
    let two = |large: i64, unit: &str, small: i64, part: &str| match small {
        0 => format!("{large}{unit}"),
        _ => format!("{large}{unit}{small}{part}"),
    };
    match (seconds, minutes, hours) {
        (..120, ..) => format!("{seconds}s"),
        (_, ..10, _) => two(minutes, "m", seconds % 60, "s"),
        (_, ..180, _) => format!("{minutes}m"),
        (_, _, ..8) => two(hours, "h", minutes % 60, "m"),
        (_, _, ..48) => format!("{hours}h"),
        (_, _, ..192) => two(hours / 24, "d", hours % 24, "h"),
        (_, _, ..17_520) => format!("{}d", hours / 24),
        (_, _, ..70_080) => two(hours / 24 / 365, "y", hours / 24 % 365, "d"),
        _ => format!("{}y", hours / 24 / 365),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_two_figures_at_most() {
        for (seconds, shown) in [
            (-1, "0s"),
            (-2, "<invalid>"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (10_860, "3h1m"),
            (28_800, "8h"),
            (172_799, "47h"),
            (172_800, "2d"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_071_999, "729d"),
            (63_072_000, "2y"),
            (63_158_400, "2y1d"),
            (252_288_000, "8y"),
        ] {
            assert_eq!(human(seconds), shown, "{seconds}");
        }
    }

    #[test]
    fn a_time_that_is_not_there_is_unknown() {
        let now: Timestamp = "2026-01-01T00:02:00Z".parse().unwrap();
        assert_eq!(since("", now), "<unknown>");
        assert_eq!(since("x", now), "<invalid>");
        assert_eq!(since("2026-01-01T00:00:01Z", now), "119s");
    }
}
