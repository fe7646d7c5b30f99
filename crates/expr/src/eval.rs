//! Evaluates a checked tree, with a budget of steps and memory.

mod functions;
mod lists;
mod members;
mod numbers;
mod operators;
mod predicates;
mod texts;
pub(crate) mod times;

use std::collections::BTreeMap;
use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use crate::ast::{Ast, Binary, Id, Node, Unary};
use crate::error::ExprError;
use crate::value::Value;
use crate::{MAX_DEPTH, MAX_MEMORY, MAX_STEPS, World};

/// What a new regular expression costs: it may take milliseconds to build.
const REGEX_STEPS: usize = 20_000;

/// Why evaluation of a part ended without a value.
enum Stop {
    Error(ExprError),
    /// A `?.` met nil: the whole chain is nil.
    ChainIsNil,
}

impl From<ExprError> for Stop {
    fn from(error: ExprError) -> Self {
        Self::Error(error)
    }
}

type Evaluated = Result<Value, Stop>;

fn fail<T>(text: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Error(ExprError::other(text)))
}

/// Evaluates a tree that has been checked against the same world.
pub(crate) fn run(ast: &Ast, world: World<'_>) -> Result<Value, ExprError> {
    let mut machine = Machine {
        ast,
        world,
        locals: Vec::new(),
        scopes: Vec::new(),
        steps: MAX_STEPS,
        memory: MAX_MEMORY,
        regexes: BTreeMap::new(),
    };
    match machine.visit(ast.root) {
        Ok(value) => Ok(value),
        Err(Stop::ChainIsNil) => Ok(Value::Nil),
        Err(Stop::Error(error)) => Err(error),
    }
}

/// A regular expression as users write it, of bounded size.
pub(crate) fn regex(pattern: &str) -> Result<Regex, ExprError> {
    let built = RegexBuilder::new(pattern).size_limit(1 << 20).build();
    built.map_err(|error| {
        let text = error.to_string();
        let reason = text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned();
        ExprError::types(format!("error parsing regexp: {reason}: `{pattern}`"))
    })
}

/// What `#`, `#index` and `#acc` are.
struct Scope {
    item: Value,
    index: usize,
    accumulator: Value,
}

struct Machine<'a> {
    ast: &'a Ast,
    world: World<'a>,
    locals: Vec<(&'a str, Value)>,
    scopes: Vec<Scope>,
    steps: usize,
    memory: usize,
    /// Regular expressions that were used before.
    regexes: BTreeMap<Arc<str>, Regex>,
}

impl<'a> Machine<'a> {
    /// Takes steps from the budget.
    fn step(&mut self, steps: usize) -> Result<(), Stop> {
        match self.steps.checked_sub(steps) {
            Some(rest) => {
                self.steps = rest;
                Ok(())
            }
            None => fail("the expression takes too many steps"),
        }
    }

    /// Takes bytes or list items from the budget.
    fn allot(&mut self, size: usize) -> Result<(), Stop> {
        match self.memory.checked_sub(size) {
            Some(rest) => {
                self.memory = rest;
                Ok(())
            }
            None => fail("memory budget exceeded"),
        }
    }

    /// A new list; refuses lists in lists without end, which `reduce` could make.
    fn list(&mut self, items: Vec<Value>) -> Evaluated {
        self.allot(items.len() * size_of::<Value>())?;
        let value = Value::list(items);
        let visited = visit_within(&value, MAX_DEPTH);
        match visited {
            Some(visited) => {
                self.step(visited)?;
                Ok(value)
            }
            // Its items were held to the bound when they were made, so dropping it goes one level deeper at most.
            None => fail(format!("the value is nested deeper than {MAX_DEPTH} levels")),
        }
    }

    fn text(&mut self, text: String) -> Evaluated {
        self.allot(text.len())?;
        Ok(Value::text(text))
    }

    fn visit(&mut self, id: Id) -> Evaluated {
        self.step(1)?;
        match self.ast.node(id) {
            Node::Constant(value) => Ok(value.clone()),
            Node::Name(name) => self.name(name),
            Node::Pointer(name) => self.pointer(name),
            Node::Binary(..) => self.binary_chain(id),
            Node::Unary(operator, word, operand) => self.unary(*operator, word, *operand),
            Node::Conditional(condition, yes, no) => {
                let condition = self.visit(*condition)?;
                if truth(&condition)? { self.visit(*yes) } else { self.visit(*no) }
            }
            Node::Let(name, value, rest) => self.declaration(name, *value, *rest),
            Node::Sequence(first, second) => {
                self.visit(*first)?;
                self.visit(*second)
            }
            Node::Member { base, key, optional } => self.member(*base, *key, *optional),
            Node::Chain(inner) => match self.visit(*inner) {
                Err(Stop::ChainIsNil) => Ok(Value::Nil),
                other => other,
            },
            Node::Predicate(inner) => self.visit(*inner),
            Node::Slice { base, from, to } => self.slice(*base, *from, *to),
            Node::Call { name, arguments } => self.call(name, arguments),
            Node::Method { base, name, arguments } => self.method(*base, name, arguments),
            Node::List(items) => self.literal_list(items),
            Node::Map(entries) => self.literal_map(entries),
        }
    }

    fn name(&self, name: &str) -> Evaluated {
        if let Some((_, value)) = self.locals.iter().rev().find(|(local, _)| *local == name) {
            return Ok(value.clone());
        }
        if let Some(variables) = self.world.variables {
            return Ok(variables.get(name).cloned().unwrap_or(Value::Nil));
        }
        Ok(self.world.result.cloned().unwrap_or(Value::Nil))
    }

    fn pointer(&self, name: &str) -> Evaluated {
        let Some(scope) = self.scopes.last() else { return Ok(Value::Nil) };
        Ok(match name {
            "#" => scope.item.clone(),
            "#index" => Value::Int(scope.index as i64),
            _ => scope.accumulator.clone(),
        })
    }

    /// Walks down to the left in a loop, as the checker does; a chain of `and` stops where its outcome is clear.
    fn binary_chain(&mut self, id: Id) -> Evaluated {
        let mut chain = Vec::new();
        let mut leftmost = id;
        while let Node::Binary(operator, word, left, right) = self.ast.node(leftmost) {
            chain.push((*operator, word.as_str(), *right));
            leftmost = *left;
        }
        let mut left = self.visit(leftmost)?;
        for (operator, word, right) in chain.into_iter().rev() {
            left = self.two_sided(operator, word, left, right)?;
        }
        Ok(left)
    }

    fn two_sided(&mut self, operator: Binary, word: &str, left: Value, right: Id) -> Evaluated {
        match operator {
            Binary::And => Ok(Value::Bool(truth(&left)? && truth(&self.visit(right)?)?)),
            Binary::Or => Ok(Value::Bool(truth(&left)? || truth(&self.visit(right)?)?)),
            Binary::Coalesce if left == Value::Nil => self.visit(right),
            Binary::Coalesce => Ok(left),
            Binary::Range => {
                let right = self.visit(right)?;
                self.range(&left, &right)
            }
            Binary::Matches => {
                let right = self.visit(right)?;
                self.matches(word, &left, &right)
            }
            _ => {
                let right = self.visit(right)?;
                // These look at all of both sides.
                if matches!(operator, Binary::Equal | Binary::NotEqual | Binary::In) {
                    self.step(weight(&left).saturating_add(weight(&right)))?;
                }
                let value = operators::apply(operator, word, &left, &right)?;
                self.allot(if let Value::Text(text) = &value { text.len() } else { 0 })?;
                Ok(value)
            }
        }
    }

    fn matches(&mut self, word: &str, left: &Value, right: &Value) -> Evaluated {
        // Nil matches nothing; it is what a missing field is.
        if matches!((left, right), (Value::Nil, _) | (_, Value::Nil)) {
            return Ok(Value::Bool(false));
        }
        let (Value::Text(text), Value::Text(pattern)) = (left, right) else {
            return fail(format!("invalid operation: {} {word} {}", left.go_type(), right.go_type()));
        };
        if !self.regexes.contains_key(pattern) {
            self.step(REGEX_STEPS)?;
            self.regexes.insert(Arc::clone(pattern), regex(pattern)?);
        }
        self.step(text.len() / 16)?;
        Ok(Value::Bool(self.regexes.get(pattern).is_some_and(|regex| regex.is_match(text))))
    }

    fn unary(&mut self, operator: Unary, word: &str, operand: Id) -> Evaluated {
        let value = self.visit(operand)?;
        Ok(match (operator, value) {
            (Unary::Not, value) => Value::Bool(!truth(&value)?),
            (Unary::Minus, Value::Int(number)) => Value::Int(number.wrapping_neg()),
            (Unary::Minus, Value::Float(number)) => Value::Float(-number),
            (Unary::Minus, Value::Duration(number)) => Value::Duration(number.wrapping_neg()),
            (Unary::Plus, value @ (Value::Int(_) | Value::Float(_))) => value,
            (_, value) => return fail(format!("invalid operation: {word}{}", value.go_type())),
        })
    }

    fn declaration(&mut self, name: &'a str, value: Id, rest: Id) -> Evaluated {
        let value = self.visit(value)?;
        self.locals.push((name, value));
        let result = self.visit(rest);
        self.locals.pop();
        result
    }

    fn literal_list(&mut self, items: &[Id]) -> Evaluated {
        let items = items.iter().map(|item| self.visit(*item)).collect::<Result<Vec<_>, _>>()?;
        self.list(items)
    }

    fn literal_map(&mut self, entries: &[(Id, Id)]) -> Evaluated {
        let mut fields = BTreeMap::new();
        let mut values = Vec::new();
        for (key, value) in entries {
            let Value::Text(key) = self.visit(*key)? else { return fail("map keys must be strings") };
            let value = self.visit(*value)?;
            values.push(value.clone());
            fields.insert(key.to_string(), value);
        }
        // As a list it is held to the same bounds.
        self.list(values)?;
        Ok(Value::Map(Arc::new(fields)))
    }
}

/// A value where a bool must be.
fn truth(value: &Value) -> Result<bool, Stop> {
    match value {
        Value::Bool(value) => Ok(*value),
        Value::Nil => fail("interface conversion: interface {} is nil, not bool"),
        other => fail(format!("interface conversion: interface {{}} is {}, not bool", other.go_type())),
    }
}

/// How many values a look at all of it touches.
fn weight(value: &Value) -> usize {
    match value {
        Value::Text(text) => text.len() / 64,
        // Everything that was made here or read as JSON is nested less deeply than this.
        value => visit_within(value, 1_000).unwrap_or(usize::MAX),
    }
}

/// How many values there are inside, `None` when they are nested deeper than `depth`.
fn visit_within(value: &Value, depth: usize) -> Option<usize> {
    let below = |values: &mut dyn Iterator<Item = &Value>| {
        let depth = depth.checked_sub(1)?;
        let mut sum = 1;
        for value in values {
            sum += visit_within(value, depth)?;
        }
        Some(sum)
    };
    match value {
        Value::List(list) => below(&mut list.items.iter()),
        Value::Map(fields) => below(&mut fields.values()),
        Value::Pairs(pairs) => below(&mut pairs.iter().flat_map(|(key, value)| [key, value])),
        _ => Some(1),
    }
}
