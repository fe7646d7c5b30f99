//! Plain functions: their arguments are evaluated and checked once more, for what was not known before.

use super::{Evaluated, Machine, fail};
use crate::ast::Id;
use crate::builtins::{self, predicate_shape};
use crate::go_text;
use crate::value::Value;

impl Machine<'_> {
    pub(super) fn call(&mut self, name: &str, arguments: &[Id]) -> Evaluated {
        if predicate_shape(name).is_some() {
            return self.predicate_call(name, arguments);
        }
        let given = arguments.iter().map(|argument| self.visit(*argument)).collect::<Result<Vec<_>, _>>()?;
        let Some(function) = builtins::plain(name, self.world.result.is_some()) else {
            return fail(format!("unknown name {name}"));
        };
        for (index, value) in given.iter().enumerate() {
            let takes = function.takes[index.min(function.takes.len() - 1)];
            if !takes.accepts(&value.static_type()) && !is_nil_list(name, value) {
                return fail(builtins::refusal(name, takes, &value.go_type()));
            }
        }
        match name {
            "asInt" | "asFloat" | "isNaN" | "isInf" | "abs" | "ceil" | "floor" | "round" | "int" | "float" | "max"
            | "min" | "mean" | "median" | "bitand" | "bitor" | "bitxor" | "bitnand" | "bitshl" | "bitshr"
            | "bitushr" | "bitnot" => self.number_function(name, &given),
            "trim" | "trimPrefix" | "trimSuffix" | "upper" | "lower" | "split" | "splitAfter" | "replace"
            | "repeat" | "join" | "indexOf" | "lastIndexOf" | "hasPrefix" | "hasSuffix" | "toBase64" | "fromBase64" => {
                self.text_function(name, &given)
            }
            "now" | "duration" | "date" | "timezone" => self.time_function(name, &given),
            "isNil" => Ok(Value::Bool(given[0] == Value::Nil)),
            "default" => Ok(if given[0] == Value::Nil { given[1].clone() } else { given[0].clone() }),
            "len" => length(&given[0]),
            "type" => Ok(Value::text(type_word(&given[0]))),
            "string" => self.text(go_text::plain(&given[0])),
            "toJSON" => match go_text::json(&given[0]) {
                Some(text) => self.text(text),
                None => fail(format!("json: unsupported value: {}", go_text::plain(&given[0]))),
            },
            "fromJSON" => self.parse_json(&given[0]),
            _ => self.list_function(name, given),
        }
    }

    fn parse_json(&mut self, text: &Value) -> Evaluated {
        let Value::Text(text) = text else { return Ok(Value::Nil) };
        // A parsed value takes more than its text, by a bounded factor.
        self.allot(text.len().saturating_mul(8))?;
        match serde_json::from_str::<serde_json::Value>(text) {
            Ok(json) => Ok(Value::from_json(&json)),
            Err(error) => fail(error.to_string()),
        }
    }
}

/// Functions that take a missing list for an empty one.
fn is_nil_list(name: &str, value: &Value) -> bool {
    *value == Value::Nil && matches!(name, "first" | "last" | "get")
}

fn length(value: &Value) -> Evaluated {
    let length = match value {
        Value::Text(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(list) => list.items.len(),
        Value::Map(fields) => fields.len(),
        Value::Pairs(pairs) => pairs.len(),
        other => return fail(format!("invalid argument for len (type {})", other.go_type())),
    };
    Ok(Value::Int(length as i64))
}

fn type_word(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int",
        Value::Float(_) => "float",
        Value::Text(_) => "string",
        Value::List(_) | Value::Bytes(_) => "array",
        Value::Map(_) | Value::Pairs(_) => "map",
        Value::Time(_) => "time.Time",
        Value::Duration(_) => "time.Duration",
        Value::Function(_) => "func",
    }
}
