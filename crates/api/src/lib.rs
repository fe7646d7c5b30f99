//! The wire contract: the five kinds of `argoproj.io/v1alpha1`, their names, defaults and small value types.
//!
//! ```text
//!   wire!/kind!  ──▶ struct + reader + writer + CRD shape + unknown fields   (wire.rs, kind.rs)
//!   rollout/  analysis/  experiment/      the five kinds, field for field
//!   view/                                 what we read of ReplicaSets, Pods, Services, Jobs, Deployments
//!   names.rs  defaults.rs  duration.rs  values.rs  raw.rs
//! ```
//!
//! What users wrote and what other versions added survives a round trip through these types: unknown fields are
//! kept, pod templates and plugin settings travel as raw JSON, absence and explicit zero stay apart.
//!
//! This crate must never do I/O, read a clock, or decide anything. Of the Kubernetes crates it names only
//! k8s-openapi, and of that only the metadata types, because kube's `Resource` trait returns them; the `kube`
//! feature adds those trait implementations.

pub mod analysis;
pub mod defaults;
pub mod duration;
pub mod experiment;
pub mod kind;
pub mod names;
pub mod raw;
pub mod rollout;
pub mod values;
pub mod view;
pub mod wire;

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
