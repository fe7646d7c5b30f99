//! Why a look at a Rollout ended early.

use tidegate_runtime::Key;

/// What went wrong and what it means for the next look.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LookError {
    /// Somebody else wrote first; the object is read again and the look repeated at once.
    #[error("{kind} {key} was changed by somebody else")]
    Conflict {
        /// The kind.
        kind: &'static str,
        /// The object.
        key: Key,
    },
    /// A write or read failed; the look is repeated after a pause.
    #[error("{verb} {kind} {key}: {source}")]
    Api {
        /// What was tried.
        verb: &'static str,
        /// The kind.
        kind: &'static str,
        /// The object.
        key: Key,
        /// What the API server or the way to it said.
        source: Box<kube::Error>,
    },
    /// A cache that is needed has not been filled yet.
    #[error("{0} are not known yet")]
    NotSynced(&'static str),
    /// The Rollout to adopt for is not the one that was seen.
    #[error("original Rollout {key} is gone: got uid {found}, wanted {wanted}")]
    Gone {
        /// The Rollout.
        key: Key,
        /// The uid there is.
        found: String,
        /// The uid there should be.
        wanted: String,
    },
    /// Somebody else may lead by now.
    #[error("the lease is lost")]
    NotLeading,
    /// A rule of ours was broken; the look is repeated after a pause.
    #[error("Recovered from Panic: {0}")]
    Panicked(String),
    /// A plan asks for something this controller was not given.
    #[error("no router to carry out the traffic of Rollout {0}")]
    NoRouter(Key),
}

impl LookError {
    pub(crate) fn api(verb: &'static str, kind: &'static str, key: &Key, source: kube::Error) -> Self {
        match &source {
            kube::Error::Api(status) if status.is_conflict() && !status.is_already_exists() => {
                Self::Conflict { kind, key: key.clone() }
            }
            _ => Self::Api { verb, kind, key: key.clone(), source: Box::new(source) },
        }
    }

    /// Whether the API server said that the object does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        matches!(self, Self::Api { source, .. } if matches!(&**source, kube::Error::Api(status) if status.is_not_found()))
    }
}
