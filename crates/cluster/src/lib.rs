//! What people ask of a cluster about Rollouts, and what they change there: for every face of the product.
//!
//! ```text
//!   request.rs   requests and answers           loading.rs    what a view needs
//!   address.rs   where objects are              observed.rs   what the engine looks at (routers.rs: beyond Istio)
//!   watch.rs     changes as they come           actions/      promote, abort, retry, undo, set image and the like
//!   error.rs     what refusals mean
//! ```
//!
//! The command line and the dashboard send the same patches and load the same objects, because both ask here.
//!
//! This crate must never print, choose a cluster, or change anything that was not asked for.

pub mod actions;
mod address;
mod error;
mod loading;
mod observed;
mod request;
mod routers;
mod watch;

pub use address::{
    ANALYSIS_RUNS, ANALYSIS_TEMPLATES, CLUSTER_ANALYSIS_TEMPLATES, CONFIG_MAPS, DEPLOYMENTS, EVENTS, EXPERIMENTS,
    POD_TEMPLATES, PODS, REPLICA_SETS, ROLLOUTS, Resource, SECRETS, Selection, escaped, selector_text,
    template_selector,
};
pub use error::{ApiError, Refusal, cause};
pub use loading::{Loaded, experiment, newer, rollout, rollout_alone};
pub use observed::{named, observe, workload};
pub use request::{Cluster, Form, List, read_object};
pub use watch::{Changes, watch};
