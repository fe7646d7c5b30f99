//! Apache APISIX: the weights of an ApisixRoute, and a route of its own for each header step.

mod header_route;
mod router;
mod rules;

pub(crate) use router::Apisix;
