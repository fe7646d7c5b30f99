//! Label selectors as text: `app=web,tier in (a, b),!old`.

use std::collections::BTreeMap;

/// One requirement.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Requirement {
    In(String, Vec<String>),
    NotIn(String, Vec<String>),
    Exists(String),
    Missing(String),
}

/// A selector; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Requirement>);

impl Selector {
    /// Reads a selector.
    pub fn read(text: &str) -> Result<Self, String> {
        let parts = split(text)?;
        let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
        parts.map(requirement).collect::<Result<_, _>>().map(Self)
    }

    /// Whether labels fit.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| match requirement {
            Requirement::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            Requirement::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Requirement::Exists(key) => labels.contains_key(key),
            Requirement::Missing(key) => !labels.contains_key(key),
        })
    }
}

/// Splits at commas outside parentheses.
fn split(text: &str) -> Result<Vec<String>, String> {
    let mut parts = vec![String::new()];
    let mut inside = false;
    for c in text.chars() {
        match c {
            '(' if !inside => inside = true,
            ')' if inside => inside = false,
            '(' | ')' => return Err(format!("selector {text:?}: parentheses do not fit")),
            ',' if !inside => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    if inside { Err(format!("selector {text:?}: a parenthesis is not closed")) } else { Ok(parts) }
}

fn requirement(part: &str) -> Result<Requirement, String> {
    let one = |value: &str| vec![value.trim().to_owned()];
    if let Some((key, value)) = part.split_once("!=") {
        return Ok(Requirement::NotIn(name(key)?, one(value)));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Requirement::In(name(key)?, one(value)));
    }
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement::Missing(name(key)?));
    }
    let Some((head, values)) = part.split_once('(') else { return Ok(Requirement::Exists(name(part)?)) };
    let values: Vec<String> = values.trim_end_matches(')').split(',').map(|value| value.trim().to_owned()).collect();
    let words: Vec<&str> = head.split_whitespace().collect();
    match words[..] {
        [key, "in"] => Ok(Requirement::In(name(key)?, values)),
        [key, "notin"] => Ok(Requirement::NotIn(name(key)?, values)),
        _ => Err(format!("selector {part:?}: write key in (a, b) or key notin (a, b)")),
    }
}

fn name(key: &str) -> Result<String, String> {
    let key = key.trim();
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if key.is_empty() || !key.chars().all(fits) { Err(format!("{key:?} is no label")) } else { Ok(key.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_selected_in_every_form() {
        let labels: BTreeMap<String, String> =
            [("app", "web"), ("tier", "front")].map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let table = [
            ("", true),
            ("app=web", true),
            ("app==web, tier != back", true),
            ("app", true),
            ("!app", false),
            ("!old", true),
            ("tier in (front, back)", true),
            ("tier notin (front)", false),
            ("other notin (x)", true),
            ("other=x", false),
        ];
        for (text, wanted) in table {
            assert_eq!(Selector::read(text).map(|selector| selector.matches(&labels)), Ok(wanted), "{text}");
        }
        for text in ["a in (b", "a b", "=x", "a within (b)", "((a))"] {
            assert!(Selector::read(text).is_err(), "{text}");
        }
    }
}
