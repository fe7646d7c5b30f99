//! Why a router leaves its objects as they are.

use super::change::Event;
use super::object::{ObjectRef, Resource};
use super::wording::Wording;

/// What the API says of a kind that it does not serve.
pub(super) const NOT_SERVED: &str = "the server could not find the requested resource";

/// Why objects cannot be edited or read.
///
/// Texts of the wire contract are exact and therefore say nothing of the object; [`Self::hint`] does.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RouterError {
    /// The objects are not those the Rollout asks for.
    #[error("{wording}")]
    Contract {
        /// In the words of the contract.
        wording: Wording,
        /// Which object and what to do.
        hint: String,
    },
    /// An object that must be there is not.
    #[error("{}", object.not_found())]
    Missing {
        /// Which.
        object: Box<ObjectRef>,
        /// What to do about it.
        hint: String,
    },
    /// The cluster does not know the kind.
    #[error("{NOT_SERVED}")]
    NotServed {
        /// Which kind.
        resource: Box<Resource>,
    },
    /// Nobody has looked for an object yet: nothing can be said.
    #[error("{what} has not been read yet")]
    Unread {
        /// Which.
        what: String,
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
        "{object}: {place}: destinations {names} are not this Rollout's and hold {held} of {total}, which leaves nothing \
         for stable and canary; lower their weights so that they stay below {total} together"
    )]
    NoRoom {
        /// Kind, namespace and name.
        object: String,
        /// Where.
        place: String,
        /// The destinations.
        names: String,
        /// Their weights together.
        held: i64,
        /// The weight that means all traffic.
        total: i64,
    },
    /// The Rollout names no Services.
    #[error("Canary service and Stable service must to be set to use Traffic Routing")]
    NoServices,
    /// Stable and canary cannot be told apart.
    #[error("stable and canary are both Service '{name}'; set canaryService and stableService to different names")]
    SameServices {
        /// The name of both.
        name: String,
    },
    /// A header or mirror route is asked of a router that has none.
    #[error(
        "{kind} '{name}' cannot be made by trafficRouting.{router}, and requests on that way would not follow it; take \
         the step or that router out of the Rollout"
    )]
    CannotRoute {
        /// The field of the router.
        router: &'static str,
        /// Header or mirror.
        kind: &'static str,
        /// The managed route.
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
    /// An object that a router would make is somebody else's.
    #[error("{object} is not controlled by this Rollout; rename or delete it")]
    NotOurs {
        /// Kind, namespace and name.
        object: String,
    },
    /// A managed route is called like something else.
    #[error("{object}: the name '{name}' of a managed route is taken by {rival}; rename one of them")]
    NameTaken {
        /// Kind, namespace and name.
        object: String,
        /// The name of both.
        name: String,
        /// Who has it.
        rival: String,
    },
    /// Weight would go to a port that is not there.
    #[error(
        "{object}: {field} is {port}, but Service '{service}' has only {found}: requests to the canary would fail; correct \
         one of them"
    )]
    NoSuchPort {
        /// Kind, namespace and name, or the Rollout.
        object: String,
        /// Where.
        field: String,
        /// The Service.
        service: String,
        /// The port that is asked for.
        port: String,
        /// Those it has.
        found: String,
    },
    /// A load balancer that does not read its weights.
    #[error(
        "{object}: no path to Service '{service}' has the port name use-annotation, so the load balancer does not read the \
         weights; set backend.service.port.name of that path"
    )]
    NoActionPort {
        /// Kind, namespace and name.
        object: String,
        /// The Service that the action stands for.
        service: String,
    },
    /// The configuration of a plugin cannot be read.
    #[error("spec.strategy.canary.trafficRouting.plugins[\"{plugin}\"].{field} is not {wanted}; correct it")]
    Config {
        /// The plugin.
        plugin: &'static str,
        /// Where.
        field: String,
        /// What belongs there.
        wanted: &'static str,
    },
    /// A router that the contract calls a plugin could not do something.
    #[error("failed to {what} via plugin: {error}")]
    Plugin {
        /// What it was asked for.
        what: &'static str,
        /// Why it could not.
        error: Box<RouterError>,
    },
    /// An object of Istio is left as it is.
    #[error("{0}")]
    Istio(Box<crate::istio::RouterError>),
    /// Several objects have errors.
    #[error("{} errors found: {}", .0.len(), .0.iter().map(|error| format!("[{error}]")).collect::<String>())]
    Several(Vec<RouterError>),
}

impl From<crate::istio::RouterError> for RouterError {
    fn from(error: crate::istio::RouterError) -> Self {
        Self::Istio(Box::new(error))
    }
}

impl RouterError {
    /// The whole for people: the contract's text and what it leaves out.
    pub fn explained(&self) -> String {
        self.hint().map_or_else(|| self.to_string(), |hint| format!("{self} ({hint})"))
    }

    /// What the contract's text leaves out: the object, what was wanted, what is there.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Contract { hint, .. } | Self::Missing { hint, .. } => Some(hint.clone()),
            Self::NotServed { resource } => Some(format!(
                "{} of {} is not served: install the CRDs of the router, or correct the flag that names this version",
                resource.kind,
                resource.api_version()
            )),
            Self::Plugin { error, .. } => error.hint(),
            Self::Istio(error) => error.hint().map(str::to_owned),
            Self::Several(errors) => {
                let hints: Vec<String> = errors.iter().filter_map(Self::hint).collect();
                (!hints.is_empty()).then(|| hints.join("; "))
            }
            _ => None,
        }
    }

    /// Whether it is only that objects are not there, and which, as far as they are known.
    pub fn missing(&self) -> Option<Vec<&ObjectRef>> {
        match self {
            Self::Missing { object, .. } => Some(vec![object]),
            Self::Contract { wording, .. } => wording.is_about_missing().then(Vec::new),
            Self::Plugin { error, .. } => error.missing(),
            Self::Several(errors) => {
                let all: Option<Vec<Vec<&ObjectRef>>> = errors.iter().map(Self::missing).collect();
                all.map(|all| all.into_iter().flatten().collect())
            }
            _ => None,
        }
    }

    /// The warnings that the contract wants besides `TrafficRoutingError`.
    pub fn events(&self) -> Vec<Event> {
        let reason = match self {
            Self::Contract { wording, .. } => wording.reason(),
            Self::Missing { object, .. } if object.resource.plural.ends_with("mappings") => {
                Some("AmbassadorMappingNotFound")
            }
            Self::Several(errors) => return errors.iter().flat_map(Self::events).collect(),
            _ => None,
        };
        reason.map(|reason| Event::warning(reason, self.to_string())).into_iter().collect()
    }

    /// One error for several.
    pub(crate) fn joined(mut errors: Vec<Self>) -> Result<(), Self> {
        match errors.len() {
            0 => Ok(()),
            1 => errors.pop().map_or(Ok(()), Err),
            _ => Err(Self::Several(errors)),
        }
    }
}
