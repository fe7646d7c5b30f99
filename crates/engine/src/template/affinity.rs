//! Keeps pods of the new template away from nodes that run the stable one.

use serde_json::{Value, json};
use tidegate_api::names::labels;
use tidegate_api::rollout::AntiAffinity;

use super::object_at;

const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";

/// Appends our term after the user's own.
pub(crate) fn inject(template: &mut Value, wanted: &AntiAffinity, stable_hash: &str, namespace: &str) {
    let term = json!({
        "labelSelector": {"matchExpressions": [
            {"key": labels::POD_TEMPLATE_HASH, "operator": "In", "values": [stable_hash]},
        ]},
        "namespaces": [namespace],
        "topologyKey": "kubernetes.io/hostname",
    });
    let (list, entry) = match (&wanted.preferred, &wanted.required) {
        (Some(preferred), _) => {
            (PREFERRED, json!({"weight": preferred.weight.unwrap_or_default(), "podAffinityTerm": term}))
        }
        (None, Some(_)) => (REQUIRED, term),
        (None, None) => return,
    };
    let lists = object_at(template, &["spec", "affinity", "podAntiAffinity"]);
    match lists.get_mut(list) {
        Some(Value::Array(terms)) => terms.push(entry),
        _ => {
            lists.insert(list.to_owned(), json!([entry]));
        }
    }
}

/// The expression of our term, in a required or in a preferred entry.
fn own_expression(entry: &Value) -> Option<&Value> {
    let term = entry.get("podAffinityTerm").unwrap_or(entry);
    let expressions = term.pointer("/labelSelector/matchExpressions")?.as_array()?;
    expressions.iter().find(|expression| expression["key"] == labels::POD_TEMPLATE_HASH)
}

fn terms<'a>(template: &'a Value, list: &str) -> &'a [Value] {
    let found = template.pointer("/spec/affinity/podAntiAffinity").and_then(|lists| lists.get(list));
    found.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether our term is there and names another template than `stable_hash`.
pub(crate) fn names_other_stable(template: &Value, stable_hash: &str) -> bool {
    [PREFERRED, REQUIRED].into_iter().flat_map(|list| terms(template, list)).filter_map(own_expression).any(
        |expression| {
            let values = expression["values"].as_array().map_or(&[][..], Vec::as_slice);
            !values.iter().any(|value| value == stable_hash)
        },
    )
}

/// Takes our term out, with the lists and objects that it alone had filled.
pub(crate) fn strip(template: &mut Value) {
    let Some(lists) = template.pointer_mut("/spec/affinity/podAntiAffinity").and_then(Value::as_object_mut) else {
        return;
    };
    let mut removed = false;
    for list in [PREFERRED, REQUIRED] {
        let Some(terms) = lists.get_mut(list).and_then(Value::as_array_mut) else { continue };
        if let Some(own) = terms.iter().position(|entry| own_expression(entry).is_some()) {
            terms.remove(own);
            removed = true;
        }
        if terms.is_empty() {
            lists.remove(list);
        }
    }
    if !removed {
        return;
    }
    let is_empty = lists.is_empty();
    if is_empty && let Some(affinity) = template.pointer_mut("/spec/affinity").and_then(Value::as_object_mut) {
        affinity.remove("podAntiAffinity");
        if affinity.is_empty()
            && let Some(spec) = template.pointer_mut("/spec").and_then(Value::as_object_mut)
        {
            spec.remove("affinity");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preferred() -> AntiAffinity {
        serde_json::from_value(json!({PREFERRED: {"weight": 5}})).unwrap()
    }

    #[test]
    fn what_is_injected_can_be_taken_out_without_a_trace() {
        let own = json!({"spec": {"containers": []}});
        let with_terms = json!({"spec": {"affinity": {"podAntiAffinity": {PREFERRED: [
            {"weight": 1, "podAffinityTerm": {"topologyKey": "zone"}},
        ]}}}});
        for template in [own, with_terms] {
            let mut changed = template.clone();
            inject(&mut changed, &preferred(), "abc", "shop");
            assert!(!names_other_stable(&changed, "abc") && names_other_stable(&changed, "def"));
            strip(&mut changed);
            assert_eq!(changed, template);
        }
    }

    #[test]
    fn odd_templates_are_left_alone() {
        for mut template in [
            json!(null),
            json!({"spec": {"affinity": "no"}}),
            json!({"spec": {"affinity": {
            "podAntiAffinity": {REQUIRED: [null, {"labelSelector": null}]}}}}),
        ] {
            let before = template.clone();
            strip(&mut template);
            assert_eq!(template, before);
        }
    }
}
