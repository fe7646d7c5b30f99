//! Traffic routers as pure functions on their JSON.
//!
//! [`router::routers`] gives those a canary strategy asks for, each a [`router::Router`] that says which objects it has to
//! see, which are to be written so that they are as wanted ([`router::Wanted`]), and what weights they say
//! ([`router::read_back`]). An edit is a function of the objects and of all that is wanted: whoever changed them, the result is
//! the same. For load balancers of AWS, [`alb`] also compares what the cloud answers with what is wanted.
//!
//! Istio is one of them, and its parts can be had one by one: which routes of a VirtualService a Rollout weights
//! ([`istio::routes`], used by validation and by the edits, so that the two can never disagree), the edits of
//! VirtualServices and DestinationRules ([`istio::edit_virtual_service`], [`istio::edit_destination_rule`]), what the
//! objects say afterwards ([`istio::read_back`]) and in which order several of them change ([`istio::stages`]).
//!
//! This crate must never do I/O, keep state, or change a field it does not own.

pub mod alb;
mod ambassador;
mod apisix;
mod app_mesh;
pub mod gateway_api;
mod ingress;
pub mod istio;
mod nginx;
pub mod router;
pub mod services;
mod smi;
mod traefik;
