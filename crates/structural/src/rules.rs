//! Evaluates the rules of a schema on an object.

use serde_json::Value;

use crate::Cause;
use crate::cel::evaluate::{Budget, EvaluationError, Scope, evaluate};
use crate::cel::value::Val;
use crate::list_types::OldItems;
use crate::node::{Node, Rule};
use crate::text::{show, type_name};
use crate::validate::{Path, nameless};

/// Causes after which rules are not evaluated: the object does not have the types that they rely on.
const BLOCKING: [&str; 5] =
    ["FieldValueTypeInvalid", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueNotSupported"];

/// Adds the causes of rules that do not hold.
pub(crate) fn check(root: &Node, object: &Value, old: Option<&Value>, causes: &mut Vec<Cause>) {
    if !root.has_rules {
        return;
    }
    if causes.iter().any(|cause| BLOCKING.contains(&cause.reason.as_str())) {
        causes.push(nameless(
            "null",
            "some validation rules were not checked because the object was invalid; correct the existing errors to \
             complete validation",
        ));
        return;
    }
    let mut run = Run { path: Path::root(), causes, budget: Budget::new() };
    run.walk(root, object, old);
}

struct Run<'a> {
    path: Path,
    causes: &'a mut Vec<Cause>,
    budget: Budget,
}

impl Run<'_> {
    fn walk(&mut self, node: &Node, value: &Value, old: Option<&Value>) {
        if !node.has_rules || value.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        // What was wrong before and did not change is no reason to refuse the change of something else.
        let unchanged = old == Some(value);
        for rule in &node.rules {
            if if rule.transition { old.is_some() } else { !unchanged } {
                self.apply(node, rule, value, old);
            }
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    let old = old.and_then(|old| old.get(name));
                    if let Some(schema) = node.properties.get(name) {
                        self.path.push_name(name);
                        self.walk(schema, member, old);
                        self.path.pop();
                    } else if let Some(schema) = node.member(name) {
                        self.path.push_index(name);
                        self.walk(schema, member, old);
                        self.path.pop();
                    }
                }
            }
            Value::Array(items) => self.walk_items(node, items, old),
            _ => {}
        }
    }

    fn walk_items(&mut self, node: &Node, items: &[Value], old: Option<&Value>) {
        let Some(schema) = node.items.as_deref().filter(|schema| schema.has_rules) else { return };
        let old_items = OldItems::read(&node.list_type, old);
        for (index, item) in items.iter().enumerate() {
            let old = old_items.find(item);
            self.path.push_index(index);
            self.walk(schema, item, old);
            self.path.pop();
        }
    }

    fn apply(&mut self, node: &Node, rule: &Rule, value: &Value, old: Option<&Value>) {
        self.budget.start_rule();
        let mut scope = Scope::new(node, value, old);
        match evaluate(&rule.expression, &mut scope, &mut self.budget) {
            Ok(Val::Bool(true)) => {}
            Ok(Val::Bool(false)) => {
                let detail = self.detail(rule, &mut scope);
                self.refuse(rule, value, &detail);
            }
            Ok(_) => self.report(node, rule, value, &EvaluationError::NoOverload),
            Err(error) => self.report(node, rule, value, &error),
        }
    }

    /// What to say: the expression of the rule if it says something, its message, or the rule itself.
    fn detail(&mut self, rule: &Rule, scope: &mut Scope<'_>) -> String {
        if let Some(expression) = &rule.message_expression
            && let Ok(Val::Text(text)) = evaluate(expression, scope, &mut self.budget)
            && !text.trim().is_empty()
            && !text.contains('\n')
        {
            return text.trim().to_owned();
        }
        rule.message.clone().unwrap_or_else(|| format!("failed rule: {}", rule.source.trim()))
    }

    fn refuse(&mut self, rule: &Rule, value: &Value, detail: &str) {
        let reason = rule.reason.as_deref().unwrap_or("FieldValueInvalid");
        // Objects and lists are not shown: they can be large.
        let shown = if value.is_object() || value.is_array() { String::new() } else { format!(" {}:", show(value)) };
        let message = match reason {
            "FieldValueForbidden" => format!("Forbidden: {detail}"),
            "FieldValueRequired" => format!("Required value: {detail}"),
            "FieldValueDuplicate" => format!("Duplicate value:{shown}").trim_end_matches(':').to_owned(),
            _ => format!("Invalid value:{shown} {detail}"),
        };
        for step in &rule.field_path {
            self.path.push_name(step);
        }
        self.causes.push(self.path.cause(reason, &message));
        for _ in &rule.field_path {
            self.path.pop();
        }
    }

    /// A rule without a result does not hold.
    fn report(&mut self, node: &Node, rule: &Rule, value: &Value, error: &EvaluationError) {
        let name = rule.message.as_deref().unwrap_or(rule.source.trim());
        let text = match error {
            EvaluationError::NoOverload => format!(
                "'no such overload': call arguments did not match a supported operator, function or macro signature \
                 for rule: {name}"
            ),
            EvaluationError::Cost => format!("call cost exceeds limit for rule: {name}"),
            EvaluationError::Other(text) => format!("{text} evaluating rule: {name}"),
        };
        let kind = node.kind.map_or(type_name(value), |kind| kind.name());
        self.causes.push(self.path.cause("FieldValueInvalid", &format!("Invalid value: \"{kind}\": {text}")));
    }
}
