//! Every malformed template gives a problem that names template, metric and field, soon and without a panic.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tidegate_analysis::{Problem, examine_run, examine_template};
use tidegate_api::analysis::{AnalysisRun, AnalysisTemplate, ClusterAnalysisTemplate};
use tidegate_api::wire::{Items, Text};
use tidegate_manifest::{Document, DuplicateKeys, Source};
use tidegate_providers::examine;

/// One of these is 100 kB, another is nested 5,000 levels deep.
const PATIENCE: Duration = Duration::from_secs(1);

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/bad-templates")
}

/// Every problem as people read it.
fn problems(document: &Document) -> Vec<String> {
    let kind = document.kind().unwrap().to_owned();
    let (name, problems): (String, Vec<Problem>) = match kind.as_str() {
        "AnalysisTemplate" => {
            let template: AnalysisTemplate = document.decode().unwrap();
            let own = examine_template(&template.spec).into_iter();
            (template.metadata.name.text().to_owned(), own.chain(examine(template.spec.metrics.items())).collect())
        }
        "ClusterAnalysisTemplate" => {
            let template: ClusterAnalysisTemplate = document.decode().unwrap();
            let own = examine_template(&template.spec).into_iter();
            (template.metadata.name.text().to_owned(), own.chain(examine(template.spec.metrics.items())).collect())
        }
        "AnalysisRun" => {
            let run: AnalysisRun = document.decode().unwrap();
            let own = examine_run(&run.spec).into_iter();
            (run.metadata.name.text().to_owned(), own.chain(examine(run.spec.metrics.items())).collect())
        }
        other => panic!("{other} is no template"),
    };
    problems.iter().map(|problem| format!("{kind} '{name}': {problem}")).collect()
}

fn documents(path: &Path) -> (String, Vec<Document>) {
    let bytes = std::fs::read(path).unwrap();
    let first = String::from_utf8_lossy(bytes.split(|byte| *byte == b'\n').next().unwrap()).into_owned();
    let name = path.file_name().unwrap().to_str().unwrap().to_owned();
    let read = Source::new(&name, bytes).documents(DuplicateKeys::Refuse);
    let read = read.into_iter().map(|document| document.unwrap_or_else(|errors| panic!("{name}: {errors}")));
    (first, read.collect())
}

#[test]
fn every_malformed_template_gives_a_problem_that_names_template_metric_and_field() {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    assert!(paths.len() >= 40, "only {} files", paths.len());
    let mut complaints = Vec::new();
    for path in &paths {
        let (first, documents) = documents(path);
        let expect = first.strip_prefix("# expect: ").unwrap_or_else(|| panic!("{} expects nothing", path.display()));
        let started = Instant::now();
        let said: Vec<String> = documents.iter().flat_map(problems).collect();
        let took = started.elapsed();
        if !said.iter().any(|line| line.contains(expect))
            || said.iter().any(|line| line.len() > 1000)
            || took > PATIENCE
        {
            complaints.push(format!("{}: expects {expect:?}, says {said:#?} in {took:?}", path.display()));
        }
    }
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn the_templates_of_the_examples_have_no_problem() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for file in ["analysis-by-host.yaml", "analysis-by-subset.yaml"] {
        let (_, documents) = documents(&examples.join(file));
        assert_eq!(documents.iter().flat_map(problems).collect::<Vec<_>>(), Vec::<String>::new(), "{file}");
    }
}
