//! The load balancer of AWS: annotations of Ingresses, and whether the cloud follows them.
//!
//! What AWS answers comes in as plain values ([`Answer`], [`Target`]); nothing here asks for it.

mod action;
mod arn;
mod book;
mod headers;
mod notes;
mod release;
mod router;
mod targets;
mod verify;

pub use arn::{load_balancer_name, target_group_name};
pub use release::{managed_rollouts, release};
pub use router::Alb;
pub use targets::{Binding, Registered, Target, bindings, registered};
pub use verify::{Answer, Forward, LoadBalancer, Occasion, TargetGroup, Verified, verify_failed};
