//! Reads expressions.

use super::ast::{Comprehension, Expression, Macro, Operator};
use super::functions::Function;
use super::lexer::{self, Token, Word, located};

/// The longest expression, in bytes.
const MAX_SOURCE: usize = 16 * 1024;

/// The deepest nesting of an expression.
const MAX_DEPTH: usize = 64;

pub(crate) fn parse(source: &str) -> Result<Expression, String> {
    if source.len() > MAX_SOURCE {
        return Err(format!("the expression is longer than {MAX_SOURCE} bytes"));
    }
    let tokens = lexer::read(source)?;
    let mut parser = Parser { source, tokens: &tokens, next: 0, depth: 0 };
    let expression = parser.expression()?;
    match parser.tokens.get(parser.next) {
        None => Ok(expression),
        Some(_) => Err(parser.unexpected()),
    }
}

struct Parser<'a> {
    source: &'a str,
    tokens: &'a [Token],
    next: usize,
    depth: usize,
}

type Parsed = Result<Expression, String>;

fn pair(left: Expression, right: Expression) -> Box<(Expression, Expression)> {
    Box::new((left, right))
}

impl Parser<'_> {
    fn error(&self, text: &str) -> String {
        // The word that was just read, or the end.
        let at = self.tokens.get(self.next).map_or(self.source.len(), |token| token.at);
        located(self.source, at, text)
    }

    fn unexpected(&self) -> String {
        self.error("Syntax error: mismatched input")
    }

    fn take(&mut self, sign: &'static str) -> bool {
        let found = self.tokens.get(self.next).is_some_and(|token| token.word == Word::Sign(sign));
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), String> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        if self.depth >= MAX_DEPTH {
            return Err(self.error("the expression is nested too deeply"));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    fn expression(&mut self) -> Parsed {
        self.deeper(|parser| {
            let condition = parser.or()?;
            if !parser.take("?") {
                return Ok(condition);
            }
            let yes = parser.or()?;
            parser.expect(":")?;
            let no = parser.expression()?;
            Ok(Expression::Choice(Box::new((condition, yes, no))))
        })
    }

    /// Reads operands with operators between them, and makes a tree that leans to the left. Its depth counts too.
    fn chain(
        &mut self,
        operand: fn(&mut Self) -> Parsed,
        join: impl Fn(&mut Self) -> Option<fn(Expression, Expression) -> Expression>,
    ) -> Parsed {
        let mut left = operand(self)?;
        let mut length = 0;
        while let Some(make) = join(self) {
            length += 1;
            if self.depth + length > MAX_DEPTH {
                return Err(self.error("the expression is nested too deeply"));
            }
            left = make(left, operand(self)?);
        }
        Ok(left)
    }

    fn or(&mut self) -> Parsed {
        self.chain(Self::and, |parser| parser.take("||").then_some(|left, right| Expression::Or(pair(left, right))))
    }

    fn and(&mut self) -> Parsed {
        self.chain(Self::relation, |parser| {
            parser.take("&&").then_some(|left, right| Expression::And(pair(left, right)))
        })
    }

    fn relation(&mut self) -> Parsed {
        self.chain(Self::sum, |parser| {
            if parser.take("==") {
                Some(|left, right| Expression::Binary(Operator::Equal, pair(left, right)))
            } else if parser.take("!=") {
                Some(|left, right| Expression::Binary(Operator::NotEqual, pair(left, right)))
            } else if parser.take("<=") {
                Some(|left, right| Expression::Binary(Operator::LessOrEqual, pair(left, right)))
            } else if parser.take(">=") {
                Some(|left, right| Expression::Binary(Operator::GreaterOrEqual, pair(left, right)))
            } else if parser.take("<") {
                Some(|left, right| Expression::Binary(Operator::Less, pair(left, right)))
            } else if parser.take(">") {
                Some(|left, right| Expression::Binary(Operator::Greater, pair(left, right)))
            } else if parser.take_name("in") {
                Some(|left, right| Expression::Binary(Operator::In, pair(left, right)))
            } else {
                None
            }
        })
    }

    fn sum(&mut self) -> Parsed {
        self.chain(Self::product, |parser| {
            if parser.take("+") {
                Some(|left, right| Expression::Binary(Operator::Add, pair(left, right)))
            } else if parser.take("-") {
                Some(|left, right| Expression::Binary(Operator::Subtract, pair(left, right)))
            } else {
                None
            }
        })
    }

    fn product(&mut self) -> Parsed {
        self.chain(Self::unary, |parser| {
            if parser.take("*") {
                Some(|left, right| Expression::Binary(Operator::Multiply, pair(left, right)))
            } else if parser.take("/") {
                Some(|left, right| Expression::Binary(Operator::Divide, pair(left, right)))
            } else if parser.take("%") {
                Some(|left, right| Expression::Binary(Operator::Modulo, pair(left, right)))
            } else {
                None
            }
        })
    }

    fn unary(&mut self) -> Parsed {
        if self.take("!") {
            return self.deeper(|parser| Ok(Expression::Not(Box::new(parser.unary()?))));
        }
        if !self.take("-") {
            return self.postfix();
        }
        // The smallest integer has no positive counterpart.
        if let Some(Word::Int(digits)) = self.tokens.get(self.next).map(|token| &token.word)
            && *digits == 1 << 63
        {
            self.next += 1;
            return Ok(Expression::Int(i64::MIN));
        }
        self.deeper(|parser| Ok(Expression::Negate(Box::new(parser.unary()?))))
    }

    fn postfix(&mut self) -> Parsed {
        let mut expression = self.primary()?;
        let mut length = 0;
        loop {
            length += 1;
            if self.depth + length > MAX_DEPTH {
                return Err(self.error("the expression is nested too deeply"));
            }
            if self.take(".") {
                if self.take("?") {
                    return Err(self.error("optional values are not supported by this API"));
                }
                let name = self.name()?;
                expression = if self.take("(") {
                    self.method(expression, &name)?
                } else {
                    Expression::Member(Box::new(expression), name)
                };
            } else if self.take("[") {
                let index = self.expression()?;
                self.expect("]")?;
                expression = Expression::Index(pair(expression, index));
            } else {
                return Ok(expression);
            }
        }
    }

    fn take_name(&mut self, name: &str) -> bool {
        let found = self.tokens.get(self.next).is_some_and(|token| token.word == Word::Name(name.to_owned()));
        self.next += usize::from(found);
        found
    }

    fn name(&mut self) -> Result<String, String> {
        match self.tokens.get(self.next).map(|token| &token.word) {
            Some(Word::Name(name)) => {
                self.next += 1;
                Ok(name.clone())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// The expressions up to a closing sign.
    fn list(&mut self, end: &'static str) -> Result<Vec<Expression>, String> {
        let mut items = Vec::new();
        while !self.take(end) {
            items.push(self.expression()?);
            if !self.take(",") {
                self.expect(end)?;
                break;
            }
        }
        Ok(items)
    }

    fn primary(&mut self) -> Parsed {
        if self.take("(") {
            let inner = self.expression()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.take("[") {
            return Ok(Expression::List(self.list("]")?));
        }
        if self.take("{") {
            return self.map();
        }
        let Some(token) = self.tokens.get(self.next) else { return Err(self.unexpected()) };
        let expression = match &token.word {
            Word::Text(text) => Expression::Text(text.clone()),
            Word::Double(number) => Expression::Double(*number),
            Word::Int(digits) => match i64::try_from(*digits) {
                Ok(number) => Expression::Int(number),
                Err(_) => return Err(self.error("invalid int literal")),
            },
            Word::Name(name) => {
                self.next += 1;
                return self.named(name);
            }
            Word::Sign(_) => return Err(self.unexpected()),
        };
        self.next += 1;
        Ok(expression)
    }

    fn map(&mut self) -> Parsed {
        let mut entries = Vec::new();
        while !self.take("}") {
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, self.expression()?));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Expression::Map(entries))
    }

    fn named(&mut self, name: &str) -> Parsed {
        match name {
            "true" => return Ok(Expression::Bool(true)),
            "false" => return Ok(Expression::Bool(false)),
            "null" => return Ok(Expression::Null),
            _ => {}
        }
        if !self.take("(") {
            return Ok(Expression::Name(name.to_owned()));
        }
        let mut arguments = self.list(")")?;
        if name == "has" {
            return match (arguments.len(), arguments.pop()) {
                (1, Some(Expression::Member(of, field))) => Ok(Expression::Has(of, field)),
                _ => Err(self.error("invalid argument to has() macro")),
            };
        }
        self.call(name, arguments, false)
    }

    fn method(&mut self, of: Expression, name: &str) -> Parsed {
        let arguments = self.list(")")?;
        let kind = match name {
            "all" => Macro::All,
            "exists" => Macro::Exists,
            "exists_one" => Macro::ExistsOne,
            "map" => Macro::Map,
            "filter" => Macro::Filter,
            _ => {
                let mut all = vec![of];
                all.extend(arguments);
                return self.call(name, all, true);
            }
        };
        let mut arguments = arguments.into_iter();
        let (Some(Expression::Name(variable)), Some(second)) = (arguments.next(), arguments.next()) else {
            return Err(self.error("argument must be a simple name"));
        };
        let (condition, body) = match (arguments.next(), arguments.next()) {
            (None, _) => (None, second),
            (Some(body), None) if kind == Macro::Map => (Some(second), body),
            _ => return Err(self.error(&format!("wrong number of arguments of {name}()"))),
        };
        Ok(Expression::Over(Box::new(Comprehension { kind, range: of, variable, condition, body })))
    }

    fn call(&mut self, name: &str, arguments: Vec<Expression>, is_method: bool) -> Parsed {
        match Function::find(name, arguments.len(), is_method) {
            Some(function) => Ok(Expression::Call(function, arguments)),
            None => Err(self.error(&format!("function '{name}' is not supported by this API"))),
        }
    }
}
