//! Values of the Secret: put in place of `$key`, and kept out of messages.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value as Json;

/// What stands in messages for a value of the Secret.
const HIDDEN: &str = "*****";
/// Shorter values are words that messages hold anyway.
const SHORTEST_HIDDEN: usize = 4;

/// Puts values of the Secret in place of `$key` in every text, and gives the `$keys` that are not there.
pub(super) fn fill(value: &mut Json, secrets: &BTreeMap<String, Vec<u8>>) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    visit(value, secrets, &mut missing);
    missing
}

fn visit(value: &mut Json, secrets: &BTreeMap<String, Vec<u8>>, missing: &mut BTreeSet<String>) {
    match value {
        Json::String(text) => *text = filled(text, secrets, missing),
        Json::Array(items) => items.iter_mut().for_each(|item| visit(item, secrets, missing)),
        Json::Object(fields) => fields.values_mut().for_each(|item| visit(item, secrets, missing)),
        _ => {}
    }
}

fn filled(text: &str, secrets: &BTreeMap<String, Vec<u8>>, missing: &mut BTreeSet<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let end = after.find(|c| !is_key(c)).unwrap_or(after.len());
        let key = &after[..end];
        match secrets.get(key) {
            // As tools write Secrets, values often end with a new line, which no header and no address may hold.
            Some(value) => out.push_str(String::from_utf8_lossy(value).trim_end_matches(['\n', '\r'])),
            None => {
                out.push('$');
                out.push_str(key);
                if !key.is_empty() {
                    missing.insert(format!("${key}"));
                }
            }
        }
        rest = &after[end..];
    }
    out.push_str(rest);
    out
}

/// A text without values of the Secret.
pub(super) fn redact(text: &str, secrets: &BTreeMap<String, Vec<u8>>) -> String {
    let mut values: Vec<String> =
        secrets.values().map(|value| String::from_utf8_lossy(value).trim().to_owned()).collect();
    // Longer ones first: one may be part of another.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    let values = values.iter().filter(|value| value.len() >= SHORTEST_HIDDEN);
    values.fold(text.to_owned(), |text, value| text.replace(value.as_str(), HIDDEN))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_replaced_also_inside_longer_texts_and_unknown_ones_stay() {
        let secrets: BTreeMap<String, Vec<u8>> = [("slack-token", "xoxb-1\n"), ("user_1", "me")]
            .map(|(key, value)| (key.to_owned(), value.as_bytes().to_vec()))
            .into();
        let mut value = serde_json::json!({
            "token": "$slack-token", "url": "https://$user_1:$slack-token@h/", "list": ["$nope", 5, "a $ b"],
        });
        let missing = fill(&mut value, &secrets);
        let wanted = serde_json::json!({
            "token": "xoxb-1", "url": "https://me:xoxb-1@h/", "list": ["$nope", 5, "a $ b"],
        });
        assert_eq!((value, missing), (wanted, BTreeSet::from(["$nope".to_owned()])));
        assert_eq!(redact("no xoxb-1 for me", &secrets), "no ***** for me");
    }
}
