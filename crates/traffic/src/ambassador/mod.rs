//! Ambassador: a second Mapping with the canary's weight beside each of the user's.

mod canary_mapping;
mod router;

pub(crate) use router::Ambassador;
