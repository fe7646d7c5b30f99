//! Regular expressions: those of Go, on top of ours.

use regex::{Regex, RegexBuilder};

/// Patterns that compile to more than this are refused.
const MAX_COMPILED: usize = 1 << 20;

/// A pattern of a schema or rule.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    source: String,
    regex: Regex,
}

impl Pattern {
    pub(crate) fn read(source: &str) -> Result<Self, String> {
        let regex = RegexBuilder::new(&translate(source))
            .size_limit(MAX_COMPILED)
            .dfa_size_limit(MAX_COMPILED)
            .nest_limit(100)
            .build()
            .map_err(|error| explain(source, &error.to_string()))?;
        Ok(Self { source: source.to_owned(), regex })
    }

    pub(crate) fn source(&self) -> &str {
        &self.source
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// The words of Go for the two usual mistakes, and ours on one line for the others.
fn explain(source: &str, error: &str) -> String {
    if error.contains("unclosed character class") {
        let rest = source.rfind('[').and_then(|at| source.get(at..)).unwrap_or(source);
        return format!("missing closing ]: `{rest}`");
    }
    if error.contains("unclosed group") {
        return format!("missing closing ): `{source}`");
    }
    error.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// In Go the short classes are ASCII, and a class has no classes and no set operators in it.
fn translate(source: &str) -> String {
    let mut out = String::with_capacity(source.len() + 8);
    let mut chars = source.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => push_escape(&mut out, chars.next(), in_class),
            '[' if !in_class => {
                in_class = true;
                out.push('[');
                if chars.next_if_eq(&'^').is_some() {
                    out.push('^');
                }
                if chars.next_if_eq(&']').is_some() {
                    out.push_str("\\]");
                }
            }
            '[' if chars.peek() != Some(&':') => out.push_str("\\["),
            '[' => {
                // A named class: its bracket does not end the one around it.
                out.push('[');
                for inner in chars.by_ref() {
                    out.push(inner);
                    if inner == ']' {
                        break;
                    }
                }
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            '&' | '~' if in_class => {
                out.push('\\');
                out.push(c);
            }
            other => out.push(other),
        }
    }
    out
}

fn push_escape(out: &mut String, escaped: Option<char>, in_class: bool) {
    match escaped {
        Some('d') => out.push_str("[0-9]"),
        Some('D') => out.push_str("[^0-9]"),
        Some('w') => out.push_str("[0-9A-Za-z_]"),
        Some('W') => out.push_str("[^0-9A-Za-z_]"),
        Some('s') => out.push_str("[\\t\\n\\f\\r ]"),
        Some('S') => out.push_str("[^\\t\\n\\f\\r ]"),
        Some('b') if !in_class => out.push_str("(?-u:\\b)"),
        Some('/') => out.push('/'),
        Some(other) => {
            out.push('\\');
            out.push(other);
        }
        None => out.push('\\'),
    }
}

#[cfg(test)]
mod tests {
    use super::Pattern;

    #[test]
    fn given_a_pattern_of_go_then_it_matches_as_in_go() {
        for (pattern, text, expected) in [
            (r"^\d+$", "12", true),
            (r"^\d+$", "\u{0663}", false),
            (r"^[\w.-]+$", "a.b-c_1", true),
            (r"^[\w.-]+$", "é", false),
            (r"^[^\s]+$", "a b", false),
            (r"^[\S]+$", "ab", true),
            (r"^[a-z[]+$", "a[", true),
            (r"^[a&&b]+$", "&", true),
            (r"^[[:alpha:]]+$", "ab", true),
            (r"^[[:alpha:]-]+$", "a-", true),
            (r"^[]a]+$", "]", true),
            (r"^a\/b$", "a/b", true),
            (r"\bfoo\b", "a foo b", true),
        ] {
            let read = Pattern::read(pattern).unwrap();
            assert_eq!(read.matches(text), expected, "{pattern} on {text}");
        }
    }

    #[test]
    fn given_a_pattern_that_is_none_then_it_is_refused() {
        for pattern in ["[", "(", "a{1000000}", "(?=a)", r"\1"] {
            assert!(Pattern::read(pattern).is_err(), "{pattern}");
        }
    }
}
