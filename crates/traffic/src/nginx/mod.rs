//! NGINX: a second Ingress with the canary's weight beside each of the user's.

mod canary_ingress;
mod router;

pub(crate) use router::Nginx;
