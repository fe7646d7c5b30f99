//! Rollouts, statuses and ReplicaSets as chance has it: mostly sensible, sometimes garbage.

use serde_json::{Value, json};
use tidegate_api::rollout::Rollout;
use tidegate_api::view::{ReplicaSet, Service};
use tidegate_engine::{Observed, Router, SeenRoutes};
use tidegate_validate::references::{Found, Lookup};

/// Numbers that look random and are the same in every run (splitmix64).
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[usize::try_from(self.below(all.len() as u64)).unwrap()]
    }

    /// A size: small most of the time, at the edge of what fits otherwise.
    fn size(&mut self) -> i32 {
        if self.one_in(40) { i32::MAX } else { i32::try_from(self.below(8)).unwrap() }
    }

    /// Any number a garbled status may hold.
    fn number(&mut self) -> i32 {
        match self.below(6) {
            0 => i32::MIN,
            1 => i32::MAX,
            2 => -1,
            _ => i32::try_from(self.below(7)).unwrap(),
        }
    }

    fn time(&mut self) -> &'static str {
        const TIMES: [&str; 8] = [
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:09:59Z",
            "2025-12-31T00:00:00Z",
            "9999-12-30T22:00:00Z",
            "-009999-01-02T01:59:59Z",
            "2027-01-01T00:00:00Z",
            "soon",
            "",
        ];
        let time: &&'static str = self.of(&TIMES);
        time
    }
}

const HASHES: [&str; 5] = ["aaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "", "\u{0} no hash"];

fn template(image: u64) -> Value {
    json!({"metadata": {"labels": {"app": "shop"}},
        "spec": {"containers": [{"name": "main", "image": format!("shop:{image}")}]}})
}

fn hash(template: &Value, collisions: Option<i32>) -> String {
    let raw = serde_json::value::to_raw_value(template).unwrap();
    tidegate_hash::pod_template_hash(&raw, collisions).unwrap()
}

fn step(chance: &mut Chance, is_routed: bool) -> Value {
    let weight = chance.below(101);
    match chance.below(if is_routed { 11 } else { 8 }) {
        0..=3 => json!({"setWeight": weight}),
        4 => json!({"pause": {}}),
        5 => json!({"pause": {"duration": "30s"}}),
        6 => json!({"pause": {"duration": i32::MAX}}),
        7 if chance.one_in(8) => json!({}),
        7 => json!({"setWeight": 100 - weight}),
        8 if chance.one_in(2) => json!({"setCanaryScale": {"weight": weight}}),
        8 => json!({"setCanaryScale": {"replicas": chance.size()}}),
        9 => json!({"setCanaryScale": {"matchTrafficWeight": true}}),
        _ => json!({"setHeaderRoute": {"name": "h", "match": []}}),
    }
}

fn share(chance: &mut Chance) -> Value {
    match chance.below(4) {
        0 => json!(chance.size()),
        1 => json!("0%"),
        2 => json!("100%"),
        _ => json!("25%"),
    }
}

fn strategy(chance: &mut Chance) -> Value {
    if chance.one_in(3) {
        let mut strategy = json!({"activeService": "active"});
        for (field, value) in [
            ("previewService", json!("preview")),
            ("autoPromotionEnabled", json!(false)),
            ("autoPromotionSeconds", json!(chance.size())),
            ("previewReplicaCount", json!(chance.size())),
            ("scaleDownDelaySeconds", json!(chance.size())),
            ("scaleDownDelayRevisionLimit", json!(chance.size())),
            ("abortScaleDownDelaySeconds", json!(chance.size())),
        ] {
            if chance.one_in(2) {
                strategy[field] = value;
            }
        }
        return json!({"blueGreen": strategy});
    }
    canary(chance)
}

fn canary(chance: &mut Chance) -> Value {
    let is_routed = chance.one_in(2);
    let count = chance.below(5);
    let mut strategy = json!({"steps": (0..count).map(|_| step(chance, is_routed)).collect::<Vec<_>>()});
    let mut set = |chance: &mut Chance, one_in: u64, field: &str, value: Value| {
        if chance.one_in(one_in) {
            strategy[field] = value;
        }
    };
    let (surge, missing) = (share(chance), share(chance));
    set(chance, 4, "maxSurge", surge);
    set(chance, 4, "maxUnavailable", missing);
    let percent = chance.below(101);
    set(chance, 6, "replicaProgressThreshold", json!({"type": "Percent", "value": percent}));
    let has_services = is_routed || chance.one_in(4);
    if has_services {
        set(chance, 1, "canaryService", json!("preview"));
        set(chance, 1, "stableService", json!("active"));
    }
    if is_routed {
        let sizes = [chance.size(), chance.size(), chance.size()];
        set(chance, 1, "trafficRouting", json!({"istio": {"virtualService": {"name": "routes"}}}));
        let is_dynamic = chance.one_in(3);
        if is_dynamic {
            set(chance, 1, "dynamicStableScale", json!(true));
        } else {
            set(chance, 4, "scaleDownDelaySeconds", json!(sizes[0]));
        }
        set(chance, 4, "abortScaleDownDelaySeconds", json!(sizes[1]));
        set(chance, 4, "minPodsPerReplicaSet", json!(sizes[2]));
        set(chance, 12, "trafficRouting", json!({"nginx": {"stableIngress": "in"}}));
    }
    json!({"canary": strategy})
}

fn conditions(chance: &mut Chance) -> Value {
    let kinds = ["Progressing", "Available", "Healthy", "Completed", "Paused", "InvalidSpec", "ReplicaFailure", ""];
    let reasons = [
        "RolloutAborted",
        "RolloutPaused",
        "ProgressDeadlineExceeded",
        "NewReplicaSetAvailable",
        "ReplicaSetUpdated",
        "Unsupported",
        "",
    ];
    let count = chance.below(5);
    let list = (0..count).map(|_| {
        let mut condition = json!({});
        for (field, value) in [
            ("type", *chance.of(&kinds)),
            ("status", *chance.of(&["True", "False", "Unknown", "perhaps"])),
            ("reason", *chance.of(&reasons)),
            ("message", "because"),
            ("lastUpdateTime", chance.time()),
            ("lastTransitionTime", chance.time()),
        ] {
            if !chance.one_in(6) {
                condition[field] = json!(value);
            }
        }
        condition
    });
    list.collect()
}

fn status(chance: &mut Chance, hashes: &[String], generation: i64) -> Value {
    let mut status = json!({"observedGeneration": generation.to_string(), "conditions": conditions(chance)});
    let pick = |chance: &mut Chance| -> String {
        if chance.one_in(6) { (*chance.of(&HASHES)).to_owned() } else { chance.of(hashes).clone() }
    };
    let steps_hash = if chance.one_in(3) { "garbled".to_owned() } else { "<steps>".to_owned() };
    let pauses = json!([{"reason": *chance.of(&["CanaryPauseStep", "BlueGreenPause", "InconclusiveAnalysisRun", "?"]),
        "startTime": chance.time()}]);
    let weights = json!({"weights": {"canary": {"weight": chance.number(), "podTemplateHash": pick(chance)},
        "stable": {"weight": chance.number()}, "verified": false}});
    let all = [
        ("stableRS", json!(pick(chance))),
        ("currentPodHash", json!(pick(chance))),
        ("currentStepHash", json!(steps_hash)),
        ("currentStepIndex", json!(chance.number())),
        ("pauseConditions", pauses),
        ("controllerPause", json!(true)),
        ("abort", json!(true)),
        ("abortedAt", json!(chance.time())),
        ("promoteFull", json!(true)),
        ("phase", json!(*chance.of(&["Healthy", "Paused", "Dancing", ""]))),
        ("replicas", json!(chance.number())),
        ("updatedReplicas", json!(chance.number())),
        ("readyReplicas", json!(chance.number())),
        ("availableReplicas", json!(chance.number())),
        ("HPAReplicas", json!(chance.number())),
        ("canary", weights),
        (
            "blueGreen",
            json!({"activeSelector": pick(chance), "previewSelector": pick(chance),
            "scaleUpPreviewCheckPoint": chance.one_in(2)}),
        ),
        (
            "duration",
            json!({"rolloutStartedAt": chance.time(), "manualPauseStartedAt": chance.time(),
            "totalManualPauseDurationSeconds": i64::MAX}),
        ),
        ("restartedAt", json!(chance.time())),
        ("unheardOf", json!({"deep": [1, "two", null]})),
    ];
    for (field, value) in all {
        let often = matches!(field, "stableRS" | "currentPodHash" | "currentStepHash" | "currentStepIndex");
        if if often { !chance.one_in(6) } else { chance.one_in(3) } {
            status[field] = value;
        }
    }
    status
}

fn replica_set(chance: &mut Chance, index: u64, template: &Value, hash: &str) -> ReplicaSet {
    let size = chance.size();
    let mut template = template.clone();
    template["metadata"]["labels"]["rollouts-pod-template-hash"] = json!(hash);
    let mut annotations = json!({});
    for (key, value) in [
        ("rollout.argoproj.io/revision", chance.of(&["1", "2", "3", "9223372036854775807", "x", ""]).to_string()),
        ("rollout.argoproj.io/desired-replicas", chance.size().to_string()),
        ("rollout.argoproj.io/revision-history", chance.of(&["1", "1,1,1", "", "a,b"]).to_string()),
        ("scale-down-deadline", chance.time().to_owned()),
        (
            "rollout.argoproj.io/ephemeral-metadata",
            chance.of(&["{}", "no JSON", "{\"labels\":{\"a\":\"b\"}}"]).to_string(),
        ),
    ] {
        if chance.one_in(2) {
            annotations[key] = json!(value);
        }
    }
    let actual = if chance.one_in(2) { size } else { chance.size() };
    let owners = match chance.below(8) {
        0 => json!([]),
        1 => json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "uid": "other", "controller": true}]),
        _ => {
            json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "shop", "uid": "u", "controller": true}])
        }
    };
    let labels = if chance.one_in(10) {
        json!({"rollouts-pod-template-hash": hash})
    } else {
        json!({"app": "shop", "rollouts-pod-template-hash": hash})
    };
    serde_json::from_value(json!({
        "metadata": {"name": format!("shop-{index}"), "namespace": "default", "uid": format!("set-{index}"), "generation": 1,
            "creationTimestamp": format!("2025-12-0{}T00:00:00Z", 1 + chance.below(9)),
            "labels": labels, "annotations": annotations, "ownerReferences": owners},
        "spec": {"replicas": size, "template": template,
            "selector": {"matchLabels": {"app": "shop", "rollouts-pod-template-hash": hash}}},
        "status": {"replicas": actual, "readyReplicas": actual, "availableReplicas": actual.min(chance.size()),
            "observedGeneration": 1},
    }))
    .unwrap()
}

fn service(chance: &mut Chance, hashes: &[String]) -> Lookup<Service> {
    if chance.one_in(30) {
        return Lookup::Missing("service not found".to_owned());
    }
    let mut service = json!({"metadata": {"name": "s"}, "spec": {"selector": {"app": "shop"}}});
    if chance.one_in(2) {
        service["spec"]["selector"]["rollouts-pod-template-hash"] = json!(chance.of(hashes));
        service["metadata"]["annotations"] = json!({"argo-rollouts.argoproj.io/managed-by-rollouts": "shop"});
    }
    Lookup::Found(serde_json::from_value(service).unwrap())
}

/// Everything seen of one Rollout, as this seed has it.
pub(crate) fn observed(seed: u64) -> Observed {
    let mut chance = Chance(seed);
    let chance = &mut chance;
    let images = [chance.below(3), 7, 8];
    let collisions = chance.one_in(8).then(|| chance.number());
    let hashes: Vec<String> = images.iter().map(|image| hash(&template(*image), collisions)).collect();
    let generation = i64::try_from(chance.below(3)).unwrap();
    let mut strategy = strategy(chance);
    if chance.one_in(60) {
        strategy = json!({});
    }
    let mut spec =
        json!({"selector": {"matchLabels": {"app": "shop"}}, "strategy": strategy, "template": template(images[0])});
    for (field, value) in [
        ("replicas", json!(chance.size())),
        ("paused", json!(true)),
        ("minReadySeconds", json!(chance.below(8))),
        ("progressDeadlineSeconds", json!(chance.below(900) + 8)),
        ("progressDeadlineAbort", json!(true)),
        ("revisionHistoryLimit", json!(chance.size())),
        ("restartAt", json!(chance.time())),
        ("rollbackWindow", json!({"revisions": chance.size()})),
    ] {
        if field == "replicas" || chance.one_in(5) {
            spec[field] = value;
        }
    }
    let mut rollout = json!({"spec": spec, "metadata": {"name": "shop", "namespace": "default", "uid": "u",
        "generation": generation, "annotations": {"rollout.argoproj.io/revision": chance.of(&["1", "2", "x"]).to_string()}}});
    if !chance.one_in(8) {
        let mut status = status(chance, &hashes, generation);
        if let Some(count) = collisions {
            status["collisionCount"] = json!(count);
        }
        if status["currentStepHash"] == "<steps>" {
            let steps = &rollout["spec"]["strategy"]["canary"]["steps"];
            let raw = serde_json::value::to_raw_value(steps).unwrap();
            status["currentStepHash"] = json!(tidegate_hash::step_hash(Some(&raw)).unwrap_or_default());
        }
        rollout["status"] = status;
    }
    let rollout: Rollout = serde_json::from_value(rollout).unwrap();
    let mut replica_sets = Vec::new();
    for index in 0..chance.below(5) {
        let which = usize::try_from(index % 3).unwrap();
        let label = if chance.one_in(10) { (*chance.of(&HASHES)).to_owned() } else { hashes[which].clone() };
        replica_sets.push(replica_set(chance, index, &template(images[which]), &label));
    }
    let services = ["active", "preview"].map(|name| (name.to_owned(), service(chance, &hashes)));
    let found = Found { services: services.into(), ..Found::default() };
    let routes = SeenRoutes { verified: *chance.of(&[None, Some(true), Some(false)]), ..SeenRoutes::default() };
    Observed { rollout, replica_sets, found, routes, drives: [Router::Istio].into(), ..Observed::default() }
}
