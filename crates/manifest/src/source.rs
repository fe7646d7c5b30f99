//! A file as it came, and the documents in it.

use std::io::Read;
use std::path::Path;

use crate::document::Document;
use crate::error::{ManifestError, ManifestErrors, Problem};
use crate::limits::{MAX_DOCUMENTS, MAX_FILE_BYTES};
use crate::parse::{Allowance, DuplicateKeys, Place, parse};
use crate::split::split;

/// A file: the name the user gave, for messages, and its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    file: String,
    bytes: Vec<u8>,
}

impl Source {
    /// Bytes that are already in memory, such as an editor's.
    pub fn new(file: impl Into<String>, bytes: impl Into<Vec<u8>>) -> Self {
        Self { file: file.into(), bytes: bytes.into() }
    }

    /// Reads a file. The one function of this crate that touches the file system.
    ///
    /// # Errors
    /// The file cannot be opened or read. One that is too large is refused by [`Source::documents`].
    pub fn read(path: &Path) -> Result<Self, ManifestErrors> {
        let file = path.display().to_string();
        let mut bytes = Vec::new();
        // One byte more than allowed is enough to know, and a device file that never ends stays harmless.
        std::fs::File::open(path)
            .and_then(|opened| opened.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes))
            .map_err(|error| ManifestErrors::from(whole_file(&file, Problem::Unreadable(error.to_string()))))?;
        Ok(Self { file, bytes })
    }

    /// The file's name as the user gave it.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Every document that is not empty, read or refused, in order. A file that cannot be read as text at all gives
    /// one error.
    pub fn documents(&self, duplicate_keys: DuplicateKeys) -> Vec<Result<Document, ManifestErrors>> {
        let text = match self.text() {
            Ok(text) => text,
            Err(error) => return vec![Err(error)],
        };
        let chunks = split(text);
        if chunks.len() > MAX_DOCUMENTS {
            let what = format!("number of documents ({})", chunks.len());
            return vec![Err(whole_file(&self.file, Problem::TooMuch { what, limit: MAX_DOCUMENTS }).into())];
        }
        let mut allowance = Allowance::new(duplicate_keys);
        let mut read = Vec::new();
        for (index, chunk) in chunks.iter().enumerate() {
            let place = Place { file: &self.file, number: index + 1, line: chunk.line };
            read.push(
                parse(chunk.text, chunk.line, &mut allowance)
                    .map(|value| Document::new(place, value))
                    .map_err(|finding| place.error(None, finding).into()),
            );
            if allowance.is_used_up() {
                break;
            }
        }
        read
    }

    /// All documents, or all errors of those that cannot be read.
    ///
    /// # Errors
    /// One for each document that is not YAML or JSON, or breaks a limit.
    pub fn all_documents(&self, duplicate_keys: DuplicateKeys) -> Result<Vec<Document>, ManifestErrors> {
        let (mut good, mut bad) = (Vec::new(), Vec::new());
        for document in self.documents(duplicate_keys) {
            match document {
                Ok(document) => good.push(document),
                Err(errors) => bad.extend(errors.0),
            }
        }
        if bad.is_empty() { Ok(good) } else { Err(ManifestErrors(bad)) }
    }

    /// The bytes as text without byte order mark, if they are text.
    fn text(&self) -> Result<&str, ManifestErrors> {
        if self.bytes.len() > MAX_FILE_BYTES {
            let what = "file size in bytes".to_owned();
            return Err(whole_file(&self.file, Problem::TooMuch { what, limit: MAX_FILE_BYTES })
                .with_hint("split the file; the API server accepts no larger request"));
        }
        let text = std::str::from_utf8(&self.bytes).map_err(|error| {
            let offset = error.valid_up_to();
            let line = line_at(&self.bytes, offset);
            self.at_byte(offset, Problem::NotUtf8 { offset, line }).with_hint("save the file as UTF-8")
        })?;
        if let Some((offset, character)) = text.char_indices().find(|(_, character)| is_forbidden(*character)) {
            let line = line_at(&self.bytes, offset);
            let character = format!("U+{:04X}", u32::from(character));
            return Err(self
                .at_byte(offset, Problem::ControlCharacter { character, offset, line })
                .with_hint("remove it, or write it as an escape in double quotes"));
        }
        Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
    }

    /// An error in the document that holds this byte; everything before the byte is text.
    fn at_byte(&self, offset: usize, problem: Problem) -> ManifestError {
        let before = String::from_utf8_lossy(&self.bytes[..offset]);
        // A mark for the byte itself makes its document count even when nothing else of it came before.
        let before = format!("{}x", before.strip_prefix('\u{feff}').unwrap_or(&before));
        let chunks = split(&before);
        ManifestError {
            document: Some(chunks.len().max(1)),
            line: Some(chunks.last().map_or(1, |chunk| chunk.line)),
            ..whole_file(&self.file, problem)
        }
    }
}

/// Control characters have no meaning in YAML; tab and line ends do.
fn is_forbidden(character: char) -> bool {
    character.is_ascii_control() && !matches!(character, '\t' | '\n' | '\r')
}

fn line_at(bytes: &[u8], offset: usize) -> usize {
    1 + bytes[..offset].iter().filter(|byte| **byte == b'\n').count()
}

fn whole_file(file: &str, problem: Problem) -> ManifestError {
    ManifestError { file: file.to_owned(), document: None, line: None, object: None, field: None, problem, hint: None }
}

impl ManifestError {
    fn with_hint(self, hint: &str) -> ManifestErrors {
        Self { hint: Some(hint.to_owned()), ..self }.into()
    }
}
