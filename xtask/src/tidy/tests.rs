//! The rules find what they are for.

use super::{SourceFile, sources};

fn found(path: &str, text: &str) -> Vec<String> {
    sources::check(&SourceFile { path: path.to_owned(), text: text.to_owned() })
}

#[test]
fn a_broken_rule_is_named_with_file_and_line() {
    let long = "x\n".repeat(601);
    assert_eq!(found("crates/a/src/b.rs", &long), ["crates/a/src/b.rs: 601 lines; split it, 600 are the limit"]);
    assert_eq!(found("crates/a/tests/b.rs", &long), Vec::<String>::new());
    assert_eq!(found("crates/a/src/utils.rs", "")[0], "crates/a/src/utils.rs: name it after what it holds");
    assert_eq!(found("crates/a/src/b.rs", "\n// TODO later").len(), 1);
    assert_eq!(found("crates/a/src/b.rs", "tokio::select! {\n    x = y => {}").len(), 1);
    assert_eq!(found("crates/a/src/b.rs", "tokio::select! {\n    biased;").len(), 0);
    assert_eq!(found("crates/a/src/b.rs", "value[\"a\"].take()").len(), 1);
    assert_eq!(found("crates/a/src/lib.rs", "fn main() {}").len(), 2);
    assert_eq!(found("docs/a.md", "see /root/x").len(), 1);
}
