//! Where in an object a cause is.

use std::fmt;

use crate::Cause;

/// A path that grows and shrinks while an object is walked.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    text: String,
    ends: Vec<usize>,
}

impl Path {
    pub(crate) fn root() -> Self {
        Self { text: String::new(), ends: Vec::new() }
    }

    pub(crate) fn push_name(&mut self, name: &str) {
        self.ends.push(self.text.len());
        if !self.text.is_empty() {
            self.text.push('.');
        }
        self.text.push_str(name);
    }

    pub(crate) fn push_index(&mut self, index: impl fmt::Display) {
        self.ends.push(self.text.len());
        self.text.push_str(&format!("[{index}]"));
    }

    pub(crate) fn pop(&mut self) {
        self.text.truncate(self.ends.pop().unwrap_or(0));
    }

    /// Does something at a member.
    pub(crate) fn within<T>(&mut self, name: &str, act: impl FnOnce(&mut Self) -> T) -> T {
        self.push_name(name);
        let result = act(self);
        self.pop();
        result
    }

    /// Does something at an element, or at a member of a map for which rules use brackets.
    pub(crate) fn at<T>(&mut self, index: impl fmt::Display, act: impl FnOnce(&mut Self) -> T) -> T {
        self.push_index(index);
        let result = act(self);
        self.pop();
        result
    }

    pub(crate) fn cause(&self, reason: &str, message: &str) -> Cause {
        Cause { field: self.text.clone(), reason: reason.to_owned(), message: message.to_owned() }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
