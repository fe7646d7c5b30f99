//! Who takes part in a run: Rollouts of different kinds, drawn from the seed, and what their users want in the end.

mod checks;
mod routers;
mod routes;
mod tries;

pub(super) use tries::{TEMPLATES, alone};

use serde_json::{Value, json};
use tidegate_sim::Random;

/// What all Rollouts that stay end with.
pub(super) const LAST_IMAGE: &str = "shop:last";
pub(super) const LAST_SIZE: i64 = 3;

/// A kind of Rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A canary without steps.
    Plain,
    /// A canary with steps, timed pauses and pauses that wait for somebody.
    Steps,
    /// A canary with a stable and a canary Service.
    Services,
    /// Blue-green that promotes by itself.
    Colours,
    /// Blue-green that waits for somebody.
    Manual,
    /// A canary that takes its template from a Deployment.
    Borrowed,
    /// A canary with analyses in its steps and in the background.
    Judged,
    /// Blue-green with analyses before and after the switch.
    Weighed,
    /// A canary with Experiments in its steps.
    Tried,
    /// A canary behind VirtualServices that tell it by Service.
    Hosts,
    /// A canary behind VirtualServices that tell it by subset.
    Subsets,
    /// A canary behind one or two routers besides Istio.
    Routers,
}

/// What its users want in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The last version, everywhere.
    Last,
    /// An abort in the middle of an update.
    Aborted,
    /// To have it gone.
    Deleted,
}

/// A Rollout of a run.
#[derive(Clone, Debug)]
pub(super) struct Member {
    pub name: &'static str,
    pub kind: Kind,
    pub ending: Ending,
    strategy: Value,
    more: Value,
    /// Objects of its traffic routers as they stand in Git.
    git: Vec<Value>,
}

/// The pod template of a version; a bad one never gets ready.
pub(super) fn template(image: &str, app: &str, is_bad: bool) -> Value {
    let annotations = if is_bad { json!({"node-agent.tidegate.dev/unschedulable": "true"}) } else { json!({}) };
    let mut container = json!({"name": "main", "image": image});
    if TRIED.contains(&app) {
        container = with(container, json!({"ports": [{"containerPort": 80}]}));
    }
    json!({"metadata": {"labels": {"app": app}, "annotations": annotations}, "spec": {"containers": [container]}})
}

/// One or two Rollouts.
pub(super) fn draw(random: &mut Random) -> Vec<Member> {
    let mut kinds =
        vec![Kind::Plain, Kind::Steps, Kind::Steps, Kind::Services, Kind::Colours, Kind::Manual, Kind::Borrowed];
    let mut cast = Vec::new();
    for name in ["one", "two"] {
        if cast.is_empty() || random.per_mille(400) {
            let at = usize::try_from(random.below(kinds.len() as u64)).unwrap_or(0);
            cast.push(member(name, kinds.remove(at), random));
        }
    }
    cast
}

/// One or two Rollouts with routes.
pub(super) fn draw_routed(random: &mut Random) -> Vec<Member> {
    let mut cast = Vec::new();
    for name in ["one", "two"] {
        if cast.is_empty() || random.per_mille(400) {
            let kind = if random.per_mille(500) { Kind::Hosts } else { Kind::Subsets };
            cast.push(member(name, kind, random));
        }
    }
    cast
}

/// One or two Rollouts behind routers besides Istio.
pub(super) fn draw_behind_routers(random: &mut Random) -> Vec<Member> {
    let mut cast = Vec::new();
    for name in ["one", "two"] {
        if cast.is_empty() || random.per_mille(400) {
            cast.push(member(name, Kind::Routers, random));
        }
    }
    cast
}

/// One or two Rollouts that ask for analysis.
pub(super) fn draw_analysed(random: &mut Random) -> Vec<Member> {
    let mut cast = Vec::new();
    for name in ["one", "two"] {
        if cast.is_empty() || random.per_mille(400) {
            let kind = if random.per_mille(650) { Kind::Judged } else { Kind::Weighed };
            cast.push(member(name, kind, random));
        }
    }
    cast
}

/// Names of Rollouts that ask for Experiments: their pods have a port.
const TRIED: [&str; 2] = ["tried", "again"];

/// One or two Rollouts that ask for Experiments, with routes and without.
pub(super) fn draw_tried(random: &mut Random) -> Vec<Member> {
    let mut cast = Vec::new();
    for name in TRIED {
        if cast.is_empty() || random.per_mille(300) {
            let kind = match random.below(10) {
                0..=3 => Kind::Tried,
                4..=6 => Kind::Hosts,
                _ => Kind::Subsets,
            };
            let mut member = member(name, kind, random);
            let steps = tries::steps(name, kind != Kind::Tried, random);
            let canary = member.strategy.get("canary").cloned().unwrap_or_default();
            member.strategy = json!({"canary": with(canary, json!({"steps": steps}))});
            cast.push(member);
        }
    }
    cast
}

fn member(name: &'static str, kind: Kind, random: &mut Random) -> Member {
    let ending = match random.below(10) {
        0..=5 => Ending::Last,
        6..=8 => Ending::Aborted,
        _ => Ending::Deleted,
    };
    let strategy = match kind {
        Kind::Plain | Kind::Borrowed | Kind::Tried => json!({"canary": bounds(random)}),
        Kind::Steps => json!({"canary": with(bounds(random), json!({"steps": steps(random)}))}),
        Kind::Services => {
            let services =
                json!({"stableService": format!("{name}-stable"), "canaryService": format!("{name}-canary")});
            json!({"canary": with(with(bounds(random), services), json!({"steps": steps(random)}))})
        }
        Kind::Colours | Kind::Manual => json!({"blueGreen": colours(name, kind, random)}),
        Kind::Judged => checks::strategy(name, kind, bounds(random), random),
        Kind::Weighed => checks::strategy(name, kind, colours(name, Kind::Colours, random), random),
        Kind::Hosts | Kind::Subsets | Kind::Routers => {
            json!({"canary": with(routes::delays(random), json!({"steps": steps(random)}))})
        }
    };
    let mut more = json!({"minReadySeconds": random.below(2) * 2, "revisionHistoryLimit": 3});
    if random.per_mille(300) {
        let deadline = json!({"progressDeadlineSeconds": 20, "progressDeadlineAbort": random.per_mille(500)});
        more = with(more, deadline);
    }
    let mut member = Member { name, kind, ending, strategy, more, git: Vec::new() };
    let routing = match kind {
        Kind::Hosts | Kind::Subsets => Some(routes::drawn(name, kind, random)),
        Kind::Routers => Some(routers::drawn(name, random)),
        _ => None,
    };
    if let Some((routing, git)) = routing {
        let canary = member.strategy.get("canary").cloned().unwrap_or_default();
        member.strategy = json!({"canary": with(canary, routing)});
        member.git = git;
    }
    member
}

/// Puts the fields of one object into another.
pub(super) fn with(mut object: Value, fields: Value) -> Value {
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields);
    }
    object
}

fn bounds(random: &mut Random) -> Value {
    match random.below(4) {
        0 => json!({}),
        1 => json!({"maxSurge": 1, "maxUnavailable": 0}),
        2 => json!({"maxSurge": 0, "maxUnavailable": 1}),
        _ => json!({"maxSurge": "50%", "maxUnavailable": "25%"}),
    }
}

fn steps(random: &mut Random) -> Value {
    let mut steps = Vec::new();
    for weight in [20, 50, 75, 100] {
        if random.per_mille(600) {
            steps.push(json!({"setWeight": weight}));
        }
        match random.below(4) {
            0 => steps.push(json!({"pause": {}})),
            1 => steps.push(json!({"pause": {"duration": random.between(1, 6)}})),
            _ => {}
        }
    }
    steps.into()
}

fn colours(name: &str, kind: Kind, random: &mut Random) -> Value {
    let mut fields = json!({"activeService": format!("{name}-active"), "scaleDownDelaySeconds": random.between(1, 8),
        "abortScaleDownDelaySeconds": random.between(1, 5)});
    if random.per_mille(600) {
        fields = with(fields, json!({"previewService": format!("{name}-preview")}));
    }
    if kind == Kind::Manual {
        return with(fields, json!({"autoPromotionEnabled": false}));
    }
    if random.per_mille(500) { with(fields, json!({"autoPromotionSeconds": random.between(1, 5)})) } else { fields }
}

impl Member {
    /// Services it names.
    pub(super) fn services(&self) -> Vec<String> {
        let fields = ["activeService", "previewService", "stableService", "canaryService"];
        let strategies = [&self.strategy["blueGreen"], &self.strategy["canary"]];
        let named = strategies.into_iter().flat_map(|strategy| fields.map(|field| strategy[field].as_str()));
        named.flatten().map(str::to_owned).collect()
    }

    /// Its routes as they stand in Git.
    pub(super) fn git(&self) -> &[Value] {
        &self.git
    }

    /// Everything that is created at the start, in order.
    pub(super) fn objects(&self) -> Vec<Value> {
        let name = self.name;
        let mut objects: Vec<Value> = self
            .services()
            .iter()
            .map(|service| {
                json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": service},
                    "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}})
            })
            .collect();
        if self.kind == Kind::Subsets {
            objects.push(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
                "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}}));
        }
        objects.extend(self.git.iter().cloned());
        if matches!(self.kind, Kind::Judged | Kind::Weighed) || TRIED.contains(&name) {
            objects.extend(checks::templates(name));
        }
        let mut spec = with(json!({"replicas": 3, "strategy": self.strategy}), self.more.clone());
        let first = template("shop:1", name, false);
        if self.kind == Kind::Borrowed {
            let selector = json!({"matchLabels": {"app": name}});
            objects.push(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
                "spec": {"replicas": 2, "selector": selector, "template": first}}));
            let reference =
                json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name, "scaleDown": "onsuccess"});
            spec = with(spec, json!({"workloadRef": reference}));
        } else {
            spec = with(spec, json!({"selector": {"matchLabels": {"app": name}}, "template": first}));
        }
        objects.push(json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name},
            "spec": spec}));
        objects
    }

    /// The spec that is not broken.
    pub(super) fn sound(&self) -> Value {
        json!({"minReadySeconds": self.more["minReadySeconds"]})
    }
}
