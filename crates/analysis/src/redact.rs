//! Keeps the content of Secrets out of what is written and said.

/// What stands where a secret stood.
const MASK: &str = "*****";

/// Replaces secrets in text.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Redactor {
    secrets: Vec<String>,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Redactor({} secrets)", self.secrets.len())
    }
}

impl Redactor {
    /// For these secrets; empty ones say nothing and are ignored.
    pub fn new(secrets: impl IntoIterator<Item = String>) -> Self {
        let mut secrets: Vec<String> = secrets.into_iter().filter(|secret| !secret.is_empty()).collect();
        // The longest first: a secret that is part of another must not leave the rest of that one behind.
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self { secrets }
    }

    /// The text without secrets, also where JSON has escaped them.
    pub fn clean(&self, text: &str) -> String {
        let mut clean = text.to_owned();
        for secret in &self.secrets {
            if clean.contains(secret.as_str()) {
                clean = clean.replace(secret.as_str(), MASK);
            }
            let quoted = serde_json::Value::from(secret.as_str()).to_string();
            let escaped = &quoted[1..quoted.len() - 1];
            if escaped != secret && clean.contains(escaped) {
                clean = clean.replace(escaped, MASK);
            }
        }
        clean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_occurrence_goes_the_longest_first_and_escaped_ones_too() {
        let redactor = Redactor::new(["12345".to_owned(), "123456".to_owned(), String::new(), "a\"b".to_owned()]);
        assert_eq!(redactor.clean("Error with Header Value: 12345"), "Error with Header Value: *****");
        assert_eq!(redactor.clean("123456 12345"), "***** *****");
        assert_eq!(redactor.clean(r#"{"x":"a\"b"} a"b"#), r#"{"x":"*****"} *****"#);
        assert_eq!(format!("{redactor:?}"), "Redactor(3 secrets)");
    }
}
