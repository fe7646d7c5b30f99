//! What holds for every run, whatever providers do.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::{Just, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Value, json};
use tidegate_analysis::{MAX_HISTORY_BYTES, Observed, Report, Secrets, Task, step};
use tidegate_api::analysis::{AnalysisRun, Measurement};
use tidegate_api::names::analysis_phase::is_completed;
use tidegate_api::wire::{Items, Text};

use crate::story::{Story, job, metric, run, start};

/// Specs that are mostly valid.
fn spec() -> impl Strategy<Value = Value> {
    let small = || prop_oneof![Just(None), (0_i32..4).prop_map(Some)];
    let fields = (small(), small(), small(), small(), any::<bool>(), any::<bool>(), 0_i32..30);
    let one = fields.prop_map(|(count, failures, inconclusive, errors, has_interval, is_job, delay)| {
        let mut more = json!({"inconclusiveLimit": inconclusive, "consecutiveErrorLimit": errors});
        let object = more.as_object_mut().unwrap();
        let count = if has_interval { count } else { count.map(|count| count.min(1)) };
        object.insert("count".to_owned(), json!(count));
        object.insert("failureLimit".to_owned(), json!(failures));
        if has_interval {
            object.insert("interval".to_owned(), json!("7s"));
        }
        if delay > 20 {
            object.insert("initialDelay".to_owned(), json!(format!("{delay}s")));
        }
        (is_job, more)
    });
    let metrics = prop::collection::vec(one, 1..4);
    (metrics, any::<bool>()).prop_map(|(metrics, has_dry)| {
        let metrics: Vec<Value> = metrics
            .into_iter()
            .enumerate()
            .map(|(index, (is_job, more))| {
                let name = format!("m{index}");
                if is_job { job(&name, more) } else { metric(&name, more) }
            })
            .collect();
        let dry = if has_dry { json!([{"metricName": "m0"}]) } else { json!([]) };
        json!({"metrics": metrics, "dryRun": dry})
    })
}

fn answers() -> impl Strategy<Value = Vec<(i64, &'static str)>> {
    let phase = prop::sample::select(vec!["Successful", "Successful", "Failed", "Inconclusive", "Error", "Running"]);
    prop::collection::vec((0_i64..40, phase), 1..30)
}

proptest! {
    #[test]
    fn counts_add_up_history_is_short_and_a_finished_run_never_changes(
        spec in spec(), answers in answers(), ends_at in 0_i64..400,
    ) {
        let mut story = Story::new(run(spec));
        let mut next = 0;
        let mut provider = |work: &tidegate_analysis::Work| {
            next += 1;
            let (seconds, phase) = answers[next % answers.len()];
            // Only Jobs take longer than one call, and ending one always ends it.
            let is_job = work.metric.0.provider.as_ref().is_some_and(|provider| provider.job.is_some());
            let phase = if phase == "Running" && (!is_job || work.task == Task::Terminate) { "Inconclusive" } else { phase };
            (seconds, phase, "text")
        };
        story.play(ends_at, &mut provider);
        story.check();
        story.run.spec.terminate = Some(true);
        story.play(200, &mut provider);
        story.check();
        assert!(is_completed(story.status().phase.text()), "{}", story.told());
        let before = story.status();
        story.play(1_000, &mut provider);
        assert_eq!(story.status(), before);
        assert!(before.metric_results.items().len() <= story.run.spec.metrics.items().len());
        // A spec that is refused has no summaries.
        if let (Some(summary), Some(dry)) = (before.run_summary, before.dry_run_summary) {
            let sum = |summary: &tidegate_api::analysis::RunSummary| {
                [summary.successful, summary.failed, summary.inconclusive, summary.error]
                    .into_iter().flatten().sum::<i32>()
            };
            assert!(sum(&summary) <= summary.count.unwrap_or(0) && sum(&dry) <= dry.count.unwrap_or(0));
            assert_eq!(summary.count.unwrap_or(0) + dry.count.unwrap_or(0), story.run.spec.metrics.items().len() as i32);
        }
    }

    #[test]
    fn the_same_look_twice_says_the_same_and_what_was_written_needs_no_second_write(
        spec in spec(), answers in answers(), seconds in 0_i64..100,
    ) {
        let mut story = Story::new(run(spec));
        let mut next = 0;
        story.play(seconds, |_| {
            next += 1;
            let (seconds, phase) = answers[next % answers.len()];
            (seconds, if phase == "Running" { "Successful" } else { phase }, "")
        });
        let look = |run: &AnalysisRun| {
            let (secrets, none) = (Secrets::new(), BTreeMap::new());
            step(&Observed { run, secrets: &secrets, reports: &[], under_way: &none, nudged: &BTreeSet::new(), now: story.now })
        };
        let first = look(&story.run);
        assert_eq!(first, look(&story.run));
        let mut written = story.run.clone();
        if let Some(status) = first.status {
            written.status = Some(status);
            // A decision may take one look more to end the run; then there is rest.
            let second = look(&written);
            if let Some(status) = second.status {
                written.status = Some(status);
            }
            assert_eq!(look(&written).status, None);
        }
    }

    #[test]
    fn no_report_makes_a_status_that_etcd_would_refuse(
        length in 0_usize..20_000, metrics in 1_usize..60, rounds in 1_usize..6,
    ) {
        let many: Vec<Value> = (0..metrics).map(|index| metric(&format!("m{index}"), json!({"interval": "1s"}))).collect();
        let keep = json!([{"metricName": "*", "limit": 1_000_000}]);
        let mut wanted = run(json!({"metrics": many, "measurementRetention": keep}));
        let text = "\"x\u{1}".repeat(length / 3);
        for _ in 0..rounds {
            let reports: Vec<Report> = (0..metrics).map(|index| Report {
                metric: format!("m{index}"),
                task: Task::Start,
                measurement: Measurement {
                    phase: Some("Successful".to_owned()),
                    message: Some(text.clone()),
                    value: Some(text.clone()),
                    metadata: Some([("k".to_owned(), text.clone())].into()),
                    ..Measurement::default()
                },
                metadata: BTreeMap::new(),
            }).collect();
            let (secrets, none) = (Secrets::new(), BTreeMap::new());
            let looked = step(&Observed {
                run: &wanted, secrets: &secrets, reports: &reports, under_way: &none, nudged: &BTreeSet::new(), now: start(),
            });
            wanted.status = looked.status.or(wanted.status);
        }
        let size = serde_json::to_string(&wanted.status).unwrap().len();
        // Controls take six characters each in JSON, which is more than the estimate allows for.
        assert!(size < 3 * MAX_HISTORY_BYTES, "{size}");
    }

    #[test]
    fn no_stored_status_makes_a_step_panic(text in status_text(), spec in spec()) {
        let mut wanted = run(spec);
        if let Ok(status) = serde_json::from_str(&text) {
            wanted.status = Some(status);
        }
        let (secrets, none) = (Secrets::new(), BTreeMap::new());
        let observed = Observed { run: &wanted, secrets: &secrets, reports: &[], under_way: &none, nudged: &BTreeSet::new(), now: start() };
        assert_eq!(step(&observed), step(&observed));
    }
}

/// Statuses as somebody might have left them.
fn status_text() -> impl Strategy<Value = String> {
    let time =
        prop::sample::select(vec!["\"2026-03-01T11:59:00Z\"", "\"yesterday\"", "null", "\"9999-12-31T23:59:59Z\""]);
    let phase = prop::sample::select(vec!["Running", "Failed", "Successful", "", "Odd", "Error"]);
    let number = prop::sample::select(vec!["null", "0", "-5", "2147483647"]);
    (time.clone(), time, phase.clone(), phase, number.clone(), number).prop_map(
        |(started, finished, phase, measured, count, error)| {
            format!(
                r#"{{"phase":"Running","startedAt":{started},"metricResults":[{{"name":"m0","phase":"{phase}","count":{count},
                "error":{error},"measurements":[{{"phase":"{measured}","finishedAt":{finished},"startedAt":{started}}}]}},
                {{"name":"gone","phase":"{phase}"}}]}}"#
            )
        },
    )
}
