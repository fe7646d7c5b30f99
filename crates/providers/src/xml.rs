//! As much XML as answers of AWS need: elements and text.

/// One element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Element {
    /// Its name, without a prefix.
    pub name: String,
    /// Its text.
    pub text: String,
    /// What is inside.
    pub children: Vec<Element>,
}

/// How deep elements may be nested, and how many there may be.
const MAX_DEPTH: usize = 32;
const MAX_ELEMENTS: usize = 500_000;

impl Element {
    /// The first child of a name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// The `member` elements of a child, which is how AWS writes lists.
    pub fn members(&self, name: &str) -> &[Self] {
        self.child(name).map_or(&[], |list| &list.children)
    }

    /// The text of the first element of a name anywhere below, empty when there is none.
    pub fn text_of(&self, name: &str) -> String {
        self.find(name).map(|found| found.text.clone()).unwrap_or_default()
    }

    /// The first element of a name anywhere below.
    pub fn find(&self, name: &str) -> Option<&Self> {
        if self.name == name {
            return Some(self);
        }
        self.children.iter().find_map(|child| child.find(name))
    }
}

/// The outermost element.
pub fn parse(text: &str) -> Result<Element, String> {
    let bad = |what: &str| format!("the answer is no XML: {what}");
    let mut open: Vec<Element> = vec![Element::default()];
    let mut rest = text;
    let mut count = 0;
    while let Some(start) = rest.find('<') {
        let top = open.last_mut().ok_or_else(|| bad("unexpected end tag"))?;
        top.text.push_str(&unescape(rest[..start].trim()));
        let after = &rest[start + 1..];
        let end = after.find('>').ok_or_else(|| bad("unclosed tag"))?;
        let tag = &after[..end];
        rest = &after[end + 1..];
        if tag.starts_with(['?', '!']) {
            continue;
        }
        if let Some(name) = tag.strip_prefix('/') {
            let done = open.pop().filter(|done| done.name == local(name.trim()) && !open.is_empty());
            let done = done.ok_or_else(|| bad("tags do not match"))?;
            if let Some(parent) = open.last_mut() {
                parent.children.push(done);
            }
            continue;
        }
        count += 1;
        if count > MAX_ELEMENTS || open.len() > MAX_DEPTH {
            return Err(bad("too large or too deep"));
        }
        let name = tag.trim_end_matches('/').split_whitespace().next().unwrap_or_default();
        let element = Element { name: local(name).to_owned(), ..Element::default() };
        if !tag.ends_with('/') {
            open.push(element);
        } else if let Some(parent) = open.last_mut() {
            parent.children.push(element);
        }
    }
    match (open.pop(), open.is_empty()) {
        (Some(mut root), true) if root.children.len() == 1 => Ok(root.children.remove(0)),
        _ => Err(bad("tags do not match")),
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

fn unescape(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let named = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")];
    named.iter().fold(text.to_owned(), |text, (name, sign)| text.replace(name, sign))
}
