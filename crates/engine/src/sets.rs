//! The ReplicaSets of a Rollout: what one read says, whose they are, and which role each plays.

use jiff::Timestamp;
use tidegate_api::names::{annotations, labels};
use tidegate_api::rollout::Rollout;
use tidegate_api::values::LabelSelector;
use tidegate_api::view::ReplicaSet;
use tidegate_validate::labels::matches;

use crate::counts::SetSize;
use crate::plan::SetId;

/// What the annotation with the time after which a set may be scaled down says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deadline {
    /// Nothing.
    None,
    /// This time.
    At(Timestamp),
    /// Something that is no time.
    Garbled,
}

/// What is asked of a ReplicaSet all the time.
pub(crate) trait SetFacts {
    fn name(&self) -> &str;
    fn hash(&self) -> &str;
    /// Whether the label says what the selector says: it is what we find the set by.
    fn has_own_label(&self) -> bool;
    fn annotation(&self, key: &str) -> Option<&str>;
    fn size(&self) -> SetSize;
    fn ready(&self) -> i32;
    fn created(&self) -> Option<Timestamp>;
    fn is_being_deleted(&self) -> bool;
    fn id(&self) -> SetId;

    fn spec_replicas(&self) -> i32 {
        self.size().spec
    }

    fn available(&self) -> i32 {
        self.size().available
    }

    /// Pods that serve and stay: those beyond the size that is asked for are on their way out, whatever the status says.
    fn serving(&self) -> i32 {
        let size = self.size();
        size.available.min(size.spec).max(0)
    }

    /// The revision; none when the annotation is missing or no number.
    fn revision(&self) -> Option<i64> {
        self.annotation(annotations::REVISION)?.parse().ok()
    }

    /// The Rollout's size when this set was last sized.
    fn desired_replicas(&self) -> Option<i32> {
        self.annotation(annotations::DESIRED_REPLICAS)?.parse().ok()
    }

    fn deadline(&self) -> Deadline {
        match self.annotation(annotations::SCALE_DOWN_DEADLINE) {
            None | Some("") => Deadline::None,
            Some(text) => text.parse().map_or(Deadline::Garbled, Deadline::At),
        }
    }

    fn has_deadline(&self) -> bool {
        self.deadline() != Deadline::None
    }
}

impl SetFacts for ReplicaSet {
    fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// What the selector says, which nobody can change; the label only when the selector says nothing.
    fn hash(&self) -> &str {
        let selected = self.spec.selector.as_ref().and_then(|selector| selector.match_labels.as_ref());
        [selected, self.metadata.labels.as_ref()]
            .into_iter()
            .flatten()
            .find_map(|all| all.get(labels::POD_TEMPLATE_HASH))
            .map_or("", String::as_str)
    }

    fn has_own_label(&self) -> bool {
        let labels = self.metadata.labels.as_ref();
        labels.and_then(|all| all.get(labels::POD_TEMPLATE_HASH)).map_or("", String::as_str) == self.hash()
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    fn size(&self) -> SetSize {
        SetSize {
            spec: self.spec.replicas.unwrap_or(1),
            actual: self.status.replicas,
            available: self.status.available_replicas,
        }
    }

    fn ready(&self) -> i32 {
        self.status.ready_replicas
    }

    fn created(&self) -> Option<Timestamp> {
        self.metadata.creation_timestamp.as_ref().map(|time| time.0)
    }

    fn is_being_deleted(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    fn id(&self) -> SetId {
        SetId { name: self.name().to_owned(), uid: self.metadata.uid.clone().unwrap_or_default() }
    }
}

/// Whose a ReplicaSet is and what follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// Ours.
    Ours,
    /// Ours until now, but it does not fit the selector.
    Release,
    /// Nobody's, and it fits.
    Adopt,
    /// None of our business.
    Ignore,
}

pub(crate) fn claim(rollout: &Rollout, selector: &LabelSelector, set: &ReplicaSet) -> Claim {
    let owners = set.metadata.owner_references.as_deref().unwrap_or_default();
    let controller = owners.iter().find(|owner| owner.controller == Some(true));
    let none = std::collections::BTreeMap::new();
    let fits = matches(Some(selector), set.metadata.labels.as_ref().unwrap_or(&none));
    match controller {
        Some(owner) if Some(&owner.uid) == rollout.metadata.uid.as_ref() => {
            if fits {
                Claim::Ours
            } else {
                Claim::Release
            }
        }
        Some(_) => Claim::Ignore,
        None if fits && !set.is_being_deleted() => Claim::Adopt,
        None => Claim::Ignore,
    }
}

/// The ReplicaSets of a Rollout by role.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets<'a> {
    /// All, oldest first.
    pub all: Vec<&'a ReplicaSet>,
    /// That of the current template.
    pub new: Option<&'a ReplicaSet>,
    /// The stable one; may be the new one.
    pub stable: Option<&'a ReplicaSet>,
    /// Neither new nor stable, oldest first.
    pub other: Vec<&'a ReplicaSet>,
}

impl<'a> Sets<'a> {
    /// Sorts by age and gives the roles.
    pub(crate) fn new(mut all: Vec<&'a ReplicaSet>, new: Option<&'a ReplicaSet>, stable_hash: &str) -> Self {
        all.sort_by(|a, b| (a.created(), a.name()).cmp(&(b.created(), b.name())));
        let stable =
            (!stable_hash.is_empty()).then(|| all.iter().copied().find(|set| set.hash() == stable_hash)).flatten();
        let has_role = |set: &ReplicaSet| [new, stable].into_iter().flatten().any(|chosen| chosen.name() == set.name());
        let other = all.iter().copied().filter(|set| !has_role(set)).collect();
        Self { all, new, stable, other }
    }

    /// The stable set when it is not the new one.
    pub(crate) fn distinct_stable(&self) -> Option<&'a ReplicaSet> {
        self.stable.filter(|stable| self.new.is_none_or(|new| new.name() != stable.name()))
    }

    /// All sets but the new one.
    pub(crate) fn older(&self) -> impl Iterator<Item = &'a ReplicaSet> {
        let new = self.new.map(SetFacts::name);
        self.all.iter().copied().filter(move |set| Some(set.name()) != new)
    }

    /// The hash of the new set, empty without one.
    pub(crate) fn new_hash(&self) -> &'a str {
        self.new.map_or("", SetFacts::hash)
    }

    /// A sum over all sets.
    pub(crate) fn sum(&self, of: impl Fn(&ReplicaSet) -> i32) -> i32 {
        self.all.iter().fold(0, |sum: i32, set| sum.saturating_add(of(set)))
    }

    /// Whether some set that is neither new nor stable waits to be scaled down.
    pub(crate) fn other_has_deadline(&self) -> bool {
        self.other.iter().any(|set| set.has_deadline())
    }
}
