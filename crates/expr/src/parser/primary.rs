//! What stands between operators: constants, names, calls, lists, maps, and access to their members.

use std::sync::Arc;

use super::Parser;
use crate::ast::{Id, Node, Unary};
use crate::builtins::{Argument, predicate_shape};
use crate::error::ExprError;
use crate::lexer::Kind;
use crate::value::Value;

impl Parser {
    pub(super) fn primary(&mut self) -> Result<Id, ExprError> {
        let token = self.current().clone();
        if token.kind == Kind::Operator {
            let unary = match token.text.as_str() {
                "not" | "!" => Some((Unary::Not, 50)),
                "-" => Some((Unary::Minus, 90)),
                "+" => Some((Unary::Plus, 90)),
                _ => None,
            };
            if let Some((unary, strength)) = unary {
                self.next();
                let operand = self.expression(strength)?;
                return self.add(Node::Unary(unary, token.text, operand));
            }
            if self.predicates > 0 && (token.text == "." || token.text.starts_with('#')) {
                return self.pointer();
            }
            return Err(self.unexpected());
        }
        if self.eat(Kind::Bracket, "(") {
            let inner = self.sequence()?;
            self.expect(Kind::Bracket, ")")?;
            return self.postfix(inner);
        }
        let node = self.atom()?;
        self.postfix(node)
    }

    /// `#`, `#index`, `#acc`, or `.field` for `#.field`.
    fn pointer(&mut self) -> Result<Id, ExprError> {
        let name = if self.is(Kind::Operator, ".") { "#".to_owned() } else { self.next().text };
        if !matches!(name.as_str(), "#" | "#index" | "#acc") {
            return Err(ExprError::syntax(format!("unknown pointer {name}")));
        }
        let node = self.add(Node::Pointer(name))?;
        self.postfix(node)
    }

    fn atom(&mut self) -> Result<Id, ExprError> {
        let token = self.current().clone();
        match token.kind {
            Kind::Identifier => {
                self.next();
                match token.text.as_str() {
                    "true" => self.add(Node::Constant(Value::Bool(true))),
                    "false" => self.add(Node::Constant(Value::Bool(false))),
                    "nil" => self.add(Node::Constant(Value::Nil)),
                    _ if self.is(Kind::Bracket, "(") => self.call(token.text, Vec::new()),
                    _ => self.add(Node::Name(token.text)),
                }
            }
            Kind::Number => {
                self.next();
                let number = number(&token.text)?;
                self.add(Node::Constant(number))
            }
            Kind::Text => {
                self.next();
                self.add(Node::Constant(Value::text(token.text)))
            }
            Kind::Bytes => {
                self.next();
                self.add(Node::Constant(Value::Bytes(Arc::from(token.text.as_bytes()))))
            }
            Kind::Bracket if token.text == "[" => self.list(),
            Kind::Bracket if token.text == "{" => self.map(),
            _ => Err(self.unexpected()),
        }
    }

    fn list(&mut self) -> Result<Id, ExprError> {
        self.next();
        let mut items = Vec::new();
        while !self.eat(Kind::Bracket, "]") {
            if !items.is_empty() {
                self.expect(Kind::Operator, ",")?;
                if self.eat(Kind::Bracket, "]") {
                    break;
                }
            }
            items.push(self.expression(0)?);
        }
        self.add(Node::List(items))
    }

    fn map(&mut self) -> Result<Id, ExprError> {
        self.next();
        let mut entries = Vec::new();
        while !self.eat(Kind::Bracket, "}") {
            if !entries.is_empty() {
                self.expect(Kind::Operator, ",")?;
                if self.eat(Kind::Bracket, "}") {
                    break;
                }
            }
            let token = self.current().clone();
            let key = match token.kind {
                Kind::Identifier | Kind::Text | Kind::Number => {
                    self.next();
                    self.add(Node::Constant(Value::text(token.text)))?
                }
                Kind::Bracket if token.text == "(" => self.expression(0)?,
                _ => {
                    return Err(ExprError::syntax(format!(
                        "a map key must be a quoted string, a number, a identifier, or an expression enclosed in parentheses (unexpected token {token})"
                    )));
                }
            };
            self.expect(Kind::Operator, ":")?;
            entries.push((key, self.expression(0)?));
        }
        self.add(Node::Map(entries))
    }

    pub(super) fn call(&mut self, name: String, given: Vec<Id>) -> Result<Id, ExprError> {
        let arguments = match predicate_shape(&name) {
            Some(shape) => self.predicate_arguments(shape, given)?,
            None => self.arguments(given)?,
        };
        self.add(Node::Call { name, arguments })
    }

    fn arguments(&mut self, mut arguments: Vec<Id>) -> Result<Vec<Id>, ExprError> {
        self.expect(Kind::Bracket, "(")?;
        let mut is_first = true;
        while !self.eat(Kind::Bracket, ")") {
            if !is_first {
                self.expect(Kind::Operator, ",")?;
                if self.eat(Kind::Bracket, ")") {
                    break;
                }
            }
            is_first = false;
            arguments.push(self.expression(0)?);
        }
        Ok(arguments)
    }

    fn predicate_arguments(&mut self, shape: &[Argument], mut given: Vec<Id>) -> Result<Vec<Id>, ExprError> {
        self.expect(Kind::Bracket, "(")?;
        let piped = given.len();
        for (index, argument) in shape.iter().enumerate().skip(piped) {
            if argument.is_optional && self.is(Kind::Bracket, ")") {
                break;
            }
            if index > piped {
                self.expect(Kind::Operator, ",")?;
                if argument.is_optional && self.is(Kind::Bracket, ")") {
                    break;
                }
            }
            let node = if argument.is_predicate { self.predicate()? } else { self.expression(0)? };
            given.push(node);
        }
        self.eat(Kind::Operator, ",");
        self.expect(Kind::Bracket, ")")?;
        Ok(given)
    }

    fn predicate(&mut self) -> Result<Id, ExprError> {
        let braces = self.eat(Kind::Bracket, "{");
        self.predicates += 1;
        let body = if braces { self.sequence() } else { self.expression(0) };
        self.predicates -= 1;
        let body = body?;
        if braces {
            self.expect(Kind::Bracket, "}")?;
        }
        self.add(Node::Predicate(body))
    }

    /// `.a`, `?.a`, `[0]`, `[1:2]`, `.Method()`, as often as they come.
    pub(super) fn postfix(&mut self, mut node: Id) -> Result<Id, ExprError> {
        let mut is_chain = false;
        loop {
            if self.is(Kind::Operator, ".") || self.is(Kind::Operator, "?.") {
                let optional = self.next().text == "?.";
                is_chain |= optional;
                node = if optional && self.is(Kind::Bracket, "[") {
                    self.index(node, true)?
                } else {
                    self.property(node, optional)?
                };
            } else if self.is(Kind::Bracket, "[") {
                node = self.index(node, false)?;
            } else {
                break;
            }
        }
        if is_chain { self.add(Node::Chain(node)) } else { Ok(node) }
    }

    fn property(&mut self, base: Id, optional: bool) -> Result<Id, ExprError> {
        let token = self.current().clone();
        let is_name = token.text.starts_with(|c: char| c.is_alphabetic() || c == '_' || c == '$');
        if !matches!(token.kind, Kind::Identifier | Kind::Operator) || !is_name {
            return Err(ExprError::syntax("expected name"));
        }
        self.next();
        if self.is(Kind::Bracket, "(") {
            let arguments = self.arguments(Vec::new())?;
            return self.add(Node::Method { base, name: token.text, arguments });
        }
        let key = self.add(Node::Constant(Value::text(token.text)))?;
        self.add(Node::Member { base, key, optional })
    }

    fn index(&mut self, base: Id, optional: bool) -> Result<Id, ExprError> {
        self.next();
        if self.eat(Kind::Operator, ":") {
            let to = self.slice_end()?;
            return self.add(Node::Slice { base, from: None, to });
        }
        let key = self.expression(0)?;
        if self.eat(Kind::Operator, ":") {
            let to = self.slice_end()?;
            return self.add(Node::Slice { base, from: Some(key), to });
        }
        self.expect(Kind::Bracket, "]")?;
        self.add(Node::Member { base, key, optional })
    }

    fn slice_end(&mut self) -> Result<Option<Id>, ExprError> {
        if self.eat(Kind::Bracket, "]") {
            return Ok(None);
        }
        let to = self.expression(0)?;
        self.expect(Kind::Bracket, "]")?;
        Ok(Some(to))
    }
}

fn number(text: &str) -> Result<Value, ExprError> {
    let digits = text.replace('_', "");
    let lower = digits.to_ascii_lowercase();
    let (radix, body) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        _ => (10, lower.as_str()),
    };
    if radix == 10 && body.contains(['.', 'e']) {
        let number: Option<f64> = body.parse().ok().filter(|number: &f64| number.is_finite());
        return number.map(Value::Float).ok_or_else(|| ExprError::syntax(format!("invalid float literal: {text}")));
    }
    i64::from_str_radix(body, radix).map(Value::Int).map_err(|_| {
        ExprError::syntax(format!("the number {text} is not between -9223372036854775808 and 9223372036854775807"))
    })
}
