//! Checks that many kinds share.

use std::net::IpAddr;

use serde_json::{Value, json};

use super::names::{label_problems, label_value_problem, qualified_name_problem, subdomain_problems};
use crate::object::{at, list, number, text};
use crate::status::Cause;

/// The causes so far, with ways to add one.
#[derive(Debug, Default)]
pub(super) struct Findings(pub(super) Vec<Cause>);

pub(super) const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";
pub(super) const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];
const NOT_AN_ADDRESS: &str = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";

impl Findings {
    pub(super) fn required(&mut self, field: impl Into<String>) {
        self.0.push(Cause::required(field, ""));
    }

    pub(super) fn required_as(&mut self, field: impl Into<String>, why: &str) {
        self.0.push(Cause::required(field, why));
    }

    pub(super) fn invalid(&mut self, field: impl Into<String>, value: impl Into<Value>, why: &str) {
        self.0.push(Cause::invalid(field, &value.into(), why));
    }

    /// A value that is printed in a form of its own.
    pub(super) fn printed(&mut self, field: &str, shown: &str, why: &str) {
        let message = format!("Invalid value: {shown}: {why}");
        self.0.push(Cause { reason: "FieldValueInvalid".to_owned(), message, field: field.to_owned() });
    }

    pub(super) fn forbidden(&mut self, field: impl Into<String>, why: &str) {
        self.0.push(Cause::forbidden(field, why));
    }

    pub(super) fn duplicate(&mut self, field: impl Into<String>, value: impl Into<Value>) {
        self.0.push(Cause::duplicate(field, &value.into()));
    }

    /// One cause for each problem with a value.
    pub(super) fn problems(&mut self, field: &str, value: &str, problems: impl IntoIterator<Item = String>) {
        self.0.extend(problems.into_iter().map(|problem| Cause::invalid(field, &json!(value), &problem)));
    }

    pub(super) fn label(&mut self, field: &str, value: &str) {
        self.problems(field, value, label_problems(value));
    }

    pub(super) fn subdomain(&mut self, field: &str, value: &str) {
        self.problems(field, value, subdomain_problems(value));
    }

    /// A value of a fixed set.
    pub(super) fn choice(&mut self, field: &str, value: &str, allowed: &[&str]) {
        if !allowed.contains(&value) {
            self.0.push(Cause::unsupported(field, &json!(value), allowed));
        }
    }

    /// Numbers of an object that may not be below zero, if they are there.
    pub(super) fn not_negative(&mut self, object: &Value, prefix: &str, names: &[&str]) {
        for name in names {
            if let Some(value) = number(object, &[name]).filter(|n| *n < 0) {
                self.invalid(format!("{prefix}.{name}"), value, "must be greater than or equal to 0");
            }
        }
    }

    pub(super) fn port(&mut self, field: impl Into<String>, number: i64) {
        if !(1..=65_535).contains(&number) {
            self.invalid(field, number, PORT_RANGE);
        }
    }

    /// An IP address; gives it if it is one.
    pub(super) fn address(&mut self, field: &str, value: &str) -> Option<IpAddr> {
        let address = value.parse().ok();
        if address.is_none() {
            self.invalid(field, value, NOT_AN_ADDRESS);
        }
        address
    }

    /// An address that a backend can have: not the machine itself and not made up.
    pub(super) fn outside_address(&mut self, field: &str, address: IpAddr) {
        let shown = address.to_string();
        let link_local = match address {
            IpAddr::V4(four) => four.is_link_local(),
            IpAddr::V6(six) => six.is_unicast_link_local(),
        };
        if address.is_unspecified() {
            self.invalid(field, shown.as_str(), &format!("may not be unspecified ({address})"));
        }
        if address.is_loopback() {
            self.invalid(field, shown.as_str(), "may not be in the loopback range (127.0.0.0/8, ::1/128)");
        }
        if link_local {
            self.invalid(field, shown.as_str(), "may not be in the link-local range (169.254.0.0/16, fe80::/10)");
        }
    }

    /// A count or a percentage.
    pub(super) fn count_or_percent(&mut self, field: &str, value: &Value) {
        match value {
            Value::String(text) => {
                let digits = text.strip_suffix('%').filter(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
                if digits.is_none() {
                    let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  \
                        or '93%', regex used for validation is '[0-9]+%')";
                    self.invalid(field, text.as_str(), why);
                }
            }
            Value::Number(number) if number.as_i64() < Some(0) => {
                self.invalid(field, value.clone(), "must be greater than or equal to 0");
            }
            _ => {}
        }
    }

    /// More than all is not possible.
    pub(super) fn at_most_all(&mut self, field: &str, value: &Value) {
        let percent = value.as_str().and_then(|t| t.strip_suffix('%')).and_then(|d| d.parse::<u64>().ok());
        if percent.is_some_and(|p| p > 100) {
            self.invalid(field, value.clone(), "must not be greater than 100%");
        }
    }

    /// Keys and values of labels.
    pub(super) fn labels(&mut self, field: &str, labels: Option<&Value>) {
        for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
            let value = value.as_str().unwrap_or_default();
            self.problems(field, key, qualified_name_problem(key));
            self.problems(field, value, label_value_problem(value));
        }
    }

    /// Keys of annotations.
    pub(super) fn annotations(&mut self, field: &str, annotations: Option<&Value>) {
        for key in annotations.and_then(Value::as_object).into_iter().flat_map(|map| map.keys()) {
            self.problems(field, key, qualified_name_problem(&key.to_lowercase()));
        }
    }

    /// A label selector; whether it is one.
    pub(super) fn selector(&mut self, field: &str, selector: &Value) -> bool {
        let before = self.0.len();
        self.labels(&format!("{field}.matchLabels"), at(selector, &["matchLabels"]));
        for (index, requirement) in list(selector, &["matchExpressions"]).iter().enumerate() {
            self.requirement(&format!("{field}.matchExpressions[{index}]"), requirement);
        }
        self.0.len() == before
    }

    fn requirement(&mut self, field: &str, requirement: &Value) {
        let values = list(requirement, &["values"]);
        match text(requirement, &["operator"]) {
            "In" | "NotIn" if values.is_empty() => {
                self.required_as(format!("{field}.values"), "must be specified when `operator` is 'In' or 'NotIn'");
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                self.forbidden(format!("{field}.values"), why);
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => self.invalid(format!("{field}.operator"), other, "not a valid selector operator"),
        }
        let key = text(requirement, &["key"]);
        self.problems(&format!("{field}.key"), key, qualified_name_problem(key));
    }
}
