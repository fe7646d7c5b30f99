//! What an edit comes to, in a form that can be written, logged and told as events.

use std::fmt;

use serde_json::Value;

use super::desired::Desired;
use super::routes::Protocol;

/// What is to be written.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Nothing: the object is as wanted.
    Unchanged,
    /// The whole object, with the `resourceVersion` it was read with.
    Changed(Box<Change>),
}

/// An object to write and what is new in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The whole object.
    pub object: Value,
    /// What differs from what was read, in the order it was found.
    pub written: Vec<Written>,
}

impl Edit {
    pub(super) fn of(object: Value, written: Vec<Written>) -> Self {
        if written.is_empty() { Self::Unchanged } else { Self::Changed(Box::new(Change { object, written })) }
    }

    /// The change, if there is one.
    pub fn changed(&self) -> Option<&Change> {
        match self {
            Self::Unchanged => None,
            Self::Changed(change) => Some(change),
        }
    }

    /// The object as it is to be: the changed one, or the one that was read.
    pub fn object<'a>(&'a self, read: &'a Value) -> &'a Value {
        self.changed().map_or(read, |change| &change.object)
    }
}

/// Header or mirror.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ManagedKind {
    /// By header.
    Header,
    /// A copy of requests.
    Mirror,
}

impl ManagedKind {
    /// As events call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Header => "headerRoute",
            Self::Mirror => "mirrorRoute",
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub enum Written {
    /// A destination of a route got another weight, came or went.
    Weight {
        /// The kind of route.
        protocol: Protocol,
        /// The route, by name or position.
        route: String,
        /// Host and subset.
        destination: String,
        /// None: it was not there.
        before: Option<i64>,
        /// None: it is gone.
        after: Option<i64>,
    },
    /// A managed route was added or replaced.
    Put(ManagedKind, String),
    /// A managed route was taken out.
    Removed(ManagedKind, String),
    /// Managed routes were moved before all others.
    Ordered,
    /// A subset names other pods.
    Subset {
        /// The subset.
        name: String,
        /// The pod template hash it named; none when it had no such label.
        before: Option<String>,
        /// The one it names now.
        after: Option<String>,
    },
    /// A subset of an experiment is no longer needed.
    SubsetRemoved(String),
    /// The annotation that says which Rollout writes here.
    ManagedBy(Option<String>),
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let weight = |value: &Option<i64>| value.map_or_else(|| "none".to_owned(), |weight| weight.to_string());
        match self {
            Self::Weight { protocol, route, destination, before, after } => {
                let (before, after) = (weight(before), weight(after));
                write!(f, "{} route {route}: {destination} {before} -> {after}", protocol.name())
            }
            Self::Put(kind, name) => write!(f, "{} '{name}' written", kind.name()),
            Self::Removed(kind, name) => write!(f, "{} '{name}' removed", kind.name()),
            Self::Ordered => f.write_str("managed routes moved before the others"),
            Self::Subset { name, before, after } => write!(f, "subset {name}: {} -> {}", shown(before), shown(after)),
            Self::SubsetRemoved(name) => write!(f, "subset {name} removed"),
            Self::ManagedBy(rollout) => write!(f, "managed by: {}", shown(rollout)),
        }
    }
}

impl Change {
    /// Messages of the events `Updated VirtualService`, in the order the original sends them.
    ///
    /// `virtual_service` is the name without namespace.
    pub fn messages(&self, virtual_service: &str, wanted: &Desired<'_>) -> Vec<String> {
        let mut messages = Vec::new();
        let mut say = |text: String| {
            let message = format!("VirtualService `{virtual_service}` {text}");
            if !messages.contains(&message) {
                messages.push(message);
            }
        };
        for written in &self.written {
            match written {
                Written::Removed(..) if wanted.routes.is_none() => say("removed all managed routes.".to_owned()),
                Written::Put(kind, name) | Written::Removed(kind, name) => say(format!("set {} '{name}'", kind.name())),
                _ => {}
            }
        }
        if self.written.iter().any(|written| matches!(written, Written::Weight { .. } | Written::Ordered)) {
            say(format!("set to desiredWeight '{}'", wanted.weight));
        }
        messages
    }
}
