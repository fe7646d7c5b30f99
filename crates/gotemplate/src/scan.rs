//! Splits a template into text and actions, with the blanks that `{{-` and `-}}` take away.

use crate::error::Problem;
use crate::lexer::{self, Token};

/// A piece of a template.
#[derive(Debug)]
pub(crate) enum Piece {
    Text(String),
    Action { tokens: Vec<Token>, position: usize },
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n')
}

/// All pieces in order.
pub(crate) fn pieces(text: &str) -> Result<Vec<Piece>, Problem> {
    let mut pieces = Vec::new();
    let mut at = 0;
    let mut trims_next = false;
    loop {
        let rest = &text[at..];
        let open = rest.find("{{");
        let mut plain = &rest[..open.unwrap_or(rest.len())];
        if trims_next {
            plain = plain.trim_start_matches(is_blank);
        }
        let Some(open) = open else {
            push_text(&mut pieces, plain);
            return Ok(pieces);
        };
        let start = at + open;
        let mut inside = start + 2;
        if text[inside..].starts_with('-') && text[inside + 1..].starts_with(is_blank) {
            plain = plain.trim_end_matches(is_blank);
            inside += 1;
        }
        push_text(&mut pieces, plain);
        let blanks = text[inside..].len() - text[inside..].trim_start_matches(is_blank).len();
        let is_comment = text[inside + blanks..].starts_with("/*");
        if is_comment {
            (at, trims_next) = comment(text, start, inside + blanks)?;
            continue;
        }
        let action = lexer::action(text, inside, start)?;
        pieces.push(Piece::Action { tokens: action.tokens, position: start });
        (at, trims_next) = (action.end, action.trims_next);
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
}

/// Where a comment's action ends, and whether it trims what follows.
fn comment(text: &str, start: usize, inside: usize) -> Result<(usize, bool), Problem> {
    let Some(length) = text[inside..].find("*/") else { return Err(Problem::new(start, "unclosed comment")) };
    let after = inside + length + 2;
    let rest = &text[after..];
    if rest.starts_with("}}") {
        return Ok((after + 2, false));
    }
    let trimmed = rest.trim_start_matches(is_blank);
    if trimmed.len() < rest.len() && trimmed.starts_with("-}}") {
        return Ok((text.len() - trimmed.len() + 3, true));
    }
    Err(Problem::new(start, "comment ends before closing delimiter"))
}
