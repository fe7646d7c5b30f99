//! From words to expressions.

use std::collections::BTreeSet;

use super::QueryError;
use super::ast::{Aggregation, Aggregator, Binary, Expr, Grouping, Matching, Operator};
use super::functions::Function;
use super::lexer::{Placed, Token, words};
use super::literals::special;
use super::typing;

/// Expressions within expressions, at most; deeper ones could exhaust the stack.
const DEEPEST: usize = 100;
/// Operators of one query, at most: a chain of them is as deep as it is long.
const MOST_OPERATORS: usize = 250;

/// Reads a query and checks its types.
///
/// ```
/// # use tidegate_mesh::promql::parse;
/// assert!(parse("sum(rate(istio_requests_total[1m])) by (response_code)").is_ok());
/// let error = parse("holt_winters(a[1m], 1, 1)").unwrap_err();
/// assert_eq!(error.to_string(), "1:1: parse error: function `holt_winters` is not supported here");
/// ```
pub fn parse(query: &str) -> Result<Expr, QueryError> {
    let mut parser = Parser { words: words(query)?, next: 0, depth: 0, operators: 0 };
    if *parser.peek() == Token::End {
        return parser.fail("no expression found in input");
    }
    let expr = parser.expression(1)?;
    match parser.peek() {
        Token::End => Ok(expr),
        Token::Sign("@") => parser.fail("the `@` modifier is not supported here"),
        _ => parser.fail("unexpected word after the end of the expression"),
    }
}

/// Words that are read one after the other.
pub(super) struct Parser {
    words: Vec<Placed>,
    next: usize,
    depth: usize,
    operators: usize,
}

/// What a step of reading gives.
pub(super) type Parsed<T> = Result<T, QueryError>;

impl Parser {
    pub(super) fn peek(&self) -> &Token {
        self.words.get(self.next).map_or(&Token::End, |placed| &placed.token)
    }

    fn peek_second(&self) -> &Token {
        self.words.get(self.next + 1).map_or(&Token::End, |placed| &placed.token)
    }

    /// The end is never stepped over.
    pub(super) fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.words.len().saturating_sub(1));
        token
    }

    pub(super) fn fail<T>(&self, what: impl Into<String>) -> Parsed<T> {
        self.fail_at(self.place(), what)
    }

    pub(super) fn fail_at<T>(&self, at: usize, what: impl Into<String>) -> Parsed<T> {
        Err(QueryError::Parse { at, what: what.into() })
    }

    pub(super) fn place(&self) -> usize {
        self.words.get(self.next).map_or(1, |placed| placed.at)
    }

    pub(super) fn takes_sign(&mut self, sign: &str) -> bool {
        let is_it = matches!(self.peek(), Token::Sign(found) if *found == sign);
        if is_it {
            self.take();
        }
        is_it
    }

    pub(super) fn wants_sign(&mut self, sign: &str) -> Parsed<()> {
        if self.takes_sign(sign) { Ok(()) } else { self.fail(format!("`{sign}` is missing")) }
    }

    /// A keyword, which may be written in any case.
    pub(super) fn takes_word(&mut self, word: &str) -> bool {
        let is_it = self.is_word(word);
        if is_it {
            self.take();
        }
        is_it
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(name) if name.eq_ignore_ascii_case(word))
    }

    /// Operators of at least this strength.
    fn expression(&mut self, least: u8) -> Parsed<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.fail(format!("expressions may be {DEEPEST} deep at most"));
        }
        let mut left = self.unary()?;
        while let Some(operator) = self.operator()?.filter(|operator| operator.strength() >= least) {
            let at = self.place();
            self.take();
            self.operators += 1;
            if self.operators > MOST_OPERATORS {
                return self.fail_at(at, format!("a query may have {MOST_OPERATORS} operators at most"));
            }
            let to_bool = self.takes_word("bool");
            let matching = self.matching()?;
            // A power of a power is read from the right, all else from the left.
            let stronger = if operator == Operator::Power { 6 } else { operator.strength() + 1 };
            let right = self.expression(stronger)?;
            let binary = Binary { operator, left, right, to_bool, matching };
            typing::check_binary(&binary).or_else(|what| self.fail_at(at, what))?;
            left = Expr::Binary(Box::new(binary));
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The operator that comes next, if one does.
    fn operator(&self) -> Parsed<Option<Operator>> {
        Ok(Some(match self.peek() {
            Token::Sign("+") => Operator::Add,
            Token::Sign("-") => Operator::Subtract,
            Token::Sign("*") => Operator::Multiply,
            Token::Sign("/") => Operator::Divide,
            Token::Sign("%") => Operator::Modulo,
            Token::Sign("^") => Operator::Power,
            Token::Sign("==") => Operator::Equal,
            Token::Sign("!=") => Operator::NotEqual,
            Token::Sign("<") => Operator::Less,
            Token::Sign("<=") => Operator::LessOrEqual,
            Token::Sign(">") => Operator::Greater,
            Token::Sign(">=") => Operator::GreaterOrEqual,
            Token::Name(name) => match name.to_ascii_lowercase().as_str() {
                "and" => Operator::And,
                "or" => Operator::Or,
                "unless" => Operator::Unless,
                "atan2" => return self.fail("operator `atan2` is not supported here"),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    fn matching(&mut self) -> Parsed<Option<Matching>> {
        let matching = if self.takes_word("on") {
            Some(Matching::On(self.names()?))
        } else if self.takes_word("ignoring") {
            Some(Matching::Ignoring(self.names()?))
        } else {
            None
        };
        for word in ["group_left", "group_right"] {
            if self.is_word(word) {
                return self.fail(format!("`{word}` is not supported here"));
            }
        }
        Ok(matching)
    }

    /// `(a, b)`.
    fn names(&mut self) -> Parsed<BTreeSet<String>> {
        self.wants_sign("(")?;
        let mut names = BTreeSet::new();
        while !self.takes_sign(")") {
            match self.take() {
                Token::Name(name) if !name.contains(':') => drop(names.insert(name)),
                _ => return self.fail("the name of a label is missing"),
            }
            if !self.takes_sign(",") {
                self.wants_sign(")")?;
                break;
            }
        }
        Ok(names)
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let at = self.place();
        let is_minus = self.takes_sign("-");
        if !is_minus && !self.takes_sign("+") {
            return self.with_modifiers();
        }
        // Powers bind stronger than the sign: `-2^2` is -4.
        let inner = self.expression(6)?;
        if !typing::is_number_or_vector(&inner) {
            return self.fail_at(at, "unary expression only allowed on expressions of type scalar or instant vector");
        }
        Ok(if is_minus { Expr::Negated(Box::new(inner)) } else { Expr::Kept(Box::new(inner)) })
    }

    /// An expression with all that may follow it: `[5m]` and `offset 1h`.
    fn with_modifiers(&mut self) -> Parsed<Expr> {
        let in_parentheses = *self.peek() == Token::Sign("(");
        let mut expr = self.primary()?;
        let mut has_offset = false;
        loop {
            let at = self.place();
            let is_range = *self.peek() == Token::Sign("[");
            if in_parentheses && (is_range || self.is_word("offset")) {
                return self.fail("a range or an offset must follow the selector itself, not its parentheses");
            }
            if self.takes_sign("[") {
                expr = self.range(expr, has_offset, at)?;
            } else if self.takes_word("offset") {
                let is_minus = self.takes_sign("-");
                let Token::Duration(millis) = self.take() else {
                    return self.fail_at(at, "`offset` needs a duration");
                };
                let (Expr::Selector(selector) | Expr::Range(selector, _)) = &mut expr else {
                    return self.fail_at(at, "`offset` must follow a selector");
                };
                if has_offset {
                    return self.fail_at(at, "`offset` may not be set multiple times");
                }
                selector.offset = if is_minus { -millis } else { millis };
                has_offset = true;
            } else if *self.peek() == Token::Sign("@") {
                return self.fail("the `@` modifier is not supported here");
            } else {
                return Ok(expr);
            }
        }
    }

    fn range(&mut self, expr: Expr, has_offset: bool, at: usize) -> Parsed<Expr> {
        let Token::Duration(millis) = self.take() else {
            return self.fail_at(at, "a duration such as `5m` is missing");
        };
        if *self.peek() == Token::Sign(":") {
            return self.fail("a subquery is not supported here");
        }
        self.wants_sign("]")?;
        match expr {
            Expr::Selector(_) if millis == 0 => self.fail_at(at, "duration must be greater than 0"),
            Expr::Selector(_) if has_offset => self.fail_at(at, "no offset modifiers allowed before range"),
            Expr::Selector(selector) => Ok(Expr::Range(selector, millis)),
            _ => self.fail_at(at, "ranges only allowed for vector selectors"),
        }
    }

    fn primary(&mut self) -> Parsed<Expr> {
        let at = self.place();
        match self.peek().clone() {
            Token::Number(value) => {
                self.take();
                Ok(Expr::Number(value))
            }
            Token::Text(text) => {
                self.take();
                Ok(Expr::Text(text))
            }
            Token::Sign("(") => {
                self.take();
                let inner = self.expression(1)?;
                self.wants_sign(")")?;
                Ok(inner)
            }
            Token::Sign("{") => self.selector(None),
            Token::Name(name) => self.named(name, at),
            Token::Duration(_) => self.fail("a duration alone is no expression"),
            Token::End => self.fail("unexpected end of input"),
            Token::Sign(sign) => self.fail(format!("unexpected `{sign}`")),
        }
    }

    /// A metric, a function, an aggregation or a special number.
    fn named(&mut self, name: String, at: usize) -> Parsed<Expr> {
        let second_word =
            |word: &str| matches!(self.peek_second(), Token::Name(next) if next.eq_ignore_ascii_case(word));
        let is_called = *self.peek_second() == Token::Sign("(");
        let is_grouped = second_word("by") || second_word("without");
        if let (Some(value), false) = (special(&name), is_called) {
            self.take();
            return Ok(Expr::Number(value));
        }
        if !is_called && !is_grouped {
            self.take();
            return self.selector(Some(name));
        }
        self.take();
        if let Some(aggregator) = aggregator(&name) {
            return self.aggregation(aggregator, at);
        }
        if is_grouped {
            return self.fail_at(at, format!("aggregation `{name}` is not supported here"));
        }
        match Function::named(&name) {
            Some(function) => self.call(function, at),
            None => self.fail_at(at, format!("function `{name}` is not supported here")),
        }
    }

    fn call(&mut self, function: Function, at: usize) -> Parsed<Expr> {
        let arguments = self.arguments()?;
        typing::check_call(function, &arguments).or_else(|what| self.fail_at(at, what))?;
        Ok(Expr::Call(function, arguments))
    }

    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.wants_sign("(")?;
        let mut arguments = Vec::new();
        if self.takes_sign(")") {
            return Ok(arguments);
        }
        loop {
            arguments.push(self.expression(1)?);
            if !self.takes_sign(",") {
                self.wants_sign(")")?;
                return Ok(arguments);
            }
        }
    }

    fn aggregation(&mut self, aggregator: Aggregator, at: usize) -> Parsed<Expr> {
        let before = self.grouping()?;
        let mut arguments = self.arguments()?;
        let grouping = match before {
            Some(grouping) => Some(grouping),
            None => self.grouping()?,
        };
        let (Some(of), true) = (arguments.pop(), arguments.is_empty()) else {
            return self.fail_at(at, "an aggregation takes one argument");
        };
        typing::check_aggregated(&of).or_else(|what| self.fail_at(at, what))?;
        let grouping = grouping.unwrap_or(Grouping::By(BTreeSet::new()));
        Ok(Expr::Aggregation(Box::new(Aggregation { aggregator, grouping, of })))
    }

    fn grouping(&mut self) -> Parsed<Option<Grouping>> {
        if self.takes_word("by") {
            return Ok(Some(Grouping::By(self.names()?)));
        }
        if self.takes_word("without") {
            return Ok(Some(Grouping::Without(self.names()?)));
        }
        Ok(None)
    }
}

fn aggregator(name: &str) -> Option<Aggregator> {
    match name.to_ascii_lowercase().as_str() {
        "sum" => Some(Aggregator::Sum),
        "avg" => Some(Aggregator::Average),
        "min" => Some(Aggregator::Minimum),
        "max" => Some(Aggregator::Maximum),
        "count" => Some(Aggregator::Count),
        _ => None,
    }
}
