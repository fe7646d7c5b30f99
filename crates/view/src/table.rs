//! Columns of text.

use crate::paint::width;

/// Blanks between two columns.
const GAP: usize = 2;

/// Writes rows with every cell but the last padded to the width of its column.
pub fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let rows: Vec<&[String]> = rows.iter().map(<[String; N]>::as_slice).collect();
    aligned_slices(&rows)
}

/// The same for rows whose length is known only when the program runs.
pub(crate) fn aligned_slices(rows: &[&[String]]) -> String {
    let columns = rows.iter().map(|row| row.len()).max().unwrap_or_default();
    let mut widths = vec![0; columns];
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            widths[column] = width(cell).max(widths[column]);
        }
    }
    let mut text = String::new();
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            text.push_str(cell);
            if column + 1 < row.len() {
                let blanks = widths[column] + GAP - width(cell);
                text.extend(std::iter::repeat_n(' ', blanks));
            }
        }
        text.push('\n');
    }
    text
}

/// The text, padded with blanks to at least so many columns.
pub(crate) fn padded(text: &str, columns: usize) -> String {
    let blanks = columns.saturating_sub(width(text));
    format!("{text}{}", " ".repeat(blanks))
}
