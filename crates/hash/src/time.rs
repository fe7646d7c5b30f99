//! Times in object metadata: read as RFC 3339, printed in UTC with whole seconds.

/// The canonical form of a time, or `None` when it is the zero time, which prints as if it were absent.
///
/// Fails (`Err`) on text that is not a time, or whose year in UTC has no four digits.
pub(crate) fn canonical_time(text: &str) -> Result<Option<String>, NotATime> {
    let mut scan = Scan { rest: text.as_bytes() };
    let year = scan.digits(4)?;
    scan.byte(b'-')?;
    let month = scan.digits(2)?;
    scan.byte(b'-')?;
    let day = scan.digits(2)?;
    scan.byte(b'T')?;
    let hour = scan.hour()?;
    scan.byte(b':')?;
    let minute = scan.digits(2)?;
    scan.byte(b':')?;
    let second = scan.digits(2)?;
    scan.skip_fraction();
    let offset = scan.offset_minutes()?;
    let in_range = (1..=12).contains(&month) && (1..=days_in(year, month)).contains(&day);
    if !scan.rest.is_empty() || !in_range || hour > 23 || minute > 59 || second > 59 {
        return Err(NotATime);
    }
    // In minutes since the first day of year 0: the offset has no seconds.
    let minutes = (days_before(year, month) + day - 1) * 1440 + hour * 60 + minute - offset;
    print(minutes, second)
}

/// The text is not an RFC 3339 time.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotATime;

fn print(minutes: i64, second: i64) -> Result<Option<String>, NotATime> {
    let (mut days, minute_of_day) = (minutes.div_euclid(1440), minutes.rem_euclid(1440));
    if !(0..days_before(10_000, 1)).contains(&days) {
        return Err(NotATime);
    }
    // 400 years have 146097 days; the estimate is at most one year off.
    let mut year = days * 400 / 146_097;
    while days_before(year, 1) > days {
        year -= 1;
    }
    while days_before(year + 1, 1) <= days {
        year += 1;
    }
    days -= days_before(year, 1);
    let mut month = 1;
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    let (day, hour, minute) = (days + 1, minute_of_day / 60, minute_of_day % 60);
    if (year, month, day, minute_of_day, second) == (1, 1, 1, 0, 0) {
        return Ok(None);
    }
    Ok(Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the first day of year 0 to the first day of this month.
fn days_before(year: i64, month: i64) -> i64 {
    // Leap years before `year`, counting year 0 itself.
    let leap_years = (year + 3) / 4 - (year + 99) / 100 + (year + 399) / 400;
    let in_year: i64 = (1..month.min(13)).map(|month| days_in(year, month)).sum();
    year * 365 + leap_years + in_year
}

struct Scan<'a> {
    rest: &'a [u8],
}

impl Scan<'_> {
    fn byte(&mut self, want: u8) -> Result<(), NotATime> {
        match self.rest.split_first() {
            Some((found, rest)) if *found == want => {
                self.rest = rest;
                Ok(())
            }
            _ => Err(NotATime),
        }
    }

    fn digits(&mut self, count: usize) -> Result<i64, NotATime> {
        let (digits, rest) = self.rest.split_at_checked(count).ok_or(NotATime)?;
        if !digits.iter().all(u8::is_ascii_digit) {
            return Err(NotATime);
        }
        self.rest = rest;
        Ok(digits.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
    }

    /// Go reads an hour of one digit too.
    fn hour(&mut self) -> Result<i64, NotATime> {
        let one = !self.rest.get(1).is_some_and(u8::is_ascii_digit);
        self.digits(if one { 1 } else { 2 })
    }

    /// A fraction is accepted, with point or comma, and does not count.
    fn skip_fraction(&mut self) {
        if let [b'.' | b',', b'0'..=b'9', ..] = self.rest {
            self.rest = &self.rest[1..];
            while let [b'0'..=b'9', rest @ ..] = self.rest {
                self.rest = rest;
            }
        }
    }

    fn offset_minutes(&mut self) -> Result<i64, NotATime> {
        if self.byte(b'Z').is_ok() {
            return Ok(0);
        }
        let sign = if self.byte(b'+').is_ok() {
            1
        } else {
            self.byte(b'-')?;
            -1
        };
        let hours = self.digits(2)?;
        self.byte(b':')?;
        let minutes = self.digits(2)?;
        if hours > 24 || minutes > 60 { Err(NotATime) } else { Ok(sign * (hours * 60 + minutes)) }
    }
}

#[cfg(test)]
mod tests {
    use super::{NotATime, canonical_time};

    #[test]
    fn times_print_in_utc_with_whole_seconds() {
        for (text, printed) in [
            ("2026-01-31T10:00:00Z", "2026-01-31T10:00:00Z"),
            ("2026-01-01T00:30:05.999999999999+01:00", "2025-12-31T23:30:05Z"),
            ("2024-02-28T23:30:00-01:00", "2024-02-29T00:30:00Z"),
            ("2000-12-31T23:59:59,5-00:01", "2001-01-01T00:00:59Z"),
            ("1900-03-01T00:00:00+00:01", "1900-02-28T23:59:00Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
            ("2026-01-31T1:00:00Z", "2026-01-31T01:00:00Z"),
        ] {
            assert_eq!(canonical_time(text), Ok(Some(printed.to_owned())), "{text}");
        }
    }

    #[test]
    fn every_day_of_four_centuries_prints_as_it_was_read() {
        for year in 1800..2200 {
            for month in 1..=12 {
                for day in 1..=super::days_in(year, month) {
                    let text = format!("{year:04}-{month:02}-{day:02}T12:00:00Z");
                    assert_eq!(canonical_time(&text), Ok(Some(text.clone())));
                }
            }
        }
    }

    #[test]
    fn the_zero_time_is_no_time() {
        assert_eq!(canonical_time("0001-01-01T00:00:00Z"), Ok(None));
        assert_eq!(canonical_time("0001-01-01T01:00:00.5+01:00"), Ok(None));
    }

    #[test]
    fn text_that_is_no_time_is_refused() {
        for text in [
            "",
            "2026-01-31",
            "2026-01-31 10:00:00Z",
            "2026-02-30T10:00:00Z",
            "2026-13-01T10:00:00Z",
            "2026-01-31T24:00:00Z",
            "2026-01-31T10:00:60Z",
            "2026-01-31T10:00:00",
            "2026-01-31T10:00:00Zx",
            "2026-01-31T10:00:00.Z",
            "2026-00-01T00:00:00Z",
            "9999-12-31T23:59:59-01:00",
            "0000-01-01T00:00:00+01:00",
            "2026-01-31T10:00:00+0100",
            "2026-01-31t10:00:00z",
            "é",
        ] {
            assert_eq!(canonical_time(text), Err(NotATime), "{text}");
        }
    }
}
