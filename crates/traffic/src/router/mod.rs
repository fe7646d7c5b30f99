//! What all routers have in common.
//!
//! A [`Router`] says which objects it has to see ([`Router::needs`]), what is to be written so that they are as wanted
//! ([`Router::edit`]), and what they say ([`read_back`]). It keeps nothing: whoever changed the objects, the result is
//! the same.

mod change;
mod configured;
mod error;
pub(crate) mod fields;
mod managed_route;
mod needs;
mod object;
pub(crate) mod reach;
mod read;
mod versions;
mod wanted;
pub(crate) mod weighted;
mod wording;

pub use change::{Action, Change, Event, Failure, Written};
pub use configured::{Router, routers};
pub use error::RouterError;
pub use managed_route::{ManagedKind, ManagedRoute};
pub use needs::{Need, Seen, Selection};
pub(crate) use object::GATEWAY_API;
pub use object::{ObjectRef, Resource};
pub use reach::ServicePorts;
pub use read::{Read, SeenRoute, Span, read_back};
pub use versions::Versions;
pub(crate) use wanted::controller;
pub use wanted::{Destination, Owner, Wanted};
pub use wording::Wording;
