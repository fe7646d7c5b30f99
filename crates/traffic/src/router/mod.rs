//! What all routers besides Istio have in common.
//!
//! A [`Router`] says which objects it has to see ([`Router::needs`]), what is to be written so that they are as wanted
//! ([`Router::edit`]), and what they say ([`read_back`]). It keeps nothing: whoever changed the objects, the result is
//! the same.

mod change;
mod configured;
mod error;
pub(crate) mod fields;
mod needs;
mod object;
mod read;
mod versions;
mod wanted;
pub(crate) mod weighted;
mod wording;

pub use change::{Action, Change, Event, Failure, Written};
pub use configured::{Router, routers};
pub use error::RouterError;
pub use needs::{Need, Seen, Selection};
pub(crate) use object::GATEWAY_API;
pub use object::{ObjectRef, Resource};
pub use read::{Read, read_back};
pub use versions::Versions;
pub(crate) use wanted::controller;
pub use wanted::{Destination, Owner, Wanted};
pub use wording::Wording;
