//! Checks types before anything runs, with the actual type of `result`.

mod operators;

use crate::World;
use crate::ast::{Ast, Id, Node, Unary};
use crate::builtins::{self, Gives, predicate_shape};
use crate::error::ExprError;
use crate::types::Type;
use crate::value::Value;

type Checked = Result<Type, ExprError>;

/// The type the whole expression gives, or the first thing that does not fit.
pub(crate) fn check(ast: &Ast, world: World<'_>) -> Result<(), ExprError> {
    let result = world.result.map(Value::static_type);
    let mut checker =
        Checker { ast, result, is_loose: world.variables.is_some(), locals: Vec::new(), items: Vec::new() };
    checker.visit(ast.root).map(drop)
}

struct Checker<'a> {
    ast: &'a Ast,
    result: Option<Type>,
    /// Whether names are only known at run time.
    is_loose: bool,
    locals: Vec<(String, Type)>,
    /// What `#` is, innermost last.
    items: Vec<Type>,
}

impl Checker<'_> {
    fn visit(&mut self, id: Id) -> Checked {
        match self.ast.node(id) {
            Node::Constant(value) => Ok(value.static_type()),
            Node::Name(name) => self.name(name),
            Node::Pointer(name) => Ok(match name.as_str() {
                "#" => self.items.last().cloned().unwrap_or(Type::Any),
                "#index" => Type::Int,
                _ => Type::Any,
            }),
            Node::Binary(..) => self.binary_chain(id),
            Node::Unary(operator, word, operand) => self.unary(*operator, word, *operand),
            Node::Conditional(condition, yes, no) => self.conditional(*condition, *yes, *no),
            Node::Let(name, value, rest) => self.declaration(name, *value, *rest),
            Node::Sequence(first, second) => {
                self.visit(*first)?;
                self.visit(*second)
            }
            Node::Member { base, key, .. } => self.member(*base, *key),
            Node::Chain(inner) | Node::Predicate(inner) => self.visit(*inner),
            Node::Slice { base, from, to } => self.slice(*base, *from, *to),
            Node::Call { name, arguments } => self.call(name, arguments),
            Node::Method { base, name, arguments } => self.method(*base, name, arguments),
            Node::List(items) => self.list(items),
            Node::Map(entries) => self.map(entries),
        }
    }

    fn name(&self, name: &str) -> Checked {
        if let Some((_, found)) = self.locals.iter().rev().find(|(local, _)| local == name) {
            return Ok(found.clone());
        }
        match &self.result {
            Some(result) if name == "result" => Ok(result.clone()),
            _ if self.is_loose => Ok(Type::Any),
            _ => Err(ExprError::types(format!("unknown name {name}"))),
        }
    }

    /// Walks down to the left in a loop: `a or b or c or ..` may be long.
    fn binary_chain(&mut self, id: Id) -> Checked {
        let mut chain = Vec::new();
        let mut leftmost = id;
        while let Node::Binary(operator, word, left, right) = self.ast.node(leftmost) {
            chain.push((*operator, word, *right));
            leftmost = *left;
        }
        let mut left = self.visit(leftmost)?;
        for (operator, word, right) in chain.into_iter().rev() {
            let right_type = self.visit(right)?;
            left = operators::two_sided(operator, word, &left, &right_type)?;
            if operator == crate::ast::Binary::Matches
                && let Node::Constant(Value::Text(pattern)) = self.ast.node(right)
            {
                crate::eval::regex(pattern)?;
            }
        }
        Ok(left)
    }

    fn unary(&mut self, operator: Unary, word: &str, operand: Id) -> Checked {
        let found = self.visit(operand)?;
        let fits = match operator {
            Unary::Not => matches!(found, Type::Bool | Type::Any),
            Unary::Minus | Unary::Plus => found.is_number() || matches!(found, Type::Any | Type::Duration),
        };
        if fits {
            Ok(if operator == Unary::Not { Type::Bool } else { found })
        } else {
            Err(ExprError::types(format!("invalid operation: {word} (mismatched type {found})")))
        }
    }

    fn conditional(&mut self, condition: Id, yes: Id, no: Id) -> Checked {
        let found = self.visit(condition)?;
        if !matches!(found, Type::Bool | Type::Any) {
            return Err(ExprError::types(format!("non-bool expression (type {found}) used as condition")));
        }
        let (yes, no) = (self.visit(yes)?, self.visit(no)?);
        Ok(match (yes, no) {
            (Type::Nil, other) | (other, Type::Nil) => other,
            (yes, no) if yes == no => yes,
            _ => Type::Any,
        })
    }

    fn declaration(&mut self, name: &str, value: Id, rest: Id) -> Checked {
        if builtins::plain(name, self.result.is_some()).is_some() || predicate_shape(name).is_some() {
            return Err(ExprError::types(format!("cannot redeclare builtin {name}")));
        }
        if name == "result" || self.locals.iter().any(|(local, _)| local == name) {
            return Err(ExprError::types(format!("cannot redeclare variable {name}")));
        }
        let found = self.visit(value)?;
        self.locals.push((name.to_owned(), found));
        let result = self.visit(rest);
        self.locals.pop();
        result
    }

    fn member(&mut self, base: Id, key: Id) -> Checked {
        let base = self.visit(base)?;
        let wrong = |text: String| Err(ExprError::types(text));
        if let Node::Constant(Value::Text(field)) = self.ast.node(key) {
            return match base {
                Type::Any | Type::Map | Type::Pairs => Ok(Type::Any),
                Type::List(_) => wrong("array elements can only be selected using an integer (got string)".to_owned()),
                other => wrong(format!("type {other} has no field {field}")),
            };
        }
        let key = self.visit(key)?;
        match base {
            Type::Any | Type::Pairs => Ok(Type::Any),
            Type::Map if matches!(key, Type::Text | Type::Any) => Ok(Type::Any),
            Type::Map => wrong(format!("cannot use {key} to get an element from map[string]interface {{}}")),
            Type::List(of) if matches!(key, Type::Int | Type::Any) => Ok(*of),
            Type::List(_) => wrong(format!("array elements can only be selected using an integer (got {key})")),
            other => wrong(format!("type {other}[{key}] is undefined")),
        }
    }

    fn slice(&mut self, base: Id, from: Option<Id>, to: Option<Id>) -> Checked {
        let base = self.visit(base)?;
        if !matches!(base, Type::Any | Type::Text | Type::List(_)) {
            return Err(ExprError::types(format!("cannot slice {base}")));
        }
        for end in [from, to].into_iter().flatten() {
            let found = self.visit(end)?;
            if !matches!(found, Type::Int | Type::Any) {
                return Err(ExprError::types(format!("non-integer slice index {found}")));
            }
        }
        Ok(base)
    }

    fn list(&mut self, items: &[Id]) -> Checked {
        let mut common: Option<Type> = None;
        for item in items {
            let found = self.visit(*item)?;
            common = Some(match common {
                None => found,
                Some(before) if before == found => before,
                Some(_) => Type::Any,
            });
        }
        Ok(Type::list(common.filter(|found| *found != Type::Nil).unwrap_or(Type::Any)))
    }

    fn map(&mut self, entries: &[(Id, Id)]) -> Checked {
        for (key, value) in entries {
            let found = self.visit(*key)?;
            if !matches!(found, Type::Text | Type::Any) {
                return Err(ExprError::types(format!("cannot use {found} as type string in map key")));
            }
            self.visit(*value)?;
        }
        Ok(Type::Map)
    }

    fn call(&mut self, name: &str, arguments: &[Id]) -> Checked {
        if predicate_shape(name).is_some() {
            return self.predicate_call(name, arguments);
        }
        let Some(function) = builtins::plain(name, self.result.is_some()) else {
            return Err(ExprError::types(format!("unknown name {name}")));
        };
        if arguments.len() < function.required {
            return Err(ExprError::types(format!("not enough arguments to call {name}")));
        }
        if arguments.len() > function.takes.len() && !function.is_variadic {
            return Err(ExprError::types(format!("too many arguments to call {name}")));
        }
        let mut first = Type::Any;
        for (index, argument) in arguments.iter().enumerate() {
            let given = self.visit(*argument)?;
            let takes = function.takes[index.min(function.takes.len() - 1)];
            if !takes.accepts(&given) {
                return Err(ExprError::types(builtins::refusal(name, takes, &given.to_string())));
            }
            if index == 0 {
                first = given;
            }
        }
        Ok(gives(function.gives, first))
    }

    fn predicate_call(&mut self, name: &str, arguments: &[Id]) -> Checked {
        let list = self.visit(arguments[0])?;
        let Some(item) = list.items() else {
            return Err(ExprError::types(format!("builtin {name} takes only array (got {list})")));
        };
        let mut given = None;
        if let Some(predicate) = arguments.get(1) {
            self.items.push(item.clone());
            let found = self.visit(*predicate);
            self.items.pop();
            given = Some(found?);
        }
        for more in arguments.iter().skip(2) {
            self.visit(*more)?;
        }
        let asks = matches!(
            name,
            "all" | "none" | "any" | "one" | "filter" | "find" | "findIndex" | "findLast" | "findLastIndex" | "count"
        );
        let answer = given.unwrap_or(Type::Any);
        if asks && !matches!(answer, Type::Bool | Type::Any) {
            return Err(ExprError::types(format!("predicate should return boolean (got {answer})")));
        }
        Ok(match name {
            "all" | "none" | "any" | "one" => Type::Bool,
            "filter" | "sortBy" => Type::list(item),
            "map" => Type::list(answer),
            "find" | "findLast" => item,
            "findIndex" | "findLastIndex" | "count" => Type::Int,
            "groupBy" => Type::Pairs,
            _ => Type::Any,
        })
    }

    fn method(&mut self, base: Id, name: &str, arguments: &[Id]) -> Checked {
        let base = self.visit(base)?;
        let given: Vec<Type> = arguments.iter().map(|argument| self.visit(*argument)).collect::<Result<_, _>>()?;
        if base.is_any() {
            return Ok(Type::Any);
        }
        let Some((takes, result)) = builtins::method(&base, name) else {
            return Err(ExprError::types(format!("type {base} has no method {name}")));
        };
        if given.len() < takes.len() {
            return Err(ExprError::types(format!("not enough arguments to call {name}")));
        }
        if given.len() > takes.len() {
            return Err(ExprError::types(format!("too many arguments to call {name}")));
        }
        for (takes, given) in takes.iter().zip(&given) {
            if takes != given && !given.is_any() {
                return Err(ExprError::types(format!("cannot use {given} as argument (type {takes}) to call {name} ")));
            }
        }
        Ok(gives(result, base))
    }
}

fn gives(gives: Gives, first: Type) -> Type {
    match gives {
        Gives::Bool => Type::Bool,
        Gives::Int => Type::Int,
        Gives::Float => Type::Float,
        Gives::Text => Type::Text,
        Gives::Time => Type::Time,
        Gives::Duration => Type::Duration,
        Gives::Any => Type::Any,
        Gives::List => Type::list(Type::Any),
        Gives::Texts => Type::list(Type::Text),
        Gives::Same => first,
        Gives::Item => first.items().unwrap_or(Type::Any),
    }
}
