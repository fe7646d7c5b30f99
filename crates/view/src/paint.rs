//! Colour, or none.

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Plain text.
    Plain,
    /// With the sequences terminals understand.
    Coloured,
}

/// Colours by their code.
pub(crate) const RED: u8 = 31;
pub(crate) const GREEN: u8 = 32;
pub(crate) const YELLOW: u8 = 33;
pub(crate) const BLUE: u8 = 94;
/// What could have a colour and has none is wrapped all the same.
pub(crate) const NONE: u8 = 0;

impl Paint {
    /// The text in a colour.
    pub(crate) fn text(self, code: u8, text: &str) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Coloured => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }

    /// A status icon in its colour.
    pub(crate) fn icon(self, icon: &str) -> String {
        let code = match icon {
            "◌" => BLUE,
            "◷" | "?" => YELLOW,
            "⚠" | "✖" => RED,
            "✔" => GREEN,
            _ => NONE,
        };
        self.text(code, icon)
    }

    /// The role of a ReplicaSet in its colour.
    pub(crate) fn tag(self, tag: &str) -> String {
        self.text(tag_code(tag), tag)
    }

    /// A name, marked while its object is under way.
    pub(crate) fn running_name(self, name: &str, status: &str) -> String {
        self.text(if matches!(status, "Pending" | "Running") { BLUE } else { NONE }, name)
    }
}

pub(crate) fn tag_code(tag: &str) -> u8 {
    match tag {
        "stable" | "active" => GREEN,
        "canary" => YELLOW,
        "preview" | "ping" | "pong" => BLUE,
        _ => NONE,
    }
}

/// How many columns a text takes, colour sequences not counted.
pub(crate) fn width(text: &str) -> usize {
    let mut columns = 0;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            // A sequence of ours: up to and with the letter that ends it.
            characters.by_ref().find(char::is_ascii_alphabetic);
        } else {
            columns += 1;
        }
    }
    columns
}
