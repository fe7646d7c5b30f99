//! What `lint` says about analyses.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// One of the files has an expression of 100 kB, another one that is nested 5,000 levels deep.
const PATIENCE: Duration = Duration::from_secs(5);

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn lint(path: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-argo-rollouts")).args(["lint", "-f"]).arg(path).output().unwrap()
}

/// What is said on both streams, and the exit code.
fn lint_text(name: &str, documents: &[&str]) -> (String, String, Option<i32>) {
    let path = std::env::temp_dir().join(format!("tidegate-lint-{}-{name}.yaml", std::process::id()));
    fs::write(&path, documents.join("---\n")).unwrap();
    let output = lint(&path);
    fs::remove_file(&path).unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let out = text(output.stdout).replace(&path.display().to_string(), "FILE");
    (out, text(output.stderr), output.status.code())
}

#[test]
fn lint_names_template_metric_and_field_of_every_malformed_template() {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(repository().join("tests/bad-templates")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    assert!(paths.len() >= 40, "only {} files", paths.len());
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let first = text.lines().next().unwrap();
        let expect = first.strip_prefix("# expect: ").unwrap_or_else(|| panic!("{} expects nothing", path.display()));
        let begun = Instant::now();
        let output = lint(&path);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(1), "{}: {err}", path.display());
        assert!(err.starts_with("Error: "), "{}: {err}", path.display());
        // On the way out the object is written as for Rollouts.
        let shown = expect.replacen(" '", "/", 1).replacen("':", ":", 1);
        assert!(out.contains(&shown) || err.contains(expect), "{}: expects {expect}, says {out}{err}", path.display());
        assert!(out.lines().all(|line| line.starts_with(&format!("{}: ", path.display()))), "{out}");
        assert!(begun.elapsed() < PATIENCE, "{}: {:?}", path.display(), begun.elapsed());
    }
}

const ROLLOUT: &str = "apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: web}]}
  strategy: {canary: {steps: [{setWeight: 20}, {analysis: {templates: [{templateName: checks}]}}]}}
";

fn template(name: &str, spec: &str) -> String {
    format!("apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nmetadata: {{name: {name}}}\nspec: {spec}\n")
}

#[test]
fn lint_holds_a_rollout_to_the_templates_of_its_file_and_says_nothing_of_those_elsewhere() {
    assert_eq!(lint_text("elsewhere", &[ROLLOUT]), (String::new(), String::new(), Some(0)));
    let good = "{args: [{name: url, value: 'http://x'}], metrics: [{name: m, provider: {web: {url: '{{args.url}}'}}}]}";
    assert_eq!(lint_text("good", &[ROLLOUT, &template("checks", good)]), (String::new(), String::new(), Some(0)));
    let path = "spec.strategy.canary.steps[1].analysis.templates";
    let unresolved = "{args: [{name: url}], metrics: [{name: m, provider: {web: {url: '{{args.url}}'}}}]}";
    let problem = format!("{path}: Invalid value: \"templateNames: [checks]\": args.url was not resolved");
    let wanted = (format!("FILE: Rollout/web: {problem}\n"), format!("Error: {problem}\n"), Some(1));
    assert_eq!(lint_text("unresolved", &[ROLLOUT, &template("checks", unresolved)]), wanted);
    let endless = "{metrics: [{name: m, interval: 10s, provider: {web: {url: 'http://x'}}}]}";
    let (out, _, code) = lint_text("endless", &[ROLLOUT, &template("checks", endless)]);
    assert!(out.contains("has metric m which runs indefinitely") && code == Some(1), "{out}");
}

#[test]
fn lint_finds_templates_that_include_each_other_in_a_circle_with_and_without_a_rollout() {
    let (one, two) = (
        template("checks", "{templates: [{templateName: more}]}"),
        template("more", "{templates: [{templateName: checks}]}"),
    );
    let (out, err, code) = lint_text("circle", &[&one, &two]);
    let told = "AnalysisTemplate/checks: spec.templates: AnalysisTemplate 'checks' includes itself: checks -> more -> checks\n";
    assert!(out.starts_with(&format!("FILE: {told}")) && out.lines().count() == 2 && code == Some(1), "{out}");
    let told = "Error: AnalysisTemplate 'checks': spec.templates: AnalysisTemplate 'checks' includes itself: checks -> more -> checks\n";
    assert_eq!(err, told);
    let (out, _, _) = lint_text("circle-of-a-rollout", &[ROLLOUT, &one, &two]);
    assert!(
        out.starts_with(
            "FILE: Rollout/web: spec.templates: Invalid value: \"checks\": AnalysisTemplate 'checks' includes itself"
        ),
        "{out}"
    );
}

#[test]
fn lint_says_nothing_about_good_templates_and_runs() {
    for example in ["analysis-by-host.yaml", "analysis-by-subset.yaml"] {
        let output = lint(&repository().join("examples").join(example));
        assert_eq!((output.status.code(), output.stdout), (Some(0), Vec::new()), "{example}");
    }
}
