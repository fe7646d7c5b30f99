//! Malformed manifests too large to keep as files.

/// A manifest made when the test runs.
pub(crate) struct Generated {
    /// The file name it pretends to have.
    pub(crate) name: &'static str,
    /// What the error must say.
    pub(crate) expect: &'static str,
    /// Its bytes.
    pub(crate) bytes: Vec<u8>,
}

const HEAD: &str = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata:\n  name: web\nspec:\n";
const JSON_HEAD: &str = r#"{"apiVersion":"argoproj.io/v1alpha1","kind":"Rollout","spec":"#;

fn yaml(name: &'static str, expect: &'static str, spec: &str) -> Generated {
    Generated { name, expect, bytes: format!("{HEAD}{spec}").into_bytes() }
}

fn json(name: &'static str, expect: &'static str, spec: &str) -> Generated {
    Generated { name, expect, bytes: format!("{JSON_HEAD}{spec}}}").into_bytes() }
}

/// All of them.
pub(crate) fn all() -> Vec<Generated> {
    let mut all = deep();
    all.extend(large());
    all.extend(aliased());
    all
}

fn deep() -> Vec<Generated> {
    let levels = 10_000;
    let (open, close) = ("[".repeat(levels), "]".repeat(levels));
    let maps = format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels));
    let block: String = (0..400).map(|level| format!("{}a:\n", " ".repeat(level + 2))).collect();
    vec![
        yaml("deep-yaml-flow-lists.yaml", "nested deeper than 64 levels", &format!("  x: {open}{close}\n")),
        yaml("deep-yaml-flow-maps.yaml", "nesting depth exceeds the limit of 64", &format!("  x: {maps}\n")),
        yaml("deep-yaml-flow-never-closed.yaml", "nested deeper than 64 levels", &format!("  x: {open}\n")),
        yaml(
            "deep-yaml-compact-lists.yaml",
            "nesting depth exceeds the limit of 64",
            &format!("  x:\n    {}1\n", "- ".repeat(levels)),
        ),
        yaml("deep-yaml-block-maps.yaml", "nesting depth exceeds the limit of 64", &block),
        json("deep-json-lists.json", "nesting depth exceeds the limit of 64", &format!("{open}{close}")),
        json("deep-json-maps.json", "nesting depth exceeds the limit of 64", &maps),
        json("deep-json-never-closed.json", "nesting depth exceeds the limit of 64", &open),
        Generated { name: "deep-at-top.yaml", expect: "nested deeper than 64 levels", bytes: open.into_bytes() },
    ]
}

fn large() -> Vec<Generated> {
    let mebibyte = "x".repeat(1024 * 1024);
    let many: String = (0..120_000).map(|index| format!("  k{index}: [1, 2, 3]\n")).collect();
    vec![
        yaml(
            "string-of-1-mib.yaml",
            "spec.template: string length in bytes exceeds the limit of 262144",
            &format!("  template: {mebibyte}\n"),
        ),
        yaml(
            "block-text-of-1-mib.yaml",
            "spec.template: string length in bytes exceeds the limit of 262144",
            &format!("  template: |\n    {mebibyte}\n"),
        ),
        yaml("key-of-1-mib.yaml", "spec: string length in bytes exceeds the limit", &format!("  {mebibyte}: 1\n")),
        json(
            "string-of-1-mib.json",
            "spec.template: string length in bytes exceeds the limit of 262144",
            &format!(r#"{{"template":"{mebibyte}"}}"#),
        ),
        json("key-of-1-mib.json", "string length in bytes exceeds the limit", &format!(r#"{{"{mebibyte}":1}}"#)),
        yaml(
            "number-of-100-kb.yaml",
            "spec.replicas: expected a finite number",
            &format!("  replicas: {}\n", "9".repeat(100_000)),
        ),
        json(
            "number-of-100-kb.json",
            "spec.replicas: expected a number of at most 64 bits",
            &format!(r#"{{"replicas":{}}}"#, "9".repeat(100_000)),
        ),
        yaml("more-than-3-mib.yaml", "file size in bytes exceeds the limit of 3145728", &mebibyte.repeat(3)),
        yaml("too-many-values.yaml", "exceeds the limit", &many),
        Generated {
            name: "too-many-documents.yaml",
            expect: "number of documents (3000) exceeds the limit of 2000",
            bytes: "---\na: 1\n".repeat(3_000).into_bytes(),
        },
        yaml("unknown-fields-without-end.yaml", "unknown field", "").with_unknown_fields(5_000),
    ]
}

fn aliased() -> Vec<Generated> {
    let text = "y".repeat(200_000);
    let repeated = "*t, ".repeat(1_000);
    let lists: String =
        (1..12).map(|level| format!("  l{level}: &l{level} [*l{0}, *l{0}, *l{0}, *l{0}]\n", level - 1)).collect();
    vec![
        yaml(
            "long-text-repeated-by-alias.yaml",
            "size in bytes with aliases written out exceeds the limit",
            &format!("  t: &t {text}\n  x: [{repeated}]\n"),
        ),
        yaml(
            "aliases-by-the-thousand.yaml",
            "repeated by aliases exceeds the limit of 50000",
            &format!("  t: &t [{}]\n  x: [{repeated}]\n", "1, ".repeat(1_000)),
        ),
        yaml(
            "alias-tower-of-long-text.yaml",
            "size in bytes with aliases written out exceeds the limit",
            &format!("  l0: &l0 {text}\n{lists}"),
        ),
    ]
}

impl Generated {
    fn with_unknown_fields(mut self, count: usize) -> Self {
        self.bytes.extend((0..count).flat_map(|index| format!("  unknown{index}: 1\n").into_bytes()));
        self
    }
}
