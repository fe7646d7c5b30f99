//! Istio: names and routes.

pub mod names;
pub mod routes;
