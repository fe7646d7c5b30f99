//! Traffic routers as pure functions on their JSON.
//!
//! For Istio: which routes of a VirtualService a Rollout weights ([`istio::routes`], used by validation and by the
//! edits, so that the two can never disagree), the edits of VirtualServices and DestinationRules
//! ([`istio::edit_virtual_service`], [`istio::edit_destination_rule`]), what the objects say afterwards
//! ([`istio::read_back`]) and in which order several of them change ([`istio::stages`]). An edit is a function of the
//! object and of all that is wanted ([`istio::Desired`]): whoever changed the object, the result is the same.
//!
//! This crate must never do I/O, keep state, or change a field it does not own.

pub mod istio;
