//! Rollouts as gauges.

use tidegate_api::names::{condition, reason};
use tidegate_api::rollout::{Rollout, RolloutTrafficRouting};
use tidegate_api::wire::{Items, Text};
use tidegate_runtime::metrics::Page;

/// The phases of `rollout_phase`; these are not those of the status.
const PHASES: [&str; 6] = ["Completed", "Progressing", "Paused", "Timeout", "Error", "Abort"];

/// Writes all gauges of one Rollout.
pub(super) fn write(page: &mut Page, rollout: &Rollout) {
    let namespace = rollout.metadata.namespace.text();
    let name = rollout.metadata.name.text();
    let (strategy, phase) = (strategy(rollout), phase(rollout));
    let router = router(rollout);
    let object = [("namespace", namespace), ("name", name)];
    let info = [object[0], object[1], ("strategy", strategy), ("traffic_router", &router), ("phase", phase)];
    page.gauge("rollout_info", "Information about rollout.", &info, 1.0);
    for (name, help, value) in replicas(rollout) {
        page.gauge(name, help, &object, f64::from(value));
    }
    let help = "Information on the state of the rollout (DEPRECATED - use rollout_info)";
    for known in PHASES {
        let labels = [object[0], object[1], ("strategy", strategy), ("phase", known)];
        page.gauge("rollout_phase", help, &labels, if known == phase { 1.0 } else { 0.0 });
    }
}

fn replicas(rollout: &Rollout) -> [(&'static str, &'static str, i32); 4] {
    let status = rollout.status.clone().unwrap_or_default();
    let available = status.available_replicas.unwrap_or(0);
    let all = status.replicas.unwrap_or(0);
    [
        ("rollout_info_replicas_available", "The number of available replicas per rollout.", available),
        (
            "rollout_info_replicas_unavailable",
            "The number of unavailable replicas per rollout.",
            all.saturating_sub(available),
        ),
        (
            "rollout_info_replicas_desired",
            "The number of desired replicas per rollout.",
            rollout.spec.replicas.unwrap_or(1),
        ),
        (
            "rollout_info_replicas_updated",
            "The number of updated replicas per rollout.",
            status.updated_replicas.unwrap_or(0),
        ),
    ]
}

fn strategy(rollout: &Rollout) -> &'static str {
    if rollout.spec.blue_green().is_some() {
        "blueGreen"
    } else if rollout.spec.canary().is_some() {
        "canary"
    } else {
        "none"
    }
}

fn router(rollout: &Rollout) -> String {
    let routing = rollout.spec.canary().and_then(|canary| canary.traffic_routing.as_ref());
    routing.map(named).unwrap_or_default()
}

/// Of several the last of this list counts; that is how it has always been.
fn named(routing: &RolloutTrafficRouting) -> String {
    let plugin = routing.plugins.as_ref().and_then(|plugins| plugins.to_object().keys().next().cloned());
    let known = [
        (routing.app_mesh.is_some(), "AppMesh"),
        (routing.smi.is_some(), "SMI"),
        (routing.nginx.is_some(), "Nginx"),
        (routing.istio.is_some(), "Istio"),
        (routing.ambassador.is_some(), "Ambassador"),
        (routing.alb.is_some(), "ALB"),
        (routing.traefik.is_some(), "Traefik"),
        (routing.apisix.is_some(), "Apisix"),
    ];
    let found = known.into_iter().find(|(is_there, _)| *is_there).map(|(_, name)| name.to_owned());
    found.or_else(|| plugin.map(|name| format!("Plugin:{name}"))).unwrap_or_default()
}

/// Not the phase of the status: read from the reason why the Rollout progresses or does not.
fn phase(rollout: &Rollout) -> &'static str {
    let conditions = rollout.status.as_ref().map_or(&[][..], |status| status.conditions.items());
    if conditions.iter().any(|found| found.kind.text() == condition::INVALID_SPEC) {
        return "InvalidSpec";
    }
    let progressing = conditions.iter().find(|found| found.kind.text() == condition::PROGRESSING);
    match progressing.map(|found| found.reason.text()).unwrap_or_default() {
        reason::NEW_REPLICA_SET_AVAILABLE => "Completed",
        reason::ROLLOUT_PAUSED => "Paused",
        reason::REPLICA_SET_CREATE_ERROR => "Error",
        reason::PROGRESS_DEADLINE_EXCEEDED => "Timeout",
        reason::ROLLOUT_ABORTED => "Abort",
        _ => "Progressing",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn text(strategy: Value, status: Value) -> String {
        let rollout: Rollout = serde_json::from_value(json!({
            "metadata": {"namespace": "default", "name": "guestbook-bluegreen"},
            "spec": {"replicas": 5, "strategy": strategy}, "status": status,
        }))
        .unwrap();
        let mut page = Page::default();
        write(&mut page, &rollout);
        page.text()
    }

    #[test]
    fn a_rollout_is_told_in_the_contracted_words() {
        let text = text(
            json!({"blueGreen": {"activeService": "a"}}),
            json!({"replicas": 5, "availableReplicas": 3, "updatedReplicas": 2}),
        );
        let wanted = "rollout_info{name=\"guestbook-bluegreen\",namespace=\"default\",phase=\"Progressing\",\
             strategy=\"blueGreen\",traffic_router=\"\"} 1\n";
        assert!(text.contains(wanted), "{text}");
        for (name, value) in [("available", 3), ("unavailable", 2), ("desired", 5), ("updated", 2)] {
            let line =
                format!("rollout_info_replicas_{name}{{name=\"guestbook-bluegreen\",namespace=\"default\"}} {value}\n");
            assert!(text.contains(&line), "{line}{text}");
            assert!(text.contains(&format!(
                "# HELP rollout_info_replicas_{name} The number of {name} replicas per rollout.\n"
            )));
        }
        assert_eq!(text.matches("\nrollout_phase{").count(), 6);
    }

    #[test]
    fn the_phase_comes_from_the_reason_of_progress_and_an_invalid_spec_has_none() {
        let cases = [
            ("NewReplicaSetAvailable", "Completed"),
            ("RolloutPaused", "Paused"),
            ("ReplicaSetCreateError", "Error"),
            ("ProgressDeadlineExceeded", "Timeout"),
            ("RolloutAborted", "Abort"),
            ("ReplicaSetUpdated", "Progressing"),
        ];
        for (reason, phase) in cases {
            let status = json!({"conditions": [{"type": "Progressing", "status": "True", "reason": reason}]});
            let text = text(json!({"canary": {}}), status);
            let line = |value| format!("phase=\"{phase}\",strategy=\"canary\"}} {value}\n");
            assert!(
                text.contains(&format!("phase=\"{phase}\",strategy=\"canary\",traffic_router=\"\"}} 1\n")),
                "{text}"
            );
            assert!(text.contains(&line(1)) && !text.contains(&line(0)), "{reason}: {text}");
        }
        let invalid = json!({"conditions": [{"type": "InvalidSpec", "status": "True", "reason": "InvalidSpec"}]});
        let text = text(json!({"canary": {}}), invalid);
        assert!(text.contains("phase=\"InvalidSpec\""), "{text}");
        assert_eq!(text.matches("strategy=\"canary\"} 0\n").count(), 6, "{text}");
    }

    #[test]
    fn of_several_routers_the_last_in_the_list_is_told_and_new_ones_have_names() {
        let cases = [
            (json!({"alb": {}, "nginx": {}, "smi": {}}), "SMI"),
            (json!({"istio": {}, "ambassador": {}}), "Istio"),
            (json!({"traefik": {}}), "Traefik"),
            (json!({"plugins": {"acme/router": {}}}), "Plugin:acme/router"),
        ];
        for (routing, router) in cases {
            let text = text(json!({"canary": {"trafficRouting": routing}}), Value::Null);
            assert!(text.contains(&format!("traffic_router=\"{router}\"")), "{text}");
        }
    }
}
