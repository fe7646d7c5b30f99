//! What a router wants written, in a form that can be sent, logged and told as events.

use std::fmt;

use serde_json::Value;

use super::managed_route::ManagedKind;
use super::object::ObjectRef;

/// A write and what is new in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// The object.
    pub object: ObjectRef,
    /// What to do with it.
    pub action: Action,
    /// What differs from what was read, in the order it was found.
    pub written: Vec<Written>,
    /// What to tell once it is written.
    pub events: Vec<Event>,
    /// What to tell when it cannot be.
    pub failure: Option<Failure>,
}

/// What to do with an object.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// It is not there: make it. One that has appeared in the meantime is no failure but a reason to look again.
    Create(Value),
    /// The whole object, with the `resourceVersion` it was read with.
    Update(Value),
    /// Take it away.
    Delete {
        /// The one that was read, so that no other of the same name goes.
        uid: Option<String>,
        /// Not before this second since 1970; without one, at once.
        not_before: Option<i64>,
    },
}

impl Change {
    pub(crate) fn create(object: &ObjectRef, body: Value) -> Self {
        Self::of(object, Action::Create(body), vec![Written::Created])
    }

    pub(crate) fn delete(object: &ObjectRef, read: &Value, not_before: Option<i64>) -> Self {
        let uid = read.pointer("/metadata/uid").and_then(Value::as_str).map(str::to_owned);
        Self::of(object, Action::Delete { uid, not_before }, vec![Written::Deleted])
    }

    /// None when nothing differs.
    pub(crate) fn update(object: &ObjectRef, body: Value, written: Vec<Written>) -> Option<Self> {
        (!written.is_empty()).then(|| Self::of(object, Action::Update(body), written))
    }

    fn of(object: &ObjectRef, action: Action, written: Vec<Written>) -> Self {
        Self { object: object.clone(), action, written, events: Vec::new(), failure: None }
    }

    pub(crate) fn telling(mut self, event: Event) -> Self {
        self.events.push(event);
        self
    }

    pub(crate) fn or_telling(self, failure: Failure) -> Self {
        Self { failure: Some(failure), ..self }
    }

    /// The object as it is to be; none when it goes.
    pub fn body(&self) -> Option<&Value> {
        match &self.action {
            Action::Create(body) | Action::Update(body) => Some(body),
            Action::Delete { .. } => None,
        }
    }
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// The object is new.
    Created,
    /// The object goes.
    Deleted,
    /// A destination got another weight, came or went.
    Weight {
        /// Where in the object.
        place: String,
        /// The Service, or what stands for it.
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
    /// A subset of an experiment is no longer needed.
    SubsetRemoved(String),
    /// The annotation that says which Rollout writes here.
    ManagedBy(Option<String>),
    /// A field got another value, came or went.
    Field {
        /// Which.
        field: String,
        /// None: it was not there.
        before: Option<String>,
        /// None: it is gone.
        after: Option<String>,
    },
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn shown<T: ToString>(value: &Option<T>) -> String {
            value.as_ref().map_or_else(|| "none".to_owned(), T::to_string)
        }
        match self {
            Self::Created => f.write_str("created"),
            Self::Deleted => f.write_str("deleted"),
            Self::Weight { place, destination, before, after } => {
                write!(f, "{place}: {destination} {} -> {}", shown(before), shown(after))
            }
            Self::Put(kind, name) => write!(f, "{} '{name}' written", kind.name()),
            Self::Removed(kind, name) => write!(f, "{} '{name}' removed", kind.name()),
            Self::Ordered => f.write_str("managed routes moved before the others"),
            Self::SubsetRemoved(name) => write!(f, "subset {name} removed"),
            Self::ManagedBy(rollout) => write!(f, "managed by: {}", shown(rollout)),
            Self::Field { field, before, after } => write!(f, "{field}: {} -> {}", shown(before), shown(after)),
        }
    }
}

/// An event on the Rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Whether something is wrong.
    pub is_warning: bool,
    /// Its reason.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
}

impl Event {
    pub(crate) fn normal(reason: &'static str, message: String) -> Self {
        Self { is_warning: false, reason, message }
    }

    pub(crate) fn warning(reason: &'static str, message: String) -> Self {
        Self { is_warning: true, reason, message }
    }
}

/// The event of a write that failed; the answer of the API ends its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    is_warning: bool,
    reason: &'static str,
    beginning: String,
}

impl Failure {
    pub(crate) fn normal(reason: &'static str, beginning: String) -> Self {
        Self { is_warning: false, reason, beginning }
    }

    pub(crate) fn warning(reason: &'static str, beginning: String) -> Self {
        Self { is_warning: true, reason, beginning }
    }

    /// The event for this error.
    pub fn event(&self, error: &str) -> Event {
        Event { is_warning: self.is_warning, reason: self.reason, message: format!("{}: {error}", self.beginning) }
    }
}
