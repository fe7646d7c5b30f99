//! AnalysisRuns of Experiments.

use serde_json::json;
use tidegate_api::wire::{Items, Text};
use tidegate_experiment::Part;
use tidegate_validate::references::Lookup;

use crate::world::{World, analysis, template, words};

fn with(duration: &str, analyses: serde_json::Value) -> World {
    let mut spec = json!({"templates": [template("a")], "analyses": analyses});
    if !duration.is_empty() {
        spec["duration"] = json!(duration);
    }
    World::new(spec)
}

#[test]
fn a_run_is_made_when_the_pods_are_there_and_followed() {
    let mut world = with("1h", json!([analysis("x", false)]));
    world.settle();
    assert_eq!((world.runs.len(), world.analysis("x").0.as_str()), (0, ""));
    world.run_pods();
    world.settle();
    let run = &world.runs[0];
    assert_eq!(run.metadata.name.text(), "exp-x");
    assert_eq!(run.metadata.owner_references.as_ref().unwrap()[0].kind, "Experiment");
    assert_eq!((run.metadata.labels.clone(), run.metadata.annotations.clone()), (None, None));
    assert_eq!(world.analysis("x").0, "Pending");
    world.end_run("exp-x", "Running", "");
    world.settle();
    assert_eq!(world.analysis("x").0, "Running");
    assert!(world.was_told("- AnalysisRunRunning: AnalysisRun 'x' transitioned from Pending -> Running"));
    assert_eq!(world.phase().0, "Running");
}

#[test]
fn metadata_dry_run_and_the_instance_reach_the_run() {
    let mut world = World::new(json!({
        "templates": [template("a")], "analyses": [analysis("x", false)], "dryRun": [{"metricName": "m"}],
        "measurementRetention": [{"metricName": "m", "limit": 3}],
        "analysisRunMetadata": {"labels": {"team": "t"}, "annotations": {"note": "n"}},
    }));
    let instance = "argo-rollouts.argoproj.io/controller-instance-id";
    world.experiment.metadata.labels = Some([(instance.to_owned(), "i".to_owned())].into());
    world.begin();
    let run = &world.runs[0];
    assert_eq!(json!(run.metadata.labels), json!({"team": "t", instance: "i"}));
    assert_eq!(json!(run.metadata.annotations), json!({"note": "n"}));
    assert_eq!(run.spec.dry_run.items().len(), 1);
    assert_eq!(run.spec.measurement_retention.items()[0].limit, Some(3));
}

#[test]
fn variables_of_arguments_are_replaced_and_sources_passed_on() {
    let args = json!([{"name": "hash", "value": "{{ templates.a.podTemplateHash }}/{{templates.a.replicaset.name}}"},
        {"name": "from", "value": "{{experiment.availableAt}}"}, {"name": "to", "value": "{{experiment.finishedAt}}"},
        {"name": "key", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}, {"name": "unknown", "value": "1"}]);
    let mut world = with("90s", json!([{"name": "x", "templateName": "errors", "args": args}]));
    let declared = json!({"args": [{"name": "hash"}, {"name": "from"}, {"name": "to"}, {"name": "key"}],
        "metrics": [{"name": "m", "provider": {"web": {"url": "u"}}}]});
    world.found.templates.insert("errors".to_owned(), Lookup::Found(serde_json::from_value(declared).unwrap()));
    world.begin();
    let hash = world.sets[0].metadata.labels.as_ref().unwrap()["rollouts-pod-template-hash"].clone();
    assert_eq!(
        json!(world.runs[0].spec.args),
        json!([{"name": "hash", "value": format!("{hash}/exp-a")}, {"name": "from", "value": "2026-03-01T12:00:00Z"},
            {"name": "to", "value": "2026-03-01T12:01:30Z"},
            {"name": "key", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}])
    );
}

#[test]
fn a_variable_or_an_argument_that_has_no_value_is_an_error() {
    let bad = json!([{"name": "hash", "value": "{{templates.nope.podTemplateHash}}"}]);
    let mut world = with("", json!([{"name": "x", "templateName": "errors", "args": bad}]));
    world.begin();
    let message = "Failed to create AnalysisRun for analysis 'x': failed to resolve {{templates.nope.podTemplateHash}}";
    assert_eq!(world.phase(), words("Error", message));

    let mut world = with("", json!([analysis("x", false)]));
    let declared = json!({"args": [{"name": "hash"}], "metrics": []});
    world.found.templates.insert("errors".to_owned(), Lookup::Found(serde_json::from_value(declared).unwrap()));
    world.begin();
    assert!(world.phase().1.ends_with("args.hash was not resolved"), "{:?}", world.phase());
}

#[test]
fn a_template_that_is_missing_ends_the_experiment_before_any_run() {
    for (scope, kind) in [(false, "AnalysisTemplate"), (true, "ClusterAnalysisTemplate")] {
        let mut world = with("", json!([{"name": "x", "templateName": "nope", "clusterScope": scope}]));
        let missing = || Lookup::Missing("not found".to_owned());
        world.found.templates.insert("nope".to_owned(), missing());
        world.found.cluster_templates.insert("nope".to_owned(), missing());
        world.settle();
        let message = format!("{kind} verification failed for analysis 'x': not found");
        assert_eq!(world.phase(), words("Error", &message));
        assert_eq!(world.runs.len(), 0);
        world.pass(31);
        world.settle();
        assert!(world.sizes().iter().all(|size| *size == 0));
    }
}

#[test]
fn an_analysis_that_fails_ends_the_experiment_and_its_pods() {
    let mut world = with("5m", json!([analysis("x", false), analysis("y", true)]));
    world.begin();
    world.end_run("exp-x", "Failed", "too many");
    world.end_run("exp-y", "Running", "");
    world.pass(60);
    world.settle();
    assert_eq!(world.phase(), words("Failed", "too many"));
    assert!(world.was_told("! AnalysisRunFailed: AnalysisRun 'x' transitioned from Pending -> Failed: too many"));
    assert!(world.was_told("- AnalysisRunTerminating: Terminating y (exp-y)"));
    world.end_run("exp-y", "Successful", "Run Terminated");
    world.pass(31);
    world.settle();
    assert_eq!((world.sizes(), world.analysis("y").0.as_str()), (vec![0], "Successful"));
    assert_eq!(world.phase().0, "Failed");
}

#[test]
fn an_analysis_that_decides_nothing_makes_the_experiment_inconclusive() {
    let mut world = with("5m", json!([analysis("x", false)]));
    world.begin();
    world.end_run("exp-x", "Inconclusive", "who knows");
    world.settle();
    assert_eq!(world.phase(), words("Inconclusive", "who knows"));
    assert!(world.was_told("! ExperimentInconclusive: Experiment transitioned from Running -> Inconclusive"));
}

#[test]
fn all_required_analyses_complete_it_and_not_one_of_them() {
    let mut world = with("", json!([analysis("x", true), analysis("y", true)]));
    world.begin();
    world.end_run("exp-x", "Successful", "");
    world.settle();
    assert_eq!(world.phase().0, "Running");
    world.end_run("exp-y", "Successful", "");
    world.settle();
    assert_eq!(world.phase(), words("Successful", "Required AnalysisRuns completed"));
}

/// In the project we stand in for this hangs for ever, and with it the step of a Rollout.
#[test]
fn required_analyses_that_are_done_complete_it_though_another_still_runs() {
    let mut world = with("", json!([analysis("x", true), analysis("y", false)]));
    world.begin();
    world.end_run("exp-y", "Running", "");
    world.end_run("exp-x", "Successful", "");
    world.settle();
    assert_eq!(world.phase(), words("Successful", "Required AnalysisRuns completed"));
    assert_eq!(world.runs[1].spec.terminate, Some(true));
}

/// So does this.
#[test]
fn one_that_is_ended_while_a_required_analysis_runs_ends_with_that_run() {
    let mut world = with("", json!([analysis("x", true)]));
    world.begin();
    world.end_run("exp-x", "Running", "");
    world.experiment.spec.terminate = Some(true);
    world.settle();
    assert_eq!(world.phase().0, "Running", "its verdict is waited for");
    assert_eq!(world.runs[0].spec.terminate, Some(true));
    world.end_run("exp-x", "Successful", "Run Terminated");
    world.settle();
    assert_eq!(world.phase().0, "Successful");
}

#[test]
fn one_that_is_ended_before_its_required_analysis_has_begun_ends() {
    let mut world = with("", json!([analysis("x", true)]));
    world.settle();
    world.experiment.spec.terminate = Some(true);
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.runs.len(), world.analysis("x").0.as_str()), ("Successful", 0, ""));
}

#[test]
fn when_its_time_is_over_other_analyses_are_ended_and_required_ones_keep_the_pods() {
    let mut world = with("10s", json!([analysis("x", false)]));
    world.begin();
    world.end_run("exp-x", "Running", "");
    world.pass(11);
    world.settle();
    assert_eq!(world.phase().0, "Successful");
    assert_eq!(world.runs[0].spec.terminate, Some(true));

    let mut world = with("10s", json!([analysis("x", true)]));
    world.begin();
    world.end_run("exp-x", "Running", "");
    world.pass(500);
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.template("a").status.text()), ("Running", "Running"));
    assert_eq!((world.sizes(), world.deadline(0)), (vec![1], None));
    world.end_run("exp-x", "Successful", "");
    world.settle();
    assert_eq!(world.phase().0, "Successful");
    assert!(world.deadline(0).is_some());
}

#[test]
fn a_run_that_is_gone_is_an_error_and_one_that_is_only_late_is_not() {
    let mut world = with("", json!([analysis("x", false)]));
    world.begin();
    world.runs.clear();
    assert!(!world.look());
    world.missing.insert("exp-x".to_owned(), "gone".to_owned());
    world.settle();
    assert_eq!(world.phase(), words("Error", "gone"));
}

#[test]
fn a_run_that_is_refused_is_an_error() {
    let mut world = with("", json!([analysis("x", false)]));
    world.refuse(Part::Run("x".to_owned()), "no");
    world.begin();
    assert_eq!(world.phase(), words("Error", "Failed to create AnalysisRun for analysis 'x': no"));
}

#[test]
fn a_run_whose_status_was_lost_is_found_again_and_an_older_one_gets_a_successor() {
    let mut world = with("1h", json!([analysis("x", false)]));
    world.begin();
    let entry = &mut world.experiment.status.as_mut().unwrap().analysis_runs.as_mut().unwrap()[0];
    (entry.analysis_run, entry.phase) = (Some(String::new()), Some(String::new()));
    world.end_run("exp-x", "Successful", "");
    world.settle();
    assert_eq!((world.runs.len(), world.analysis("x").0.as_str()), (1, "Successful"), "it is not run a second time");

    world.experiment.status = None;
    world.taken.insert("exp-x.1".to_owned());
    world.pass(60);
    world.begin();
    let names: Vec<&str> = world.runs.iter().map(|run| run.metadata.name.text()).collect();
    assert_eq!(names, ["exp-x", "exp-x.2"], "a retry measures anew, and takes nobody's name");
}

#[test]
fn the_rollout_is_told_of_verdicts_too() {
    let mut world = with("1h", json!([analysis("x", false)]));
    world.begin();
    world.end_run("exp-x", "Failed", "");
    world.look();
    let for_rollout: Vec<(&str, bool)> = world
        .last
        .events
        .iter()
        .filter(|event| event.for_rollout)
        .map(|event| (event.reason.as_str(), event.is_warning))
        .collect();
    assert_eq!(for_rollout, [("AnalysisRunFailed", true)]);
}

#[test]
fn an_experiment_without_templates_is_about_its_analyses() {
    let mut world = World::new(json!({"templates": [], "analyses": [analysis("x", true)]}));
    world.settle();
    assert_eq!((world.phase().0.as_str(), world.runs.len()), ("Running", 1));
    world.end_run("exp-x", "Successful", "");
    world.settle();
    assert_eq!(world.phase().0, "Successful");
}
