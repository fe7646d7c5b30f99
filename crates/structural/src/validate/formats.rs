//! Formats of text. A format that is not known restricts nothing.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::LazyLock;

use crate::pattern::Pattern;

/// Formats of text and numbers that have a meaning.
const KNOWN: [&str; 29] = [
    "bsonobjectid",
    "byte",
    "cidr",
    "creditcard",
    "date",
    "date-time",
    "datetime",
    "double",
    "duration",
    "email",
    "float",
    "hexcolor",
    "hostname",
    "int32",
    "int64",
    "ipv4",
    "ipv6",
    "isbn",
    "isbn10",
    "isbn13",
    "mac",
    "password",
    "rgbcolor",
    "ssn",
    "uri",
    "uuid",
    "uuid3",
    "uuid4",
    "uuid5",
];

pub(super) fn is_known(format: &str) -> bool {
    KNOWN.contains(&format)
}

pub(super) fn fits(format: &str, text: &str) -> bool {
    match format {
        "date-time" | "datetime" => date_time(text),
        "date" => date(text),
        "duration" => duration(text),
        "byte" => base64(text),
        "ipv4" => ipv4(text),
        "ipv6" => text.parse::<Ipv6Addr>().is_ok(),
        "cidr" => cidr(text),
        "uri" => uri(text),
        "email" => email(text),
        "hostname" => hostname(text),
        "uuid" => uuid(text),
        "mac" => mac(text),
        "hexcolor" => matches(&HEX_COLOR, text),
        _ => true,
    }
}

type Compiled = LazyLock<Option<Pattern>>;

/// A pattern of ours: `None` would be a mistake that the tests below notice.
fn matches(pattern: &Compiled, text: &str) -> bool {
    pattern.as_ref().is_none_or(|pattern| pattern.matches(text))
}

static DATE_TIME: Compiled = LazyLock::new(|| {
    Pattern::read(r"^\d{4}-\d\d-\d\d[Tt]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$").ok()
});
static DATE: Compiled = LazyLock::new(|| Pattern::read(r"^\d{4}-\d\d-\d\d$").ok());
static DURATION: Compiled = LazyLock::new(|| {
    Pattern::read(r"^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*$").ok()
});
static SPOKEN_DURATION: Compiled = LazyLock::new(|| {
    Pattern::read(
        r"^(\d+)\s*(ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|wks?|weeks?)$",
    )
    .ok()
});
static ISO_DURATION: Compiled =
    LazyLock::new(|| Pattern::read(r"^P(\d+Y)?(\d+M)?(\d+W)?(\d+D)?(T(\d+H)?(\d+M)?(\d+(\.\d+)?S)?)?$").ok());
static HOSTNAME: Compiled = LazyLock::new(|| Pattern::read(r"^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$").ok());
static UUID: Compiled = LazyLock::new(|| {
    Pattern::read(r"^[0-9A-Fa-f]{8}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{4}-?[0-9A-Fa-f]{12}$").ok()
});
static HEX_COLOR: Compiled = LazyLock::new(|| Pattern::read(r"^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$").ok());
static BASE64: Compiled = LazyLock::new(|| {
    Pattern::read(r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)$").ok()
});
static EMAIL: Compiled = LazyLock::new(|| Pattern::read(r"^([^<>]*<[^@\s<>]+@[^@\s<>]+>|[^@\s<>]+@[^@\s<>]+)$").ok());

fn date_time(text: &str) -> bool {
    matches(&DATE_TIME, text) && text.get(..10).is_some_and(date)
}

fn date(text: &str) -> bool {
    if !matches(&DATE, text) {
        return false;
    }
    let mut parts = text.split('-').map(|part| part.parse::<u32>().unwrap_or(0));
    let (year, month, day) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        _ => 0,
    };
    (1..=last).contains(&day)
}

fn duration(text: &str) -> bool {
    matches(&DURATION, text)
        || matches(&SPOKEN_DURATION, text)
        || (matches(&ISO_DURATION, text) && text.ends_with(|c: char| c.is_ascii_uppercase() && c != 'P' && c != 'T'))
}

fn base64(text: &str) -> bool {
    matches(&BASE64, text)
}

/// Four numbers; a leading zero is no harm.
fn ipv4(text: &str) -> bool {
    let mut parts = 0;
    let fits = text.split('.').all(|part| {
        parts += 1;
        (1..=3).contains(&part.len())
            && part.bytes().all(|byte| byte.is_ascii_digit())
            && part.parse::<u16>().is_ok_and(|number| number < 256)
    });
    fits && parts == 4
}

fn cidr(text: &str) -> bool {
    let Some((address, length)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    length.bytes().all(|byte| byte.is_ascii_digit()) && length.parse::<u8>().is_ok_and(|length| length <= most)
}

/// A path from the root, or anything with a scheme.
fn uri(text: &str) -> bool {
    if text.contains([' ', '\u{7f}']) || text.chars().any(char::is_control) {
        return false;
    }
    let with_scheme = text.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    });
    text.starts_with('/') || with_scheme
}

fn email(text: &str) -> bool {
    matches(&EMAIL, text)
}

/// One label: the API server refuses dots.
fn hostname(text: &str) -> bool {
    matches(&HOSTNAME, text)
}

fn uuid(text: &str) -> bool {
    matches(&UUID, text)
}

/// Groups of two digits with colons or dashes, or of four with dots; 6, 8 or 20 bytes.
fn mac(text: &str) -> bool {
    let groups = |separator: char, size: usize| {
        let parts: Vec<&str> = text.split(separator).collect();
        let hex = |part: &&str| part.len() == size && part.bytes().all(|byte| byte.is_ascii_hexdigit());
        matches!(parts.len() * size / 2, 6 | 8 | 20) && parts.iter().all(hex)
    };
    groups(':', 2) || groups('-', 2) || groups('.', 4)
}

#[cfg(test)]
mod tests {
    use super::{
        BASE64, DATE, DATE_TIME, DURATION, EMAIL, HEX_COLOR, HOSTNAME, ISO_DURATION, SPOKEN_DURATION, UUID, fits,
    };

    #[test]
    fn every_pattern_here_compiles() {
        for pattern in [
            &DATE_TIME,
            &DATE,
            &DURATION,
            &SPOKEN_DURATION,
            &ISO_DURATION,
            &HOSTNAME,
            &UUID,
            &HEX_COLOR,
            &BASE64,
            &EMAIL,
        ] {
            assert!(pattern.is_some());
        }
    }

    /// Tried on a real API server.
    #[test]
    fn given_a_text_then_it_fits_its_format_as_on_a_real_server() {
        for (format, good, bad) in [
            (
                "date-time",
                &[
                    "2020-01-01T00:00:00Z",
                    "2020-01-01t00:00:00z",
                    "2020-01-01T00:00:00+02:00",
                    "2020-01-01T00:00:00.123456789Z",
                ][..],
                &[
                    "2020-01-01 00:00:00Z",
                    "2020-01-01T00:00:00",
                    "2020-13-01T00:00:00Z",
                    "2020-02-30T00:00:00Z",
                    "2020-01-01T24:00:00Z",
                    "2020-01-01T00:00:60Z",
                    "2020-01-01T00:00:00.Z",
                    "2020-01-01T00:00:00+0200",
                    "",
                ][..],
            ),
            ("date", &["2020-01-01"], &["2020-02-30", "2020-1-1", ""]),
            (
                "duration",
                &["5m", "1h30m", "1.5h", "3 days", "2 weeks", "-1s", "P1D", "1d", "1us"],
                &["5", "", "zz!! z"],
            ),
            ("byte", &["aGk="], &["aGk", "aG k=", "", "!!"]),
            ("ipv4", &["1.2.3.4", "01.2.3.4"], &["::1", "1.2.3", ""]),
            ("ipv6", &["::1", "::ffff:1.2.3.4"], &["1.2.3.4", ""]),
            ("cidr", &["10.0.0.0/8", "10.0.0.1/8", "::/0"], &["10.0.0.0", "10.0.0.0/33"]),
            ("uri", &["http://a", "/a", "a:b"], &["a", "", "http://a b"]),
            ("email", &["a@b", "a@b.c", "A <a@b.c>"], &["x", ""]),
            ("hostname", &["a"], &["a.b", "-a", "a_b", "", "a..b", "1.2.3.4"]),
            ("uuid", &["123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"], &["x", ""]),
            ("mac", &["01:23:45:67:89:ab", "0123.4567.89ab"], &["x"]),
            ("password", &["zz!! z"], &[]),
            ("bogus", &["zz!! z"], &[]),
            ("quantity", &["x"], &[]),
        ] {
            for text in good {
                assert!(fits(format, text), "{format} {text}");
            }
            for text in bad {
                assert!(!fits(format, text), "{format} {text}");
            }
        }
    }
}
