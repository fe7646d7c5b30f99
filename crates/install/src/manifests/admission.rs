//! The admission webhooks: an extra that nobody gets without asking. Every failure is ignored by the API server, so that
//! rollouts go on without them.
//!
//! The certificate is the Secret [`SECRET`]; whoever makes it puts its authority into `caBundle` (docs/admission.md).

use super::meta::{self, Component, metadata_of};
use super::services::service;
use crate::tree::{Tree, list, map};

/// Service and webhooks.
const NAME: &str = "argo-rollouts-admission";
/// Type `kubernetes.io/tls`.
const SECRET: &str = "argo-rollouts-admission-tls";
const PORT: i64 = 9443;
/// As long as a write of somebody else may wait for us.
const SECONDS: i64 = 3;

/// What the webhooks consist of, beside the Deployment.
pub(super) fn objects() -> Vec<Tree> {
    let port = map! { "name" => "admission", "port" => 443, "protocol" => "TCP", "targetPort" => PORT };
    vec![
        service(metadata_of(NAME, meta::CONTROLLER, Component::Controller, &[]), port, meta::CONTROLLER),
        configuration(
            "ValidatingWebhookConfiguration",
            webhook("validate", "/validate", &["argoproj.io"], OUR_KINDS, &["CREATE", "UPDATE"]),
        ),
        configuration(
            "MutatingWebhookConfiguration",
            webhook("guard", "/guard", &["networking.istio.io"], ISTIO_KINDS, &["UPDATE"]),
        ),
    ]
}

/// Without subresources: a status is the controller's.
const OUR_KINDS: &[&str] =
    &["rollouts", "experiments", "analysistemplates", "clusteranalysistemplates", "analysisruns"];
const ISTIO_KINDS: &[&str] = &["virtualservices", "destinationrules"];

fn configuration(kind: &str, webhook: Tree) -> Tree {
    map! {
        "apiVersion" => "admissionregistration.k8s.io/v1",
        "kind" => kind,
        "metadata" => metadata_of(NAME, meta::CONTROLLER, Component::Controller, &[]),
        "webhooks" => list![webhook],
    }
}

fn webhook(name: &str, path: &str, groups: &[&str], resources: &[&str], operations: &[&str]) -> Tree {
    let mut entries = vec![
        ("name".to_owned(), Tree::from(format!("{name}.rollouts.tidegate.dev"))),
        ("admissionReviewVersions".to_owned(), list!["v1"]),
        (
            "clientConfig".to_owned(),
            map! { "service" => map! { "name" => NAME, "namespace" => meta::NAMESPACE, "path" => path, "port" => 443 } },
        ),
        (
            "rules".to_owned(),
            list![map! {
                "apiGroups" => Tree::texts(groups.iter().copied()),
                "apiVersions" => list!["*"],
                "operations" => Tree::texts(operations.iter().copied()),
                "resources" => Tree::texts(resources.iter().copied()),
            }],
        ),
        ("failurePolicy".to_owned(), "Ignore".into()),
        ("sideEffects".to_owned(), "None".into()),
        ("timeoutSeconds".to_owned(), Tree::from(SECONDS)),
    ];
    if path == "/guard" {
        // Another webhook may touch the weights after us.
        entries.push(("reinvocationPolicy".to_owned(), "IfNeeded".into()));
    }
    Tree::Map(entries)
}

/// What the Deployment needs: the port, the certificate and the flag.
pub(super) fn deployment_patch() -> Tree {
    let container = "/spec/template/spec/containers/0";
    let add = |path: String, value: Tree| map! { "op" => "add", "path" => path, "value" => value };
    let patch = list![
        add(format!("{container}/args"), list![format!("--admission-port={PORT}")]),
        add(format!("{container}/ports/-"), map! { "name" => "admission", "containerPort" => PORT }),
        add(
            format!("{container}/volumeMounts/-"),
            map! { "name" => "admission", "mountPath" => "/etc/argo-rollouts/admission", "readOnly" => true },
        ),
        add(
            "/spec/template/spec/volumes/-".to_owned(),
            map! { "name" => "admission", "secret" => map! { "secretName" => SECRET } },
        ),
    ];
    map! {
        "target" => map! { "kind" => "Deployment", "name" => "argo-rollouts" },
        "patch" => crate::yaml::document(&patch),
    }
}
