//! Faults can be asked for by name, and an update lives through them.

use tidegate_sim::faults::Fault;
use tidegate_simulate::report::{Ending, text};
use tidegate_simulate::words::fault_name;

use crate::{of_text, only, plain, read, run, setting};

#[test]
fn every_fault_of_the_menu_can_be_asked_for_and_is_survived() {
    let manifests = plain("web", "[{setWeight: 50}, {pause: {duration: 20s}}]");
    for fault in Fault::ALL {
        let name = fault_name(fault);
        let report = of_text(&manifests, &format!("faults: [{{name: {name}}}]\nfaultsFor: 1m"));
        assert_eq!(report.faults.len(), 1, "{name}");
        assert_eq!(report.faults[0].name, name);
        assert_eq!(only(&report).ending, Ending::Healthy, "{name}\n{}", text(&report));
    }
}

#[test]
fn what_went_wrong_is_told() {
    let manifests = plain("web", "[{setWeight: 50}, {pause: {duration: 20s}}]");
    let report = of_text(&manifests, "faults: [{name: crash, perMille: 300}]\nfaultsFor: 30s");
    let told: Vec<&str> = report.happenings.iter().map(|one| one.what.as_str()).collect();
    assert!(told.iter().any(|line| line.starts_with("crash before") || line.starts_with("crash after")), "{told:?}");
    assert_eq!(told.last(), Some(&"the faults stop"));
    assert!(text(&report).contains("faults, in so many of 1,000 cases: crash 300"));
}

#[test]
fn a_route_that_somebody_else_edits_is_put_right() {
    let input = read(&["examples/2-istio-host-level"], "").unwrap();
    let route = "[{destination: {host: shop-stable}, weight: 0}, {destination: {host: shop-canary}, weight: 100}]";
    let edit = format!(
        "acts: [{{at: 40s, patch: {{apiVersion: networking.istio.io/v1, kind: VirtualService, name: shop, merge: {{spec: {{http: [{{name: primary, route: {route}}}]}}}}}}}}]"
    );
    let report = run(&input, &setting(&edit));
    assert!(report.happenings.iter().any(|one| one.what == "somebody edits VirtualService shop"), "{}", text(&report));
    assert_eq!(only(&report).ending, Ending::Healthy, "{}", text(&report));
}
