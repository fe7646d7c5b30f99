//! Functions and methods.

use std::borrow::Cow;
use std::rc::Rc;

use super::evaluate::EvaluationError;
use super::value::Val;
use crate::pattern::Pattern;
use crate::text::show_float;

/// A function. A method has its receiver as the first argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Size,
    StartsWith,
    EndsWith,
    Contains,
    Matches,
    LowerAscii,
    UpperAscii,
    Trim,
    Split,
    Join,
    Int,
    Double,
    Text,
    Dyn,
    Type,
}

/// Name, number of arguments with the receiver, whether it is called as a function, whether as a method.
const FUNCTIONS: [(&str, Function, usize, bool, bool); 16] = [
    ("size", Function::Size, 1, true, true),
    ("startsWith", Function::StartsWith, 2, false, true),
    ("endsWith", Function::EndsWith, 2, false, true),
    ("contains", Function::Contains, 2, false, true),
    ("matches", Function::Matches, 2, true, true),
    ("lowerAscii", Function::LowerAscii, 1, false, true),
    ("upperAscii", Function::UpperAscii, 1, false, true),
    ("trim", Function::Trim, 1, false, true),
    ("split", Function::Split, 2, false, true),
    ("join", Function::Join, 1, false, true),
    ("join", Function::Join, 2, false, true),
    ("int", Function::Int, 1, true, false),
    ("double", Function::Double, 1, true, false),
    ("string", Function::Text, 1, true, false),
    ("dyn", Function::Dyn, 1, true, false),
    ("type", Function::Type, 1, true, false),
];

impl Function {
    pub(crate) fn find(name: &str, arguments: usize, is_method: bool) -> Option<Self> {
        FUNCTIONS
            .iter()
            .find(|(known, _, count, as_function, as_method)| {
                *known == name && *count == arguments && if is_method { *as_method } else { *as_function }
            })
            .map(|(_, function, ..)| *function)
    }

    /// The name in messages.
    pub(crate) fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|(_, function, ..)| *function == self).map_or("", |(name, ..)| name)
    }
}

type Called<'a> = Result<Val<'a>, EvaluationError>;

pub(super) fn call<'a>(function: Function, arguments: &[Val<'a>]) -> Called<'a> {
    match (function, arguments) {
        (Function::Size, [value]) => value.size().map(Val::Int).ok_or(EvaluationError::NoOverload),
        (Function::Dyn, [value]) => Ok(value.clone()),
        (Function::Type, [value]) => Ok(Val::Type(value.type_name())),
        (Function::Int, [value]) => to_int(value),
        (Function::Double, [value]) => to_double(value),
        (Function::Text, [value]) => to_text(value),
        (Function::Join, [list]) => join(list, ""),
        (Function::Join, [list, Val::Text(separator)]) => join(list, separator),
        (_, [Val::Text(text)]) => of_text(function, text),
        (_, [Val::Text(text), Val::Text(other)]) => of_texts(function, text, other),
        _ => Err(EvaluationError::NoOverload),
    }
}

fn of_text<'a>(function: Function, text: &str) -> Called<'a> {
    let result = match function {
        Function::LowerAscii => text.to_ascii_lowercase(),
        Function::UpperAscii => text.to_ascii_uppercase(),
        Function::Trim => text.trim().to_owned(),
        _ => return Err(EvaluationError::NoOverload),
    };
    Ok(Val::Text(Cow::Owned(result)))
}

fn of_texts<'a>(function: Function, text: &str, other: &str) -> Called<'a> {
    Ok(match function {
        Function::StartsWith => Val::Bool(text.starts_with(other)),
        Function::EndsWith => Val::Bool(text.ends_with(other)),
        Function::Contains => Val::Bool(text.contains(other)),
        Function::Matches => match Pattern::read(other) {
            Ok(pattern) => Val::Bool(pattern.matches(text)),
            Err(error) => return Err(EvaluationError::Other(format!("error parsing regexp: {error}"))),
        },
        Function::Split => {
            // An empty separator splits between characters, without empty parts at the ends.
            let parts = text.split(other).map(str::to_owned).filter(|part| !other.is_empty() || !part.is_empty());
            Val::List(Rc::new(parts.map(|part| Val::Text(Cow::Owned(part))).collect()))
        }
        _ => return Err(EvaluationError::NoOverload),
    })
}

fn join<'a>(list: &Val<'a>, separator: &str) -> Called<'a> {
    let items = list.items().ok_or(EvaluationError::NoOverload)?;
    let mut texts = Vec::with_capacity(items.len());
    for item in &items {
        let Val::Text(text) = item else { return Err(EvaluationError::NoOverload) };
        texts.push(text.as_ref());
    }
    Ok(Val::Text(Cow::Owned(texts.join(separator))))
}

fn unconvertible(from: &str, to: &str) -> EvaluationError {
    EvaluationError::Other(format!("type conversion error from '{from}' to '{to}'"))
}

fn to_int<'a>(value: &Val<'a>) -> Called<'a> {
    match value {
        Val::Int(_) => Ok(value.clone()),
        // Both bounds are exact floats, and strictly between them every truncated float is an i64.
        Val::Double(number) if number.abs() < 9_223_372_036_854_775_808.0 => Ok(Val::Int(number.trunc() as i64)),
        Val::Double(_) => Err(EvaluationError::Other("integer overflow".to_owned())),
        Val::Text(text) => text.parse().map(Val::Int).map_err(|_| unconvertible("string", "int")),
        _ => Err(EvaluationError::NoOverload),
    }
}

fn to_double<'a>(value: &Val<'a>) -> Called<'a> {
    match value {
        Val::Double(_) => Ok(value.clone()),
        Val::Int(number) => Ok(Val::Double(*number as f64)),
        Val::Text(text) => text.parse().map(Val::Double).map_err(|_| unconvertible("string", "double")),
        _ => Err(EvaluationError::NoOverload),
    }
}

fn to_text<'a>(value: &Val<'a>) -> Called<'a> {
    let text = match value {
        Val::Text(_) => return Ok(value.clone()),
        Val::Int(number) => number.to_string(),
        Val::Bool(flag) => flag.to_string(),
        Val::Double(number) => show_float(*number),
        _ => return Err(EvaluationError::NoOverload),
    };
    Ok(Val::Text(Cow::Owned(text)))
}
