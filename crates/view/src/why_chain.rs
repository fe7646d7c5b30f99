//! The chain from a Rollout down to the cause, and the command that helps.

use tidegate_api::analysis::{AnalysisRun, MetricResult};
use tidegate_api::names::{analysis_phase, condition, phase, reason};
use tidegate_api::rollout::RolloutStatus;
use tidegate_api::values::Time;
use tidegate_api::wire::{Items, Text};
use tidegate_engine::{Waiting, routing, steps};
use tidegate_traffic::istio::names::VirtualServiceName;

use crate::info::{AnalysisRunInfo, PodInfo, ReplicaSetInfo, RolloutInfo};
use crate::why::{PodEvent, found, is_unseen, revision};
use crate::{Objects, Verdict, pod};

/// Pods that are named at most; more are alike.
const MOST_PODS: usize = 3;

/// Lines from the Rollout down, and the command that helps.
pub(crate) struct Chain<'a> {
    objects: &'a Objects,
    info: &'a RolloutInfo,
    status: &'a RolloutStatus,
    events: &'a [PodEvent],
    verdict: Option<&'a Verdict>,
    pub(crate) lines: Vec<String>,
    pub(crate) unblock: Option<String>,
}

impl<'a> Chain<'a> {
    pub(crate) fn new(
        objects: &'a Objects,
        info: &'a RolloutInfo,
        status: &'a RolloutStatus,
        events: &'a [PodEvent],
        verdict: Option<&'a Verdict>,
    ) -> Self {
        Self { objects, info, status, events, verdict, lines: Vec::new(), unblock: None }
    }

    /// Fills in lines and command.
    pub(crate) fn explain(&mut self) {
        if self.info.status == phase::HEALTHY {
            // Something it names may have gone since.
            self.unblock = self.refusal().map(|problem| self.correction(&problem));
            return;
        }
        if is_unseen(self.info) {
            let (generation, observed) = (self.info.object_meta.generation, &self.info.generation);
            self.lines.push(format!("the spec is at generation {generation}, the controller has seen {observed}"));
            return self.look_at_the_controller();
        }
        if let Some(problem) = self.refusal() {
            self.unblock = Some(self.correction(&problem));
            return;
        }
        self.step();
        if self.status.abort == Some(true) {
            return self.aborted();
        }
        if self.info.status == phase::PAUSED {
            return self.paused();
        }
        self.under_way();
    }

    /// What the engine says holds it.
    fn holds(&self) -> impl Iterator<Item = &'a Waiting> + use<'a> {
        self.verdict.into_iter().flat_map(|verdict| &verdict.holds)
    }

    /// Why the spec is refused, by the engine's word or else by the status.
    fn refusal(&self) -> Option<String> {
        let by_engine = self.holds().find_map(|hold| match hold {
            Waiting::ValidSpec { message } => Some(message.clone()),
            _ => None,
        });
        by_engine.or_else(|| found(self.status, condition::INVALID_SPEC).map(|found| found.message.text().to_owned()))
    }

    /// Where to mend it: a route that does not fit is the VirtualService's.
    fn correction(&self, problem: &str) -> String {
        let is_named =
            |name: &VirtualServiceName| problem.contains(&format!("{:?}: Istio VirtualService has", name.name));
        let routes = routing::virtual_services(&self.objects.rollout).into_iter().map(|(name, _)| name);
        match routes.into_iter().find(is_named) {
            Some(found) => format!("kubectl edit virtualservice {}", found.name),
            None => format!("kubectl edit rollout {}", self.name()),
        }
    }

    fn name(&self) -> &str {
        &self.info.object_meta.name
    }

    fn plugin(&self, command: &str) -> String {
        format!("kubectl argo rollouts {command} {}", self.name())
    }

    /// Which step of which revision.
    fn step(&mut self) {
        let revision = revision(self.info);
        let canary = self.objects.rollout.spec.canary();
        let at = canary.and_then(|canary| steps::current(canary, self.status.current_step_index));
        let count = canary.map_or(0, |canary| canary.steps.items().len());
        match (at, revision.is_empty()) {
            (Some((index, step)), true) => {
                self.lines.push(format!("step {} of {count}: {}", index + 1, steps::text(step)));
            }
            (Some((index, step)), false) => {
                self.lines.push(format!("{revision}, step {} of {count}: {}", index + 1, steps::text(step)));
            }
            (None, false) => self.lines.push(revision),
            (None, true) => {}
        }
    }

    fn aborted(&mut self) {
        let progress = found(self.status, condition::PROGRESSING);
        if let Some(progress) = progress.filter(|progress| progress.reason.text() == reason::ROLLOUT_ABORTED) {
            self.lines.push(progress.message.text().to_owned());
        }
        self.bad_runs(&["Failed", "Error", "Inconclusive"]);
        self.unblock = Some(self.plugin("retry rollout"));
    }

    fn paused(&mut self) {
        if self.objects.rollout.spec.paused == Some(true) {
            self.lines.push("spec.paused is true".to_owned());
            self.unblock = Some(self.plugin("resume"));
            return;
        }
        self.bad_runs(&["Inconclusive"]);
        let is_short = self.pods();
        let helps = if is_short && self.is_failing() { "abort" } else { "promote" };
        self.unblock = Some(self.plugin(helps));
    }

    fn under_way(&mut self) {
        let before = self.lines.len();
        let is_late = found(self.status, condition::PROGRESSING)
            .is_some_and(|found| found.reason.text() == reason::PROGRESS_DEADLINE_EXCEEDED);
        if is_late {
            self.lines.push(self.info.message.clone());
        }
        let routes = found(self.status, condition::TRAFFIC_ROUTING).filter(|found| found.status.text() == "False");
        self.lines.extend(routes.map(|routes| format!("routes: {}", routes.message.text())));
        self.behind();
        self.running();
        let is_short = self.pods();
        let is_unexplained =
            self.lines.len() == before && self.info.waiting_for.is_empty() && self.holds().next().is_none();
        if is_late || (is_short && self.is_failing()) {
            self.unblock = Some(self.plugin("abort"));
        } else if is_unexplained && self.info.status != phase::DEGRADED {
            self.look_at_the_controller();
        }
    }

    /// What is behind the holds that only the engine knows.
    fn behind(&mut self) {
        for hold in self.holds() {
            match hold {
                Waiting::StableCapacity { needed, .. } => self.lines.push(format!(
                    "the stable version would carry more than its pods can: {needed} are needed before weights change"
                )),
                Waiting::Propagation { .. } => {
                    self.lines.push("routes or subsets were written a moment ago".to_owned());
                }
                Waiting::Verification { .. } => {
                    self.lines.push("the router has not confirmed the weights that were set".to_owned());
                }
                _ => {}
            }
        }
    }

    /// Whether a pod of the new version will not become ready by waiting.
    fn is_failing(&self) -> bool {
        let new = self.info.replica_sets.iter().filter(|set| set.canary || set.preview);
        new.flat_map(|set| &set.pods).any(|pod| {
            // `Init:0/1` counts containers, every other `Init:` is a failure of one.
            let begins = pod.status.strip_prefix("Init:");
            matches!(pod.icon, "✖" | "⚠") || begins.is_some_and(|state| !state.contains('/'))
        })
    }

    fn look_at_the_controller(&mut self) {
        self.unblock = Some("kubectl get pods --all-namespaces -l app.kubernetes.io/name=argo-rollouts".to_owned());
    }

    /// Runs that ended in one of these phases, and their worst metric. Only those of the newest revision matter.
    fn bad_runs(&mut self, phases: &[&str]) {
        let own = self.info.analysis_runs.iter();
        let theirs = self.info.experiments.iter().flat_map(|experiment| &experiment.analysis_runs);
        let newest = self.info.replica_sets.iter().map(|set| set.revision).max().unwrap_or_default();
        let bad = |run: &&AnalysisRunInfo| {
            phases.contains(&run.status.as_str()) && (run.revision == newest || run.revision == 0)
        };
        let names: Vec<String> = own.chain(theirs).filter(bad).map(|run| run.object_meta.name.clone()).collect();
        for name in names {
            self.run(&name);
        }
    }

    /// Runs and Experiments that are not over.
    fn running(&mut self) {
        for experiment in self.info.experiments.iter().filter(|one| !analysis_phase::is_completed(&one.status)) {
            let state = if experiment.status.is_empty() { "not begun" } else { &experiment.status };
            self.lines.push(
                format!("Experiment {}: {state} {}", experiment.object_meta.name, experiment.message)
                    .trim_end()
                    .to_owned(),
            );
        }
        let is_running = |run: &&AnalysisRunInfo| !analysis_phase::is_completed(&run.status);
        let running = self.info.analysis_runs.iter().filter(is_running);
        for name in running.map(|run| run.object_meta.name.clone()).collect::<Vec<_>>() {
            self.run(&name);
        }
    }

    fn run(&mut self, name: &str) {
        let found = self.objects.analysis_runs.iter().find(|run| run.metadata.name.as_deref() == Some(name));
        let Some(run) = found else { return };
        self.lines.extend(run_lines(run));
    }

    /// ReplicaSets without all their pods, and the pods that are the reason; says whether there are any.
    fn pods(&mut self) -> bool {
        let short: Vec<&ReplicaSetInfo> = self
            .info
            .replica_sets
            .iter()
            .filter(|set| set.available < set.wanted || set.status == "ReplicaFailure")
            .collect();
        for set in &short {
            let role = role(set);
            self.lines.push(format!(
                "ReplicaSet {}{role}: {} of {} pods available",
                set.object_meta.name, set.available, set.wanted
            ));
            self.set_failure(set);
            let bad: Vec<&PodInfo> = set.pods.iter().filter(|pod| !is_ready(pod)).collect();
            for pod in bad.iter().take(MOST_PODS) {
                self.pod(pod);
            }
            if bad.len() > MOST_PODS {
                self.lines.push(format!("and {} more pods", bad.len() - MOST_PODS));
            }
        }
        if !short.is_empty() {
            let warnings = self.events.iter().filter(|event| event.kind == "Warning");
            let seen = |event: &&PodEvent| event.last_timestamp.as_ref().and_then(Time::instant);
            let last =
                warnings.max_by_key(seen).map(|event| format!("event {}: {}", event.reason, event.message.trim()));
            self.lines.extend(last);
        }
        !short.is_empty()
    }

    fn set_failure(&mut self, set: &ReplicaSetInfo) {
        let stored =
            self.objects.replica_sets.iter().find(|one| one.metadata.name.as_ref() == Some(&set.object_meta.name));
        let conditions = stored.into_iter().flat_map(|set| &set.status.conditions);
        for failure in conditions.filter(|one| one.kind == "ReplicaFailure" && one.status == "True") {
            self.lines.push(format!("no pods can be made: {}", failure.message));
        }
    }

    fn pod(&mut self, pod: &PodInfo) {
        let stored = self.objects.pods.iter().find(|one| one.metadata.name.as_ref() == Some(&pod.object_meta.name));
        let restarts = if pod.restarts > 0 { format!(", {} restarts", pod.restarts) } else { String::new() };
        self.lines.push(format!("pod {}: {}, ready {}{restarts}", pod.object_meta.name, pod.status, pod.ready));
        self.lines.extend(stored.and_then(pod::trouble).map(|trouble| one_line(&trouble)));
    }
}

fn role(set: &ReplicaSetInfo) -> &'static str {
    match (set.canary, set.preview, set.stable) {
        (true, _, _) => " (canary)",
        (_, true, _) => " (preview)",
        (_, _, true) => " (stable)",
        _ => "",
    }
}

pub(crate) fn is_ready(pod: &PodInfo) -> bool {
    pod.ready.split_once('/').is_some_and(|(ready, all)| ready == all)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn run_lines(run: &AnalysisRun) -> Vec<String> {
    let name = run.metadata.name.text();
    let Some(status) = &run.status else { return vec![format!("AnalysisRun {name}: not begun")] };
    let head = format!("AnalysisRun {name}: {} {}", status.phase.text(), status.message.text());
    let mut lines = vec![head.trim_end().to_owned()];
    let all = status.metric_results.items();
    let worst = all.iter().filter(|result| result.phase.text() != analysis_phase::SUCCESSFUL);
    lines.extend(worst.map(metric_line));
    lines
}

fn metric_line(result: &MetricResult) -> String {
    let last = result.measurements.items().last();
    let value = last.map_or("", |last| last.value.text());
    let message = last.map_or("", |last| last.message.text());
    let mut line = format!("metric {}: {}", result.name.text(), result.phase.text());
    if !value.is_empty() {
        line.push_str(&format!(", last value {}", one_line(value)));
    }
    if !message.is_empty() {
        line.push_str(&format!(", {}", one_line(message)));
    }
    line
}
