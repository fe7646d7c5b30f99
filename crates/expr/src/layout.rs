//! Times in Go's layouts, where `2006-01-02 15:04:05` shows how the time is written.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

use crate::value::Moment;

/// What `date` tries when no layout is given.
const COMMON: [&str; 8] = [
    "2006-01-02",
    "15:04:05",
    "2006-01-02 15:04:05",
    "2006-01-02T15:04:05Z07:00",
    "02 Jan 06 15:04 MST",
    "Monday, 02-Jan-06 15:04:05 MST",
    "Mon, 02 Jan 2006 15:04:05 MST",
    "Mon, 02 Jan 2006 15:04:05 -0700",
];

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

const DAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

/// One piece of a layout.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece<'a> {
    Year,
    ShortYear,
    Month,
    MonthName,
    ShortMonthName,
    Day,
    DayName,
    ShortDayName,
    Hour,
    Hour12,
    Minute,
    Second,
    Noon,
    Zone,
    Offset { colon: bool, z: bool },
    Fraction(usize),
    Literal(&'a str),
}

const PIECES: [(&str, Piece<'static>); 21] = [
    ("2006", Piece::Year),
    ("January", Piece::MonthName),
    ("Jan", Piece::ShortMonthName),
    ("Monday", Piece::DayName),
    ("Mon", Piece::ShortDayName),
    ("MST", Piece::Zone),
    ("Z07:00", Piece::Offset { colon: true, z: true }),
    ("Z0700", Piece::Offset { colon: false, z: true }),
    ("-07:00", Piece::Offset { colon: true, z: false }),
    ("-0700", Piece::Offset { colon: false, z: false }),
    (".000000000", Piece::Fraction(9)),
    (".000000", Piece::Fraction(6)),
    (".000", Piece::Fraction(3)),
    ("PM", Piece::Noon),
    ("01", Piece::Month),
    ("02", Piece::Day),
    ("03", Piece::Hour12),
    ("04", Piece::Minute),
    ("05", Piece::Second),
    ("06", Piece::ShortYear),
    ("15", Piece::Hour),
];

fn pieces(layout: &str) -> Vec<Piece<'_>> {
    let mut found = Vec::new();
    let mut rest = layout;
    while let Some(first) = rest.chars().next() {
        let known = PIECES.iter().find(|(text, _)| rest.starts_with(text));
        let (piece, length) = match known {
            Some((text, piece)) => (*piece, text.len()),
            None => (Piece::Literal(&rest[..first.len_utf8()]), first.len_utf8()),
        };
        found.push(piece);
        rest = &rest[length..];
    }
    found
}

#[derive(Default)]
struct Parts {
    year: Option<i16>,
    month: Option<i8>,
    day: Option<i8>,
    hour: i8,
    minute: i8,
    second: i8,
    nanoseconds: i32,
    afternoon: Option<bool>,
    offset: Option<i32>,
}

/// Reads a time; `offset` is the zone of texts that name none.
pub(crate) fn parse(text: &str, layout: &str, offset: i32) -> Option<Moment> {
    let mut rest = text;
    let mut parts = Parts::default();
    for piece in pieces(layout) {
        rest = take(piece, rest, &mut parts)?;
    }
    if !rest.is_empty() {
        return None;
    }
    let hour = match (parts.afternoon, parts.hour) {
        (Some(true), hour) if hour < 12 => hour + 12,
        (Some(false), 12) => 0,
        (_, hour) => hour,
    };
    let date = Date::new(parts.year.unwrap_or(0), parts.month.unwrap_or(1), parts.day.unwrap_or(1)).ok()?;
    let time = Time::new(hour, parts.minute, parts.second, parts.nanoseconds).ok()?;
    let offset = parts.offset.unwrap_or(offset);
    let at = Offset::from_seconds(offset).ok()?.to_timestamp(DateTime::from_parts(date, time)).ok()?;
    Some(Moment { at, offset })
}

/// Reads a time in one of the usual layouts.
pub(crate) fn parse_common(text: &str, offset: i32) -> Option<Moment> {
    COMMON.iter().find_map(|layout| parse(text, layout, offset))
}

fn digits(text: &str, width: usize) -> Option<(i16, &str)> {
    let number = text.get(..width).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()))?;
    Some((number.parse().ok()?, &text[width..]))
}

fn name<'a>(text: &'a str, names: &[&str], length: Option<usize>) -> Option<(usize, &'a str)> {
    let mut found = names.iter().enumerate();
    found.find_map(|(index, name)| {
        let name = length.map_or(*name, |length| &name[..length]);
        let head = text.get(..name.len())?;
        head.eq_ignore_ascii_case(name).then(|| (index, &text[name.len()..]))
    })
}

fn take<'a>(piece: Piece<'_>, text: &'a str, parts: &mut Parts) -> Option<&'a str> {
    let two = |text: &'a str| digits(text, 2).map(|(number, rest)| (number as i8, rest));
    let rest;
    match piece {
        Piece::Year => {
            let (year, after) = digits(text, 4)?;
            (parts.year, rest) = (Some(year), after);
        }
        Piece::ShortYear => {
            let (year, after) = digits(text, 2)?;
            (parts.year, rest) = (Some(if year >= 69 { 1900 + year } else { 2000 + year }), after);
        }
        Piece::Month => {
            let (month, after) = two(text)?;
            (parts.month, rest) = (Some(month), after);
        }
        Piece::MonthName | Piece::ShortMonthName => {
            let (index, after) = name(text, &MONTHS, (piece == Piece::ShortMonthName).then_some(3))?;
            (parts.month, rest) = (Some(index as i8 + 1), after);
        }
        Piece::Day => {
            let (day, after) = two(text)?;
            (parts.day, rest) = (Some(day), after);
        }
        Piece::DayName | Piece::ShortDayName => {
            rest = name(text, &DAYS, (piece == Piece::ShortDayName).then_some(3))?.1;
        }
        Piece::Hour | Piece::Hour12 => (parts.hour, rest) = two(text)?,
        Piece::Minute => (parts.minute, rest) = two(text)?,
        Piece::Second => {
            let (second, after) = two(text)?;
            parts.second = second;
            // A fraction is accepted after the seconds whether or not the layout has one.
            rest = fraction(after, parts);
        }
        Piece::Noon => {
            let (index, after) = name(text, &["AM", "PM"], None)?;
            (parts.afternoon, rest) = (Some(index == 1), after);
        }
        Piece::Zone => {
            rest = text.strip_prefix("UTC").or_else(|| text.strip_prefix("GMT"))?;
            parts.offset = Some(0);
        }
        Piece::Offset { colon, z } => {
            let (offset, after) = offset(text, colon, z)?;
            (parts.offset, rest) = (Some(offset), after);
        }
        // The seconds have taken it already.
        Piece::Fraction(_) => rest = text,
        Piece::Literal(literal) => rest = text.strip_prefix(literal)?,
    }
    Some(rest)
}

fn fraction<'a>(text: &'a str, parts: &mut Parts) -> &'a str {
    let Some(after) = text.strip_prefix('.') else { return text };
    let length = after.bytes().take_while(u8::is_ascii_digit).count();
    if length == 0 {
        return text;
    }
    let padded: String = after[..length].chars().chain(std::iter::repeat('0')).take(9).collect();
    parts.nanoseconds = padded.parse().unwrap_or(0);
    &after[length..]
}

fn offset(text: &str, colon: bool, z: bool) -> Option<(i32, &str)> {
    if z && let Some(rest) = text.strip_prefix('Z') {
        return Some((0, rest));
    }
    let sign = match text.bytes().next()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, rest) = digits(&text[1..], 2)?;
    let rest = if colon { rest.strip_prefix(':')? } else { rest };
    let (minutes, rest) = digits(rest, 2)?;
    Some((sign * (i32::from(hours) * 3_600 + i32::from(minutes) * 60), rest))
}

/// Date and time as shown in the moment's own zone.
pub(crate) fn civil(moment: Moment) -> DateTime {
    Offset::from_seconds(moment.offset).unwrap_or(Offset::UTC).to_datetime(moment.at)
}

/// Writes a time.
pub(crate) fn format(moment: Moment, layout: &str) -> String {
    let at = civil(moment);
    let write = |piece: Piece<'_>| match piece {
        Piece::Year => format!("{:04}", at.year()),
        Piece::ShortYear => format!("{:02}", at.year().rem_euclid(100)),
        Piece::Month => format!("{:02}", at.month()),
        Piece::MonthName => month_name(at.month()).to_owned(),
        Piece::ShortMonthName => month_name(at.month())[..3].to_owned(),
        Piece::Day => format!("{:02}", at.day()),
        Piece::DayName => day_name(at).to_owned(),
        Piece::ShortDayName => day_name(at)[..3].to_owned(),
        Piece::Hour => format!("{:02}", at.hour()),
        Piece::Hour12 => format!("{:02}", (at.hour() + 11) % 12 + 1),
        Piece::Minute => format!("{:02}", at.minute()),
        Piece::Second => format!("{:02}", at.second()),
        Piece::Noon => if at.hour() < 12 { "AM" } else { "PM" }.to_owned(),
        Piece::Zone if moment.offset == 0 => "UTC".to_owned(),
        Piece::Zone => offset_text(moment.offset, false),
        Piece::Offset { z: true, .. } if moment.offset == 0 => "Z".to_owned(),
        Piece::Offset { colon, .. } => offset_text(moment.offset, colon),
        Piece::Fraction(width) => format!(".{}", &format!("{:09}", at.subsec_nanosecond())[..width]),
        Piece::Literal(text) => text.to_owned(),
    };
    pieces(layout).into_iter().map(write).collect()
}

/// The name of a month from 1 to 12.
pub(crate) fn month_name(month: i8) -> &'static str {
    MONTHS.get(month as usize - 1).copied().unwrap_or_default()
}

/// The name of the day of the week.
pub(crate) fn day_name(at: DateTime) -> &'static str {
    DAYS[at.weekday().to_monday_zero_offset() as usize % 7]
}

fn offset_text(offset: i32, colon: bool) -> String {
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.abs() / 60;
    let between = if colon { ":" } else { "" };
    format!("{sign}{:02}{between}{:02}", minutes / 60, minutes % 60)
}

/// RFC 3339.
pub(crate) fn rfc3339(moment: Moment) -> String {
    format(moment, "2006-01-02T15:04:05Z07:00")
}

/// The form `%v` shows.
pub(crate) fn default_text(moment: Moment) -> String {
    format(moment, "2006-01-02 15:04:05 -0700 MST")
}

/// The moment in UTC.
pub(crate) fn utc(at: Timestamp) -> Moment {
    Moment { at, offset: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_and_written_by_layout() {
        let layout = "2006-01-02 15:04:05";
        let moment = parse("2024-02-03 04:05:06", layout, 0).unwrap();
        assert_eq!(moment.at.to_string(), "2024-02-03T04:05:06Z");
        assert_eq!(format(moment, "Mon, 02 Jan 06 03:04 PM MST"), "Sat, 03 Feb 24 04:05 AM UTC");
        assert_eq!(parse_common("2024-02-03T04:05:06.5+02:00", 0).unwrap().at.to_string(), "2024-02-03T02:05:06.5Z");
        assert_eq!(parse("2024-13-03 04:05:06", layout, 0), None);
    }
}
