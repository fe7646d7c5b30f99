//! Label selectors, in the text form of queries and in the object form of specs.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::object::{list, text};
use crate::status::StatusError;

/// A conjunction of requirements; the empty one selects everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Greater(i64),
    Less(i64),
}

impl LabelSelector {
    /// Reads the query form, such as `app=x,tier in (a,b),!gone`.
    pub fn parse(query: &str) -> Result<Self, StatusError> {
        let tokens = tokens(query);
        let mut parser = Parser { tokens: &tokens, next: 0 };
        parser.requirements().map(Self).map_err(StatusError::bad_request)
    }

    /// Reads a `LabelSelector` object (`matchLabels`, `matchExpressions`).
    pub fn of_object(selector: &Value) -> Self {
        let mut requirements = Vec::new();
        if let Some(labels) = selector.get("matchLabels").and_then(Value::as_object) {
            for (key, value) in labels {
                let only = BTreeSet::from([value.as_str().unwrap_or_default().to_owned()]);
                requirements.push(Requirement { key: key.clone(), test: Test::In(only) });
            }
        }
        for expression in list(selector, &["matchExpressions"]) {
            let values = list(expression, &["values"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
            let test = match text(expression, &["operator"]) {
                "In" => Test::In(values),
                "NotIn" => Test::NotIn(values),
                "DoesNotExist" => Test::Absent,
                _ => Test::Exists,
            };
            requirements.push(Requirement { key: text(expression, &["key"]).to_owned(), test });
        }
        Self(requirements)
    }

    /// Whether nothing is required.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether `metadata.labels` of an object satisfy every requirement.
    pub fn matches(&self, object: &Value) -> bool {
        self.matches_labels(crate::object::at(object, &["metadata", "labels"]))
    }

    /// Whether a map of labels satisfies every requirement.
    pub fn matches_labels(&self, labels: Option<&Value>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.and_then(|l| l.get(&requirement.key)).and_then(Value::as_str);
            requirement.test.holds(value)
        })
    }
}

impl std::fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts: Vec<(String, String)> = self.0.iter().map(|r| (r.key.clone(), r.to_string())).collect();
        parts.sort();
        let texts: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
        f.write_str(&texts.join(","))
    }
}

impl std::fmt::Display for Requirement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let key = &self.key;
        let join = |values: &BTreeSet<String>| values.iter().cloned().collect::<Vec<_>>().join(",");
        match &self.test {
            Test::In(values) if values.len() == 1 => write!(f, "{key}={}", join(values)),
            Test::In(values) => write!(f, "{key} in ({})", join(values)),
            Test::NotIn(values) if values.len() == 1 => write!(f, "{key}!={}", join(values)),
            Test::NotIn(values) => write!(f, "{key} notin ({})", join(values)),
            Test::Exists => write!(f, "{key}"),
            Test::Absent => write!(f, "!{key}"),
            Test::Greater(than) => write!(f, "{key}>{than}"),
            Test::Less(than) => write!(f, "{key}<{than}"),
        }
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|v| values.contains(v)),
            Self::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::Greater(than) => number().is_some_and(|n| n > *than),
            Self::Less(than) => number().is_some_and(|n| n < *than),
        }
    }
}

/// Words and operators of a selector.
fn tokens(query: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut chars = query.chars().peekable();
    while let Some(c) = chars.next() {
        let token = match c {
            ' ' | '\t' | '\n' | '\r' => continue,
            '!' | '=' if chars.next_if_eq(&'=').is_some() => format!("{c}="),
            '!' | '=' | '<' | '>' | '(' | ')' | ',' => c.to_string(),
            _ => {
                let mut word = c.to_string();
                while let Some(c) = chars.next_if(|c| !"!=<>(), \t\n\r".contains(*c)) {
                    word.push(c);
                }
                word
            }
        };
        out.push(token);
    }
    out
}

struct Parser<'a> {
    tokens: &'a [String],
    next: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.next).map_or("", String::as_str)
    }

    fn take(&mut self) -> String {
        let token = self.peek().to_owned();
        self.next += 1;
        token
    }

    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut out = Vec::new();
        if self.tokens.is_empty() {
            return Ok(out);
        }
        loop {
            if is_operator(self.peek()) && self.peek() != "!" {
                return Err(format!("found '{}', expected: !, identifier, or 'end of string'", self.peek()));
            }
            out.push(self.requirement().map_err(|text| format!("unable to parse requirement: {text}"))?);
            match self.take().as_str() {
                "" => return Ok(out),
                "," if !is_operator(self.peek()) || self.peek() == "!" => {}
                "," => return Err(format!("found '{}', expected: identifier after ','", self.peek())),
                other => return Err(format!("found '{other}', expected: ',' or 'end of string'")),
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let absent = self.peek() == "!";
        if absent {
            self.next += 1;
        }
        let key = self.take();
        if key.is_empty() || is_operator(&key) {
            return Err(format!("found '{key}', expected: identifier"));
        }
        check_key(&key)?;
        let test = if absent { Test::Absent } else { self.test()? };
        Ok(Requirement { key, test })
    }

    fn test(&mut self) -> Result<Test, String> {
        match self.peek() {
            "" | "," => return Ok(Test::Exists),
            _ => {}
        }
        let operator = self.take();
        match operator.as_str() {
            "=" | "==" => Ok(Test::In(BTreeSet::from([self.exact_value()?]))),
            "!=" => Ok(Test::NotIn(BTreeSet::from([self.exact_value()?]))),
            ">" | "<" => {
                let value = self.exact_value()?;
                let than = value.parse().map_err(|_| {
                    "values[0]: Invalid value: ".to_owned()
                        + &format!("{value:?}: for 'Gt', 'Lt' operators, the value must be an integer")
                })?;
                Ok(if operator == ">" { Test::Greater(than) } else { Test::Less(than) })
            }
            "in" => Ok(Test::In(self.values()?)),
            "notin" => Ok(Test::NotIn(self.values()?)),
            other => Err(format!("found '{other}', expected: in, notin, =, ==, !=, gt, lt")),
        }
    }

    fn exact_value(&mut self) -> Result<String, String> {
        match self.peek() {
            "" | "," => Ok(String::new()),
            other if is_operator(other) => Err(format!("found '{other}', expected: identifier")),
            _ => {
                let value = self.take();
                check_value(&value)?;
                Ok(value)
            }
        }
    }

    fn values(&mut self) -> Result<BTreeSet<String>, String> {
        if self.peek() != "(" {
            return Err(format!("found '{}' expected: '('", self.peek()));
        }
        self.next += 1;
        let mut values = BTreeSet::new();
        loop {
            let token = self.take();
            match token.as_str() {
                ")" => {
                    values.insert(String::new());
                    return Ok(values);
                }
                "," => drop(values.insert(String::new())),
                "" => return Err("found '', expected: ',', ')' or identifier".to_owned()),
                other if is_operator(other) => {
                    return Err(format!("found '{other}', expected: ',', ')' or identifier"));
                }
                _ => {
                    check_value(&token)?;
                    values.insert(token);
                    match self.take().as_str() {
                        ")" => return Ok(values),
                        "," => {}
                        other => return Err(format!("found '{other}', expected: ',' or ')'")),
                    }
                }
            }
        }
    }
}

fn is_operator(token: &str) -> bool {
    matches!(token, "!" | "=" | "==" | "!=" | "<" | ">" | "(" | ")" | ",")
}

fn check_key(key: &str) -> Result<(), String> {
    match crate::validation::names::qualified_name_problem(key) {
        None => Ok(()),
        Some(text) => Err(format!("key: Invalid value: {key:?}: {text}")),
    }
}

fn check_value(value: &str) -> Result<(), String> {
    match crate::validation::names::label_value_problem(value) {
        None => Ok(()),
        Some(text) => Err(format!("values[0][]: Invalid value: {value:?}: {text}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(query: &str, labels: Value) -> bool {
        LabelSelector::parse(query).unwrap().matches(&json!({"metadata": {"labels": labels}}))
    }

    #[test]
    fn every_operator_selects_what_it_says() {
        let labels = json!({"app": "x", "tier": "web", "n": "5"});
        for yes in [
            "",
            "app",
            "app=x",
            "app==x",
            "app!=y",
            "app in (x, y)",
            "tier notin (db)",
            "!gone",
            "n>4",
            "n<6",
            "app=x,tier=web",
        ] {
            assert!(selects(yes, labels.clone()), "{yes}");
        }
        for no in ["gone", "app=y", "app!=x", "app in (y)", "tier notin (web,db)", "!app", "n>5", "app>1", "app="] {
            assert!(!selects(no, labels.clone()), "{no}");
        }
    }

    #[test]
    fn bad_selectors_are_refused_with_the_texts_clients_know() {
        let text = |query: &str| LabelSelector::parse(query).unwrap_err().message;
        assert_eq!(text("a in"), "unable to parse requirement: found '' expected: '('");
        assert_eq!(text("a==="), "unable to parse requirement: found '=', expected: identifier");
        assert!(text("a b").contains("found 'b', expected: in, notin"));
        assert!(text("a_/b=c").contains("key: Invalid value"));
    }

    #[test]
    fn an_object_selector_prints_as_the_scale_subresource_does() {
        let selector = json!({"matchLabels": {"b": "2", "a": "1"}, "matchExpressions": [
            {"key": "c", "operator": "In", "values": ["y", "x"]}, {"key": "d", "operator": "DoesNotExist"}]});
        assert_eq!(LabelSelector::of_object(&selector).to_string(), "a=1,b=2,c in (x,y),!d");
    }
}
