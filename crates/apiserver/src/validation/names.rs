//! The syntax of names, labels and annotations, with the texts that people know.

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
    and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start \
    and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is \
    '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const QUALIFIED: &str = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
    alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_KEY: &str = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
    with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
    '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
    'example.com/MyName')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and \
    must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
    validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

fn is_label(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let bytes = text.as_bytes();
    bytes.iter().all(|b| inner(*b)) && bytes.first().is_some_and(|b| *b != b'-') && !text.ends_with('-')
}

fn is_word(text: &str) -> bool {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    let end = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.iter().all(|b| inner(*b)) && end(bytes.first()) && end(bytes.last())
}

/// What is wrong with a DNS subdomain, the usual rule for object names.
pub(crate) fn subdomain_problems(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    if !name.split('.').all(is_label) {
        problems.push(SUBDOMAIN.to_owned());
    }
    problems
}

/// What is wrong with a DNS label, the rule for namespaces, containers and services.
pub(crate) fn label_problems(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 63 {
        problems.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(name) {
        let only_dots = name.split('.').all(is_label);
        problems.push(if only_dots { "must not contain dots".to_owned() } else { LABEL.to_owned() });
    }
    problems
}

/// What is wrong with a name that only has to be usable in a path, as those of roles.
pub(crate) fn path_segment_problems(name: &str) -> Vec<String> {
    if name == "." || name == ".." {
        return vec![format!("may not be '{name}'")];
    }
    ['/', '%'].iter().filter(|c| name.contains(**c)).map(|c| format!("may not contain '{c}'")).collect()
}

/// What is wrong with the key of a label or annotation.
pub(crate) fn qualified_name_problem(key: &str) -> Option<String> {
    if key.split('/').count() > 2 {
        return Some(LABEL_KEY.to_owned());
    }
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    match prefix {
        Some("") => return Some("prefix part must be non-empty".to_owned()),
        Some(prefix) => {
            if let Some(text) = subdomain_problems(prefix).into_iter().next() {
                return Some(format!("prefix part {text}"));
            }
        }
        None => {}
    }
    if name.is_empty() {
        return Some("name part must be non-empty".to_owned());
    }
    if name.len() > 63 {
        return Some("name part must be no more than 63 bytes".to_owned());
    }
    (!is_word(name)).then(|| QUALIFIED.to_owned())
}

/// What is wrong with the value of a label.
pub(crate) fn label_value_problem(value: &str) -> Option<String> {
    if value.len() > 63 {
        return Some("must be no more than 63 bytes".to_owned());
    }
    (!value.is_empty() && !is_word(value)).then(|| LABEL_VALUE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_dns_rules() {
        assert!(subdomain_problems("a.b-c.d1").is_empty());
        for bad in ["", "A", "a_b", "-a", "a-", "a..b", ".a"] {
            assert!(!subdomain_problems(bad).is_empty(), "{bad:?}");
        }
        assert!(label_problems(&"a".repeat(64)).contains(&"must be no more than 63 characters".to_owned()));
        assert!(!label_problems("a.b").is_empty());
    }

    #[test]
    fn label_keys_and_values_follow_their_rules() {
        assert_eq!(qualified_name_problem("example.com/My.name_1"), None);
        for bad in ["", "/a", "a/", "A_b/c", "a b", "-a", "x/y/z"] {
            assert!(qualified_name_problem(bad).is_some(), "{bad:?}");
        }
        assert_eq!(label_value_problem(""), None);
        assert!(label_value_problem("c d").is_some());
    }
}
