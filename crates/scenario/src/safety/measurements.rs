//! (I10) What a verdict rests on: measurements are taken in their time, never changed, and none is counted twice or lost.

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::journal::{Change, Mirror};

use super::SUBJECT;
use super::objects::{name, text};

const RUNS: &str = "analysisruns.argoproj.io";
/// Seconds to the next try after an error.
const AFTER_AN_ERROR: i64 = 10;

/// Looks at every status of a run.
pub(super) struct Measurements;

fn results(run: &Value) -> &[Value] {
    run["status"]["metricResults"].as_array().map_or(&[], Vec::as_slice)
}

fn measurements(result: &Value) -> &[Value] {
    result["measurements"].as_array().map_or(&[], Vec::as_slice)
}

/// How many measurements have ended, also those that are no longer kept.
fn ended(result: &Value) -> usize {
    let number = |field: &str| usize::try_from(result[field].as_u64().unwrap_or(0)).unwrap_or(0);
    number("count") + number("error")
}

fn second(time: &Value) -> Option<i64> {
    Some(text(time).parse::<jiff::Timestamp>().ok()?.as_second())
}

/// Kept measurements that have ended, each with its number.
fn numbered(result: &Value) -> impl Iterator<Item = (usize, &Value)> {
    let kept: Vec<&Value> =
        measurements(result).iter().filter(|measurement| measurement["finishedAt"].is_string()).collect();
    let first = ended(result).saturating_sub(kept.len());
    kept.into_iter().enumerate().map(move |(index, measurement)| (first + index, measurement))
}

/// The interval of a metric in whole seconds, as these scenarios write it.
fn interval(run: &Value, metric: &str) -> Option<i64> {
    let metrics = run["spec"]["metrics"].as_array()?;
    let metric = metrics.iter().find(|found| text(&found["name"]) == metric)?;
    text(&metric["interval"]).strip_suffix('s')?.parse().ok()
}

fn judge_history(old: &Value, new: &Value) -> Result<(), String> {
    if ended(new) < ended(old) {
        return Err(format!("{} measurements became {}", ended(old), ended(new)));
    }
    for (number, measurement) in numbered(old) {
        let now = numbered(new).find(|(found, _)| *found == number);
        if now.is_some_and(|(_, now)| now != measurement) {
            return Err(format!("measurement {number} became another one"));
        }
    }
    Ok(())
}

fn judge_pace(run: &Value, result: &Value) -> Result<(), String> {
    let Some(interval) = interval(run, text(&result["name"])) else { return Ok(()) };
    for pair in measurements(result).windows(2) {
        let (Some(end), Some(begin)) = (second(&pair[0]["finishedAt"]), second(&pair[1]["startedAt"])) else {
            continue;
        };
        let pause = if pair[0]["phase"] == "Error" { AFTER_AN_ERROR } else { interval };
        if begin < end + pause {
            return Err(format!("measured {} s after the last one ended, and {pause} s were asked for", begin - end));
        }
    }
    Ok(())
}

impl Invariant for Measurements {
    fn name(&self) -> &'static str {
        "I10: measurements are taken in their time and stay as they are"
    }

    fn on_change(&mut self, change: &Change, _: &Mirror) -> Result<(), String> {
        if change.key.0 != RUNS || change.client != SUBJECT || change.removed {
            return Ok(());
        }
        let told = |problem: String| format!("run {}: {problem}", name(&change.new));
        for result in results(&change.new) {
            judge_pace(&change.new, result).map_err(told)?;
            let before = change.old.as_ref().map(|old| results(old)).unwrap_or_default();
            if let Some(before) = before.iter().find(|before| before["name"] == result["name"]) {
                judge_history(before, result).map_err(told)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn result(count: u64, times: &[(&str, &str)]) -> Value {
        let all: Vec<Value> = times
            .iter()
            .map(|(begin, end)| {
                let at = |second: &str| format!("2026-01-01T00:00:{second}Z");
                json!({"phase": "Successful", "startedAt": at(begin), "finishedAt": at(end)})
            })
            .collect();
        json!({"name": "m", "count": count, "measurements": all})
    }

    #[test]
    fn a_measurement_before_its_time_is_noticed() {
        let run = json!({"spec": {"metrics": [{"name": "m", "interval": "5s"}]}});
        assert_eq!(judge_pace(&run, &result(2, &[("00", "01"), ("06", "06")])), Ok(()));
        assert!(judge_pace(&run, &result(2, &[("00", "01"), ("05", "05")])).is_err());
        let mut failed = result(2, &[("00", "00"), ("05", "05")]);
        if let Some(first) = failed.pointer_mut("/measurements/0/phase") {
            *first = "Error".into();
        }
        assert!(judge_pace(&run, &failed).is_err());
    }

    #[test]
    fn a_measurement_that_changes_or_goes_is_noticed_and_one_that_is_no_longer_kept_is_not() {
        let old = result(2, &[("00", "00"), ("05", "05")]);
        assert_eq!(judge_history(&old, &result(3, &[("00", "00"), ("05", "05"), ("10", "10")])), Ok(()));
        assert_eq!(judge_history(&old, &result(3, &[("05", "05"), ("10", "10")])), Ok(()));
        assert!(judge_history(&old, &result(3, &[("06", "06"), ("10", "10")])).is_err());
        assert!(judge_history(&old, &result(1, &[("00", "00")])).is_err());
        assert!(judge_history(&old, &result(2, &[("00", "00"), ("06", "06")])).is_err());
    }
}
