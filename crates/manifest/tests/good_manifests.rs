//! What people really write is read as they mean it.

use serde_json::json;
use tidegate_api::kind::Kind;
use tidegate_api::rollout::Rollout;
use tidegate_manifest::{Document, DuplicateKeys, Object, Source, missing_required};

const YAML: &str = include_str!("good/canary.yaml");
const JSON: &str = include_str!("good/canary.json");

fn documents(text: impl Into<Vec<u8>>) -> Vec<Document> {
    Source::new("web.yaml", text).all_documents(DuplicateKeys::Refuse).expect("a good file")
}

fn only(text: impl Into<Vec<u8>>) -> Document {
    let mut all = documents(text);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

#[test]
fn a_rollout_with_anchors_merge_keys_and_an_octal_mode_is_read_as_kubectl_reads_it() {
    let document = only(YAML);
    let rollout: Rollout = document.decode().unwrap();
    assert_eq!(rollout.spec.replicas, Some(3));
    let template = rollout.spec.template.unwrap().to_value();
    assert_eq!(template["metadata"]["labels"], json!({"app": "web", "tier": "front"}));
    assert_eq!(template["spec"]["volumes"][0]["configMap"]["defaultMode"], 0o644);
    assert_eq!((document.kind().unwrap(), document.group()), ("Rollout", "argoproj.io"));
    assert_eq!((document.name(), document.namespace()), (Some("web"), Some("shop")));
}

#[test]
fn yaml_and_json_of_the_same_object_decode_alike() {
    let from_yaml: Rollout = only(YAML).decode().unwrap();
    let text = serde_json::to_string_pretty(&from_yaml).unwrap();
    assert_eq!(only(text).decode::<Rollout>().unwrap(), from_yaml);
    assert_eq!(only(JSON).decode::<Rollout>().unwrap().spec.replicas, Some(3));
}

#[test]
fn byte_order_mark_windows_line_ends_and_markers_change_nothing() {
    let plain: Rollout = only(YAML).decode().unwrap();
    for text in [
        format!("\u{feff}{YAML}"),
        YAML.replace('\n', "\r\n"),
        format!("---\n{YAML}"),
        format!("\u{feff}---\r\n{}...\r\n", YAML.replace('\n', "\r\n")),
        format!("%YAML 1.2\n---\n{YAML}...\n"),
        format!("# only a comment\n---\n---\n\n---\n{YAML}---\n"),
        format!("{}{YAML}", "# a long licence text\n".repeat(200)),
    ] {
        assert_eq!(only(text).decode::<Rollout>().unwrap(), plain);
    }
}

#[test]
fn documents_know_their_number_and_line() {
    let text = "---\na: 1\n---\n# empty\n---\n\nb: 2\n---\n{\"c\": 3}\n--- {d: 4}\n";
    let places: Vec<_> = documents(text).iter().map(|document| (document.number(), document.line())).collect();
    assert_eq!(places, [(1, 1), (2, 5), (3, 8), (4, 10)]);
}

#[test]
fn a_file_of_several_kinds_is_decoded_by_kind_and_others_are_left_alone() {
    let other = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80}]}\n";
    let analysis = "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {name: ok}\n\
                    spec: {metrics: [{name: up, count: '{{args.n}}', provider: {web: {url: http://x.test}}}]}\n";
    let objects: Vec<_> = documents(format!("{YAML}---\n{other}---\n{analysis}"))
        .iter()
        .map(|document| document.decode_object().unwrap())
        .collect();
    assert!(matches!(objects.as_slice(), [Some(Object::Rollout(_)), None, Some(Object::AnalysisTemplate(_))]));
}

#[test]
fn a_kubernetes_type_is_decoded_strictly_too() {
    use k8s_openapi::api::core::v1::Service;
    let text = "apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec:\n  ports: [{port: 80, targetPort: http}]\n";
    let service: Service = only(text).decode_kubernetes().unwrap();
    assert_eq!(service.spec.unwrap().ports.unwrap()[0].port, 80);

    let misspelt = only(format!("{text}  selectr: {{}}\n")).decode_kubernetes::<Service>().unwrap_err();
    assert_eq!(
        misspelt.to_string(),
        "web.yaml, document 1 (Service/web): spec.selectr: unknown field \"selectr\"; did you mean \"selector\"?"
    );
    let wrong = only(text.replace("port: 80", "port: http")).decode_kubernetes::<Service>().unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "web.yaml, document 1 (Service/web): spec.ports[0].port: expected a 32-bit number, found the string \"http\""
    );
}

#[test]
fn the_last_of_two_equal_keys_counts_when_the_caller_says_so() {
    let text = format!("{}spec: {{replicas: 1, replicas: 5}}\n", YAML.split("spec:").next().unwrap());
    let read = Source::new("web.yaml", text).all_documents(DuplicateKeys::LastWins).unwrap();
    assert_eq!(read[0].decode::<Rollout>().unwrap().spec.replicas, Some(5));
    let json = Source::new("web.json", r#"{"kind":"X","kind":"Y"}"#).all_documents(DuplicateKeys::LastWins).unwrap();
    assert_eq!(json[0].kind().unwrap(), "Y");
}

#[test]
fn a_key_that_overrides_a_merged_one_is_no_duplicate() {
    let document = only("base: &base {a: 1, b: 2}\nmine:\n  <<: *base\n  b: 3\n");
    assert_eq!(document.value()["mine"], json!({"a": 1, "b": 3}));
}

#[test]
fn lenient_decoding_keeps_unknown_fields_and_still_refuses_wrong_types() {
    let future = YAML.replace("  replicas: 3\n", "  replicas: 3\n  fromTheFuture: {a: 1}\n");
    let rollout: Rollout = only(future.as_str()).decode_lenient().unwrap();
    assert_eq!(rollout.spec.unknown["fromTheFuture"].to_value(), json!({"a": 1}));
    assert!(only(future.replace("replicas: 3", "replicas: x")).decode_lenient::<Rollout>().is_err());
}

#[test]
fn all_errors_of_a_document_are_told_at_once() {
    let text =
        YAML.replace("  replicas: 3\n", "  replicas: three\n  pausd: true\n").replace("setWeight: 20", "setWeigth: 20");
    let errors = only(text).decode::<Rollout>().unwrap_err();
    assert_eq!(
        errors.to_string(),
        "web.yaml, document 1 (Rollout/web): spec.pausd: unknown field \"pausd\"; did you mean \"paused\"?\n\
         web.yaml, document 1 (Rollout/web): spec.replicas: expected a 32-bit number, found the string \"three\"\n\
         web.yaml, document 1 (Rollout/web): spec.strategy.canary.steps[0].setWeigth: unknown field \"setWeigth\"; \
         did you mean \"setWeight\"?"
    );
}

#[test]
fn a_syntax_error_names_the_line_of_the_file_and_hides_no_other_document() {
    let text = format!("{YAML}---\nkind: [\n---\n{YAML}");
    let read = Source::new("web.yaml", text.as_str()).documents(DuplicateKeys::Refuse);
    let marker = YAML.lines().count() + 1;
    assert_eq!(read.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true]);
    let error = read[1].as_ref().unwrap_err().to_string();
    assert!(error.starts_with(&format!("web.yaml, document 2 (line {marker}): line {}", marker + 1)), "{error}");
}

#[test]
fn missing_required_fields_are_named_as_the_api_server_names_them() {
    let value = json!({"spec": {"strategy": {"canary": {"steps": [{"setMirrorRoute": {"percentage": 5}}]}}}});
    assert_eq!(
        missing_required(&value, &Rollout::shape()),
        ["spec.strategy.canary.steps[0].setMirrorRoute.name: Required value"]
    );
    assert_eq!(missing_required(&json!({}), &Rollout::shape()), ["spec: Required value"]);
}

#[test]
fn a_file_is_read_from_disk_and_a_missing_one_is_named() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/good");
    let source = Source::read(&folder.join("canary.yaml")).unwrap();
    assert_eq!(source, Source::new(source.file(), YAML));
    let error = Source::read(&folder.join("none.yaml")).unwrap_err().to_string();
    assert!(error.contains("none.yaml: cannot be read: "), "{error}");
}

#[test]
fn empty_files_hold_no_documents() {
    for text in ["", "\n\n", "# nothing\n", "---\n---\n...\n", "\u{feff}"] {
        assert_eq!(documents(text), []);
    }
}

#[test]
fn misspelt_pod_fields_are_warnings_because_the_cluster_may_be_newer_than_we_are() {
    let text = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n        - {name: main, imag: web}\n      volume: []\n";
    let document = Source::new("web.yaml", text).all_documents(DuplicateKeys::Refuse).unwrap().remove(0);
    assert!(document.decode::<Rollout>().is_ok());
    let warnings: Vec<String> = document.warnings().iter().map(ToString::to_string).collect();
    assert_eq!(
        warnings,
        [
            r#"web.yaml, document 1 (Rollout/web): spec.template.spec.volume: unknown field "volume"; did you mean "volumes"?"#,
            r#"web.yaml, document 1 (Rollout/web): spec.template.spec.containers[0].imag: unknown field "imag"; did you mean "image"?"#,
        ]
    );
}
