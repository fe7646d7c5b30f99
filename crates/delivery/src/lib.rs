//! Delivers notifications: what `tidegate-notify` says becomes requests, mails and publications.
//!
//! ```text
//!   event ──▶ ┐                        ┌─▶ one destination, in order, with retries ─▶ Carrier ─▶ HTTP (providers' client)
//!             ├─▶ sender.rs: at most   ├─▶ another, which waits for nobody                    ├▶ SMTP (smtp.rs)
//!   state ──▶ ┘   1,000 waiting        └─▶ ...                                               └▶ NATS (nats.rs)
//! ```
//!
//! Nobody waits for the sender: what does not fit into its queue is dropped and counted, and a destination that hangs holds
//! back only what is meant for itself.
//!
//! This crate must never make its caller wait, wait without bound itself, put a credential into a message, or read a clock
//! but the one it is given.

mod carrier;
mod file;
mod lanes;
mod lines;
mod mail;
mod nats;
mod observer;
mod sender;
mod smtp;

pub use carrier::{Carrier, Network};
pub use nats::NatsError;
pub use observer::{About, Observer, Silent};
pub use sender::{Job, MOST_WAITING, Occurrence, Receipt, Scoped, Sender};
pub use smtp::SmtpError;
