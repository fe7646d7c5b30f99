//! Why an object cannot be edited or read.

use super::routes::RouteError;

/// Why a VirtualService or DestinationRule is left as it is.
///
/// Texts of the wire contract are exact and therefore say nothing of the object; [`Self::hint`] does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouterError {
    /// The VirtualService has no list of routes at all.
    #[error("Unable to get any of the HTTP, TCP or TLS routes for the Istio VirtualService")]
    NoRoutes {
        /// What to do about it.
        hint: String,
    },
    /// Its routes are not those the Rollout asks for.
    #[error("{error}")]
    Route {
        /// In the words of the contract.
        error: RouteError,
        /// What was wanted and what is there.
        hint: String,
    },
    /// A field has another type than Istio gives it.
    #[error("Invalid casting: field '{field}' is not of type '{wanted}'")]
    Casting {
        /// Such as `http[].route`.
        field: String,
        /// The type, in the words of the contract.
        wanted: &'static str,
        /// Which object and what to do.
        hint: String,
    },
    /// A field holds what no edit can keep.
    #[error("{object}: {field} is not {wanted}; correct it")]
    Shape {
        /// Kind, namespace and name.
        object: String,
        /// Where.
        field: String,
        /// What belongs there.
        wanted: &'static str,
    },
    /// Destinations of the user's leave nothing to split.
    #[error(
        "{object}: {place}: destinations {hosts} are not this Rollout's and hold {held} of {total}, which leaves nothing \
         for stable and canary; lower their weights so that they stay below {total} together"
    )]
    NoRoom {
        /// Kind, namespace and name.
        object: String,
        /// The route.
        place: String,
        /// The destinations.
        hosts: String,
        /// Their weights together.
        held: i64,
        /// The weight that means all traffic.
        total: i64,
    },
    /// Stable and canary cannot be told apart.
    #[error("stable and canary are both {kind} '{name}'; set {fields} to different names")]
    SameRoles {
        /// `Service` or `DestinationRule subset`.
        kind: &'static str,
        /// The name of both.
        name: String,
        /// The fields of the Rollout.
        fields: &'static str,
    },
    /// There is no list to put a managed route into.
    #[error("spec.http not found")]
    HttpNotFound {
        /// Which object and what to do.
        hint: String,
    },
    /// A managed route is called like a route of the user's.
    #[error(
        "route '{name}' of {object} is weighted by this Rollout and named by managedRoutes or a step too; rename one of \
         them"
    )]
    NameTaken {
        /// Kind, namespace and name.
        object: String,
        /// The name of both.
        name: String,
    },
    /// A step without a condition would take all requests.
    #[error("step for route '{name}': {field} has none of exact, prefix, regex; set one")]
    NoCondition {
        /// The managed route.
        name: String,
        /// The field of the step.
        field: String,
    },
    /// The conditions of a step and of the base route exclude each other: nothing would ever take the route.
    #[error(
        "step for route '{name}': its conditions and match of {place} of {object} exclude each other; change the step \
         or that match"
    )]
    Excluded {
        /// The managed route.
        name: String,
        /// The base route.
        place: String,
        /// Kind, namespace and name.
        object: String,
    },
    /// Nobody can say whether the conditions of a step and of the base route can hold together.
    #[error(
        "step for route '{name}': its conditions cannot be joined with match of {place} of {object}: {why}; change the \
         step or that match"
    )]
    Unjoinable {
        /// The managed route.
        name: String,
        /// The base route.
        place: String,
        /// Kind, namespace and name.
        object: String,
        /// Which condition.
        why: String,
    },
    /// A header route cannot be written.
    #[error("[SetHeaderRoute] failed to reconcile header routes: {0}")]
    Header(Box<RouterError>),
    /// A mirror route cannot be written.
    #[error("[SetMirrorRoute] failed reconcile virtual service for mirror routes: {0}")]
    Mirror(Box<RouterError>),
    /// Routes cannot be put in order.
    #[error("[SetWeight] failed to order routes: {0}")]
    Order(Box<RouterError>),
    /// Managed routes cannot be taken out.
    #[error("[RemoveManagedRoutes] failed to get http routes from virtual service: {0}")]
    Remove(Box<RouterError>),
    /// A subset the Rollout names is not in the DestinationRule.
    #[error(
        "{object} has no subset '{subset}' in spec.subsets; add it, or correct \
         spec.strategy.canary.trafficRouting.istio.destinationRule.{field}"
    )]
    SubsetNotFound {
        /// Kind, namespace and name.
        object: String,
        /// The missing one.
        subset: String,
        /// The field that names it.
        field: &'static str,
    },
}

impl RouterError {
    /// The whole for people: the contract's text and what it leaves out.
    pub fn explained(&self) -> String {
        self.hint().map_or_else(|| self.to_string(), |hint| format!("{self} ({hint})"))
    }

    /// What the contract's text leaves out: the object, what was wanted, what is there.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::NoRoutes { hint }
            | Self::Route { hint, .. }
            | Self::Casting { hint, .. }
            | Self::HttpNotFound { hint } => Some(hint),
            Self::Header(inner) | Self::Mirror(inner) | Self::Order(inner) | Self::Remove(inner) => inner.hint(),
            Self::Shape { .. }
            | Self::NoRoom { .. }
            | Self::SameRoles { .. }
            | Self::NameTaken { .. }
            | Self::NoCondition { .. }
            | Self::Excluded { .. }
            | Self::Unjoinable { .. }
            | Self::SubsetNotFound { .. } => None,
        }
    }
}
