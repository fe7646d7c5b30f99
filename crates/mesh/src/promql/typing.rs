//! Types, checked before anything is carried out.

use super::ast::{Binary, Expr};
use super::functions::Function;

/// What an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Scalar,
    Vector,
    Range,
    Text,
}

impl Type {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Scalar => "scalar",
            Self::Vector => "instant vector",
            Self::Range => "range vector",
            Self::Text => "string",
        }
    }
}

/// The type of an expression whose parts were checked.
pub(super) fn type_of(expr: &Expr) -> Type {
    match expr {
        Expr::Number(_) => Type::Scalar,
        Expr::Text(_) => Type::Text,
        Expr::Selector(_) | Expr::Aggregation(_) => Type::Vector,
        Expr::Range(..) => Type::Range,
        Expr::Kept(inner) | Expr::Negated(inner) => type_of(inner),
        Expr::Binary(binary) if type_of(&binary.left) == Type::Scalar => type_of(&binary.right),
        Expr::Binary(_) => Type::Vector,
        Expr::Call(Function::Scalar, _) => Type::Scalar,
        Expr::Call(..) => Type::Vector,
    }
}

pub(super) fn is_number_or_vector(expr: &Expr) -> bool {
    matches!(type_of(expr), Type::Scalar | Type::Vector)
}

pub(super) fn check_binary(binary: &Binary) -> Result<(), String> {
    let (left, right) = (type_of(&binary.left), type_of(&binary.right));
    if !is_number_or_vector(&binary.left) || !is_number_or_vector(&binary.right) {
        return Err("binary expression must contain only scalar and instant vector types".to_owned());
    }
    let both = |wanted| left == wanted && right == wanted;
    if binary.to_bool && !binary.operator.is_comparison() {
        return Err("bool modifier can only be used on comparison operators".to_owned());
    }
    if binary.operator.is_comparison() && both(Type::Scalar) && !binary.to_bool {
        return Err("comparisons between scalars must use BOOL modifier".to_owned());
    }
    if binary.operator.is_set() && !both(Type::Vector) {
        return Err("set operators `and`, `or` and `unless` need vectors on both sides".to_owned());
    }
    if binary.matching.is_some() && !both(Type::Vector) {
        return Err("vector matching only allowed between instant vectors".to_owned());
    }
    Ok(())
}

pub(super) fn check_aggregated(of: &Expr) -> Result<(), String> {
    expect(of, Type::Vector, "aggregation expression")
}

pub(super) fn check_call(function: Function, arguments: &[Expr]) -> Result<(), String> {
    let (wanted, required) = function.arguments();
    let name = function.name();
    if arguments.len() < required || arguments.len() > wanted.len() {
        let given = arguments.len();
        return Err(format!("expected {required} argument(s) in call to {name:?}, got {given}"));
    }
    arguments
        .iter()
        .zip(wanted)
        .try_for_each(|(one, wanted)| expect(one, *wanted, &format!("call to function {name:?}")))
}

fn expect(expr: &Expr, wanted: Type, place: &str) -> Result<(), String> {
    let found = type_of(expr);
    if found == wanted {
        return Ok(());
    }
    Err(format!("expected type {} in {place}, got {}", wanted.name(), found.name()))
}
