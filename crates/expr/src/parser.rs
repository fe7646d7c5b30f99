//! From tokens to a tree: operators by precedence, then what stands between them.

mod primary;

use crate::ast::{Ast, Binary, Id, Node, Unary};
use crate::error::ExprError;
use crate::lexer::{self, Kind, Token};
use crate::{MAX_DEPTH, MAX_LENGTH, MAX_NODES};

/// Reads a whole expression.
pub(crate) fn parse(text: &str) -> Result<Ast, ExprError> {
    if text.len() > MAX_LENGTH {
        return Err(ExprError::TooLarge(format!(
            "the expression has {} bytes, which is more than {MAX_LENGTH}",
            text.len()
        )));
    }
    let mut parser = Parser { tokens: lexer::lex(text)?, position: 0, ast: Ast::default(), nesting: 0, predicates: 0 };
    let root = parser.sequence()?;
    if parser.current().kind != Kind::End {
        return Err(parser.unexpected());
    }
    parser.ast.root = root;
    Ok(parser.ast)
}

struct Parser {
    tokens: Vec<Token>,
    position: usize,
    ast: Ast,
    /// How deep the parser itself is in.
    nesting: usize,
    /// How many functions with `#` we are inside of.
    predicates: usize,
}

/// How tightly an operator binds, and whether it groups to the right.
fn precedence(operator: &str) -> Option<(u16, bool)> {
    Some(match operator {
        "|" => (0, false),
        "or" | "||" => (10, false),
        "and" | "&&" => (15, false),
        "==" | "!=" | "<" | ">" | "<=" | ">=" | "in" | "matches" | "contains" | "startsWith" | "endsWith" => {
            (20, false)
        }
        ".." => (25, false),
        "+" | "-" => (30, false),
        "*" | "/" | "%" => (60, false),
        "**" | "^" => (100, true),
        "??" => (500, false),
        _ => return None,
    })
}

/// Operators with a `not` in front of them.
fn is_negatable(operator: &str) -> bool {
    matches!(operator, "in" | "matches" | "contains" | "startsWith" | "endsWith")
}

fn is_ordering(operator: &str) -> bool {
    matches!(operator, "<" | "<=" | ">" | ">=")
}

fn binary(operator: &str) -> Option<Binary> {
    Some(match operator {
        "or" | "||" => Binary::Or,
        "and" | "&&" => Binary::And,
        "==" => Binary::Equal,
        "!=" => Binary::NotEqual,
        "<" => Binary::Less,
        "<=" => Binary::LessEqual,
        ">" => Binary::Greater,
        ">=" => Binary::GreaterEqual,
        "in" => Binary::In,
        "matches" => Binary::Matches,
        "contains" => Binary::Contains,
        "startsWith" => Binary::StartsWith,
        "endsWith" => Binary::EndsWith,
        ".." => Binary::Range,
        "+" => Binary::Add,
        "-" => Binary::Subtract,
        "*" => Binary::Multiply,
        "/" => Binary::Divide,
        "%" => Binary::Modulo,
        "**" | "^" => Binary::Power,
        "??" => Binary::Coalesce,
        _ => return None,
    })
}

impl Parser {
    fn current(&self) -> &Token {
        // The list ends with a token of kind End, and nothing moves beyond it.
        &self.tokens[self.position.min(self.tokens.len() - 1)]
    }

    fn next(&mut self) -> Token {
        let token = self.current().clone();
        self.position = (self.position + 1).min(self.tokens.len() - 1);
        token
    }

    fn is(&self, kind: Kind, text: &str) -> bool {
        self.current().is(kind, text)
    }

    fn eat(&mut self, kind: Kind, text: &str) -> bool {
        let found = self.is(kind, text);
        if found {
            self.next();
        }
        found
    }

    fn expect(&mut self, kind: Kind, text: &str) -> Result<(), ExprError> {
        if self.eat(kind, text) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn unexpected(&self) -> ExprError {
        ExprError::syntax(format!("unexpected token {}", self.current()))
    }

    fn add(&mut self, node: Node) -> Result<Id, ExprError> {
        if self.ast.len() >= MAX_NODES {
            return Err(ExprError::TooLarge(format!("the expression has more than {MAX_NODES} parts")));
        }
        let id = self.ast.add(node);
        if self.ast.depth(id) > MAX_DEPTH { Err(too_deep()) } else { Ok(id) }
    }

    /// Runs `read` one level deeper.
    fn nested(&mut self, read: impl FnOnce(&mut Self) -> Result<Id, ExprError>) -> Result<Id, ExprError> {
        if self.nesting >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.nesting += 1;
        let result = read(self);
        self.nesting -= 1;
        result
    }

    /// Expressions between `;`, of which the last counts.
    fn sequence(&mut self) -> Result<Id, ExprError> {
        let mut node = self.expression(0)?;
        while self.eat(Kind::Operator, ";") {
            if self.current().kind == Kind::End || self.is(Kind::Bracket, ")") {
                break;
            }
            let next = self.expression(0)?;
            node = self.add(Node::Sequence(node, next))?;
        }
        Ok(node)
    }

    fn expression(&mut self, least: u16) -> Result<Id, ExprError> {
        self.nested(|parser| parser.operators(least))
    }

    fn operators(&mut self, least: u16) -> Result<Id, ExprError> {
        if least == 0 && self.eat(Kind::Operator, "let") {
            return self.declaration();
        }
        if least == 0 && self.eat(Kind::Operator, "if") {
            return self.if_else();
        }
        let mut left = self.primary()?;
        let mut previous = String::new();
        while self.current().kind == Kind::Operator {
            let negated = self.is(Kind::Operator, "not");
            let operator = if negated {
                match self.tokens.get(self.position + 1) {
                    Some(after) if after.kind == Kind::Operator && is_negatable(&after.text) => after.text.clone(),
                    _ => {
                        self.next();
                        return Err(self.unexpected());
                    }
                }
            } else {
                self.current().text.clone()
            };
            let Some((strength, to_right)) = precedence(&operator).filter(|(strength, _)| *strength >= least) else {
                break;
            };
            self.next();
            if negated {
                self.next();
            }
            if previous == "??" && operator != "??" && operator != "|" {
                return Err(ExprError::syntax(format!(
                    "Operator ({operator}) and coalesce expressions (??) cannot be mixed. Wrap either by parentheses."
                )));
            }
            left = if operator == "|" {
                self.pipe(left)?
            } else if is_ordering(&operator) {
                self.comparison(left, operator.clone(), strength)?
            } else {
                let right = self.expression(if to_right { strength } else { strength + 1 })?;
                self.two_sided(&operator, left, right)?
            };
            if negated {
                left = self.add(Node::Unary(Unary::Not, "not".to_owned(), left))?;
            }
            previous = operator;
        }
        if least == 0 { self.ternary(left) } else { Ok(left) }
    }

    fn two_sided(&mut self, operator: &str, left: Id, right: Id) -> Result<Id, ExprError> {
        let known = binary(operator).ok_or_else(|| self.unexpected())?;
        self.add(Node::Binary(known, operator.to_owned(), left, right))
    }

    /// `a < b <= c` means `a < b && b <= c`.
    fn comparison(&mut self, left: Id, mut operator: String, strength: u16) -> Result<Id, ExprError> {
        let (mut left, mut whole) = (left, None);
        loop {
            let right = self.expression(strength + 1)?;
            let pair = self.two_sided(&operator, left, right)?;
            let so_far = match whole {
                Some(before) => self.two_sided("&&", before, pair)?,
                None => pair,
            };
            if self.current().kind != Kind::Operator || !is_ordering(&self.current().text) {
                return Ok(so_far);
            }
            operator = self.next().text;
            (left, whole) = (right, Some(so_far));
        }
    }

    fn pipe(&mut self, left: Id) -> Result<Id, ExprError> {
        if self.current().kind != Kind::Identifier {
            return Err(self.unexpected());
        }
        let name = self.next().text;
        let call = self.call(name, vec![left])?;
        self.postfix(call)
    }

    fn ternary(&mut self, mut node: Id) -> Result<Id, ExprError> {
        while self.eat(Kind::Operator, "?") {
            let yes = if self.is(Kind::Operator, ":") { node } else { self.expression(0)? };
            self.expect(Kind::Operator, ":")?;
            let no = self.expression(0)?;
            node = self.add(Node::Conditional(node, yes, no))?;
        }
        Ok(node)
    }

    fn if_else(&mut self) -> Result<Id, ExprError> {
        let condition = self.expression(0)?;
        let yes = self.block()?;
        self.expect(Kind::Operator, "else")?;
        let no = if self.eat(Kind::Operator, "if") { self.nested(Self::if_else)? } else { self.block()? };
        self.add(Node::Conditional(condition, yes, no))
    }

    fn block(&mut self) -> Result<Id, ExprError> {
        self.expect(Kind::Bracket, "{")?;
        let node = self.sequence()?;
        self.expect(Kind::Bracket, "}")?;
        Ok(node)
    }

    fn declaration(&mut self) -> Result<Id, ExprError> {
        if self.current().kind != Kind::Identifier {
            return Err(self.unexpected());
        }
        let name = self.next().text;
        self.expect(Kind::Operator, "=")?;
        let value = self.expression(0)?;
        self.expect(Kind::Operator, ";")?;
        let rest = self.sequence()?;
        self.add(Node::Let(name, value, rest))
    }
}

fn too_deep() -> ExprError {
    ExprError::TooLarge(format!("the expression is nested deeper than {MAX_DEPTH} levels"))
}
