//! The CRDs against the contract, field by field and in both directions.
//!
//! `tests/compat/crd-fields.tsv` has one row per schema node. Four embedded types are one row there, without
//! children; what must stand below such a row is said by [`Collapsed`]. Patch strategies are no CRD content.

use std::collections::BTreeMap;

use serde_json::{Value, json};

const CONTRACT: &str = include_str!("../../../../tests/compat/crd-fields.tsv");

/// What a row, or a node of a CRD, says.
#[derive(Debug, Default, PartialEq)]
struct Row {
    kind: String,
    format: String,
    required: String,
    allowed: String,
    default: String,
    preserves_unknown: bool,
    /// `list-type`, `map-type`, `list-map-keys` and CEL rules.
    extensions: Vec<String>,
}

/// Rows by kind and path.
type Rows = BTreeMap<String, Row>;

/// An embedded type that the contract prints as one row.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Collapsed {
    /// Pod templates and Job specs: anything goes, nothing is pruned.
    Free,
    /// Metadata of the object itself: the API server knows it.
    OwnMetadata,
    /// Metadata of something to be created: labels and annotations only.
    GivenMetadata,
    /// A label selector, in full.
    Selector,
}

impl Collapsed {
    fn of(type_name: &str, path: &str) -> Option<Self> {
        match type_name {
            "core/v1.PodTemplateSpec" | "batch/v1.JobSpec" => Some(Self::Free),
            "meta/v1.ObjectMeta" if path == "metadata" => Some(Self::OwnMetadata),
            "meta/v1.ObjectMeta" => Some(Self::GivenMetadata),
            "meta/v1.LabelSelector" => Some(Self::Selector),
            _ => None,
        }
    }

    /// Paths and types of what lies below.
    fn children(self) -> &'static [(&'static str, &'static str, &'static str)] {
        match self {
            Self::Free | Self::OwnMetadata => &[],
            Self::GivenMetadata => &[
                (".labels", "object", "n"),
                (".labels{}", "string", "-"),
                (".annotations", "object", "n"),
                (".annotations{}", "string", "-"),
            ],
            Self::Selector => &[
                (".matchLabels", "object", "n"),
                (".matchLabels{}", "string", "-"),
                (".matchExpressions", "array", "n"),
                (".matchExpressions[]", "object", "-"),
                (".matchExpressions[].key", "string", "y"),
                (".matchExpressions[].operator", "string", "y"),
                (".matchExpressions[].values", "array", "n"),
                (".matchExpressions[].values[]", "string", "-"),
            ],
        }
    }
}

/// The rows of the contract, collapsed types written out.
fn contract() -> Rows {
    let table = CONTRACT.lines().filter(|line| !line.starts_with('#')).skip(1);
    let mut rows = Rows::new();
    for line in table {
        let cells: Vec<&str> = line.split('\t').collect();
        let [kind, path, type_name, format, required, allowed, default, preserves, keys] = cells[..] else {
            panic!("expected nine cells: {line}");
        };
        let collapsed = Collapsed::of(type_name, path);
        let row = Row {
            kind: if collapsed.is_some() { "object" } else { type_name }.to_owned(),
            format: format.to_owned(),
            required: required.to_owned(),
            allowed: allowed.to_owned(),
            default: default.to_owned(),
            preserves_unknown: preserves == "y" || collapsed == Some(Collapsed::Free),
            extensions: keys
                .split(';')
                .filter(|key| !key.is_empty() && !key.starts_with("patch-"))
                .map(String::from)
                .collect(),
        };
        assert!(rows.insert(format!("{kind} {path}"), row).is_none(), "two rows for {kind} {path}");
        for (below, kind_below, required) in collapsed.map_or(&[][..], Collapsed::children) {
            let row = Row { kind: (*kind_below).to_owned(), required: (*required).to_owned(), ..Row::default() };
            rows.insert(format!("{kind} {path}{below}"), row);
        }
    }
    rows
}

/// The nodes of our CRDs.
fn generated() -> Rows {
    let mut rows = Rows::new();
    for crd in tidegate_install::crds() {
        let kind = crd["spec"]["names"]["kind"].as_str().unwrap().to_owned();
        collect_properties(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], &format!("{kind} "), &mut rows);
    }
    rows
}

fn collect_properties(schema: &Value, prefix: &str, rows: &mut Rows) {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let is_required = if required.contains(&json!(name)) { "y" } else { "n" };
        collect(field, format!("{prefix}{name}"), is_required, rows);
    }
}

fn collect(schema: &Value, path: String, required: &str, rows: &mut Rows) {
    collect_properties(schema, &format!("{path}."), rows);
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if let Some(below) = schema.get(key) {
            collect(below, format!("{path}{mark}"), "-", rows);
        }
    }
    rows.insert(path, row_of(schema, required));
}

fn row_of(schema: &Value, required: &str) -> Row {
    let text = |key: &str| schema[key].as_str().unwrap_or_default().to_owned();
    let int_or_string = schema["x-kubernetes-int-or-string"] == json!(true);
    if int_or_string {
        assert_eq!(schema["anyOf"], json!([{"type": "integer"}, {"type": "string"}]));
    }
    let allowed: Vec<&str> = schema["enum"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    Row {
        kind: if int_or_string { "int-or-string".to_owned() } else { text("type") },
        format: text("format"),
        required: required.to_owned(),
        allowed: allowed.join("|"),
        default: schema.get("default").map(Value::to_string).unwrap_or_default(),
        preserves_unknown: schema["x-kubernetes-preserve-unknown-fields"] == json!(true),
        extensions: extensions(schema),
    }
}

fn extensions(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for key in ["list-type", "map-type", "list-map-keys"] {
        match &schema[format!("x-kubernetes-{key}")] {
            Value::Null => {}
            Value::String(value) => found.push(format!("{key}={value}")),
            other => found.push(format!("{key}={other}")),
        }
    }
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        found.push(format!("cel={}", rule["rule"].as_str().unwrap()));
        found.push(format!("cel-message={}", rule["message"].as_str().unwrap()));
    }
    found
}

#[test]
fn every_row_of_the_contract_is_a_field_and_every_field_is_a_row() {
    let (contract, generated) = (contract(), generated());
    let mut wrong = Vec::new();
    for (path, wanted) in &contract {
        match generated.get(path) {
            None => wrong.push(format!("{path}: no such field")),
            Some(found) if found != wanted => wrong.push(format!("{path}: is {found:?}, should be {wanted:?}")),
            Some(_) => {}
        }
    }
    wrong.extend(
        generated.keys().filter(|path| !contract.contains_key(*path)).map(|path| format!("{path}: no such row")),
    );

    assert!(contract.len() > 1000, "only {} rows were read", contract.len());
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

/// The `#@` lines of the contract: what a CRD says besides its schema.
fn contract_facts() -> Vec<String> {
    let lines = CONTRACT.lines().filter_map(|line| line.strip_prefix("#@ "));
    lines.filter(|line| *line != "kind\titem\tvalue").map(String::from).collect()
}

/// The same lines, from a CRD.
fn facts(crd: &Value) -> Vec<String> {
    let spec = &crd["spec"];
    let names = &spec["names"];
    let text = |value: &Value| value.as_str().unwrap_or("(none)").to_owned();
    let joined = |value: &Value| match value.as_array() {
        Some(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        None => "(none)".to_owned(),
    };
    let [version] = spec["versions"].as_array().unwrap().as_slice() else { panic!("more than one version") };
    let mut facts = vec![
        format!("crd.name\t{}", text(&crd["metadata"]["name"])),
        format!("group\t{}", text(&spec["group"])),
        format!("scope\t{}", text(&spec["scope"])),
        format!(
            "names\tkind={} listKind={} plural={} singular={} shortNames={} categories={}",
            text(&names["kind"]),
            text(&names["listKind"]),
            text(&names["plural"]),
            text(&names["singular"]),
            joined(&names["shortNames"]),
            joined(&names["categories"]),
        ),
        format!("version\t{} served={} storage={}", text(&version["name"]), version["served"], version["storage"]),
        format!("subresource.status\t{}", if version["subresources"]["status"].is_object() { "yes" } else { "no" }),
        format!("subresource.scale\t{}", scale(&version["subresources"]["scale"])),
        format!("top-level required\t{}", joined(&version["schema"]["openAPIV3Schema"]["required"])),
    ];
    for column in version["additionalPrinterColumns"].as_array().unwrap() {
        let (name, path, kind) = (text(&column["name"]), text(&column["jsonPath"]), text(&column["type"]));
        let priority = column["priority"].as_i64().unwrap_or(0);
        facts.push(format!("printcolumn\tname={name} jsonPath={path} type={kind} priority={priority}"));
    }
    facts.iter().map(|fact| format!("{}\t{fact}", text(&names["kind"]))).collect()
}

fn scale(scale: &Value) -> String {
    if scale.is_null() {
        return "no".to_owned();
    }
    let paths = ["specReplicasPath", "statusReplicasPath", "labelSelectorPath"];
    paths.map(|key| format!("{key}={}", scale[key].as_str().unwrap())).join(" ")
}

#[test]
fn names_columns_and_subresources_are_those_of_the_contract() {
    let found: Vec<String> = tidegate_install::crds().iter().flat_map(facts).collect();

    assert_eq!(found, contract_facts());
}

/// What the API server asks of a schema, below one node.
fn assert_structural(schema: &Value, path: &str) {
    let has_type = schema["type"].is_string();
    assert!(has_type || schema["x-kubernetes-int-or-string"] == json!(true), "{path} has no type");
    assert!(schema.get("properties").is_none() || schema.get("additionalProperties").is_none(), "{path}");
    assert_eq!(schema["type"] == json!("array"), schema.get("items").is_some(), "{path}");
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        assert_structural(field, &format!("{path}.{name}"));
    }
    for below in ["items", "additionalProperties"].iter().filter_map(|key| schema.get(key)) {
        assert_structural(below, path);
    }
}

#[test]
fn the_api_server_accepts_only_structural_schemas_and_these_are() {
    for crd in tidegate_install::crds() {
        let schema = &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        assert_structural(schema, crd["metadata"]["name"].as_str().unwrap());
        assert_eq!(schema["properties"]["metadata"], json!({"type": "object"}), "anything more is refused");
    }
}

/// Paths of fields that `kubectl explain` would say nothing about.
fn without_description(schema: &Value, path: &str, found: &mut Vec<String>) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        if field["description"].as_str().unwrap_or_default().is_empty() {
            found.push(path.clone());
        }
        without_description(field, &path, found);
    }
    for below in ["items", "additionalProperties"].iter().filter_map(|key| schema.get(key)) {
        without_description(below, path, found);
    }
}

#[test]
fn every_field_but_the_metadata_is_explained() {
    for crd in tidegate_install::crds() {
        let mut found = Vec::new();
        without_description(&crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"], "", &mut found);
        assert_eq!(found, [".metadata"]);
    }
}
