//! Every example of the repository is simulated, and some are told as they always are.

use tidegate_simulate::report::{Ending, text};
use tidegate_simulate::{Report, Setting};

use crate::{only, read, repository, run};

/// The examples, what they are made of, and how their update ends.
const EXAMPLES: [(&str, &[&str], Ending); 9] = [
    ("canary", &["examples/canary.yaml"], Ending::Healthy),
    ("blue-green", &["examples/blue-green.yaml"], Ending::Healthy),
    ("istio-canary", &["examples/istio-canary.yaml"], Ending::Healthy),
    ("replicas-only", &["examples/1-replicas-only"], Ending::Healthy),
    ("istio-host-level", &["examples/2-istio-host-level"], Ending::Healthy),
    ("istio-subset-level", &["examples/3-istio-subset-level"], Ending::Healthy),
    ("istio-tcp", &["examples/5-istio-tcp"], Ending::Healthy),
    ("istio-multicluster", &["examples/6-istio-multicluster"], Ending::Healthy),
    ("demo", &["docs/getting-started/demo.yaml"], Ending::Healthy),
];

/// The one that holds a mistake on purpose is simulated without it.
const THREE_PROTOCOLS: [&str; 2] =
    ["examples/4-istio-http-tls-tcp/rollout.yaml", "examples/4-istio-http-tls-tcp/routes.yaml"];

fn report(paths: &[&str]) -> Report {
    run(&read(paths, "").unwrap(), &Setting::default())
}

#[test]
fn every_example_ends_healthy_and_no_request_is_lost() {
    for (name, paths, ending) in EXAMPLES {
        let report = report(paths);
        let rollout = only(&report);
        assert_eq!(rollout.ending, ending, "{name}\n{}", text(&report));
        assert_eq!(rollout.requests.all.failed, 0, "{name}\n{}", text(&report));
        assert!(rollout.requests.new.requests > 0, "{name}\n{}", text(&report));
    }
}

#[test]
fn the_example_with_three_protocols_ends_healthy() {
    let report = report(&THREE_PROTOCOLS);
    assert_eq!(only(&report).ending, Ending::Healthy, "{}", text(&report));
    assert_eq!(only(&report).requests.all.failed, 0, "{}", text(&report));
}

#[test]
fn the_mistake_of_an_example_is_told_before_anything_runs() {
    let told = read(&["examples/4-istio-http-tls-tcp/too-many-names.yaml"], "").unwrap_err();
    assert!(told.contains("Rollout/twin: spec.strategy.canary.trafficRouting.istio"), "{told}");
}

#[test]
fn every_example_with_a_rollout_is_simulated() {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(repository().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let is_one = path.is_dir() || (name.ends_with(".yaml") && text.contains("kind: Rollout"));
        found.extend(is_one.then(|| format!("examples/{name}")));
    }
    for path in &found {
        let is_simulated = EXAMPLES.iter().any(|(_, paths, _)| paths.contains(&path.as_str()));
        assert!(is_simulated || THREE_PROTOCOLS[0].starts_with(path), "{path} is not simulated");
    }
    assert_eq!(found.len(), 9);
}

#[test]
fn what_is_told_of_examples_is_what_was_told_before() {
    for name in ["canary", "blue-green", "istio-canary", "demo"] {
        let (_, paths, _) = EXAMPLES.iter().find(|(found, ..)| *found == name).unwrap();
        let told = text(&report(paths));
        let path = repository().join(format!("crates/simulate/tests/simulate/expected/{name}.txt"));
        if std::env::var_os("UPDATE_EXPECTED").is_some() {
            std::fs::write(&path, &told).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(told, expected, "{name}: UPDATE_EXPECTED=1 writes what is told now");
    }
}

#[test]
fn what_the_controller_does_without_an_event_is_told_all_the_same() {
    let report = report(&["docs/getting-started/demo.yaml"]);
    let last = only(&report).timeline.last().unwrap();
    assert_eq!((last.old.total, last.new.total), (0, 4), "{}", text(&report));
    assert!(
        last.what.contains("pods of the old version 4 -> 0") || last.what.contains("Scaled down"),
        "{}",
        text(&report)
    );
}
