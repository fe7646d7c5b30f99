//! What a manager applied before and applies no longer goes, unless somebody else manages it as well.

use serde_json::Value;

use super::place::Place;
use super::set::FieldSet;
use super::tree::{fields, with_structures, without};

/// `merged` without the fields that are in `last` and in none of the sets of `managed`, the ones that are applied now among
/// them.
pub(super) fn prune(merged: &Value, last: &FieldSet, managed: &FieldSet, place: Place<'_>) -> Value {
    if last.is_empty() {
        return merged.clone();
    }
    let whole = |set: &FieldSet| with_structures(set, merged, place);
    let keep = |gone: &FieldSet| without(merged, gone, place);
    let less = |set: &FieldSet, other: &FieldSet| {
        let mut set = set.clone();
        set.remove(other);
        set
    };
    let all = whole(&fields(merged, place));
    let last = whole(last);
    // Without everything that was applied before, then again with what somebody manages.
    let mut kept = whole(&fields(&keep(&last), place));
    kept.add(&whole(managed));
    let pruned = keep(&less(&all, &kept));
    // A structure that goes may hold what nobody ever applied; that stays.
    let gone = less(&all, &whole(&fields(&pruned, place)));
    keep(&gone.common(&last))
}
