//! JSON pointers as the API server reads them: leniently.

use std::borrow::Cow;

use serde_json::Value;

use crate::error::PatchError;

/// A pointer, split into what leads to the parent and the last step.
#[derive(Debug)]
pub(crate) struct Pointer<'a> {
    text: &'a str,
    parents: Vec<Cow<'a, str>>,
    last: Option<Cow<'a, str>>,
}

impl<'a> Pointer<'a> {
    /// Whatever comes before the first slash is ignored; a text without a slash leads nowhere (`last` is `None`).
    pub(crate) fn read(text: &'a str) -> Self {
        let mut parents: Vec<Cow<'a, str>> = text.split('/').skip(1).map(unescape).collect();
        let last = parents.pop();
        Self { text, parents, last }
    }

    /// Whether this is the whole document.
    pub(crate) fn is_root(&self) -> bool {
        self.text.is_empty()
    }

    /// How many levels deep the place is.
    pub(crate) fn depth(&self) -> usize {
        self.parents.len() + 1
    }

    /// The last step.
    pub(crate) fn last(&self) -> Result<&str, PatchError> {
        self.last.as_deref().ok_or_else(|| self.missing())
    }

    /// The object or list that holds the place.
    pub(crate) fn parent<'v>(&self, document: &'v mut Value) -> Result<&'v mut Value, PatchError> {
        let mut here = document;
        for step in &self.parents {
            let next = match here {
                Value::Object(members) => members.get_mut(step.as_ref()),
                Value::Array(items) => match existing_index(step, items.len()) {
                    Some(index) => items.get_mut(index),
                    None => None,
                },
                _ => None,
            };
            here = next.ok_or_else(|| self.missing())?;
        }
        match here {
            Value::Object(_) | Value::Array(_) => Ok(here),
            _ => Err(self.missing()),
        }
    }

    /// The error of a place that is not there.
    pub(crate) fn missing(&self) -> PatchError {
        PatchError::Unfitting(format!("the document has no {:?}", self.text))
    }
}

fn unescape(step: &str) -> Cow<'_, str> {
    if step.contains('~') { Cow::Owned(step.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(step) }
}

/// The index of an element that is there. Negative ones count from the end.
pub(crate) fn existing_index(step: &str, length: usize) -> Option<usize> {
    from_the_end(step.parse().ok()?, length).filter(|index| *index < length)
}

/// The index before which an element is added: `-` and -1 are the end.
pub(crate) fn insertion_index(step: &str, length: usize) -> Option<usize> {
    if step == "-" {
        return Some(length);
    }
    from_the_end(step.parse().ok()?, length + 1).filter(|index| *index <= length)
}

fn from_the_end(index: i64, length: usize) -> Option<usize> {
    let length = i64::try_from(length).ok()?;
    usize::try_from(if index < 0 { length.checked_add(index)? } else { index }).ok()
}
