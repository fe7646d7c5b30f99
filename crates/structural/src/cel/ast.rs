//! Expressions.

use super::functions::Function;

/// An operator with two operands that are both always evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

impl Operator {
    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Equal => "_==_",
            Self::NotEqual => "_!=_",
            Self::Less => "_<_",
            Self::LessOrEqual => "_<=_",
            Self::Greater => "_>_",
            Self::GreaterOrEqual => "_>=_",
            Self::In => "@in",
            Self::Add => "_+_",
            Self::Subtract => "_-_",
            Self::Multiply => "_*_",
            Self::Divide => "_/_",
            Self::Modulo => "_%_",
        }
    }
}

/// A macro over a list or the keys of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Macro {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
}

/// A macro with its parts.
#[derive(Clone, Debug)]
pub(crate) struct Comprehension {
    pub(crate) kind: Macro,
    pub(crate) range: Expression,
    pub(crate) variable: String,
    /// The condition of a `map` with three arguments.
    pub(crate) condition: Option<Expression>,
    pub(crate) body: Expression,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) enum Expression {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(String),
    Name(String),
    Member(Box<Expression>, String),
    Index(Box<(Expression, Expression)>),
    Has(Box<Expression>, String),
    Not(Box<Expression>),
    Negate(Box<Expression>),
    And(Box<(Expression, Expression)>),
    Or(Box<(Expression, Expression)>),
    Binary(Operator, Box<(Expression, Expression)>),
    Choice(Box<(Expression, Expression, Expression)>),
    List(Vec<Expression>),
    Map(Vec<(Expression, Expression)>),
    Call(Function, Vec<Expression>),
    Over(Box<Comprehension>),
}

impl Expression {
    /// Whether a name occurs. The depth of expressions is bounded by the parser.
    pub(crate) fn mentions(&self, name: &str) -> bool {
        match self {
            Self::Null | Self::Bool(_) | Self::Int(_) | Self::Double(_) | Self::Text(_) => false,
            Self::Name(found) => found == name,
            Self::Member(of, _) | Self::Has(of, _) | Self::Not(of) | Self::Negate(of) => of.mentions(name),
            Self::Index(pair) | Self::And(pair) | Self::Or(pair) | Self::Binary(_, pair) => {
                pair.0.mentions(name) || pair.1.mentions(name)
            }
            Self::Choice(parts) => parts.0.mentions(name) || parts.1.mentions(name) || parts.2.mentions(name),
            Self::List(items) | Self::Call(_, items) => items.iter().any(|item| item.mentions(name)),
            Self::Map(entries) => entries.iter().any(|(key, value)| key.mentions(name) || value.mentions(name)),
            Self::Over(over) => {
                over.range.mentions(name)
                    || over.body.mentions(name)
                    || over.condition.as_ref().is_some_and(|condition| condition.mentions(name))
            }
        }
    }
}
