//! A real Kubernetes control plane on loopback, for tests.
//!
//! [`Testbed::start`] runs etcd, kube-apiserver and kube-controller-manager on free ports, with the
//! [node agent](tidegate_node_agent) in place of scheduler and kubelets. Any number of testbeds can run at once. This
//! crate must never be part of what is shipped, never touch a cluster it has not started, and never leave a process
//! or a folder behind: children are killed by the kernel when this process ends, however it ends, and a waiting shell
//! removes the folder.
//!
//! ```no_run
//! # async fn example() -> Result<(), tidegate_testbed::TestbedError> {
//! use tidegate_testbed::{Options, Testbed};
//!
//! let testbed = Testbed::start(Options::default()).await?;
//! let namespace = testbed.namespace("example").await?;
//! let pods = testbed.kubectl(&["get", "pods", "-n", &namespace]).await?;
//! # drop(pods);
//! testbed.stop().await;
//! # Ok(())
//! # }
//! ```
//!
//! The programs come from `KUBEBUILDER_ASSETS` if that is set. Otherwise they are built once, from the Go module in
//! `testbed/kubernetes`, into `$TIDEGATE_CACHE`, `$XDG_CACHE_HOME/tidegate` or `~/.cache/tidegate`.
//! [`prepare_mesh`] does the same for istiod, Envoy and Istio's kinds and [`prepare_helm`] for Helm; a testbed itself
//! does not need them.

mod assets;
mod chromium_assets;
mod control_plane;
mod credentials;
mod error;
mod go_build;
mod helm_assets;
mod mesh_assets;
mod process;
mod progress;
mod prometheus_assets;
pub mod registry;
mod testbed;

pub use assets::{AssetError, Binaries, cache_dir, prepare};
pub use chromium_assets::{Browser, prepare_chromium};
pub use error::TestbedError;
pub use helm_assets::prepare_helm;
pub use mesh_assets::{MeshBinaries, prepare_gateway_api_kinds, prepare_istio_kinds, prepare_mesh};
pub use process::{Part, free_ports};
pub use prometheus_assets::prepare_prometheus;
pub use testbed::{Options, Testbed};
