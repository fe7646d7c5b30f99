//! Why a look at a Rollout ended early.

use std::time::Duration;

use tidegate_runtime::Key;

/// How long an answer is waited for. A look holds its Rollout back meanwhile, and nothing else.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits for an answer, but not for ever.
pub(crate) async fn in_time<T>(
    verb: &'static str,
    kind: &'static str,
    key: &Key,
    work: impl Future<Output = Result<T, LookError>>,
) -> Result<T, LookError> {
    match tokio::time::timeout(REQUEST_TIMEOUT, work).await {
        Ok(result) => result,
        Err(_) => Err(LookError::TimedOut { verb, kind, key: key.clone() }),
    }
}

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
    /// The Rollout to write for is not the one that was seen.
    #[error("original Rollout {key} is gone: got uid {found}, wanted {wanted}")]
    Gone {
        /// The Rollout.
        key: Key,
        /// The uid there is.
        found: String,
        /// The uid there should be.
        wanted: String,
    },
    /// No answer came; whether there was an effect is not known.
    #[error("{verb} {kind} {key}: no answer within {} s", REQUEST_TIMEOUT.as_secs())]
    TimedOut {
        /// What was tried.
        verb: &'static str,
        /// The kind.
        kind: &'static str,
        /// The object.
        key: Key,
    },
    /// Somebody else may lead by now.
    #[error("the lease is lost")]
    NotLeading,
    /// A rule of ours was broken; the look is repeated after a pause.
    #[error("Recovered from Panic: {0}")]
    Panicked(String),
    /// The API server refuses a write, and nothing follows from that but to try again.
    #[error("{kind} {key}: {problem}")]
    Refused {
        /// The kind.
        kind: &'static str,
        /// The object.
        key: Key,
        /// What the API server said.
        problem: String,
    },
    /// Routes could not be written; everything else was done.
    #[error("routes of Rollout {key}: {problem}")]
    Routes {
        /// The Rollout.
        key: Key,
        /// Why.
        problem: String,
    },
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

    /// What to tell people about a request that is refused and will be until somebody does something; none for failures
    /// that pass by themselves, and for ReplicaSets that cannot be made, which have a condition and event of their own.
    pub(crate) fn refusal(&self) -> Option<String> {
        let Self::Api { verb, kind, key, source } = self else { return None };
        let kube::Error::Api(status) = &**source else { return None };
        let advice = match status.code {
            403 => "allow it in the controller's role, the quota or the admission policy that refuses it",
            400 | 413 | 422 => "correct what the message names in the Rollout or the object",
            401 => "renew the credentials of the controller",
            404 | 405 => "install the CRDs and grant the permissions of this release",
            _ => return None,
        };
        let has_own_event = *kind == "ReplicaSet" && *verb == "create";
        let text = &status.message;
        (!has_own_event).then(|| format!("Failed to {verb} {kind} \"{}\": {text}; {advice}", key.name))
    }
}
