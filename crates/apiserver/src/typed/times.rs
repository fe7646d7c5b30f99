//! Times and durations of typed kinds, with the words of the real parser.

use jiff::Timestamp;

use super::table::Type;

const SECONDS: &str = "2006-01-02T15:04:05Z07:00";
const MICROSECONDS: &str = "2006-01-02T15:04:05.000000Z07:00";

/// Checks a time and writes it as its type does: in UTC, with or without microseconds. None if it is written so
/// already.
pub(super) fn decode(text: &str, kind: &Type) -> Result<Option<String>, String> {
    let layout = match kind {
        Type::MicroTime => MICROSECONDS,
        Type::Time => SECONDS,
        _ => return Ok(None),
    };
    let refuse = |why: String| format!("parsing time {text:?}{why}");
    walk(text, layout).map_err(refuse)?;
    if is_usual(text, layout) {
        return Ok(None);
    }
    let time: Timestamp = text.parse().map_err(|_| refuse(": day out of range".to_owned()))?;
    let digits = usize::from(layout == MICROSECONDS) * 6;
    Ok(Some(if digits == 0 {
        time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    } else {
        time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
    }))
}

/// Whether a time that fits its layout is one that this server writes itself, on a day that every month has: objects
/// are full of them, and reading and writing each again would change nothing.
fn is_usual(text: &str, layout: &str) -> bool {
    let length = if layout == MICROSECONDS { "2006-01-02T15:04:05.000000Z" } else { "2006-01-02T15:04:05Z" }.len();
    text.len() == length
        && text.ends_with('Z')
        && text.starts_with('2')
        && text.get(8..10).is_some_and(|day| day < "29")
}

/// The parts of a layout with the number of digits each takes, the text between them standing for itself.
const PARTS: [(&str, usize, u32, &str); 6] = [
    ("2006", 4, 9999, ""),
    ("01", 2, 12, "month"),
    ("02", 2, 31, "day"),
    ("15", 2, 23, "hour"),
    ("04", 2, 59, "minute"),
    ("05", 2, 59, "second"),
];

fn walk(text: &str, layout: &str) -> Result<(), String> {
    let cannot = |rest: &str, part: &str| format!(" as {layout:?}: cannot parse {rest:?} as {part:?}");
    let mut rest = text;
    for ((part, digits, most, word), before) in PARTS.iter().zip(["", "-", "-", "T", ":", ":"]) {
        rest = rest.strip_prefix(before).ok_or_else(|| cannot(rest, before))?;
        let number = rest.get(..*digits).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
        let number: u32 = number.and_then(|d| d.parse().ok()).ok_or_else(|| cannot(rest, part))?;
        if number > *most || number == 0 && matches!(*word, "month" | "day") {
            return Err(format!(": {word} out of range"));
        }
        rest = rest.get(*digits..).unwrap_or_default();
    }
    if layout == MICROSECONDS {
        let fraction =
            rest.strip_prefix('.').and_then(|r| r.get(..6)).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
        fraction.ok_or_else(|| cannot(rest, ".000000"))?;
        rest = rest.get(7..).unwrap_or_default();
    } else if let Some(fraction) = rest.strip_prefix(['.', ',']) {
        rest = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    let zone = rest == "Z"
        || rest.len() == 6
            && rest.starts_with(['+', '-'])
            && rest.bytes().enumerate().skip(1).all(|(i, b)| if i == 3 { b == b':' } else { b.is_ascii_digit() });
    if zone {
        return Ok(());
    }
    match rest.strip_prefix('Z') {
        Some(extra) => Err(format!(": extra text: {extra:?}")),
        None => Err(cannot(rest, "Z07:00")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_in_utc_with_the_digits_of_their_type() {
        let time = |text: &str| decode(text, &Type::Time).unwrap().unwrap_or_else(|| text.to_owned());
        assert_eq!(time("2020-01-01T00:00:00+01:00"), "2019-12-31T23:00:00Z");
        assert_eq!(time("2020-01-01T00:00:00.123Z"), "2020-01-01T00:00:00Z");
        assert_eq!(time("2020-01-01T00:00:00,5Z"), "2020-01-01T00:00:00Z");
        assert_eq!(time("2020-01-30T00:00:00Z"), "2020-01-30T00:00:00Z");
        assert!(decode("2020-02-30T00:00:00Z", &Type::Time).is_err());
        assert_eq!(decode("2020-01-01T00:00:10.500000Z", &Type::MicroTime), Ok(None));
    }

    #[test]
    fn wrong_times_are_refused_in_gos_words() {
        let refused = |text: &str, kind: &Type| decode(text, kind).unwrap_err();
        assert_eq!(
            refused("yesterday", &Type::MicroTime),
            "parsing time \"yesterday\" as \"2006-01-02T15:04:05.000000Z07:00\": cannot parse \"yesterday\" as \"2006\""
        );
        assert_eq!(
            refused("2020-13-01T00:00:00Z", &Type::Time),
            "parsing time \"2020-13-01T00:00:00Z\": month out of range"
        );
    }
}
