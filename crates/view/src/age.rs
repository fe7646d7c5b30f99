//! How long something takes or has lasted, in the few characters people know from kubectl.

use jiff::{SignedDuration, Timestamp};

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// A duration in one or two units, cut to whole ones.
pub fn human(duration: SignedDuration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        ..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds, (MINUTE, "m"), (1, "s")),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds, (HOUR, "h"), (MINUTE, "m")),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds, (DAY, "d"), (HOUR, "h")),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds, (YEAR, "y"), (DAY, "d")),
        _ => format!("{}y", seconds / YEAR),
    }
}

fn two(seconds: i64, (large, large_name): (i64, &str), (small, small_name): (i64, &str)) -> String {
    let (whole, rest) = (seconds / large, seconds % large / small);
    if rest == 0 { format!("{whole}{large_name}") } else { format!("{whole}{large_name}{rest}{small_name}") }
}

/// How old something is. What has no beginning is as old as the longest time people are used to see here.
pub(crate) fn age(since: Option<Timestamp>, now: Timestamp) -> String {
    since.map_or_else(|| "292y".to_owned(), |since| human(now.duration_since(since)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_cut_to_what_people_read_at_a_glance() {
        let cases = [
            (-2, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (118, "118s"),
            (120, "2m"),
            (372, "6m12s"),
            (600, "10m"),
            (3600, "60m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (18_240, "5h4m"),
            (93_600, "26h"),
            (273_600, "3d4h"),
            (604_800, "7d"),
            (691_200, "8d"),
            (41 * DAY, "41d"),
            (740 * DAY, "2y10d"),
            (1095 * DAY, "3y"),
            (9 * YEAR + DAY, "9y"),
        ];
        for (seconds, text) in cases {
            assert_eq!(human(SignedDuration::from_secs(seconds)), text, "{seconds}");
        }
        assert_eq!(human(SignedDuration::from_millis(-1500)), "0s");
        assert_eq!(age(None, Timestamp::UNIX_EPOCH), "292y");
    }
}
