//! What cannot be simulated is refused with the object, the field and the fix.

use std::sync::atomic::AtomicBool;

use tidegate_simulate::report::{Ending, text};
use tidegate_simulate::simulate;

use crate::{of_text, only, plain, read, setting};

const ROUTED: &str = "apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: shop}
spec:
  selector: {matchLabels: {app: shop}}
  template:
    metadata: {labels: {app: shop}}
    spec: {containers: [{name: main, image: 'shop:1'}]}
  strategy:
    canary:
      stableService: shop-stable
      canaryService: shop-canary
      trafficRouting: {istio: {virtualService: {name: shop}}}
      steps: [{setWeight: 20}, {pause: {}}]
";

#[test]
fn services_and_routes_that_are_missing_are_named_with_field_and_fix() {
    let told = read(&["-"], ROUTED).unwrap_err();
    for (field, what) in [
        ("spec.strategy.canary.stableService", "Service default/shop-stable"),
        ("spec.strategy.canary.canaryService", "Service default/shop-canary"),
        ("spec.strategy.canary.trafficRouting.istio.virtualService.name", "VirtualService default/shop"),
    ] {
        let line = told.lines().find(|line| line.contains(field)).unwrap_or_default();
        let wanted = format!("{what} is not in the files; add the file that holds it with -f");
        assert!(line.starts_with("stdin: Rollout/shop: ") && line.contains(&wanted), "{told}");
    }
}

#[test]
fn an_analysis_template_that_is_missing_is_named() {
    let told = read(&["-"], &plain("web", "[{analysis: {templates: [{templateName: rate}]}}]")).unwrap_err();
    assert!(told.contains("AnalysisTemplate 'rate' not found; add the file that holds it with -f"), "{told}");
}

#[test]
fn a_spec_that_is_invalid_is_refused_as_lint_would() {
    let told = read(&["-"], &plain("web", "[{setWeight: 101}]")).unwrap_err();
    assert!(told.contains("stdin: Rollout/web: spec.strategy.steps[0].setWeight"), "{told}");
}

#[test]
fn plugins_are_not_simulated_and_it_is_said() {
    let told = read(&["-"], &plain("web", "[{plugin: {name: example/step}}]")).unwrap_err();
    assert!(told.contains("spec.strategy.canary.steps[0].plugin: step plugins are not simulated"), "{told}");
}

#[test]
fn other_kinds_are_named_and_left_out() {
    let other = "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: web}\nspec: {}\n";
    let report = of_text(&format!("{}---\n{other}", plain("web", "[{setWeight: 50}]")), "");
    assert_eq!(only(&report).ending, Ending::Healthy);
    let told = text(&report);
    assert!(told.contains("left out: ServiceMonitor web (monitoring.coreos.com/v1, stdin) is not simulated"), "{told}");
}

#[test]
fn files_without_a_rollout_or_with_one_twice_are_refused() {
    let told = read(&["examples/analysis-by-host.yaml"], "").unwrap_err();
    assert!(told.contains("there is no Rollout to simulate"), "{told}");
    let web = plain("web", "[]");
    let told = read(&["-"], &format!("{web}---\n{web}")).unwrap_err();
    assert!(told.contains("Rollout web is there twice"), "{told}");
    let told = read(&["examples/no-such-folder"], "").unwrap_err();
    assert!(told.contains("no-such-folder") && told.contains("cannot be read"), "{told}");
    let told = read(&["-"], "kind: [").unwrap_err();
    assert!(told.starts_with("stdin"), "{told}");
}

#[test]
fn images_for_nobody_are_refused() {
    let input = read(&["-"], &plain("web", "[]")).unwrap();
    for (scenario, wanted) in [
        ("images: [{rollout: shop, image: 'shop:2'}]", "there is no Rollout \"shop\" in the files; there are web"),
        ("images: [{container: side, image: 'shop:2'}]", "Rollout web: there is no container \"side\"; there are main"),
    ] {
        let told = simulate(&input, &setting(scenario), &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(told.contains(wanted), "{told}");
    }
}

#[test]
fn a_rollout_that_never_becomes_healthy_is_told_with_what_it_waits_for() {
    let bad = plain("web", "[{setWeight: 50}]").replace("web:1", "web:does-not-exist");
    let report = of_text(&bad, "");
    assert_eq!(only(&report).ending, Ending::NotStarted);
    assert!(!report.as_expected);
    let told = text(&report);
    assert!(told.contains("Never healthy before the update") && told.contains("0 of 2 available"), "{told}");
}

#[test]
fn a_new_version_that_never_becomes_ready_is_told() {
    let late = plain("web", "[{setWeight: 50}]").replace("replicas: 2", "replicas: 2\n  progressDeadlineSeconds: 60");
    let report = of_text(&late, "images: [{image: 'web:does-not-exist'}]");
    assert_eq!(only(&report).ending, Ending::Degraded, "{}", text(&report));
    assert_eq!(only(&report).requests.all.failed, 0, "{}", text(&report));
}
