//! Durations as people write them in annotations.

use std::time::Duration;

/// Reads `500ms`, `2s`, `1m30s`, `1.5s` or a bare number of seconds; `None` when it is anything else.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    if let Some(plain) = seconds(text, 1.0) {
        return Some(plain);
    }
    let mut rest = text;
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit_length = tail.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(tail.len());
        let (unit, next) = tail.split_at(unit_length);
        let scale = match unit {
            "ms" => 0.001,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        total = total.checked_add(seconds(number, scale)?)?;
        rest = next;
    }
    (!text.is_empty()).then_some(total)
}

fn seconds(number: &str, scale: f64) -> Option<Duration> {
    // `f64::from_str` also takes "inf", "1e9" and "+1", none of which a person means here.
    if number.is_empty() || !number.chars().all(|c| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let value: f64 = number.parse().ok()?;
    let micros = (value * scale * 1e6).round();
    Duration::try_from_secs_f64(micros / 1e6).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, millis) in [
            ("500ms", 500),
            ("2s", 2_000),
            ("1m30s", 90_000),
            ("1.5s", 1_500),
            ("2", 2_000),
            ("0", 0),
            ("1h", 3_600_000),
        ] {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["", "s", "-1s", "1d", "1 s", "inf", "1e9", "..", "1.2.3s", "999999999999999999999999h", "1s2", "é"]
        {
            assert_eq!(parse_duration(text), None, "{text}");
        }
    }
}
