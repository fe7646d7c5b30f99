//! Whether the load balancer follows the annotations.

use std::collections::BTreeMap;

use serde_json::Value;
use tidegate_api::rollout::{AlbStatus, AwsResourceRef};

use super::arn::{load_balancer_name, target_group_name};
use super::router::Alb;
use crate::router::fields::{list, text};
use crate::router::weighted::Split;
use crate::router::{Event, RouterError, Seen, Wanted};

/// A load balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadBalancer {
    /// Its name.
    pub name: String,
    /// Its ARN.
    pub arn: String,
}

/// A target group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetGroup {
    /// Its name.
    pub name: String,
    /// Its ARN.
    pub arn: String,
    /// Its tags.
    pub tags: BTreeMap<String, String>,
}

/// Where one action of a listener's rule forwards to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Target groups by ARN with their weights.
    pub weights: BTreeMap<String, i64>,
}

/// What AWS says of one host name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The load balancer with this host name.
    pub load_balancer: Option<LoadBalancer>,
    /// Its target groups.
    pub target_groups: Vec<TargetGroup>,
    /// The forward actions of all rules of all its listeners.
    pub forwards: Vec<Forward>,
}

/// What a pass of verification has come to.
#[derive(Clone, Debug, PartialEq)]
pub struct Verified {
    /// Whether every weight is in force, in every load balancer.
    pub is_verified: bool,
    /// What to tell.
    pub events: Vec<Event>,
    /// `status.albs`, one for each Ingress; the last one is `status.alb`.
    pub albs: Vec<AlbStatus>,
    /// What was not found, for people.
    pub missing: Vec<String>,
}

/// When weights are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occasion {
    /// Whether there is a stable revision.
    pub has_stable: bool,
    /// Whether stable and newest are the same.
    pub is_fully_promoted: bool,
    /// Whether the current step sets a weight; none when no step is left.
    pub sets_weight: Option<bool>,
    /// The canary's weight.
    pub weight: i32,
    /// Whether `status.alb` or `status.albs` says something already.
    pub has_status: bool,
}

impl Occasion {
    /// Whether AWS is to be asked now.
    pub fn is_due(&self) -> bool {
        let is_weighted = self.sets_weight.unwrap_or(self.weight == 100);
        let matters = self.has_stable && !self.is_fully_promoted && is_weighted;
        matters || !self.has_status
    }
}

/// The warning when AWS cannot be asked.
pub fn verify_failed(service: &str, error: &str) -> Event {
    let message = format!("Failed to verify Service {service} (TargetGroup unknown): {error}");
    Event::warning("TargetGroupVerifyError", message)
}

impl Alb<'_> {
    /// The host names to ask AWS about, each with its Ingress.
    pub fn hosts(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<(String, String)>, RouterError> {
        let mut all = Vec::new();
        for name in self.ingresses(wanted)? {
            let hosts = hosts(self.find(&name, seen)?);
            all.extend(hosts.into_iter().map(|host| (name.name.clone(), host.to_owned())));
        }
        Ok(all)
    }

    /// Compares what AWS answers, by host name, with what is wanted.
    pub fn verify(
        &self,
        seen: &Seen,
        wanted: &Wanted<'_>,
        answers: &BTreeMap<String, Answer>,
    ) -> Result<Verified, RouterError> {
        let mut all = Verified { is_verified: true, events: Vec::new(), albs: Vec::new(), missing: Vec::new() };
        for name in self.ingresses(wanted)? {
            let hosts = hosts(self.find(&name, seen)?);
            if hosts.is_empty() {
                all.lack(format!("{name} has no host name in status.loadBalancer yet"));
            }
            let mut status = AlbStatus { ingress: Some(name.name.clone()), ..AlbStatus::default() };
            for host in hosts {
                let unread = || RouterError::Unread { what: format!("load balancer of {host}") };
                let answer = answers.get(host).ok_or_else(unread)?;
                let Some(found) = &answer.load_balancer else {
                    let message = format!("Failed to find load balancer: {host}");
                    all.events.push(Event::warning("LoadBalancerNotFound", message));
                    all.lack(format!("load balancer of {host}"));
                    continue;
                };
                status.load_balancer = Some(reference(&found.name, &found.arn, load_balancer_name(&found.arn)));
                self.compare(&name.name, answer, wanted, &mut status, &mut all);
            }
            all.albs.push(status);
        }
        Ok(all)
    }

    fn compare(&self, ingress: &str, answer: &Answer, wanted: &Wanted<'_>, status: &mut AlbStatus, all: &mut Verified) {
        let (namespace, port) = (wanted.rollout.namespace, self.port());
        let resource = |service: &str| format!("{namespace}/{ingress}-{service}:{port}");
        let group = |service: &str| {
            let tag = &self.versions.alb_resource_tag;
            answer.target_groups.iter().find(|group| group.tags.get(tag) == Some(&resource(service)))
        };
        let named = |group: &TargetGroup| reference(&group.name, &group.arn, target_group_name(&group.arn));
        let stable = group(wanted.paired.stable);
        status.stable_target_group = stable.map(named);
        status.canary_target_group = group(wanted.paired.canary).map(named);
        let split = Split::of(wanted, 100, 0, true);
        let experiments = split.experiments.iter().map(|(service, part)| (service.as_str(), *part));
        for (service, weight) in [(wanted.paired.canary, split.canary)].into_iter().chain(experiments) {
            let Some(group) = group(service) else {
                all.lack(format!("target group of {}", resource(service)));
                continue;
            };
            let current = current(answer, &group.arn, stable.map(|stable| stable.arn.as_str()), weight);
            let subject = format!("Service {service} (TargetGroup {})", group.arn);
            all.events.push(if current == weight {
                Event::normal("TargetGroupVerified", format!("{subject} verified: canary weight {weight} set"))
            } else {
                all.is_verified = false;
                let message =
                    format!("{subject} not verified: canary weight {weight} not yet set (current: {current})");
                Event::warning("TargetGroupUnverified", message)
            });
        }
    }
}

impl Verified {
    /// `status.alb`.
    pub fn alb(&self) -> Option<&AlbStatus> {
        self.albs.last()
    }

    fn lack(&mut self, what: String) {
        self.is_verified = false;
        self.missing.push(what);
    }
}

/// The weight of a target group in the rules that split traffic: those that know stable, as header routes name the
/// canary alone. The first that is not as wanted counts.
fn current(answer: &Answer, arn: &str, stable: Option<&str>, wanted: i64) -> i64 {
    let splits = |forward: &&Forward| stable.is_some_and(|stable| forward.weights.contains_key(stable));
    let has_splits = answer.forwards.iter().any(|forward| splits(&forward));
    let relevant = answer.forwards.iter().filter(|forward| !has_splits || splits(forward));
    let all: Vec<i64> = if has_splits {
        relevant.map(|forward| forward.weights.get(arn).copied().unwrap_or_default()).collect()
    } else {
        relevant.filter_map(|forward| forward.weights.get(arn).copied()).collect()
    };
    all.iter().find(|weight| **weight != wanted).or(all.first()).copied().unwrap_or_default()
}

fn reference(name: &str, arn: &str, full_name: String) -> AwsResourceRef {
    let (name, arn) = (Some(name.to_owned()), Some(arn.to_owned()));
    AwsResourceRef { name, arn, full_name: Some(full_name), ..AwsResourceRef::default() }
}

fn hosts(ingress: &Value) -> Vec<&str> {
    let all = list(ingress, &["status", "loadBalancer", "ingress"]).into_iter().flatten();
    all.map(|entry| text(entry, &["hostname"])).filter(|host| !host.is_empty()).collect()
}
