//! Jobs: what is created, and what their state means.

use jiff::SignedDuration;
use serde_json::{Value as Json, json};
use tidegate_providers::job::{self, Place};

use crate::dialog::{metric, now, run};

const UID: &str = "11111111-2222-3333-4444-555555555555";

fn wanted() -> tidegate_api::analysis::Metric {
    metric(json!({"job": {
        "metadata": {"labels": {"team": "a"}, "annotations": {"note": "b"}},
        "spec": {"backoffLimit": 1, "template": {"metadata": {"labels": {"x": "y"}}, "spec": {"containers": []}}},
    }}))
}

#[test]
fn a_job_carries_the_marks_of_its_run() {
    let built = job::build(&run(), &wanted(), 3, &Place::default()).unwrap();
    assert_eq!(
        built,
        json!({
            "apiVersion": "batch/v1", "kind": "Job",
            "metadata": {
                "name": format!("{UID}.m.3"), "namespace": "team",
                "labels": {"team": "a", "analysisrun.argoproj.io/uid": UID},
                "annotations": {"note": "b", "analysisrun.argoproj.io/name": "run", "analysisrun.argoproj.io/namespace": "team",
                    "analysisrun.argoproj.io/metric-name": "m"},
                "ownerReferences": [{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisRun", "name": "run", "uid": UID,
                    "controller": true, "blockOwnerDeletion": true}],
            },
            "spec": {"backoffLimit": 1, "template": {
                "metadata": {"labels": {"x": "y", "analysisrun.argoproj.io/uid": UID}}, "spec": {"containers": []}}},
        })
    );
    assert!(job::is_ours(&built, &run()));
    let elsewhere = Place { namespace: Some("jobs".to_owned()), is_elsewhere: false };
    let built = job::build(&run(), &wanted(), 1, &elsewhere).unwrap();
    assert_eq!(built["metadata"]["namespace"], "jobs");
    assert!(built["metadata"]["ownerReferences"].is_null());
    assert!(job::is_ours(&built, &run()));
    assert!(!job::is_ours(&json!({"metadata": {"labels": {"analysisrun.argoproj.io/uid": "other"}}}), &run()));
    let broken = metric(json!({"job": {"spec": {"template": "x"}}}));
    assert_eq!(
        job::build(&run(), &broken, 1, &Place::default()).unwrap_err().to_string(),
        "provider.job.spec.template is no pod template"
    );
}

#[test]
fn long_names_stay_apart_and_valid() {
    let (a, b) = (format!("{}-first", "m".repeat(30)), format!("{}-second", "m".repeat(30)));
    let names = [job::name(UID, &a, 1), job::name(UID, &b, 1), job::name(UID, &a, 2)];
    assert!(names.iter().all(|name| name.len() <= 63 && !name.contains("-.") && !name.contains("..")), "{names:?}");
    assert!(names[0] != names[1] && names[0] != names[2]);
    assert_eq!(job::name(UID, "short", 12), format!("{UID}.short.12"));
    assert!(job::name(UID, &"-".repeat(90), 1).len() <= 63);
}

fn condition(kind: &str) -> Json {
    json!({"status": {"conditions": [{"type": kind, "status": "True", "reason": "R", "message": "why"}]}})
}

#[test]
fn the_end_of_the_job_is_the_measurement() {
    let begun = job::started(&json!({"metadata": {"name": "j", "namespace": "n"}}), now());
    assert_eq!(job::reference(&begun, &run()), Ok(("n".to_owned(), "j".to_owned())));
    assert_eq!(begun.resume_at.as_ref().unwrap().instant(), Some(now()));
    let good = job::resumed(&begun, &condition("Complete"), &[], now());
    assert_eq!((good.phase.as_deref(), good.message.as_deref(), good.resume_at), (Some("Successful"), None, None));
    let bad = job::resumed(&begun, &condition("Failed"), &[], now());
    assert_eq!((bad.phase.as_deref(), bad.message.as_deref()), (Some("Failed"), Some("Job failed: R: why")));
    let pod = json!({"metadata": {"name": "p"}, "status": {"containerStatuses": [
        {"name": "c", "state": {"terminated": {"exitCode": 3, "reason": "Error", "message": "smoke test failed"}}}]}});
    let told = job::resumed(&begun, &condition("Failed"), &[pod], now());
    assert_eq!(told.message.as_deref(), Some("Pod p, container c ended with code 3: Error: smoke test failed"));
    let ended = job::terminated(&begun, now());
    assert_eq!(ended.phase.as_deref(), Some("Inconclusive"));
    let lost = job::reference(&tidegate_api::analysis::Measurement::default(), &run());
    assert_eq!(lost.unwrap_err().to_string(), "job metadata reference missing");
}

#[test]
fn a_job_that_cannot_start_is_inconclusive_and_one_that_waits_says_why() {
    let begun = job::started(&json!({"metadata": {"name": "j"}}), now());
    let waiting = |reason: &str| {
        json!({"metadata": {"name": "p"}, "status": {"containerStatuses": [
            {"name": "c", "state": {"waiting": {"reason": reason, "message": "no such image"}}}]}})
    };
    let hopeless = job::resumed(&begun, &json!({}), &[waiting("ImagePullBackOff")], now());
    assert_eq!(hopeless.phase.as_deref(), Some("Inconclusive"));
    let words = "Pod p, container c has terminal error (ImagePullBackOff): no such image\n";
    assert_eq!(hopeless.message.as_deref(), Some(words));
    let config = job::resumed(&begun, &json!({}), &[waiting("CreateContainerConfigError")], now());
    assert_eq!(config.phase.as_deref(), Some("Running"));
    assert_eq!(config.message.as_deref(), Some("Pod p, container c cannot be created: no such image"));
    let homeless = json!({"metadata": {"name": "p"}, "status": {"conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}]}});
    let homeless = job::resumed(&begun, &json!({}), &[homeless], now());
    assert_eq!(homeless.message.as_deref(), Some("Pod p cannot be scheduled: 0/3 nodes"));
}

#[test]
fn a_running_job_is_looked_at_less_and_less_often() {
    let begun = job::started(&json!({"metadata": {"name": "j"}}), now());
    for (elapsed, wait) in [(0, 1), (2, 2), (50, 10), (200, 20)] {
        let at = now() + SignedDuration::from_secs(elapsed);
        let seen = job::resumed(&begun, &json!({"status": {}}), &[], at);
        let resumes = seen.resume_at.unwrap().instant().unwrap();
        assert_eq!(resumes.duration_since(at).as_secs(), wait, "{elapsed}");
    }
}

#[test]
fn the_oldest_finished_jobs_of_the_metric_go() {
    let made = |name: &str, metric: &str, created: &str, over: bool| {
        let mut job = if over { condition("Complete") } else { json!({"status": {}}) };
        job.as_object_mut().unwrap().insert(
            "metadata".to_owned(),
            json!({"name": name, "creationTimestamp": created,
            "annotations": {"analysisrun.argoproj.io/metric-name": metric}}),
        );
        job
    };
    let jobs = [
        made("c", "m", "2026-01-03T00:00:00Z", true),
        made("a", "m", "2026-01-01T00:00:00Z", true),
        made("x", "other", "2026-01-01T00:00:00Z", true),
        made("b", "m", "2026-01-02T00:00:00Z", true),
        made("r", "m", "2025-01-01T00:00:00Z", false),
    ];
    assert_eq!(job::beyond(&jobs, "m", 1), ["a", "b"]);
    assert!(job::beyond(&jobs, "m", 3).is_empty());
}
