//! Durations, shares and ranges, as people write them and as they are shown.

use std::time::Duration;

use tidegate_api::duration::GoDuration;

/// The longest time anything may take: a year.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 3600);

/// From one time to another, both possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The shortest.
    pub from: Duration,
    /// The longest.
    pub to: Duration,
}

/// Reads `90s`, `1m30s` or `1.5h`.
///
/// # Errors
/// What it must be.
pub fn duration(text: &str) -> Result<Duration, String> {
    let read = GoDuration::parse(text.trim()).ok().and_then(|read| u64::try_from(read.as_nanoseconds()).ok());
    let read = read.map(Duration::from_nanos).filter(|read| *read <= LONGEST);
    read.ok_or_else(|| format!("{text:?} is no duration such as 500ms, 30s or 1h30m (a year at most)"))
}

/// Reads `5s`, or `2s-10s`.
///
/// # Errors
/// What it must be.
pub fn span(text: &str) -> Result<Span, String> {
    let read = match text.split_once('-') {
        None => duration(text).map(|both| Span { from: both, to: both }),
        Some((from, to)) => duration(from).and_then(|from| Ok(Span { from, to: duration(to)? })),
    };
    match read {
        Ok(span) if span.from <= span.to => Ok(span),
        Ok(_) => Err(format!("{text:?} ends before it begins; write the shorter time first")),
        Err(_) => Err(format!("{text:?} is neither a duration such as 5s nor a range such as 2s-10s")),
    }
}

/// Reads `5%` or `0.05`.
///
/// # Errors
/// What it must be.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, full) = text.trim().strip_suffix('%').map_or((text.trim(), 1.0), |number| (number, 100.0));
    let read = number.parse::<f64>().ok().map(|number| number / full);
    read.filter(|share| (0.0..=1.0).contains(share))
        .ok_or_else(|| format!("{text:?} is no share such as 5% or 0.05 (from 0 to 1)"))
}

/// A time as people read it: `1h2m3s`, `42s`, `0.3s`.
pub fn shown(time: Duration) -> String {
    let seconds = time.as_secs();
    let tenths = time.subsec_millis() / 100;
    if seconds < 10 && tenths > 0 {
        return format!("{seconds}.{tenths}s");
    }
    let parts = [(seconds / 3600, 'h'), (seconds / 60 % 60, 'm'), (seconds % 60, 's')];
    let text: String = parts.iter().filter(|(n, _)| *n > 0).map(|(n, unit)| format!("{n}{unit}")).collect();
    if text.is_empty() { "0s".to_owned() } else { text }
}

/// A number with its thousands apart.
pub fn counted(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A part of a whole in percent; `-` of nothing.
pub fn percent(part: u64, whole: u64) -> String {
    if whole == 0 {
        return "-".to_owned();
    }
    format!("{:.1}%", part as f64 / whole as f64 * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read() {
        let seconds = Duration::from_secs;
        assert_eq!(span("2s-10s"), Ok(Span { from: seconds(2), to: seconds(10) }));
        assert_eq!(span("5s"), Ok(Span { from: seconds(5), to: seconds(5) }));
        assert_eq!((share("5%"), share("0.05")), (Ok(0.05), Ok(0.05)));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for text in ["10s-2s", "-5s", "soon", "", "1s-", "10000h"] {
            assert!(span(text).is_err(), "{text}");
        }
        for text in ["101%", "-1", "many", "NaN", ""] {
            assert!(share(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_and_numbers_are_shown_as_people_read_them() {
        let millis = Duration::from_millis;
        assert_eq!(
            [shown(millis(0)), shown(millis(300)), shown(millis(42_900)), shown(millis(3_723_000))],
            ["0s", "0.3s", "42s", "1h2m3s"]
        );
        assert_eq!([counted(7), counted(1234), counted(1_234_567)], ["7", "1,234", "1,234,567"]);
        assert_eq!([percent(1, 4), percent(0, 0)], ["25.0%", "-"]);
    }
}
