//! The live view: drawn again and again without flicker, and gone without a trace.

use std::io;

use tidegate_view::Paint;

use crate::Streams;

const ALTERNATE: &str = "\u{1b}[?1049h\u{1b}[?25l";
const RESTORE: &str = "\u{1b}[?25h\u{1b}[?1049l";

/// Whether to colour: never where it was refused, and only for people unless it was asked for.
pub(crate) fn paint(choice: &str, no_color: bool, streams: &Streams<'_>) -> Paint {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    let wanted = match choice {
        "always" => true,
        "never" => false,
        _ => streams.out_is_terminal && !is_set("NO_COLOR"),
    };
    if wanted && !no_color && !is_dumb { Paint::Coloured } else { Paint::Plain }
}

/// A place where a view is drawn again and again.
pub(crate) struct Screen {
    is_terminal: bool,
    is_open: bool,
    last: String,
}

impl Screen {
    pub(crate) fn new(streams: &Streams<'_>) -> Self {
        Self { is_terminal: streams.out_is_terminal, is_open: false, last: String::new() }
    }

    /// Draws a view in place of the last one.
    pub(crate) fn draw(&mut self, text: &str, streams: &mut Streams<'_>) -> io::Result<()> {
        if self.is_terminal {
            if !self.is_open {
                streams.out.write_all(ALTERNATE.as_bytes())?;
                self.is_open = true;
            }
            let (rows, columns) = size();
            streams.out.write_all(frame(text, rows, columns).as_bytes())?;
        } else {
            // Whoever reads a live view through a pipe knows it in this form.
            write!(streams.out, "\u{1b}[H\u{1b}[2J\u{1b}[0;0H{text}")?;
        }
        text.clone_into(&mut self.last);
        streams.out.flush()
    }

    /// Gives the terminal back as it was, with the last view on it.
    pub(crate) fn close(&mut self, streams: &mut Streams<'_>) -> io::Result<()> {
        if self.is_open {
            self.is_open = false;
            write!(streams.out, "{RESTORE}{}", self.last)?;
        }
        streams.out.flush()
    }
}

/// Rows and columns of the terminal.
fn size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(rustix::stdio::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (usize::from(size.ws_row), usize::from(size.ws_col)),
        _ => (24, 80),
    }
}

/// One frame: every line over the one that was there, the rest of the line and of the screen cleared. What does not
/// fit is cut, so that nothing scrolls and nothing wraps.
fn frame(text: &str, rows: usize, columns: usize) -> String {
    let mut frame = String::from("\u{1b}[H");
    for (index, line) in text.lines().take(rows).enumerate() {
        if index > 0 {
            frame.push_str("\r\n");
        }
        frame.push_str(&cut(line, columns));
        frame.push_str("\u{1b}[K");
    }
    frame.push_str("\u{1b}[J");
    frame
}

/// The line up to a column, colour sequences whole.
fn cut(line: &str, columns: usize) -> String {
    let mut short = String::new();
    let mut width = 0;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' {
            short.push(character);
            for part in characters.by_ref() {
                short.push(part);
                if part.is_ascii_alphabetic() {
                    break;
                }
            }
        } else if width < columns {
            short.push(character);
            width += 1;
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_fits_the_terminal_and_keeps_colours_whole() {
        let text = "abc\n\u{1b}[32mdefg\u{1b}[0m  \nthird\n";
        assert_eq!(frame(text, 2, 3), "\u{1b}[Habc\u{1b}[K\r\n\u{1b}[32mdef\u{1b}[0m\u{1b}[K\u{1b}[J");
    }
}
