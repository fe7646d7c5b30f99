//! Which rules are those of header steps, and what becomes of them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::header_rule::{build, is_header_rule, is_same};
use crate::router::{ManagedKind, RouterError, Wanted, Written};

/// Rules as they should be.
pub(super) struct Managed {
    pub(super) rules: Vec<Value>,
    /// Positions by managed route, those of other Rollouts too.
    pub(super) positions: BTreeMap<String, usize>,
    pub(super) written: Vec<Written>,
}

/// A managed route and where its rule was.
type Recorded = (String, usize);

/// Puts the rules of wanted header routes in and takes all others of this Rollout out.
///
/// `recorded` says where rules of steps were. A position may be wrong, when somebody has written the route since or a
/// write was cut short: a rule counts as a step's only when it looks like one, and one that says what a recorded step
/// wants is taken wherever it is.
pub(super) fn manage(
    rules: Vec<Value>,
    base: usize,
    recorded: &[Recorded],
    wanted: &Wanted<'_>,
) -> Result<Managed, RouterError> {
    let owned = wanted.owned_routes();
    let (ours, others): (Vec<_>, Vec<_>) = recorded.iter().partition(|(name, _)| owned.contains(&name.as_str()));
    let base = rules.get(base).cloned().unwrap_or_default();
    let mut built = Vec::new();
    for (name, step) in wanted.headers() {
        built.push((name, build(name, step, &base, wanted)?));
    }
    let mut claimed = claims(&rules, &built, &ours, &others);
    let is_ours = |index: usize| rules.get(index).is_some_and(|rule| is_header_rule(rule, wanted));
    let mut written = Vec::new();
    let mut replaced = BTreeMap::new();
    let mut added = Vec::new();
    for (name, rule) in built {
        if claimed.contains_key(name) {
            continue;
        }
        written.push(Written::Put(ManagedKind::Header, name.to_owned()));
        let is_taken = |index: usize| claimed.values().any(|other| *other == index);
        match ours.iter().find(|(other, index)| other == name && is_ours(*index) && !is_taken(*index)) {
            Some((_, index)) => {
                claimed.insert(name, *index);
                replaced.insert(*index, rule);
            }
            None => added.push((name, rule)),
        }
    }
    let mut gone = BTreeSet::new();
    for (name, index) in &ours {
        let is_kept = claimed.values().any(|other| other == index) || others.iter().any(|(_, other)| other == index);
        if is_ours(*index) && !is_kept && gone.insert(*index) {
            written.push(Written::Removed(ManagedKind::Header, name.clone()));
        }
    }
    let moved = |index: usize| index - gone.range(..index).count();
    let mut positions: BTreeMap<String, usize> =
        others.iter().map(|(name, index)| (name.clone(), moved(*index))).collect();
    positions.extend(claimed.iter().map(|(name, index)| ((*name).to_owned(), moved(*index))));
    let kept = rules.into_iter().enumerate().filter(|(index, _)| !gone.contains(index));
    let mut rules: Vec<Value> = kept.map(|(index, rule)| replaced.remove(&index).unwrap_or(rule)).collect();
    for (name, rule) in added {
        positions.insert(name.to_owned(), rules.len());
        rules.push(rule);
    }
    Ok(Managed { rules, positions, written })
}

/// Which rules say what is wanted already: at their own position, at another one of ours or, when a step was recorded
/// at all, anywhere. A rule of a step that was never recorded is the user's, whatever it says.
fn claims<'a>(
    rules: &[Value],
    built: &[(&'a str, Value)],
    ours: &[&Recorded],
    others: &[&Recorded],
) -> BTreeMap<&'a str, usize> {
    let mut claimed: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, rule) in built {
        let own = ours.iter().filter(|(other, _)| other == name).map(|(_, index)| *index);
        let any = ours.iter().map(|(_, index)| *index);
        let is_recorded = ours.iter().any(|(other, _)| other == name);
        let anywhere = 0..if is_recorded { rules.len() } else { 0 };
        let is_free = |index: &usize| {
            !claimed.values().any(|other| other == index) && !others.iter().any(|(_, other)| other == index)
        };
        let mut all = own.chain(any).chain(anywhere).filter(is_free);
        let found = all.find(|index| rules.get(*index).is_some_and(|live| is_same(live, rule)));
        claimed.extend(found.map(|index| (*name, index)));
    }
    claimed
}
