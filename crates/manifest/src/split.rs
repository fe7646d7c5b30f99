//! Where one document ends and the next begins.
//!
//! In YAML a line that starts with `---` or `...` (and then a blank or its end) is always a document marker, even
//! inside quotes and block texts, so that splitting needs no parser. One broken document then does not hide the
//! errors of the next, and lines can be counted.

/// The text of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chunk<'a> {
    /// Its text, with the leading `---` when it has one.
    pub(crate) text: &'a str,
    /// The line of the file it starts on, from 1.
    pub(crate) line: usize,
}

/// The documents that hold anything but comments.
pub(crate) fn split(text: &str) -> Vec<Chunk<'_>> {
    let mut chunks = Vec::new();
    let mut open = Chunk { text: "", line: 1 };
    let (mut start, mut offset) = (0, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let begins = is_marker(line, "---");
        // Directives such as `%YAML 1.2` belong to the document whose `---` follows them.
        if begins && !only_directives(&text[start..offset]) {
            open.text = &text[start..offset];
            chunks.push(open);
            (start, open.line) = (offset, index + 1);
        }
        offset += line.len();
        if is_marker(line, "...") {
            open.text = &text[start..offset];
            chunks.push(open);
            (start, open.line) = (offset, index + 2);
        }
    }
    open.text = &text[start..];
    chunks.push(open);
    chunks.retain(|chunk| !is_empty(chunk.text));
    chunks.iter_mut().for_each(skip_blank_lines);
    chunks
}

/// A document starts where its first line of content is, which is where an editor should open it.
fn skip_blank_lines(chunk: &mut Chunk<'_>) {
    while let Some((first, rest)) = chunk.text.split_once('\n')
        && is_blank(first)
    {
        chunk.text = rest;
        chunk.line += 1;
    }
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\n', '\r']))
}

fn only_directives(text: &str) -> bool {
    text.contains('%') && text.lines().all(|line| line.starts_with('%') || is_blank(line))
}

fn is_blank(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with('#')
}

fn is_empty(text: &str) -> bool {
    text.lines().all(|line| {
        let bare = ["---", "..."].into_iter().find(|marker| is_marker(line, marker));
        is_blank(bare.and_then(|marker| line.strip_prefix(marker)).unwrap_or(line))
    })
}

#[cfg(test)]
mod tests {
    use super::split;

    fn lines_and_texts(text: &str) -> Vec<(usize, &str)> {
        split(text).into_iter().map(|chunk| (chunk.line, chunk.text)).collect()
    }

    #[test]
    fn documents_are_split_at_markers_and_empty_ones_are_skipped() {
        assert_eq!(
            lines_and_texts("# a comment\n---\na: 1\n---\n# nothing\n---   \nb: 2\n...\n"),
            [(2, "---\na: 1\n"), (6, "---   \nb: 2\n...\n")]
        );
    }

    #[test]
    fn a_marker_may_carry_content_and_a_longer_word_is_no_marker() {
        assert_eq!(lines_and_texts("--- {a: 1}\n---x\n"), [(1, "--- {a: 1}\n---x\n")]);
        assert_eq!(lines_and_texts("a: 1\r\n---\r\nb: 2\r\n"), [(1, "a: 1\r\n"), (2, "---\r\nb: 2\r\n")]);
    }

    #[test]
    fn a_document_starts_at_its_first_line_of_content() {
        assert_eq!(lines_and_texts("\n# why\n\na: 1\n"), [(4, "a: 1\n")]);
    }

    #[test]
    fn directives_stay_with_their_document() {
        assert_eq!(lines_and_texts("%YAML 1.2\n---\na: 1\n"), [(1, "%YAML 1.2\n---\na: 1\n")]);
    }

    #[test]
    fn after_an_end_marker_a_document_may_follow_without_a_start_marker() {
        assert_eq!(lines_and_texts("a: 1\n...\nb: 2"), [(1, "a: 1\n...\n"), (3, "b: 2")]);
    }
}
