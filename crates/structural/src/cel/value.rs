//! Values of expressions.

use std::borrow::Cow;
use std::rc::Rc;

use serde_json::Value;

use super::unescape;
use crate::node::{Kind, Node};

/// A value. Lists and objects of the document stay where they are, with the schema that says how to compare them.
#[derive(Clone, Debug)]
pub(crate) enum Val<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
    Text(Cow<'a, str>),
    Json(&'a Value, Option<&'a Node>),
    List(Rc<Vec<Val<'a>>>),
    Map(Rc<Vec<(Val<'a>, Val<'a>)>>),
    Type(&'static str),
}

impl<'a> Val<'a> {
    /// A value of the document.
    pub(crate) fn of(value: &'a Value, node: Option<&'a Node>) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(flag) => Self::Bool(*flag),
            Value::String(text) => Self::Text(Cow::Borrowed(text)),
            Value::Number(number) => {
                let is_double = node.is_some_and(|node| node.kind == Some(Kind::Number));
                match crate::text::whole(number) {
                    Some(whole) if !is_double => Self::Int(whole),
                    _ => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
                }
            }
            Value::Array(_) | Value::Object(_) => Self::Json(value, node),
        }
    }

    /// The member of an object. Null members count as absent.
    pub(crate) fn member(&self, name: &str) -> Option<Val<'a>> {
        match self {
            Self::Json(Value::Object(members), node) => {
                let present = |name: &str| members.get(name).filter(|member| !member.is_null());
                let found = present(name).map(|member| (name.to_owned(), member));
                let (name, member) = found.or_else(|| {
                    let name = unescape(name);
                    let member = present(&name)?;
                    Some((name, member))
                })?;
                Some(Self::of(member, node.and_then(|node| node.member(&name))))
            }
            Self::Map(entries) => entries
                .iter()
                .find(|(key, _)| matches!(key, Val::Text(text) if text.as_ref() == name))
                .map(|(_, value)| value.clone()),
            _ => None,
        }
    }

    /// The elements of a list.
    pub(crate) fn items(&self) -> Option<Vec<Val<'a>>> {
        match self {
            Self::Json(Value::Array(items), node) => {
                let schema = node.and_then(|node| node.items.as_deref());
                Some(items.iter().map(|item| Self::of(item, schema)).collect())
            }
            Self::List(items) => Some(items.as_ref().clone()),
            _ => None,
        }
    }

    /// The members of a map or object.
    pub(crate) fn entries(&self) -> Option<Vec<(Val<'a>, Val<'a>)>> {
        match self {
            Self::Json(Value::Object(members), node) => Some(
                members
                    .iter()
                    .filter(|(_, member)| !member.is_null())
                    .map(|(name, member)| {
                        let schema = node.and_then(|node| node.member(name));
                        (Self::Text(Cow::Borrowed(name.as_str())), Self::of(member, schema))
                    })
                    .collect(),
            ),
            Self::Map(entries) => Some(entries.as_ref().clone()),
            _ => None,
        }
    }

    /// What a macro goes over: the elements of a list, the keys of a map.
    pub(crate) fn range(&self) -> Option<Vec<Val<'a>>> {
        self.items().or_else(|| Some(self.entries()?.into_iter().map(|(key, _)| key).collect()))
    }

    pub(crate) fn size(&self) -> Option<i64> {
        let length = match self {
            Self::Text(text) => text.chars().count(),
            Self::Json(Value::Array(items), _) => items.len(),
            Self::Json(Value::Object(_), _) => self.entries()?.len(),
            Self::List(items) => items.len(),
            Self::Map(entries) => entries.len(),
            _ => return None,
        };
        i64::try_from(length).ok()
    }

    /// The name that `type()` gives.
    pub(crate) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Json(Value::Array(_), _) | Self::List(_) => "list",
            Self::Json(..) | Self::Map(_) => "map",
            Self::Type(_) => "type",
        }
    }
}
