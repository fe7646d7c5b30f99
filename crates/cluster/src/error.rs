//! What went wrong at the cluster, in the words people know, and what may help.

use std::error::Error;
use std::fmt;
use std::io;

use kube::core::Status;

/// A refusal or a failure of the cluster.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The API answered, and refused.
    #[error("{}", .0.message)]
    Refused(Refusal),
    /// There was no answer.
    #[error("{method} {url:?}: {cause}")]
    Unreachable {
        /// How it was asked.
        method: &'static str,
        /// Where.
        url: String,
        /// Why.
        cause: String,
    },
    /// The answer took too long.
    #[error("{method} {url:?}: no answer within {limit:?} (--request-timeout)")]
    Late {
        /// How it was asked.
        method: &'static str,
        /// Where.
        url: String,
        /// How long was waited.
        limit: std::time::Duration,
    },
    /// The answer is not what was asked for.
    #[error("{what} cannot be read: {problem}")]
    Unreadable {
        /// What.
        what: String,
        /// Why not.
        problem: String,
    },
    /// The way to the cluster is not known.
    #[error("{0}")]
    Configuration(String),
    /// A name that cannot be asked for.
    #[error("{0}")]
    Name(String),
    /// There are no credentials to send: nothing was asked.
    #[error("no credentials for {user}: {cause}")]
    Credentials {
        /// Whose.
        user: String,
        /// Why.
        cause: String,
    },
}

/// A refusal by the API.
#[derive(Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub code: u16,
    /// For programs.
    pub reason: String,
    /// For people.
    pub message: String,
    /// Whether it is about an object that it names.
    pub names_object: bool,
    /// The method and path that were refused.
    pub request: String,
}

impl ApiError {
    /// Whether it is not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == 404)
    }

    /// Whether it is the object that is missing, and not its kind.
    pub fn is_missing_object(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == 404 && refusal.names_object)
    }

    /// Whether somebody else was quicker.
    pub fn is_conflict(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == 409 && refusal.reason != "AlreadyExists")
    }

    /// Whether it is not allowed.
    pub fn is_forbidden(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == 403)
    }

    /// Whether a version of a list is too old to be watched from.
    pub fn is_gone(&self) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == 410)
    }

    /// Whether the same request may succeed a little later.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Refused(refusal) if matches!(refusal.code, 429 | 503 | 504))
    }

    /// What may help.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Refused(refusal) => refusal.hint(),
            Self::Credentials { user, .. } => Some(format!(
                "log in again as {user} with the tool that wrote the kubeconfig, or choose others with --user, --context or --token"
            )),
            Self::Unreadable { .. } => Some(
                "it is not in the form this plugin knows: the controller or its CRDs may be newer than the plugin (`version` names it)"
                    .to_owned(),
            ),
            Self::Unreachable { .. } | Self::Late { .. } => Some(
                "is the cluster running, and is it the right one? `kubectl config current-context` names it, --context chooses another"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

impl Refusal {
    /// From the answer of the API.
    pub fn new(status: &Status, request: String) -> Self {
        let message = match status.message.trim() {
            "" => format!("the server answered {} {}", status.code, status.reason),
            message => message.to_owned(),
        };
        let names_object = status.details.as_ref().is_some_and(|details| !details.name.is_empty());
        Self { code: status.code, reason: status.reason.clone(), message, names_object, request }
    }

    fn hint(&self) -> Option<String> {
        match self.code {
            401 => Some(
                "the credentials were refused or have expired: log in again, or choose others with --context, --user or --token"
                    .to_owned(),
            ),
            403 => Some(format!("the request was {}; `kubectl auth can-i` shows what is allowed", self.request)),
            404 if !self.names_object => Some(
                "the cluster does not know this kind: are the CRDs of Argo Rollouts installed, and is it the right cluster (--context)?"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// The innermost cause of a failed connection, in the words people know.
pub fn cause(error: &(dyn Error + 'static), authority: &str) -> String {
    let mut innermost = error;
    let mut refused = false;
    while let Some(source) = innermost.source() {
        innermost = source;
        refused |=
            innermost.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
    }
    if refused { format!("dial tcp {authority}: connect: connection refused") } else { text(innermost) }
}

/// Why no credentials could be had, if that is why a request failed.
pub(crate) fn credentials(error: &(dyn Error + 'static)) -> Option<String> {
    let mut next = Some(error);
    while let Some(found) = next {
        if found.downcast_ref::<kube::client::AuthError>().is_some() {
            return Some(text(&innermost(found)));
        }
        next = found.source();
    }
    None
}

fn innermost<'a>(error: &'a (dyn Error + 'static)) -> &'a (dyn Error + 'static) {
    let mut found = error;
    while let Some(source) = found.source() {
        found = source;
    }
    found
}

fn text(error: &dyn fmt::Display) -> String {
    let text = error.to_string();
    // Several lines would look like several errors.
    text.lines().map(str::trim).collect::<Vec<_>>().join(" ")
}
