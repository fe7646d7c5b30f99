//! The cluster side: how to reach it, what to ask it, what its refusals mean.

mod address;
mod client;
mod connect;
mod error;
mod loading;
mod observed;
mod request;
mod routers;
mod watch;

pub(crate) use address::{
    ANALYSIS_RUNS, ANALYSIS_TEMPLATES, CLUSTER_ANALYSIS_TEMPLATES, CONFIG_MAPS, DEPLOYMENTS, EVENTS, EXPERIMENTS,
    POD_TEMPLATES, PODS, REPLICA_SETS, ROLLOUTS, Resource, SECRETS, Selection, selector_text, template_selector,
};
pub(crate) use connect::connect;
pub(crate) use error::ApiError;
pub(crate) use loading::{Loaded, experiment, newer, rollout, rollout_alone};
pub(crate) use observed::{named, observe, workload};
pub(crate) use request::{Cluster, Form, List, read_object};
pub(crate) use watch::{Changes, watch};
