//! Every malformed manifest gives an error that names file, document and field: no panic, no overflow, no long wait.

mod generated;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use tidegate_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use tidegate_api::experiment::Experiment;
use tidegate_api::kind::Kind;
use tidegate_api::rollout::Rollout;
use tidegate_manifest::limits::MAX_ERRORS;
use tidegate_manifest::{Document, DuplicateKeys, ManifestError, ManifestErrors, Problem, Source};

/// What the errors of files that cannot carry a comment must say.
const JSON_EXPECTATIONS: [(&str, &str); 14] = [
    ("bad-escape.json", "(line 1): line 1, column"),
    ("bell-in-json.json", "control character U+0007"),
    ("duplicate-key-in-json.json", "spec.replicas: duplicate key \"replicas\""),
    ("huge-number.json", "spec.replicas: expected a number of at most 64 bits"),
    ("kind-missing.json", "Object 'Kind' is missing in '{\"a\":\"b\"}'"),
    ("list-at-top.json", "found a list"),
    ("lone-surrogate.json", "(line 1): line 1, column"),
    ("non-utf8-at-start.json", "not UTF-8 text at byte 0"),
    ("number-out-of-range.json", "spec.replicas: expected a number of at most 64 bits"),
    ("replicas-is-text.json", "spec.replicas: expected a 32-bit number, found the string \"3\""),
    ("trailing-comma-and-junk.json", "(line 1): line 1, column"),
    ("unfinished.json", "(line 1): line 1, column"),
    ("utf16-file.json", "not UTF-8 text at byte 0"),
    ("with-a-comment.json", "(line 1): line 1, column 39: key must be a string"),
];

/// The stack that threads get by default, and so any reader of ours may have.
const STACK: usize = 2 * 1024 * 1024;

/// Under a second; unoptimised builds on a busy machine get five times that.
const PATIENCE: Duration = Duration::from_secs(if cfg!(debug_assertions) { 5 } else { 1 });

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bad-manifests")
}

fn errors_of<K: Kind + DeserializeOwned>(document: &Document) -> Vec<ManifestError> {
    document.decode::<K>().err().map_or_else(Vec::new, |errors| errors.0)
}

fn decode_by_kind(document: &Document) -> Vec<ManifestError> {
    match document.kind() {
        Err(ManifestErrors(errors)) => errors,
        Ok("AnalysisTemplate") => errors_of::<AnalysisTemplate>(document),
        Ok("ClusterAnalysisTemplate") => errors_of::<ClusterAnalysisTemplate>(document),
        Ok("AnalysisRun") => errors_of::<AnalysisRun>(document),
        Ok("Experiment") => errors_of::<Experiment>(document),
        Ok(_) => errors_of::<Rollout>(document),
    }
}

/// All errors of a file, found on a thread with a normal stack, and the time that took.
fn refuse(source: Source) -> (Vec<ManifestError>, Duration) {
    let started = Instant::now();
    let read = move || {
        let documents = source.documents(DuplicateKeys::Refuse).into_iter();
        documents.flat_map(|document| document.map_or_else(|errors| errors.0, |read| decode_by_kind(&read))).collect()
    };
    let errors = std::thread::Builder::new().stack_size(STACK).spawn(read).expect("a thread").join().expect("no panic");
    (errors, started.elapsed())
}

/// What is wrong with the refusal of a file, if anything.
fn complaint(name: &str, expect: &str, bytes: Vec<u8>) -> Option<String> {
    let (errors, took) = refuse(Source::new(name, bytes));
    let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
    let shown = lines.join("\n    ");
    let wrong = |what: &str| Some(format!("{name}: {what}, expecting {expect:?}\n    {shown}"));
    if errors.is_empty() {
        return wrong("was accepted");
    }
    if !lines.iter().any(|line| line.contains(expect)) {
        return wrong("no error says what is expected");
    }
    if !lines.iter().all(|line| line.starts_with(name) && line.lines().count() == 1 && line.len() < 1_000) {
        return wrong("an error is not one line that starts with the file's name");
    }
    if errors.iter().any(|error| error.document.is_none() && !concerns_whole_file(error)) {
        return wrong("an error does not name its document");
    }
    if errors.iter().any(|error| error.field.is_none() && !concerns_no_field(error)) {
        return wrong("an error does not name its field");
    }
    (took > PATIENCE).then(|| format!("{name}: took {took:?}"))
}

fn concerns_whole_file(error: &ManifestError) -> bool {
    matches!(error.problem, Problem::TooMuch { .. })
}

fn concerns_no_field(error: &ManifestError) -> bool {
    let syntax = matches!(
        error.problem,
        Problem::Syntax { .. }
            | Problem::NotUtf8 { .. }
            | Problem::ControlCharacter { .. }
            | Problem::NotAnObject { .. }
    );
    syntax || (concerns_whole_file(error) && error.document.is_none())
}

fn expectation(name: &str, bytes: &[u8]) -> String {
    let listed = JSON_EXPECTATIONS.iter().find(|(file, _)| *file == name).map(|(_, expect)| (*expect).to_owned());
    listed.unwrap_or_else(|| {
        let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let first = String::from_utf8_lossy(first).into_owned();
        first.strip_prefix("# expect: ").unwrap_or_else(|| panic!("{name} says not what to expect")).to_owned()
    })
}

#[test]
fn every_file_of_the_folder_is_refused_with_file_document_and_field() {
    let mut names: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.sort();
    names.retain(|path| path.extension().is_some_and(|extension| extension == "yaml" || extension == "json"));
    let mut complaints = Vec::new();
    for path in &names {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(path).unwrap();
        complaints.extend(complaint(name, &expectation(name, &bytes), bytes));
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    assert!(names.len() >= 70, "only {} files", names.len());
}

#[test]
fn every_generated_manifest_is_refused_with_file_document_and_field() {
    let complaints: Vec<String> = generated::all()
        .into_iter()
        .filter_map(|manifest| complaint(manifest.name, manifest.expect, manifest.bytes))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn errors_without_end_are_cut() {
    let manifest = generated::all().into_iter().find(|manifest| manifest.name == "unknown-fields-without-end.yaml");
    let (errors, _) = refuse(Source::new("x.yaml", manifest.unwrap().bytes));
    assert_eq!(errors.len(), MAX_ERRORS);
}

#[test]
fn every_expectation_belongs_to_a_file() {
    for (name, _) in JSON_EXPECTATIONS {
        assert!(folder().join(name).is_file(), "{name} is gone");
    }
}
