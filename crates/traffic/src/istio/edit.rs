//! What an edit comes to, in a form that can be written, logged and told as events.

use serde_json::Value;

use super::desired::Desired;
use crate::router::Written;

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
