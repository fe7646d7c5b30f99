//! A version that fails requests is caught by an analysis over the mesh and taken back.

use tidegate_simulate::report::{Ending, html, text};

use crate::{of_text, only, read, repository, run, setting};

/// A shop whose update is watched by the template of an example.
fn shop() -> String {
    let template = std::fs::read_to_string(repository().join("examples/analysis-by-host.yaml")).unwrap();
    let service = |name: &str| {
        format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\nspec: {{selector: {{app: shop}}, ports: [{{name: http, port: 80}}]}}\n---\n"
        )
    };
    format!(
        "{}{}{}{template}---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {{name: shop}}
spec:
  hosts: [shop]
  http:
    - route:
        - {{destination: {{host: shop-stable}}, weight: 100}}
        - {{destination: {{host: shop-canary}}, weight: 0}}
---
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {{name: shop}}
spec:
  replicas: 4
  selector: {{matchLabels: {{app: shop}}}}
  template:
    metadata: {{labels: {{app: shop}}}}
    spec: {{containers: [{{name: main, image: 'shop:1'}}]}}
  strategy:
    canary:
      stableService: shop-stable
      canaryService: shop-canary
      trafficRouting: {{istio: {{virtualService: {{name: shop}}}}}}
      analysis:
        templates: [{{templateName: success-rate-by-host}}]
        args: [{{name: canary-service, value: shop-canary}}]
      steps: [{{setWeight: 25}}, {{pause: {{duration: 5m}}}}, {{setWeight: 60}}, {{pause: {{duration: 2m}}}}]
",
        service("shop"),
        service("shop-stable"),
        service("shop-canary")
    )
}

#[test]
fn a_bad_version_is_caught_by_analysis_and_rolled_back() {
    // Given a version of which every fifth request fails; when it goes out.
    let report =
        of_text(&shop(), "versions: [{version: new, errorRate: 20%}]\nexpect: aborted\nrequestsPerSecond: 100");
    let rollout = only(&report);
    let told = text(&report);
    // Then it is given up, and that was expected.
    assert_eq!(rollout.ending, Ending::Aborted, "{told}");
    assert!(report.as_expected, "{told}");
    assert!(rollout.message.contains("Metric \"success-rate\" assessed Failed"), "{told}");
    // It had its share, a fifth of that failed, and all of it is reported.
    let new = rollout.requests.new;
    let share = new.failed as f64 / new.requests as f64;
    assert!((0.17..0.23).contains(&share), "{share}\n{told}");
    assert_eq!(rollout.requests.all.failed, new.failed, "no other request failed\n{told}");
    assert!(told.contains("requests, ") && told.contains(" failed ("), "{told}");
    let most = rollout.samples.iter().map(|sample| sample.weight).max();
    assert_eq!(most, Some(25), "it never got beyond the first step");
    assert!(
        rollout.timeline.iter().any(|line| line.weight == 25 && line.requests_new > 0 && line.failed > 0),
        "{told}"
    );
    // In the end the old version has everything.
    let last = rollout.samples.last().unwrap();
    assert_eq!((last.weight, last.requests_new, last.failed), (0, 0, 0));
    // What was measured is in the report and in the page.
    assert!(rollout.measurements.iter().filter(|one| one.phase == "Failed").count() >= 2, "{told}");
    let page = html(&report);
    assert!(page.contains("Metric success-rate") && page.contains("class=\"dot bad\""));
}

#[test]
fn a_good_version_of_the_same_shop_goes_out() {
    let report = of_text(&shop(), "versions: [{version: new, errorRate: 0%, latency: 1ms-2ms}]");
    let rollout = only(&report);
    assert_eq!(rollout.ending, Ending::Healthy, "{}", text(&report));
    assert_eq!(rollout.requests.all.failed, 0, "{}", text(&report));
    assert!(rollout.requests.new.mean_latency < 2.1 && rollout.requests.old.mean_latency > 4.0, "{}", text(&report));
    assert!(rollout.measurements.len() > 3, "{}", text(&report));
}

#[test]
fn the_share_that_is_measured_follows_the_weight() {
    let report = of_text(&shop(), "requestsPerSecond: 200");
    let samples = &only(&report).samples;
    for (weight, wanted) in [(25, 0.25), (60, 0.6)] {
        let own: Vec<_> = samples.iter().filter(|sample| sample.weight == weight).skip(5).collect();
        let (new, all) = own.iter().fold((0, 0), |(new, all), one| (new + one.requests_new, all + one.requests));
        let share = new as f64 / all as f64;
        assert!((share - wanted).abs() < 0.03, "{weight}: {share} of {all}");
    }
}

#[test]
fn metrics_that_are_not_simulated_are_named_and_assumed() {
    let input = read(&["examples/istio-canary.yaml"], "").unwrap();
    let good = run(&input, &setting(""));
    let told = text(&good);
    assert!(told.contains("AnalysisTemplate error-rate: metric error-rate: its query is not about requests in the mesh; assumed success"), "{told}");
    assert_eq!(only(&good).ending, Ending::Healthy);
    let bad = run(&input, &setting("assumeMetrics: failure\nexpect: aborted"));
    assert_eq!(only(&bad).ending, Ending::Aborted, "{}", text(&bad));
    assert!(bad.as_expected && bad.assumptions.iter().any(|line| line.contains("assumed failure")));
}

#[test]
fn values_of_metrics_are_those_that_the_scenario_gives() {
    let input = read(&["examples/istio-canary.yaml"], "").unwrap();
    let given =
        "metrics: [{template: error-rate, metric: error-rate, value: [0.001], values: [{after: 3m, value: [0.5]}]}]";
    let report = run(&input, &setting(given));
    let rollout = only(&report);
    assert_eq!(rollout.ending, Ending::Aborted, "{}", text(&report));
    let values: Vec<&str> = rollout.measurements.iter().map(|one| one.value.as_str()).collect();
    assert!(values.contains(&"[0.001]") && values.contains(&"[0.5]"), "{values:?}");
    assert!(!report.assumptions.iter().any(|line| line.contains("error-rate")), "{:?}", report.assumptions);
}

#[test]
fn a_job_that_is_measured_ends_as_it_is_said_to() {
    let rollout = crate::plain("web", "[{setWeight: 50}, {analysis: {templates: [{templateName: probe}]}}]");
    let job = "{template: {spec: {restartPolicy: Never, containers: [{name: probe, image: probe, command: ['false']}]}}, backoffLimit: 0}";
    let text_of = format!(
        "{rollout}---\napiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {{name: probe}}\nspec: {{metrics: [{{name: probe, provider: {{job: {{spec: {job}}}}}}}]}}\n"
    );
    let good = of_text(&text_of, "");
    assert_eq!(only(&good).ending, Ending::Healthy, "{}", text(&good));
    assert!(good.assumptions.iter().any(|line| line.contains("metric probe is a Job")), "{:?}", good.assumptions);
    let bad = of_text(&text_of, "metrics: [{template: probe, metric: probe, value: failure}]");
    assert_eq!(only(&bad).ending, Ending::Aborted, "{}", text(&bad));
}
