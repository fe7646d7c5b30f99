//! The Istio router, section by section of its contract.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

mod claims;
mod destination_rule;
mod generated;
mod guard;
mod managed_routes;
mod odd_objects;
mod properties;
mod read_back;
mod recorded;
mod selection;
mod setup;
mod several;
mod weights;
