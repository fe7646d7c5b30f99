//! Istio: names, selection of routes, and the edits of VirtualServices and DestinationRules.

mod claims;
mod desired;
mod destination_rule;
mod edit;
mod error;
mod guard;
mod managed;
mod matches;
pub mod names;
mod place;
mod read_back;
mod router;
pub mod routes;
mod several;
mod virtual_service;
mod warnings;
mod weights;

pub use claims::{Claim, Contest, contests, merged};
pub use desired::{Desired, Experiment, ManagedForm, Routing};
pub use destination_rule::{
    Hashes, edit_destination_rule, managed_by, named_hashes, release_destination_rule, subset_message,
};
pub use edit::{Change, Edit};
pub use error::RouterError;
pub use guard::{Kept, keep_subsets, keep_weights};
pub use place::route_hint;
pub use read_back::{Read, Seen, read_back};
pub(crate) use router::Istio;
pub use router::{ISTIO, virtual_services};
pub use several::{OnFailure, Stage, stages};
pub use virtual_service::{edit_virtual_service, remove_managed_routes};
pub use warnings::warnings;
pub(crate) use weights::whole_number;
