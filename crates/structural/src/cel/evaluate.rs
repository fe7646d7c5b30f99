//! Evaluates expressions.

use std::rc::Rc;

use super::ast::{Comprehension, Expression, Macro};
use super::functions;
use super::operators;
use super::value::Val;
use crate::node::Node;

/// The most steps of one rule.
const MAX_STEPS_OF_RULE: usize = 1_000_000;

/// The most steps of all rules for one object.
const MAX_STEPS: usize = 10_000_000;

/// The deepest comparison.
const MAX_DEPTH: usize = 200;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EvaluationError {
    /// An operator or function does not take such values.
    NoOverload,
    /// It takes too long.
    Cost,
    /// Something with a text.
    Other(String),
}

/// How much may still be done.
#[derive(Debug)]
pub(crate) struct Budget {
    left: usize,
    left_of_rule: usize,
    depth: usize,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { left: MAX_STEPS, left_of_rule: 0, depth: 0 }
    }

    /// A new rule begins.
    pub(crate) fn start_rule(&mut self) {
        self.left_of_rule = MAX_STEPS_OF_RULE.min(self.left);
    }

    pub(super) fn spend(&mut self, steps: usize) -> Result<(), EvaluationError> {
        self.left = self.left.saturating_sub(steps);
        self.left_of_rule = self.left_of_rule.checked_sub(steps).ok_or(EvaluationError::Cost)?;
        Ok(())
    }

    pub(super) fn deeper<T>(
        &mut self,
        act: impl FnOnce(&mut Self) -> Result<T, EvaluationError>,
    ) -> Result<T, EvaluationError> {
        if self.depth >= MAX_DEPTH {
            return Err(EvaluationError::Cost);
        }
        self.depth += 1;
        let result = act(self);
        self.depth -= 1;
        result
    }
}

/// The names of an expression. The last one of a name counts.
pub(crate) struct Scope<'a> {
    names: Vec<(String, Val<'a>)>,
}

impl<'a> Scope<'a> {
    pub(crate) fn new(node: &'a Node, value: &'a serde_json::Value, old: Option<&'a serde_json::Value>) -> Self {
        let mut names = vec![("self".to_owned(), Val::of(value, Some(node)))];
        if let Some(old) = old {
            names.push(("oldSelf".to_owned(), Val::of(old, Some(node))));
        }
        Self { names }
    }

    fn find(&self, name: &str) -> Option<&Val<'a>> {
        self.names.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

type Evaluated<'a> = Result<Val<'a>, EvaluationError>;

fn no_such_key(name: &str) -> EvaluationError {
    EvaluationError::Other(format!("no such key: {name}"))
}

/// The value of an expression. Its depth is bounded by the parser.
pub(crate) fn evaluate<'a>(expression: &Expression, scope: &mut Scope<'a>, budget: &mut Budget) -> Evaluated<'a> {
    budget.spend(1)?;
    match expression {
        Expression::Null => Ok(Val::Null),
        Expression::Bool(flag) => Ok(Val::Bool(*flag)),
        Expression::Int(number) => Ok(Val::Int(*number)),
        Expression::Double(number) => Ok(Val::Double(*number)),
        Expression::Text(text) => Ok(Val::Text(text.clone().into())),
        Expression::Name(name) => match scope.find(name) {
            Some(value) => Ok(value.clone()),
            None => super::types::type_value(name)
                .ok_or_else(|| EvaluationError::Other(format!("undeclared reference to '{name}'"))),
        },
        Expression::Member(of, name) => {
            let of = evaluate(of, scope, budget)?;
            of.member(name).ok_or_else(|| no_such_key(name))
        }
        Expression::Has(of, name) => Ok(Val::Bool(evaluate(of, scope, budget)?.member(name).is_some())),
        Expression::Index(pair) => {
            let of = evaluate(&pair.0, scope, budget)?;
            let index = evaluate(&pair.1, scope, budget)?;
            at_index(&of, &index, budget)
        }
        Expression::Not(of) => match evaluate(of, scope, budget)? {
            Val::Bool(flag) => Ok(Val::Bool(!flag)),
            _ => Err(EvaluationError::NoOverload),
        },
        Expression::Negate(of) => match evaluate(of, scope, budget)? {
            Val::Int(number) => {
                number.checked_neg().map(Val::Int).ok_or_else(|| EvaluationError::Other("integer overflow".to_owned()))
            }
            Val::Double(number) => Ok(Val::Double(-number)),
            _ => Err(EvaluationError::NoOverload),
        },
        Expression::And(pair) => either(pair, false, scope, budget),
        Expression::Or(pair) => either(pair, true, scope, budget),
        Expression::Binary(operator, pair) => {
            let left = evaluate(&pair.0, scope, budget)?;
            let right = evaluate(&pair.1, scope, budget)?;
            operators::apply(*operator, &left, &right, budget)
        }
        Expression::Choice(parts) => match evaluate(&parts.0, scope, budget)? {
            Val::Bool(true) => evaluate(&parts.1, scope, budget),
            Val::Bool(false) => evaluate(&parts.2, scope, budget),
            _ => Err(EvaluationError::NoOverload),
        },
        Expression::List(items) => {
            let items: Result<Vec<_>, _> = items.iter().map(|item| evaluate(item, scope, budget)).collect();
            Ok(Val::List(Rc::new(items?)))
        }
        Expression::Map(entries) => {
            let entries: Result<Vec<_>, _> = entries
                .iter()
                .map(|(key, value)| Ok((evaluate(key, scope, budget)?, evaluate(value, scope, budget)?)))
                .collect();
            Ok(Val::Map(Rc::new(entries?)))
        }
        Expression::Call(function, arguments) => {
            let arguments: Result<Vec<_>, _> = arguments.iter().map(|item| evaluate(item, scope, budget)).collect();
            let arguments = arguments?;
            for argument in &arguments {
                if let Val::Text(text) = argument {
                    budget.spend(text.len() / 10)?;
                }
            }
            functions::call(*function, &arguments)
        }
        Expression::Over(over) => comprehend(over, scope, budget),
    }
}

/// `&&` and `||`: one side that decides is enough, even if the other one has no value.
fn either<'a>(
    pair: &(Expression, Expression),
    deciding: bool,
    scope: &mut Scope<'a>,
    budget: &mut Budget,
) -> Evaluated<'a> {
    let left = truth(evaluate(&pair.0, scope, budget));
    if left == Ok(deciding) || left == Err(EvaluationError::Cost) {
        return left.map(Val::Bool);
    }
    let right = truth(evaluate(&pair.1, scope, budget));
    if right == Ok(deciding) {
        return right.map(Val::Bool);
    }
    left.and(right).map(Val::Bool)
}

fn truth(value: Evaluated<'_>) -> Result<bool, EvaluationError> {
    match value? {
        Val::Bool(flag) => Ok(flag),
        _ => Err(EvaluationError::NoOverload),
    }
}

fn at_index<'a>(of: &Val<'a>, index: &Val<'a>, budget: &mut Budget) -> Evaluated<'a> {
    if let Some(items) = of.items() {
        budget.spend(items.len() / 10)?;
        let Val::Int(number) = index else { return Err(EvaluationError::NoOverload) };
        return usize::try_from(*number)
            .ok()
            .and_then(|index| items.into_iter().nth(index))
            .ok_or_else(|| EvaluationError::Other(format!("index out of bounds: {number}")));
    }
    let entries = of.entries().ok_or(EvaluationError::NoOverload)?;
    budget.spend(entries.len() / 10)?;
    for (key, value) in entries {
        if operators::equal(&key, index, budget)? {
            return Ok(value);
        }
    }
    Err(match index {
        Val::Text(name) => no_such_key(name),
        Val::Int(number) => no_such_key(&number.to_string()),
        _ => EvaluationError::NoOverload,
    })
}

fn comprehend<'a>(over: &Comprehension, scope: &mut Scope<'a>, budget: &mut Budget) -> Evaluated<'a> {
    let range = evaluate(&over.range, scope, budget)?.range().ok_or(EvaluationError::NoOverload)?;
    budget.spend(range.len())?;
    let mut problem = None;
    let mut found = 0_usize;
    let mut collected = Vec::new();
    for item in range {
        let result = with_item(over, item.clone(), scope, budget);
        match (over.kind, result) {
            (_, Err(EvaluationError::Cost)) => return Err(EvaluationError::Cost),
            (Macro::All, Ok(Some(Val::Bool(false)))) => return Ok(Val::Bool(false)),
            (Macro::Exists, Ok(Some(Val::Bool(true)))) => return Ok(Val::Bool(true)),
            (Macro::ExistsOne, Ok(Some(Val::Bool(true)))) => found += 1,
            (Macro::Filter, Ok(Some(Val::Bool(true)))) => collected.push(item),
            (Macro::Map, Ok(Some(value))) => collected.push(value),
            (Macro::Map, Ok(None)) => {}
            (_, Ok(Some(Val::Bool(_)))) => {}
            // `all` and `exists` may still be decided by another element.
            (Macro::All | Macro::Exists, Err(error)) => problem = problem.or(Some(error)),
            (_, Err(error)) => return Err(error),
            (_, Ok(_)) => return Err(EvaluationError::NoOverload),
        }
    }
    match (over.kind, problem) {
        (_, Some(error)) => Err(error),
        (Macro::All, None) => Ok(Val::Bool(true)),
        (Macro::Exists, None) => Ok(Val::Bool(false)),
        (Macro::ExistsOne, None) => Ok(Val::Bool(found == 1)),
        (Macro::Map | Macro::Filter, None) => Ok(Val::List(Rc::new(collected))),
    }
}

/// The body for one element; `None` if the condition of a `map` does not hold.
fn with_item<'a>(
    over: &Comprehension,
    item: Val<'a>,
    scope: &mut Scope<'a>,
    budget: &mut Budget,
) -> Result<Option<Val<'a>>, EvaluationError> {
    scope.names.push((over.variable.clone(), item));
    let result = match &over.condition {
        Some(condition) => match truth(evaluate(condition, scope, budget)) {
            Ok(true) => evaluate(&over.body, scope, budget).map(Some),
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        },
        None => evaluate(&over.body, scope, budget).map(Some),
    };
    scope.names.pop();
    result
}
