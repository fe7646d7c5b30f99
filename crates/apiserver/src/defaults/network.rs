//! Defaults of endpoints and endpoint slices.

use serde_json::{Value, json};

use super::each;
use crate::object::{default_to, map_mut};

pub(super) fn endpoints(object: &mut Value) {
    each(object, &[], "subsets", |subset| {
        each(subset, &[], "ports", |port| default_to(map_mut(port), "protocol", "TCP"));
    });
}

pub(super) fn endpoint_slice(object: &mut Value) {
    each(object, &[], "endpoints", |endpoint| default_to(map_mut(endpoint), "conditions", json!({})));
    each(object, &[], "ports", |port| {
        let map = map_mut(port);
        default_to(map, "name", "");
        default_to(map, "protocol", "TCP");
    });
}
