//! NGINX: a second Ingress with the canary's weight beside each of the user's.

mod canary_ingress;
mod router;

pub use router::Nginx;
