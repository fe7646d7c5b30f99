//! Values of flags, refused in the words people know.

use std::time::Duration;

use tidegate_api::duration::GoDuration;

/// A boolean as Go reads it.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(format!("strconv.ParseBool: parsing {text:?}: invalid syntax")),
    }
}

/// A duration as Go reads it.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration = GoDuration::parse(text).map_err(|error| error.to_string())?;
    // A negative time is over before it begins; so is none at all, which means "without end" where it is asked for.
    Ok(Duration::from_nanos(u64::try_from(duration.as_nanoseconds()).unwrap_or(1)))
}

/// The time a request may take: a duration, or a number of seconds.
pub(crate) fn request_timeout(text: &str) -> Result<Duration, String> {
    match text.parse::<u32>() {
        Ok(seconds) => Ok(Duration::from_secs(u64::from(seconds))),
        Err(_) => duration(text).map_err(|_| {
            format!("Invalid timeout value. Timeout must be a single integer in seconds, or an integer followed by a corresponding time unit (e.g. 1s | 2m | 3h): {text:?}")
        }),
    }
}

/// A whole number as Go reads it.
pub(crate) fn integer(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))
}
