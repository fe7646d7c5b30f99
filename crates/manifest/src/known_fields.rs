//! Fields that the structs of a Kubernetes library do not know.
//!
//! Those structs skip what they do not know, but they tell their deserializer the names they do know. [`Watched`]
//! hands a value through to such a struct and notes every key that is not among them.

use std::cell::RefCell;
use std::rc::Rc;

use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};

use crate::error::Finding;
use crate::limits::MAX_ERRORS;
use crate::similar::did_you_mean;

/// A value on its way into a struct.
#[derive(Clone)]
pub(crate) struct Watched<'a> {
    value: &'a Value,
    path: String,
    found: Rc<RefCell<Vec<Finding>>>,
}

impl<'a> Watched<'a> {
    /// A whole document.
    pub(crate) fn root(value: &'a Value) -> Self {
        Self::at(value, String::new())
    }

    /// A part of a document, at this path.
    pub(crate) fn at(value: &'a Value, path: String) -> Self {
        Self { value, path, found: Rc::default() }
    }

    /// Where the unknown fields are noted.
    pub(crate) fn found(&self) -> Rc<RefCell<Vec<Finding>>> {
        Rc::clone(&self.found)
    }

    fn child(&self, value: &'a Value, path: String) -> Self {
        Self { value, path, found: self.found() }
    }

    fn field(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    fn note_unknown(&self, known: &'static [&'static str]) {
        let Value::Object(fields) = self.value else { return };
        let mut found = self.found.borrow_mut();
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            if found.len() < MAX_ERRORS {
                found.push(Finding::unknown(self.field(name), name, did_you_mean(name, known.iter().copied())));
            }
        }
    }
}

impl<'de> Deserializer<'de> for Watched<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(_) => self.deserialize_map(visitor),
            Value::Array(_) => self.deserialize_seq(visitor),
            plain => plain.deserialize_any(visitor),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Array(items) => visitor.visit_seq(Elements { next: 0, items, of: self }),
            other => other.deserialize_seq(visitor),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.value {
            Value::Object(fields) => visitor.visit_map(Entries { entries: fields.iter(), current: None, of: self }),
            other => other.deserialize_map(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.note_unknown(known);
        self.deserialize_map(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct enum identifier ignored_any
    }
}

struct Elements<'a> {
    items: &'a [Value],
    next: usize,
    of: Watched<'a>,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        let path = format!("{}[{}]", self.of.path, self.next);
        self.next += 1;
        seed.deserialize(self.of.child(item, path)).map(Some)
    }
}

struct Entries<'a> {
    entries: serde_json::map::Iter<'a>,
    current: Option<(&'a String, &'a Value)>,
    of: Watched<'a>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, Error> {
        self.current = self.entries.next();
        let Some((key, _)) = self.current else { return Ok(None) };
        let key: StringDeserializer<Error> = key.clone().into_deserializer();
        seed.deserialize(key).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        // A key always comes before its value; without one there is nothing to hand out but null.
        let (path, value) =
            self.current.map_or((String::new(), &Value::Null), |(key, value)| (self.of.field(key), value));
        seed.deserialize(self.of.child(value, path))
    }
}
