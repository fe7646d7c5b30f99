//! The real server, made comparable.
//!
//! Two things of the testbed would answer in between: kube-controller-manager is ended by
//! [`Real::retire_controllers`] once nothing needs it any more, and the node agent, which would finish deleting pods in
//! the middle of a request of ours, is refused every write to pods by an admission policy that concerns nobody else.
//! What is left is the API server by itself.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_testbed::{Options, Testbed};

use crate::memory::Memory;
use crate::sequence::Request;
use crate::subject::{Answer, ClientSubject, Subject};

/// How long CRDs may take to be served.
const SERVED_WITHIN: Duration = Duration::from_secs(30);

/// Why a comparison could not begin.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The testbed did not start.
    #[error("starting the real server")]
    Testbed(#[from] tidegate_testbed::TestbedError),
    /// A manifest could not be read.
    #[error("reading {}: {reason}; it must be a CRD in YAML", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A CRD was refused or not served.
    #[error("{subject} did not take CRD {name}: {code} {body}")]
    Crd {
        /// The subject.
        subject: String,
        /// Name of the CRD.
        name: String,
        /// Code of the last answer.
        code: u16,
        /// Body of the last answer.
        body: String,
    },
    /// The node agent could not be kept from acting.
    #[error("refusing the node agent its writes: {code} {body}")]
    Agent {
        /// Code of the last answer.
        code: u16,
        /// Body of the last answer.
        body: String,
    },
    /// The controllers could not be ended.
    #[error("ending kube-controller-manager: {0}")]
    Controllers(String),
}

/// A testbed with the CRDs of the sequences.
pub struct Real {
    testbed: Testbed,
}

impl Real {
    /// Starts a testbed and applies the CRDs.
    ///
    /// # Errors
    /// When it does not start or refuses the CRDs.
    pub async fn start() -> Result<Self, SetupError> {
        let real = Self { testbed: Testbed::start(Options::default()).await? };
        prepare(&real.subject("real").await?).await?;
        real.silence_the_node_agent().await?;
        Ok(real)
    }

    /// Applies the policy and waits until it works.
    async fn silence_the_node_agent(&self) -> Result<(), SetupError> {
        let admin = self.subject("real").await?;
        for (plural, object) in silence() {
            let path = format!("/apis/admissionregistration.k8s.io/v1/{plural}");
            let created = admin.send(Memory::default().fill(&Request::new("policy", "POST", path).json(object))).await;
            if created.code != 201 {
                return Err(SetupError::Agent { code: created.code, body: created.body.to_string() });
            }
        }
        let agent = ClientSubject::new("agent", self.testbed.client_as("node-agent").await?);
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"},
            "spec": {"schedulerName": "none", "containers": [{"name": "main", "image": "example/app:1"}]}});
        let probe = Request::new("policy", "POST", "/api/v1/namespaces/default/pods").query("dryRun", "All").json(pod);
        let mut waited = Duration::ZERO;
        loop {
            let answer = agent.send(Memory::default().fill(&probe)).await;
            if answer.code == 422 {
                return Ok(());
            }
            if waited > SERVED_WITHIN {
                return Err(SetupError::Agent { code: answer.code, body: answer.body.to_string() });
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
            waited += Duration::from_millis(100);
        }
    }

    /// A subject with a client of its own; its name begins the names of its namespaces.
    ///
    /// # Errors
    /// When the kubeconfig cannot be read.
    pub async fn subject(&self, name: &str) -> Result<ClientSubject, SetupError> {
        Ok(ClientSubject::new(name, self.testbed.client().await?))
    }

    /// Ends kube-controller-manager: from here on only the API server acts.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn retire_controllers(&self) -> Result<(), SetupError> {
        let pids = self.testbed.pids();
        let Some((_, pid)) = pids.into_iter().find(|(name, _)| *name == "kube-controller-manager") else {
            return Err(SetupError::Controllers("the testbed does not list it".to_owned()));
        };
        // A shell sends the signal: there is no safe call for it in std. The testbed reaps the process later.
        let kill = std::process::Command::new("/bin/sh").args(["-c", &format!("kill -9 {pid}")]).status();
        match kill {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(SetupError::Controllers(format!("kill ended with {status}"))),
            Err(error) => Err(SetupError::Controllers(error.to_string())),
        }
    }

    /// Ends the testbed.
    pub async fn stop(self) {
        self.testbed.stop().await;
    }
}

/// An admission policy that refuses the node agent all writes to pods, and its binding.
fn silence() -> [(&'static str, Value); 2] {
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods", "pods/*"],
        "operations": ["CREATE", "UPDATE", "DELETE"]});
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "silent-node-agent"},
        "spec": {
            "matchConstraints": {"resourceRules": [rule]},
            "matchConditions": [{"name": "agent", "expression": "request.userInfo.username == 'node-agent'"}],
            "validations": [{"expression": "false", "message": "the node agent takes no part in comparisons"}],
        },
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "silent-node-agent"},
        "spec": {"policyName": "silent-node-agent", "validationActions": ["Deny"]},
    });
    [("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)]
}

/// Applies the CRDs of the sequences and waits until they are served. Every subject needs this once.
///
/// # Errors
/// When a CRD is refused or not served in time.
pub async fn prepare(subject: &impl Subject) -> Result<(), SetupError> {
    let manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/crds");
    let mut crds = vec![widget()];
    for name in ["rollouts", "analysisruns"] {
        let path = manifests.join(format!("{name}.yaml"));
        let wrong = |reason: String| SetupError::Manifest { path: path.clone(), reason };
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
        crds.push(serde_saphyr::from_str::<Value>(&text).map_err(|error| wrong(error.to_string()))?);
    }
    for crd in crds {
        apply(subject, crd).await?;
    }
    Ok(())
}

async fn apply(subject: &impl Subject, crd: Value) -> Result<(), SetupError> {
    let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text("/metadata/name");
    let refused = |answer: Answer| SetupError::Crd {
        subject: subject.name().to_owned(),
        name: name.clone(),
        code: answer.code,
        body: answer.body.to_string(),
    };
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let objects =
        format!("/apis/{}/{}/{}", text("/spec/group"), text("/spec/versions/0/name"), text("/spec/names/plural"));
    let created = subject.send(Memory::default().fill(&Request::new("crd", "POST", path).json(crd))).await;
    if created.code != 201 && created.code != 409 {
        return Err(refused(created));
    }
    let mut waited = Duration::ZERO;
    loop {
        let listed = subject.send(Memory::default().fill(&Request::new("crd", "GET", objects.as_str()))).await;
        let established =
            subject.send(Memory::default().fill(&Request::new("crd", "GET", format!("{path}/{name}")))).await;
        let conditions = established.body["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let is_established = conditions.iter().any(|c| c["type"] == "Established" && c["status"] == "True");
        if listed.code == 200 && is_established {
            return Ok(());
        }
        if waited > SERVED_WITHIN {
            return Err(refused(listed));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        waited += Duration::from_millis(100);
    }
}

/// A small CRD with everything that our own do not have: defaults, an enum, int-or-string, a transition rule.
fn widget() -> Value {
    let spec = json!({
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 0, "maximum": 100},
            "colour": {"type": "string", "enum": ["red", "green", "blue"], "default": "red"},
            "limit": {"x-kubernetes-int-or-string": true},
            "fixed": {"type": "string", "maxLength": 10, "x-kubernetes-validations":
                [{"rule": "self == oldSelf", "message": "fixed is immutable"}]},
            "pattern": {"type": "string", "pattern": "^[a-z]+$"},
            "replicas": {"type": "integer", "format": "int32"},
            "tags": {"type": "array", "maxItems": 3, "items": {"type": "string"}},
            "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"], "items":
                {"type": "object", "required": ["name"], "properties":
                    {"name": {"type": "string"}, "weight": {"type": "integer", "default": 1}}}},
            "nested": {"type": "object", "default": {}, "properties":
                {"on": {"type": "boolean", "default": true}, "at": {"type": "string", "format": "date-time"}}},
            "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
            "map": {"type": "object", "additionalProperties": {"type": "integer"}},
            "maybe": {"type": "string", "nullable": true},
        },
    });
    let status = json!({"type": "object", "properties": {
        "replicas": {"type": "integer"}, "selector": {"type": "string"}, "phase": {"type": "string", "default": "New"}}});
    let schema = json!({"type": "object", "required": ["spec"], "properties": {"spec": spec, "status": status}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.conformance.tidegate.dev"},
        "spec": {
            "group": "conformance.tidegate.dev",
            "scope": "Namespaced",
            "names": {"kind": "Widget", "listKind": "WidgetList", "plural": "widgets", "singular": "widget"},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}, "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.selector",
                }},
            }],
        },
    })
}
