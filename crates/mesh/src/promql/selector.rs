//! Selectors: reading them, and the series they choose.

use super::ast::{Expr, Matcher, Selector, Test};
use super::lexer::Token;
use super::parser::{Parsed, Parser};
use crate::config::whole_pattern;
use crate::telemetry::Labels;

/// The label that holds the name of a metric.
pub(super) const NAME: &str = "__name__";

impl Parser {
    /// `{a="b"}`, with or without a name before it.
    pub(super) fn selector(&mut self, name: Option<String>) -> Parsed<Expr> {
        let at = self.place();
        let mut matchers: Vec<Matcher> = Vec::new();
        if self.takes_sign("{") {
            while !self.takes_sign("}") {
                matchers.push(self.matcher()?);
                if !self.takes_sign(",") {
                    self.wants_sign("}")?;
                    break;
                }
            }
        }
        if let Some(name) = name {
            if matchers.iter().any(|matcher| matcher.label == NAME) {
                return self.fail_at(at, format!("metric name must not be set twice: {name:?} and in the braces"));
            }
            matchers.push(Matcher { label: NAME.to_owned(), test: Test::Equal(name) });
        }
        if matchers.iter().all(|matcher| matcher.fits("")) {
            return self.fail_at(at, "vector selector must contain at least one non-empty matcher");
        }
        Ok(Expr::Selector(Selector { matchers, offset: 0 }))
    }

    fn matcher(&mut self) -> Parsed<Matcher> {
        let label = match self.take() {
            Token::Name(name) if !name.contains(':') => name,
            _ => return self.fail("the name of a label is missing"),
        };
        let sign = self.take();
        let at = self.place();
        let Token::Text(text) = self.take() else {
            return self.fail_at(at, format!("a quoted text is missing for label `{label}`"));
        };
        let pattern = |text: &str| whole_pattern(text).or_else(|what| self.fail_at(at, what));
        let test = match sign {
            Token::Sign("=") => Test::Equal(text),
            Token::Sign("!=") => Test::NotEqual(text),
            Token::Sign("=~") => Test::Like(pattern(&text)?),
            Token::Sign("!~") => Test::Unlike(pattern(&text)?),
            _ => return self.fail_at(at, format!("one of = != =~ !~ is missing for label `{label}`")),
        };
        Ok(Matcher { label, test })
    }
}

impl Selector {
    pub(super) fn fits(&self, labels: &Labels) -> bool {
        let value = |label: &str| labels.get(label).map(String::as_str).unwrap_or_default();
        // The name was put last and tells most series apart.
        self.matchers.iter().rev().all(|matcher| matcher.fits(value(&matcher.label)))
    }

    /// What `absent` says about a selector that finds nothing: the labels it asks for by value, each asked for once.
    pub(super) fn asked_labels(&self) -> Labels {
        let times = |label: &str| self.matchers.iter().filter(|matcher| matcher.label == label).count();
        let asked = self.matchers.iter().filter_map(|matcher| match &matcher.test {
            Test::Equal(value) if matcher.label != NAME && times(&matcher.label) == 1 => {
                Some((matcher.label.clone(), value.clone()))
            }
            _ => None,
        });
        asked.filter(|(_, value)| !value.is_empty()).collect()
    }
}
