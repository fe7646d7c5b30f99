//! The install manifests and the kustomizations that render to the same objects.
//!
//! ```text
//!   base/ ◀── cluster-install/ (+ crds/)   = install.yaml
//!     ▲────── namespace-install/           = namespace-install.yaml
//!   cluster-install/ ◀── admission/ (webhooks, off without it)
//!   cluster-install/ + routers/none + routers/<those in use>   (components: rights of no other router)
//!   dashboard/ = dashboard-install.yaml     notifications/ = notifications-install.yaml     istio-primary/
//! ```
//!
//! The Helm chart in `charts/argo-rollouts/` takes CRDs, rules and message templates from here as well (`chart.rs`).
//!
//! No object carries a namespace: it is chosen by `kubectl -n` or by a kustomization.

mod admission;
pub(crate) mod chart;
mod controller;
mod controller_rules;
mod dashboard;
mod images;
mod istio_primary;
pub(crate) mod kustomize;
mod meta;
mod notifications;
mod rbac;
mod routers;
mod services;

use crate::tree::Tree;
use crate::{GeneratedFile, crds};
use controller::Reach;

/// The command that writes these files.
const COMMAND: &str = "cargo xtask manifests";

/// Every file below `manifests/` but the CRDs.
pub(crate) fn files() -> Vec<GeneratedFile> {
    let mut files = install_files();
    files.extend(kustomize::folder("base", &[], &base_objects(), None));
    files.extend(kustomize::folder("cluster-install", &["../crds", "../base"], &cluster_access(), None));
    let namespaced = Some(kustomize::namespaced_flag());
    files.extend(kustomize::folder("namespace-install", &["../base"], &namespace_access(), namespaced));
    let asked = Some(admission::deployment_patch());
    files.extend(kustomize::folder("admission", &["../cluster-install"], &admission::objects(), asked));
    files.extend(kustomize::folder("dashboard", &[], &dashboard::objects(), None));
    files.extend(kustomize::folder("notifications", &[], &[notifications::config_map()], None));
    files.extend(kustomize::named_folder("istio-primary", istio_primary::objects()));
    files.extend(routers::files());
    files
}

fn install_files() -> Vec<GeneratedFile> {
    let cluster = [crds::objects(), assembled(cluster_access(), Reach::Cluster)].concat();
    let namespace = assembled(namespace_access(), Reach::Namespace);
    vec![
        GeneratedFile::of("install.yaml", COMMAND, &cluster),
        GeneratedFile::of("namespace-install.yaml", COMMAND, &namespace),
        GeneratedFile::of("dashboard-install.yaml", COMMAND, &dashboard::objects()),
        GeneratedFile::of("notifications-install.yaml", COMMAND, &[notifications::config_map()]),
    ]
}

/// The controller with its access, in an order in which nothing waits for what comes later.
fn assembled(access: Vec<Tree>, reach: Reach) -> Vec<Tree> {
    let mut objects = vec![controller::service_account()];
    objects.extend(access);
    objects.extend(rbac::aggregate_roles());
    objects.extend(controller::configuration());
    objects.push(services::metrics());
    objects.push(controller::deployment(reach));
    objects
}

/// What both kinds of installation share.
fn base_objects() -> Vec<Tree> {
    assembled(Vec::new(), Reach::Cluster)
}

fn cluster_access() -> Vec<Tree> {
    vec![rbac::cluster_role(), rbac::cluster_role_binding()]
}

fn namespace_access() -> Vec<Tree> {
    vec![rbac::role(), rbac::role_binding()]
}
