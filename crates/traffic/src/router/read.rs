//! What the objects say, which is what may be reported.

use std::collections::BTreeMap;

use super::change::Action;
use super::error::RouterError;
use super::needs::Seen;
use super::wanted::Wanted;
use super::{Change, Router};

/// The lowest and the highest of several weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The lowest.
    pub lowest: i64,
    /// The highest.
    pub highest: i64,
}

impl Span {
    /// Of all these; none when there are none.
    pub(crate) fn over(weights: impl Iterator<Item = i64>) -> Option<Self> {
        weights.fold(None, |span: Option<Self>, weight| {
            let Self { lowest, highest } = span.unwrap_or(Self { lowest: weight, highest: weight });
            Some(Self { lowest: lowest.min(weight), highest: highest.max(weight) })
        })
    }
}

/// The weights of one place that splits traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenRoute {
    /// Kind, namespace and name of the object.
    pub object: String,
    /// Where in it, for people.
    pub route: String,
    /// The canary's weight.
    pub canary: i64,
    /// The stable weight.
    pub stable: i64,
    /// Experiments by Service.
    pub additional: BTreeMap<String, i64>,
    /// All weights of the place together, the user's too; what the others are shares of.
    pub total: i64,
}

/// What was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// Every place that splits traffic and could be read.
    pub routes: Vec<SeenRoute>,
    /// Why others could not.
    pub problems: Vec<RouterError>,
    /// Whether the router has nothing left to write; what waits to be deleted gets no traffic any more.
    pub is_as_wanted: bool,
}

impl Read {
    /// The canary's weight over all places; none when nothing could be read.
    pub fn canary(&self) -> Option<Span> {
        self.span(|route| route.canary)
    }

    /// The stable weight over all places.
    pub fn stable(&self) -> Option<Span> {
        self.span(|route| route.stable)
    }

    /// The weight of an experiment over all places, 0 where it is not in one.
    pub fn additional(&self, service: &str) -> Option<Span> {
        self.span(|route| route.additional.get(service).copied().unwrap_or_default())
    }

    fn span(&self, weight: impl Fn(&SeenRoute) -> i64) -> Option<Span> {
        Span::over(self.routes.iter().map(weight))
    }
}

/// What the objects of a router say.
pub fn read_back(router: &dyn Router, seen: &Seen, wanted: &Wanted<'_>) -> Read {
    let mut read = Read::default();
    for found in router.read(seen, wanted) {
        match found {
            Ok(route) => read.routes.push(route),
            Err(error) => read.problems.push(error),
        }
    }
    let is_rest = |change: &Change| matches!(change.action, Action::Delete { not_before: Some(_), .. });
    read.is_as_wanted = router.edit(seen, wanted).is_ok_and(|changes| changes.iter().all(is_rest));
    read
}
