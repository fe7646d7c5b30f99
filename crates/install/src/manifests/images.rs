//! Where the images come from. The only place that says so.

/// The controller; runs as user 999 in `/home/argo-rollouts`.
pub(super) const CONTROLLER: &str = concat!("tidegate/rollouts-controller:v", env!("CARGO_PKG_VERSION"));
/// The kubectl plugin; without arguments it serves the dashboard.
pub(super) const PLUGIN: &str = concat!("tidegate/kubectl-argo-rollouts:v", env!("CARGO_PKG_VERSION"));
