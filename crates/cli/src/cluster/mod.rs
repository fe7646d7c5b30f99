//! The way to the cluster; what is asked there and what its refusals mean is in `tidegate-cluster`.

mod client;
mod connect;

pub(crate) use connect::{Reached, connect, reach};
pub(crate) use tidegate_cluster::{
    ANALYSIS_RUNS, ANALYSIS_TEMPLATES, ApiError, CLUSTER_ANALYSIS_TEMPLATES, CONFIG_MAPS, Changes, Cluster,
    DEPLOYMENTS, EVENTS, EXPERIMENTS, Form, List, Loaded, PODS, REPLICA_SETS, ROLLOUTS, Resource, SECRETS, Selection,
    experiment, named, newer, observe, read_object, rollout, rollout_alone, selector_text, template_selector, watch,
    workload,
};
