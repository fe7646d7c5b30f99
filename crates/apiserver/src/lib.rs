//! A Kubernetes API inside one process: storage, REST rules, watches, garbage collection and discovery as a tower
//! service that `kube::Client` runs on unchanged, in real or in paused time. It must never share code with the
//! controller, never read a clock but the one it is given, and never behave differently in two runs of the same
//! requests.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! use tidegate_apiserver::{ApiServer, Options};
//!
//! let server = ApiServer::new(Options::new(tidegate_clock::Clock::system()));
//! let client = kube::Client::new(server.clone(), "default");
//! # drop(client); assert!(server.revision() > 0);
//! # }
//! ```

mod absent;
mod answer;
mod body;
mod builtin;
mod columns;
mod containers;
mod crd;
mod defaults;
mod discovery;
mod encoding;
mod faults;
mod fields;
mod gc;
mod json;
mod kept;
mod list;
mod listener;
mod managed;
mod object;
mod observer;
mod openapi;
mod registry;
mod request;
mod selector;
mod server;
mod state;
mod status;
mod store;
mod stored;
mod typed;
mod validation;
mod verbs;
mod view;
mod warnings;
mod watch;
mod yaml;

pub use answer::Body;
pub use containers::Logs;
pub use faults::{After, Before, Call, Deliver, Delivery, Faults, NoFaults};
pub use listener::Listener;
pub use observer::{Fate, NoObserver, Observer, Written};
pub use request::Verb;
pub use selector::LabelSelector;
pub use server::{ApiServer, Options};
pub use status::{Cause, StatusError};
pub use view::WithoutManagers;
