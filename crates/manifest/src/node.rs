//! Values built from a parser's events, within limits, with the path of whatever goes wrong.

use std::cell::RefCell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::error::{Finding, Problem};
use crate::limits::{MAX_DEPTH, MAX_EXPANDED_BYTES, MAX_NODES, MAX_STRING_BYTES};
use crate::parse::DuplicateKeys;
use crate::words::cut;

/// Beyond this a float cannot stand for an integer that any Kubernetes field holds: it is an integer of more than
/// 64 bits that the parser had to round.
const MAX_FLOAT: f64 = 18_446_744_073_709_551_616.0;

/// What the values of one document share while they are built.
pub(crate) struct Building {
    duplicate_keys: DuplicateKeys,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Where we are; left as it is when something fails, which makes it the place of the failure.
    path: Vec<Step>,
    nodes: usize,
    bytes: usize,
    finding: Option<Finding>,
}

enum Step {
    Key(String),
    Index(usize),
}

impl Building {
    /// Starts with what earlier documents of the file have used up.
    pub(crate) fn new(duplicate_keys: DuplicateKeys, nodes: usize, bytes: usize) -> Self {
        Self { duplicate_keys, state: RefCell::new(State { nodes, bytes, ..State::default() }) }
    }

    /// Values and bytes of text so far.
    pub(crate) fn used(&self) -> (usize, usize) {
        let state = self.state.borrow();
        (state.nodes, state.bytes)
    }

    /// What we refused, if it was us and not the parser.
    pub(crate) fn finding(&self) -> Option<Finding> {
        self.state.borrow_mut().finding.take()
    }

    /// Where reading stopped.
    pub(crate) fn path(&self) -> String {
        path_text(&self.state.borrow().path)
    }

    /// Makes one value; its children come through here again.
    pub(crate) fn root(&self) -> Node<'_> {
        Node { building: self, depth: 0 }
    }

    fn refuse<E: Error>(&self, problem: Problem, hint: Option<&str>) -> E {
        let field = self.path();
        let refused = E::custom(&problem);
        self.state.borrow_mut().finding = Some(Finding { field, problem, hint: hint.map(str::to_owned) });
        refused
    }

    fn too_much<E: Error>(&self, what: &str, limit: usize) -> E {
        self.refuse(Problem::TooMuch { what: what.to_owned(), limit }, None)
    }

    fn count<E: Error>(&self, text: usize) -> Result<(), E> {
        let (nodes, bytes) = {
            let mut state = self.state.borrow_mut();
            state.nodes += 1;
            state.bytes += text;
            (state.nodes, state.bytes)
        };
        if text > MAX_STRING_BYTES {
            return Err(self.too_much("string length in bytes", MAX_STRING_BYTES));
        }
        if nodes > MAX_NODES {
            return Err(self.too_much("number of values with aliases written out", MAX_NODES));
        }
        if bytes > MAX_EXPANDED_BYTES {
            return Err(self.too_much("size in bytes with aliases written out", MAX_EXPANDED_BYTES));
        }
        Ok(())
    }

    fn within<T, E>(&self, step: Step, build: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.state.borrow_mut().path.push(step);
        let built = build();
        if built.is_ok() {
            self.state.borrow_mut().path.pop();
        }
        built
    }
}

fn path_text(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Index(index) => text.push_str(&format!("[{index}]")),
            Step::Key(key) if !is_plain(key) => text.push_str(&format!("[{:?}]", cut(key))),
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.push_str(&format!(".{key}")),
        }
    }
    text
}

/// Keys such as `app.kubernetes.io/name` need quotes to be read.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.len() <= 64 && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// The seed and visitor of one value.
#[derive(Clone, Copy)]
pub(crate) struct Node<'b> {
    building: &'b Building,
    depth: usize,
}

impl<'b> Node<'b> {
    fn child<E: Error>(self) -> Result<Node<'b>, E> {
        if self.depth >= MAX_DEPTH {
            return Err(self.building.too_much("nesting depth", MAX_DEPTH));
        }
        Ok(Node { building: self.building, depth: self.depth + 1 })
    }

    fn plain<E: Error>(self, value: impl Into<Value>) -> Result<Value, E> {
        self.building.count(0)?;
        Ok(value.into())
    }
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object, a list, text, a number, true, false or null")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        self.plain(value)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        self.plain(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        self.plain(value)
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        match Number::from_f64(value) {
            Some(number) if value.abs() < MAX_FLOAT => self.plain(number),
            _ => {
                let (expected, found) = ("a number of at most 64 bits".to_owned(), format!("the number {value}"));
                Err(self
                    .building
                    .refuse(Problem::Unfitting { expected, found }, Some("put it in quotes if it is text")))
            }
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.building.count(value.len())?;
        Ok(Value::from(value))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.building.count(value.len())?;
        Ok(Value::from(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        self.plain(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        self.plain(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let child = self.child()?;
        self.building.count(0)?;
        let mut items = Vec::new();
        while let Some(item) = self.building.within(Step::Index(items.len()), || list.next_element_seed(child))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let child = self.child()?;
        self.building.count(0)?;
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.building.count(key.len())?;
            let value = self.building.within(Step::Key(key.clone()), || {
                if self.building.duplicate_keys == DuplicateKeys::Refuse && fields.contains_key(&key) {
                    let problem = Problem::DuplicateKey { key: cut(&key) };
                    return Err(self.building.refuse(problem, Some("remove one of the two")));
                }
                map.next_value_seed(child)
            })?;
            fields.insert(key, value);
        }
        Ok(Value::Object(fields))
    }
}
