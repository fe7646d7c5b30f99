//! (I5, I7, I9) Where every Rollout ends once the faults stop.

use std::collections::BTreeSet;

use serde_json::Value;
use tidegate_sim::Invariant;
use tidegate_sim::journal::Mirror;

use super::cast::{Ending, Kind, LAST_IMAGE, LAST_SIZE, Member};
use super::floor::{ceiling, floor};
use super::objects::{NAMESPACE, ROLLOUTS, SERVICES, available, hash, owner, selected, sets_of, size, text};

/// Rollouts with one kind of ending end where a quiet run ends.
pub(super) struct Ends(pub Ending, pub Vec<Member>);

impl Invariant for Ends {
    fn name(&self) -> &'static str {
        match self.0 {
            Ending::Last => "I7: the last version ends everywhere",
            Ending::Aborted => "I5: an abort ends on stable",
            Ending::Deleted => "I9: a deleted Rollout leaves its Services and its Deployment usable",
        }
    }

    fn at_rest(&mut self, mirror: &Mirror) -> Result<(), String> {
        for member in self.1.iter().filter(|member| member.ending == self.0) {
            let rollout = mirror.get(ROLLOUTS, NAMESPACE, member.name);
            let result = match (member.ending, rollout) {
                (Ending::Deleted, None) => gone(member, mirror),
                (Ending::Deleted, Some(_)) => Err("is still there".to_owned()),
                (_, None) => Err("is gone".to_owned()),
                (Ending::Last, Some(rollout)) => complete(member, rollout, mirror, Some(LAST_IMAGE)),
                // An abort that comes when nothing is under way has nothing to end.
                (Ending::Aborted, Some(rollout)) if rollout["status"]["abort"] == true => aborted(rollout, mirror),
                (Ending::Aborted, Some(rollout)) => complete(member, rollout, mirror, None),
            };
            result.map_err(|text| format!("{} ({:?}, {:?}) {text}", member.name, member.kind, member.ending))?;
        }
        Ok(())
    }
}

fn running<'a>(rollout: &'a Value, mirror: &'a Mirror) -> Vec<(&'a str, i64)> {
    let sets = sets_of(mirror, rollout).map(|set| (hash(set), size(set)));
    sets.filter(|(_, size)| *size > 0).collect()
}

fn complete(member: &Member, rollout: &Value, mirror: &Mirror, image: Option<&str>) -> Result<(), String> {
    let status = &rollout["status"];
    let stable = text(&status["stableRS"]);
    if status["phase"] != "Healthy" || status["currentPodHash"] != status["stableRS"] {
        return Err(format!("is {}: {}", text(&status["phase"]), text(&status["message"])));
    }
    if running(rollout, mirror) != [(stable, LAST_SIZE)] {
        return Err(format!("runs {:?}, {stable} is stable", running(rollout, mirror)));
    }
    let set = sets_of(mirror, rollout).find(|set| hash(set) == stable);
    let found = set.map(|set| text(&set["spec"]["template"]["spec"]["containers"][0]["image"]));
    if image.is_some() && found != image {
        return Err(format!("runs {found:?}"));
    }
    let led: BTreeSet<&str> = member.services().iter().map(|service| led_to(mirror, service)).collect();
    if led.iter().any(|hash| *hash != stable) {
        return Err(format!("has Services that lead to {led:?}, {stable} is stable"));
    }
    Ok(())
}

fn led_to<'a>(mirror: &'a Mirror, service: &str) -> &'a str {
    mirror.get(SERVICES, NAMESPACE, service).map_or("", |service| selected(service))
}

fn aborted(rollout: &Value, mirror: &Mirror) -> Result<(), String> {
    let status = &rollout["status"];
    let stable = text(&status["stableRS"]);
    if status["phase"] != "Degraded" {
        return Err(format!("was aborted and is {}: {}", text(&status["phase"]), text(&status["message"])));
    }
    let running_now = running(rollout, mirror);
    let well = sets_of(mirror, rollout).find(|set| hash(set) == stable).map_or(0, |set| available(set));
    let is_well = well >= LAST_SIZE;
    let all: i64 = running_now.iter().map(|(_, size)| size).sum();
    let serve: i64 = sets_of(mirror, rollout).map(|set| available(set)).sum();
    // One that does not get well leaves the pods that do serve where they are, and gets beside them all that surge allows. Where
    // those that serve are no more than must, none of them may go for it.
    let of_others = || sets_of(mirror, rollout).filter(|set| hash(set) != stable);
    let are_needed = || serve <= floor(rollout) && of_others().all(|set| available(set) == size(set));
    let is_full = all >= ceiling(rollout) && (serve >= LAST_SIZE || are_needed());
    let is_on_stable = match is_well {
        true => running_now == [(stable, LAST_SIZE)],
        false => running_now.iter().any(|(hash, size)| *hash == stable && (*size == LAST_SIZE || is_full)),
    };
    if !is_on_stable {
        return Err(format!("was aborted and runs {:?}, {stable} is stable", running(rollout, mirror)));
    }
    let strategy = &rollout["spec"]["strategy"];
    for live in [&strategy["blueGreen"]["activeService"], &strategy["canary"]["stableService"]] {
        let led = led_to(mirror, text(live));
        // While it has no pod at all, live traffic stays with what serves: a set with pods, or all before anything was stable.
        let serves = led.is_empty() || sets_of(mirror, rollout).any(|set| hash(set) == led && available(set) > 0);
        if live.is_string() && led != stable && (well > 0 || !serves) {
            return Err(format!("was aborted and {live} leads to {led}"));
        }
    }
    Ok(())
}

/// Nothing is left of it, and what it did not own can be used.
fn gone(member: &Member, mirror: &Mirror) -> Result<(), String> {
    if mirror.of("replicasets.apps").any(|set| owner(set) == Some(("Rollout", member.name))) {
        return Err("has left ReplicaSets behind".to_owned());
    }
    for service in member.services() {
        let Some(found) = mirror.get(SERVICES, NAMESPACE, &service) else {
            return Err(format!("has taken Service {service} with it"));
        };
        if !selected(found).is_empty()
            || !found["metadata"]["annotations"]["argo-rollouts.argoproj.io/managed-by-rollouts"].is_null()
        {
            return Err(format!("has left Service {service} selecting {}", selected(found)));
        }
    }
    if member.kind == Kind::Borrowed && mirror.get("deployments.apps", NAMESPACE, member.name).is_none() {
        return Err("has taken its Deployment with it".to_owned());
    }
    Ok(())
}
