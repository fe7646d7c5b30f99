//! Objects by label.

use std::collections::BTreeMap;

/// Whether labels fit a selector as the API takes it, such as `app=shop,tier in (web,edge),!old`.
pub(super) fn selects(selector: &str, labels: &BTreeMap<String, String>) -> bool {
    requirements(selector).into_iter().all(|requirement| fits(requirement, labels))
}

/// Parts between the commas that are in no brackets.
fn requirements(selector: &str) -> Vec<&str> {
    let (mut parts, mut begin, mut depth) = (Vec::new(), 0, 0_usize);
    for (at, letter) in selector.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                parts.push(&selector[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&selector[begin..]);
    parts.into_iter().map(str::trim).filter(|part| !part.is_empty()).collect()
}

fn fits(requirement: &str, labels: &BTreeMap<String, String>) -> bool {
    let label = |key: &str| labels.get(key.trim()).map(String::as_str);
    let is_in = |list: &str, value: Option<&str>| {
        let mut values = list.trim_end_matches(')').split(',').map(str::trim);
        value.is_some_and(|value| values.any(|other| other == value))
    };
    if let Some((key, list)) = requirement.split_once(" notin (") {
        return !is_in(list, label(key));
    }
    if let Some((key, list)) = requirement.split_once(" in (") {
        return is_in(list, label(key));
    }
    if let Some((key, value)) = requirement.split_once("!=") {
        return label(key) != Some(value.trim());
    }
    if let Some((key, value)) = requirement.split_once('=') {
        return label(key) == Some(value.trim_start_matches('=').trim());
    }
    match requirement.strip_prefix('!') {
        Some(key) => label(key).is_none(),
        None => label(requirement).is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_fit_every_part_of_a_selector() {
        let labels = [("app", "shop"), ("tier", "web")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        for (selector, fits) in [
            ("", true),
            ("app=shop", true),
            ("app==shop", true),
            ("app=shop,tier=edge", false),
            ("app = shop", true),
            ("tier in (web, edge)", true),
            ("tier in (edge),app", false),
            ("tier notin (edge)", true),
            ("zone notin (a)", true),
            ("tier!=web", false),
            ("zone!=a", true),
            ("app", true),
            ("zone", false),
            ("!zone,app=shop", true),
            ("!app", false),
        ] {
            assert_eq!(selects(selector, &labels), fits, "{selector}");
        }
    }
}
