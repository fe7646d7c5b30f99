//! The tree of a Rollout or an Experiment as rows of a table.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::age::{age, human};
use crate::info::{AnalysisRunInfo, ExperimentInfo, JobInfo, PodInfo, ReplicaSetInfo, RolloutInfo};
use crate::paint::{Paint, tag_code};
use crate::table::aligned;

type Row = [String; 5];

/// Collects rows from the root down.
struct Tree {
    rows: Vec<Row>,
    now: Timestamp,
    paint: Paint,
}

/// What stands before a row, and before the rows below it.
#[derive(Clone, Default)]
struct Branch {
    own: String,
    below: String,
}

impl Branch {
    fn child(&self, is_last: bool) -> Self {
        let (own, below) = if is_last { ("└──", "   ") } else { ("├──", "│  ") };
        Self { own: format!("{}{own}", self.below), below: format!("{}{below}", self.below) }
    }
}

/// Something that has a row.
#[derive(Clone, Copy)]
enum Node<'a> {
    ReplicaSet(&'a ReplicaSetInfo),
    Experiment(&'a ExperimentInfo),
    AnalysisRun(&'a AnalysisRunInfo),
    Pod(&'a PodInfo),
    Job(&'a JobInfo),
}

pub(crate) fn of_rollout(info: &RolloutInfo, now: Timestamp, paint: Paint) -> String {
    let mut tree = Tree::new(now, paint);
    let root = Branch::default();
    let name = format!("⟳ {}", info.object_meta.name);
    tree.row(name, "Rollout", (info.icon, &info.status), info.object_meta.creation_timestamp, String::new());
    let revisions = revisions(info);
    for (index, revision) in revisions.iter().rev().enumerate() {
        let branch = root.child(index + 1 == revisions.len());
        let name = format!("{}# revision:{revision}", branch.own);
        tree.rows.push([name, String::new(), " ".to_owned(), String::new(), String::new()]);
        let sets = info.replica_sets.iter().filter(|set| set.revision == *revision).map(Node::ReplicaSet);
        let experiments = info.experiments.iter().filter(|one| one.revision == *revision).map(Node::Experiment);
        let runs = info.analysis_runs.iter().filter(|run| run.revision == *revision).map(Node::AnalysisRun);
        tree.children(&branch, &sets.chain(experiments).chain(runs).collect::<Vec<_>>());
    }
    aligned(&tree.rows)
}

pub(crate) fn of_experiment(info: &ExperimentInfo, now: Timestamp, paint: Paint) -> String {
    let mut tree = Tree::new(now, paint);
    tree.node(&Branch::default(), Node::Experiment(info));
    aligned(&tree.rows)
}

fn revisions(info: &RolloutInfo) -> BTreeSet<i64> {
    let sets = info.replica_sets.iter().map(|set| set.revision);
    let experiments = info.experiments.iter().map(|experiment| experiment.revision);
    let runs = info.analysis_runs.iter().map(|run| run.revision);
    sets.chain(experiments).chain(runs).collect()
}

impl Tree {
    fn new(now: Timestamp, paint: Paint) -> Self {
        Self { rows: vec![["NAME", "KIND", "STATUS", "AGE", "INFO"].map(str::to_owned)], now, paint }
    }

    fn children(&mut self, parent: &Branch, nodes: &[Node<'_>]) {
        for (index, node) in nodes.iter().enumerate() {
            self.node(&parent.child(index + 1 == nodes.len()), *node);
        }
    }

    fn row(
        &mut self,
        name: String,
        kind: &str,
        (icon, status): (&str, &str),
        created: Option<Timestamp>,
        more: String,
    ) {
        let status = format!("{} {status}", self.paint.icon(icon));
        self.rows.push([name, kind.to_owned(), status, age(created, self.now), more]);
    }

    fn node(&mut self, branch: &Branch, node: Node<'_>) {
        let paint = self.paint;
        match node {
            Node::ReplicaSet(set) => {
                let (name, more) = self.replica_set(set);
                let name = format!("{}⧉ {name}", branch.own);
                let created = set.object_meta.creation_timestamp;
                self.row(name, "ReplicaSet", (set.icon, set.status), created, more);
                self.children(branch, &set.pods.iter().map(Node::Pod).collect::<Vec<_>>());
            }
            Node::Experiment(experiment) => {
                let meta = &experiment.object_meta;
                let name = format!("{}Σ {}", branch.own, paint.running_name(&meta.name, &experiment.status));
                let status = (experiment.icon, experiment.status.as_str());
                self.row(name, "Experiment", status, meta.creation_timestamp, String::new());
                let sets = experiment.replica_sets.iter().map(Node::ReplicaSet);
                let runs = experiment.analysis_runs.iter().map(Node::AnalysisRun);
                self.children(branch, &sets.chain(runs).collect::<Vec<_>>());
            }
            Node::AnalysisRun(run) => {
                let name = format!("{}α {}", branch.own, paint.running_name(&run.object_meta.name, &run.status));
                let created = run.object_meta.creation_timestamp;
                self.row(name, "AnalysisRun", (run.icon, &run.status), created, counts(run, paint));
                self.children(branch, &run.jobs.iter().map(Node::Job).collect::<Vec<_>>());
            }
            Node::Pod(pod) => {
                let name = format!("{}□ {}", branch.own, pod.object_meta.name);
                let restarts = if pod.restarts > 0 { format!(",restarts:{}", pod.restarts) } else { String::new() };
                let more = format!("ready:{}{restarts}", pod.ready);
                self.row(name, "Pod", (pod.icon, &pod.status), pod.object_meta.creation_timestamp, more);
            }
            Node::Job(job) => {
                let name = format!("{}⊞ {}", branch.own, paint.running_name(&job.object_meta.name, &job.status));
                let created = job.object_meta.creation_timestamp;
                self.row(name, "Job", (job.icon, &job.status), created, String::new());
            }
        }
    }

    /// The name in the colours of its roles, and the roles.
    fn replica_set(&self, set: &ReplicaSetInfo) -> (String, String) {
        let second = if set.canary {
            Some("canary")
        } else if set.active {
            Some("active")
        } else {
            set.preview.then_some("preview")
        };
        let roles = [set.stable.then_some("stable"), second, set.ping.then_some("ping"), set.pong.then_some("pong")];
        let roles: Vec<&str> = roles.into_iter().flatten().collect();
        let wrap = |name: String, role: &&str| self.paint.text(tag_code(role), &name);
        let name = roles.iter().fold(set.object_meta.name.clone(), wrap);
        let mut more: Vec<String> = roles.iter().map(|role| self.paint.tag(role)).collect();
        if !set.scale_down_deadline.is_empty() {
            more.push(format!("delay:{}", self.delay(&set.scale_down_deadline)));
        }
        (name, more.join(","))
    }

    fn delay(&self, deadline: &str) -> String {
        match deadline.parse::<Timestamp>() {
            Err(_) => String::new(),
            Ok(deadline) if deadline < self.now => "passed".to_owned(),
            Ok(deadline) => human(deadline.duration_since(self.now)),
        }
    }
}

fn counts(run: &AnalysisRunInfo, paint: Paint) -> String {
    let counts = [("✔", run.successful), ("✖", run.failed), ("?", run.inconclusive), ("⚠", run.error)];
    let shown = counts.iter().filter(|(_, count)| *count > 0);
    shown.map(|(icon, count)| format!("{} {count}", paint.icon(icon))).collect::<Vec<_>>().join(",")
}
