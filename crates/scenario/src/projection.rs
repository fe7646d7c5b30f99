//! What a checkpoint shows of the objects: everything that must be equal, with placeholders for what cannot.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value, json};

use crate::observer::{HASH_LABEL, Known, REVISION, owner, text};

macro_rules! pattern {
    ($name:ident, $text:literal) => {
        static $name: LazyLock<Regex> =
            LazyLock::new(|| Regex::new($text).expect("the pattern is a literal, and every replay uses it"));
    };
}

pattern!(UUID, r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b");
pattern!(TIME, r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?(Z|[+-]\d\d:?\d\d))?( UTC)?( m=[+-][\d.]+)?");
pattern!(POD, r"(<rev:\d+>|<template:[^>]*>)-[bcdfghjklmnpqrstvwxz2456789]{5}\b");
pattern!(VERSION, r#"(resourceVersion|resource version):? ?"?\d+"?"#);

/// Projects what is known of a namespace.
pub(crate) struct Projector<'a> {
    pub known: &'a Known,
    pub namespace: &'a str,
}

pub(crate) fn or(value: &Value, default: Value) -> Value {
    if value.is_null() { default } else { value.clone() }
}

/// A number that is kept as text.
fn number(value: &Value) -> Option<i64> {
    value.as_str()?.parse().ok()
}

impl Projector<'_> {
    /// A text with placeholders.
    pub(crate) fn text(&self, value: &str) -> String {
        let mut out = value.to_owned();
        for (hash, placeholder) in &self.known.hashes {
            out = out.replace(hash, placeholder);
        }
        let out = POD.replace_all(&out, "$1-<pod>").replace(self.namespace, "<ns>");
        let out = UUID.replace_all(&out, "<uid>");
        let out = TIME.replace_all(&out, "<time>");
        VERSION.replace_all(&out, "$1 <rv>").into_owned()
    }

    pub(crate) fn shown(&self, value: &Value) -> Value {
        match value {
            Value::String(found) => self.text(found).into(),
            Value::Array(items) => items.iter().map(|item| self.shown(item)).collect(),
            Value::Object(fields) => {
                Value::Object(fields.iter().map(|(key, value)| (self.text(key), self.shown(value))).collect())
            }
            other => other.clone(),
        }
    }

    /// The revision a hash stands for.
    pub(crate) fn revision(&self, hash: &Value) -> Value {
        let hash = text(hash);
        if hash.is_empty() {
            return Value::Null;
        }
        let placeholder = self.known.hashes.get(hash).map_or("<unknown>", String::as_str);
        placeholder.replace("<rev:", "").trim_matches(['<', '>']).into()
    }

    fn run(&self, entry: &Value) -> Value {
        if entry.is_null() {
            return Value::Null;
        }
        let message = self.text(text(&entry["message"]));
        json!({"name": self.text(text(&entry["name"])), "status": entry["status"], "message": message})
    }

    fn destination(&self, found: &Value) -> Value {
        if found.is_null() {
            return Value::Null;
        }
        json!({"weight": or(&found["weight"], 0.into()), "service": found["serviceName"],
            "revision": self.revision(&found["podTemplateHash"])})
    }

    fn weights(&self, weights: &Value) -> Value {
        if weights.is_null() {
            return Value::Null;
        }
        let mut out = json!({"canary": self.destination(&weights["canary"]),
            "stable": self.destination(&weights["stable"]), "verified": weights["verified"]});
        if let (Some(additional), Some(fields)) = (weights["additional"].as_array(), out.as_object_mut()) {
            let all: Vec<Value> = additional.iter().map(|found| self.destination(found)).collect();
            fields.insert("additional".to_owned(), all.into());
        }
        out
    }

    pub(crate) fn conditions(&self, status: &Value) -> Value {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let entry = |found: &Value| {
            let shown = json!({"status": found["status"], "reason": or(&found["reason"], "".into()),
                "message": self.text(text(&found["message"]))});
            (text(&found["type"]).to_owned(), shown)
        };
        Value::Object(conditions.map(entry).collect())
    }

    fn rollout(&self, rollout: &Value) -> Value {
        let (status, spec, metadata) = (&rollout["status"], &rollout["spec"], &rollout["metadata"]);
        let (canary, blue_green) = (&status["canary"], &status["blueGreen"]);
        let no = Value::Bool(false);
        let count = |name: &str| or(&status[name], 0.into());
        let pauses = status["pauseConditions"].as_array().into_iter().flatten().map(|pause| pause["reason"].clone());
        let mut out = json!({
            "phase": status["phase"], "message": self.text(text(&status["message"])),
            "currentStepIndex": status["currentStepIndex"], "currentStepHash": status["currentStepHash"],
            "abort": or(&status["abort"], no.clone()), "abortedAt": !text(&status["abortedAt"]).is_empty(),
            "promoteFull": or(&status["promoteFull"], no.clone()), "pauseConditions": pauses.collect::<Vec<_>>(),
            "controllerPause": or(&status["controllerPause"], no.clone()),
            "specPaused": or(&spec["paused"], no.clone()),
            "stableRevision": self.revision(&status["stableRS"]),
            "currentRevision": self.revision(&status["currentPodHash"]),
            "revisionAnnotation": metadata["annotations"][REVISION], "specReplicas": spec["replicas"],
            "replicas": count("replicas"), "updatedReplicas": count("updatedReplicas"),
            "readyReplicas": count("readyReplicas"), "availableReplicas": count("availableReplicas"),
            "HPAReplicas": count("HPAReplicas"), "selector": self.text(text(&status["selector"])),
            "conditions": self.conditions(status),
            "observedGenerationMatches": number(&status["observedGeneration"]) == metadata["generation"].as_i64(),
            "canary": {
                "weights": self.weights(&canary["weights"]),
                "currentStepAnalysisRun": self.run(&canary["currentStepAnalysisRunStatus"]),
                "currentBackgroundAnalysisRun": self.run(&canary["currentBackgroundAnalysisRunStatus"]),
                "currentExperiment": self.shown(&canary["currentExperiment"]),
                "stablePingPong": canary["stablePingPong"],
            },
            "blueGreen": {
                "activeRevision": self.revision(&blue_green["activeSelector"]),
                "previewRevision": self.revision(&blue_green["previewSelector"]),
                "scaleUpPreviewCheckPoint": or(&blue_green["scaleUpPreviewCheckPoint"], no),
                "prePromotionAnalysisRun": self.run(&blue_green["prePromotionAnalysisRunStatus"]),
                "postPromotionAnalysisRun": self.run(&blue_green["postPromotionAnalysisRunStatus"]),
            },
        });
        if let Some(fields) = out.as_object_mut() {
            if let Some(name) = spec["workloadRef"]["name"].as_str() {
                let workload = self.known.all("Deployment").find(|(known, _)| known.as_str() == name);
                let is_seen = workload.is_some_and(|(_, found)| {
                    number(&status["workloadObservedGeneration"]) == found["metadata"]["generation"].as_i64()
                });
                fields.insert("workloadObservedGenerationMatches".to_owned(), is_seen.into());
            }
            if !spec["restartAt"].is_null() {
                fields.insert("restarted".to_owned(), (status["restartedAt"] == spec["restartAt"]).into());
            }
        }
        out
    }

    fn replica_set(&self, set: &Value) -> Value {
        let (spec, status, annotations) = (&set["spec"], &set["status"], &set["metadata"]["annotations"]);
        let template = &spec["template"];
        let images = template["spec"]["containers"].as_array().into_iter().flatten();
        let images: Vec<Value> = images.map(|container| container["image"].clone()).collect();
        let entries = |name: &str| self.shown(&or(&template["metadata"][name], json!({})));
        let mut out = json!({
            "specReplicas": spec["replicas"], "replicas": or(&status["replicas"], 0.into()),
            "ready": or(&status["readyReplicas"], 0.into()), "available": or(&status["availableReplicas"], 0.into()),
            "scaleDownDeadline": !text(&annotations["scale-down-deadline"]).is_empty(),
            "desiredReplicas": annotations["rollout.argoproj.io/desired-replicas"],
            "revisionHistory": annotations["rollout.argoproj.io/revision-history"],
            "images": images, "podLabels": entries("labels"), "podAnnotations": entries("annotations"),
            "minReadySeconds": or(&spec["minReadySeconds"], 0.into()),
        });
        if let Some(fields) = out.as_object_mut() {
            if !template["spec"]["affinity"].is_null() {
                fields.insert("affinity".to_owned(), self.shown(&template["spec"]["affinity"]));
            }
            if let Some(injected) = annotations["rollout.argoproj.io/ephemeral-metadata"].as_str() {
                fields.insert("ephemeralMetadata".to_owned(), serde_json::from_str(injected).unwrap_or_default());
            }
        }
        out
    }

    fn service(&self, service: &Value) -> Value {
        let mut selector = service["spec"]["selector"].as_object().cloned().unwrap_or_default();
        let hash = selector.remove(HASH_LABEL).unwrap_or_default();
        let marked = &service["metadata"]["annotations"]["argo-rollouts.argoproj.io/managed-by-rollouts"];
        json!({"revision": self.revision(&hash), "managedBy": marked, "selector": selector})
    }

    fn pods(&self) -> Value {
        let mut out: Map<String, Value> = Map::new();
        for (_, pod) in self.known.all("Pod") {
            let metadata = &pod["metadata"];
            let hash = &metadata["labels"][HASH_LABEL];
            let is_owned = owner(pod).is_some_and(|(kind, _)| kind == "ReplicaSet");
            if text(hash).is_empty() || !is_owned || !metadata["deletionTimestamp"].is_null() {
                continue;
            }
            let revision = text(&self.revision(hash)).to_owned();
            let entry =
                out.entry(revision).or_insert_with(|| json!({"count": 0, "ready": 0, "labels": [], "annotations": []}));
            let conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
            let is_ready = conditions.into_iter().any(|found| found["type"] == "Ready" && found["status"] == "True");
            let Some(fields) = entry.as_object_mut() else { continue };
            let more = |fields: &mut Map<String, Value>, name: &str, by: i64| {
                let sum = fields[name].as_i64().unwrap_or(0) + by;
                fields.insert(name.to_owned(), sum.into());
            };
            more(fields, "count", 1);
            more(fields, "ready", i64::from(is_ready));
            for name in ["labels", "annotations"] {
                let set = self.shown(&or(&metadata[name], json!({})));
                if let Some(known) = fields.get_mut(name).and_then(Value::as_array_mut)
                    && !known.contains(&set)
                {
                    known.push(set);
                    known.sort_by_key(ToString::to_string);
                }
            }
        }
        Value::Object(out)
    }

    /// Everything.
    pub(crate) fn project(&self) -> Value {
        let mut out = Map::new();
        let mut sets: Map<String, Value> = Map::new();
        for (_, set) in self.known.all("ReplicaSet") {
            if let Some(("Rollout", rollout)) = owner(set) {
                let revision = set["metadata"]["annotations"][REVISION].as_str().unwrap_or("?").to_owned();
                let of_rollout = sets.entry(rollout.to_owned()).or_insert_with(|| json!({}));
                if let Some(fields) = of_rollout.as_object_mut() {
                    fields.insert(revision, self.replica_set(set));
                }
            }
        }
        let all = |kind: &str, show: &dyn Fn(&Value) -> Value| {
            Value::Object(self.known.all(kind).map(|(name, found)| (self.text(name), show(found))).collect())
        };
        out.insert("rollouts".to_owned(), all("Rollout", &|found| self.rollout(found)));
        out.insert("replicaSets".to_owned(), Value::Object(sets));
        out.insert("pods".to_owned(), self.pods());
        out.insert("services".to_owned(), all("Service", &|found| self.service(found)));
        for (part, kind) in [("virtualServices", "VirtualService"), ("destinationRules", "DestinationRule")] {
            let specs = self.known.all(kind).map(|(name, found)| (name.clone(), self.shown(&found["spec"])));
            out.insert(part.to_owned(), Value::Object(specs.collect()));
        }
        out.insert("analysisRuns".to_owned(), all("AnalysisRun", &|found| self.analysis_run(found)));
        out.insert("experiments".to_owned(), all("Experiment", &|found| self.experiment(found)));
        out.insert("experimentReplicaSets".to_owned(), self.experiment_sets());
        out.insert(
            "deployments".to_owned(),
            all("Deployment", &|found| {
                json!({"specReplicas": found["spec"]["replicas"], "replicas": or(&found["status"]["replicas"], 0.into())})
            }),
        );
        out.retain(|_, part| part.as_object().is_some_and(|fields| !fields.is_empty()));
        Value::Object(out)
    }
}
