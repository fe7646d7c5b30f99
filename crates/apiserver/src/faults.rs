//! Where a simulator may interfere: before a request takes effect, after it did, and at each watch delivery.

use std::time::Duration;

use serde_json::Value;

use crate::request::Verb;
use crate::status::StatusError;

/// A request, as faults see it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// What is done.
    pub verb: Verb,
    /// The API group, empty for core.
    pub group: &'a str,
    /// The plural.
    pub resource: &'a str,
    /// The namespace, empty if none.
    pub namespace: &'a str,
    /// The name, empty for lists and creations.
    pub name: &'a str,
    /// The subresource, empty for the object itself.
    pub subresource: &'a str,
    /// The `User-Agent` of the client, empty if it gave none.
    pub client: &'a str,
}

/// What happens before the effect.
#[derive(Clone, Debug, Default)]
pub enum Before {
    /// Nothing.
    #[default]
    Pass,
    /// The request waits first.
    Delay(Duration),
    /// The request is refused and has no effect.
    Fail(StatusError),
}

/// What happens after the effect.
#[derive(Clone, Debug, Default)]
pub enum After {
    /// Nothing.
    #[default]
    Pass,
    /// The answer comes late.
    Delay(Duration),
    /// The effect stays, but the client is told of a failure.
    Fail(StatusError),
    /// The effect stays, and the client never hears of it.
    Silence,
}

/// One event on its way to one watcher.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// The API group of the watched resource.
    pub group: &'a str,
    /// The plural of the watched resource.
    pub resource: &'a str,
    /// `ADDED`, `MODIFIED`, `DELETED` or `BOOKMARK`.
    pub kind: &'a str,
    /// The object, without `managedFields`.
    pub object: &'a Value,
    /// Which watch this is: they are numbered as they are opened.
    pub watch: u64,
    /// The `User-Agent` of the client that watches, empty if it gave none.
    pub client: &'a str,
    /// Whether it belongs to the state a watch starts with, rather than to what happened since.
    pub initial: bool,
}

/// What happens to a delivery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Deliver {
    /// It arrives.
    #[default]
    Pass,
    /// It and everything after it arrive late.
    Delay(Duration),
    /// It alone arrives late: later events overtake it.
    HoldBack(Duration),
    /// It is lost.
    Drop,
    /// The watch ends cleanly instead.
    End,
    /// The watch ends with 410 instead.
    Expire,
}

/// Decides about faults. Every method has a default that lets everything pass.
pub trait Faults: Send + Sync {
    /// Before a request takes effect.
    fn before(&self, call: &Call<'_>) -> Before {
        let _ = call;
        Before::Pass
    }

    /// How many writes a list is behind (also the initial events of a watch), if it says that any version or one not older
    /// than some will do. Lists that ask for the latest state or insist on a version, and
    /// later pages, stay honest; a list is never older than the version it was asked to be at least.
    fn lag(&self, call: &Call<'_>) -> u64 {
        let _ = call;
        0
    }

    /// After a request took effect; `code` is the HTTP code of the honest answer.
    fn after(&self, call: &Call<'_>, code: u16) -> After {
        let _ = (call, code);
        After::Pass
    }

    /// At each watch delivery.
    fn deliver(&self, delivery: &Delivery<'_>) -> Deliver {
        let _ = delivery;
        Deliver::Pass
    }
}

/// Lets everything pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFaults;

impl Faults for NoFaults {}
