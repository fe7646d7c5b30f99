//! Notifications: who is told what, and when.
//!
//! ```text
//!   ConfigMap + Secret ──config/──▶ Config        what is wrong with an entry is named, the others count
//!   Rollout + Config ──subscriptions.rs──▶ destinations by trigger
//!   an event ──event.rs──▶ Sendings                no memory: every event is told
//!   a state  ──state.rs──▶ Sendings and marks      told once, remembered in an annotation (marks.rs)
//!   Sending ──template.rs──▶ Notification ──services/──▶ requests, as data
//! ```
//!
//! Everything here is a function of what it is given. Whoever sends (`tidegate-delivery`) carries the requests out.
//!
//! This crate must never do I/O, read a clock, put a value of the Secret into a message, or fail as a whole because of one
//! bad entry.

pub mod config;
mod event;
mod kebab;
mod marks;
mod message;
mod nkey;
mod publication;
mod selector;
pub mod services;
mod state;
mod subscriptions;
mod template;
mod trigger;
mod variables;

pub use config::{Config, Problem};
pub use event::on_event;
pub use kebab::trigger_of;
pub use marks::{MOST_MARKS, Marks};
pub use message::{AwsKeys, Conversation, Failure, HttpRequest, Mail, Memory, Notification, Response, Turn};
pub use nkey::Nkey;
pub use publication::{NatsLogin, NatsServer, Publication};
pub use selector::Selector;
pub use state::{StatePlan, Told, on_state};
pub use subscriptions::{Destination, Subject, destinations};
pub use template::NotificationTemplate;
pub use trigger::{Condition, Verdict};
pub use variables::{RunsOf, analysis_runs_of, fill_in_workload, variables};

/// The name of the ConfigMap that holds the configuration.
pub const CONFIG_MAP: &str = "argo-rollouts-notification-configmap";
/// The name of the Secret that the configuration may refer to.
pub const SECRET: &str = "argo-rollouts-notification-secret";

/// One message to one destination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// The trigger it is for.
    pub trigger: String,
    /// Who is told.
    pub destination: Destination,
    /// The templates that make the message, in order.
    pub templates: Vec<String>,
}
