//! AWS App Mesh: the weights of a VirtualRouter, and which pods its two VirtualNodes stand for.

mod nodes;
mod router;
mod routes;

pub(crate) use router::AppMesh;
