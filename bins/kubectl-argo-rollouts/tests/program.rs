//! The program as people and scripts run it: exit code, output, messages.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_kubectl-argo-rollouts"))
        .args(arguments)
        .current_dir(repository())
        .output()
        .unwrap()
}

#[track_caller]
fn says(output: &Output, code: i32, out: &str, err: &str) {
    assert_eq!(String::from_utf8_lossy(&output.stderr), err);
    assert_eq!(String::from_utf8_lossy(&output.stdout), out);
    assert_eq!(output.status.code(), Some(code));
}

/// A file that is gone when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str, text: impl AsRef<[u8]>) -> Self {
        let path = std::env::temp_dir().join(format!("tidegate-program-{}-{name}", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

const POD: &str = "  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: {containers: [{name: main, image: web}]}\n";

fn rollout(name: &str, strategy: &str) -> String {
    format!(
        "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {{name: {name}}}\nspec:\n{POD}  strategy: {strategy}\n"
    )
}

#[test]
fn lint_says_nothing_about_every_example() {
    let folder = repository().join("examples");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            says(&run(&["lint", "-f", path.to_str().unwrap()]), 0, "", "");
            count += 1;
        }
    }
    assert!(count >= 3);
}

#[test]
fn lint_prints_every_problem_with_file_and_object_and_the_first_as_the_error() {
    let first = rollout("web", "{canary: {maxSurge: 0, maxUnavailable: 0, steps: [{setWeight: 101}]}}");
    let second = rollout("shop", "{blueGreen: {activeService: a, previewService: a}}");
    let file = Scratch::new("two.yaml", format!("{first}---\n{second}"));
    let path = file.path();
    says(
        &run(&["lint", "--filename", path]),
        1,
        &format!(
            "{path}: Rollout/web: spec.strategy.maxSurge: Invalid value: 0: MaxSurge and MaxUnavailable both can not be zero\n\
             {path}: Rollout/web: spec.strategy.steps[0].setWeight: Invalid value: 101: SetWeight needs to be between 0 and 100\n\
             {path}: Rollout/shop: spec.strategy.activeService: Invalid value: \"a\": This rollout uses the same service for the active \
             and preview services, but two different services are required.\n"
        ),
        "Error: spec.strategy.maxSurge: Invalid value: 0: MaxSurge and MaxUnavailable both can not be zero\n",
    );
}

#[test]
fn lint_holds_a_rollout_to_the_services_and_routes_in_the_same_file() {
    let canary =
        "{canary: {stableService: s, canaryService: c, trafficRouting: {istio: {virtualService: {name: vs.edge}}}}}";
    let services = "apiVersion: v1\nkind: Service\nmetadata: {name: c}\nspec: {selector: {app: other}}\n";
    let routes = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: vs, namespace: edge}\nspec: {http: [{route: [{destination: {host: s}}]}]}\n";
    let file = Scratch::new("refs.yaml", format!("{}---\n{services}---\n{routes}", rollout("web", canary)));
    let output = run(&["lint", "-f", file.path()]);
    let out = String::from_utf8_lossy(&output.stdout);
    assert!(
        out.contains(
            r#"spec.strategy.canary.canaryService: Invalid value: "c": Service "c" has unmatch label "app" in rollout"#
        ),
        "{out}"
    );
    assert!(
        out.contains("Istio VirtualService has invalid HTTP routes. Error: Canary Service 'c' not found in route"),
        "{out}"
    );
    assert_eq!(out.lines().count(), 2);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn lint_goes_on_after_a_rollout_without_routing() {
    let plain = rollout("plain", "{canary: {}}");
    let routed = rollout(
        "web",
        "{canary: {stableService: s, canaryService: c, trafficRouting: {istio: {virtualService: {name: vs}}}}}",
    );
    let routes = "apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata: {name: vs}\nspec: {}\n";
    let file = Scratch::new("order.yaml", format!("{plain}---\n{routed}---\n{routes}"));
    let output = run(&["lint", "-f", file.path()]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("Unable to get any of the HTTP, TCP or TLS routes"));
}

#[test]
fn lint_reads_pods_of_a_workload_in_the_same_file_and_does_not_guess_otherwise() {
    let rollout = "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nmetadata: {name: web}\nspec:\n  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n  strategy: {blueGreen: {activeService: a}}\n";
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {selector: {app: web}}\n";
    let alone = Scratch::new("alone.yaml", format!("{rollout}---\n{service}"));
    says(&run(&["lint", "-f", alone.path()]), 0, "", "");
    let deployment = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {metadata: {labels: {app: other}}}}\n";
    let together = Scratch::new("together.yaml", format!("{rollout}---\n{service}---\n{deployment}"));
    assert_eq!(run(&["lint", "-f", together.path()]).status.code(), Some(1));
}

#[test]
fn lint_reads_services_and_ingresses_strictly() {
    let service = "apiVersion: v1\nkind: Service\nmetadata: {name: c}\nspec: {selectr: {app: web}}\n";
    let file = Scratch::new("service.yaml", format!("{}---\n{service}", rollout("web", "{canary: {}}")));
    let path = file.path();
    let error = format!(
        "Error: {path}, document 2 (Service/c): spec.selectr: unknown field \"selectr\"; did you mean \"selector\"?\n"
    );
    says(&run(&["lint", "-f", path]), 1, "", &error);
}

#[test]
fn lint_warns_of_pod_fields_nobody_knows_and_accepts_them() {
    let text = rollout("web", "{canary: {}}").replace("image: web", "image: web, imagePolicy: Always");
    let file = Scratch::new("warn.yaml", text);
    let output = run(&["lint", "-f", file.path()]);
    assert_eq!(output.status.code(), Some(0));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.starts_with("Warning: ") && err.contains("containers[0].imagePolicy: unknown field"), "{err}");
}

#[test]
fn lint_refuses_every_malformed_manifest_by_name() {
    let folder = repository().join("tests/bad-manifests");
    let mut count = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension == "md") {
            continue;
        }
        let output = run(&["lint", "-f", path.to_str().unwrap()]);
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{}: {err}", path.display());
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{}", path.display());
        assert!(err.starts_with(&format!("Error: {}", path.display())), "{}: {err}", path.display());
        count += 1;
    }
    assert!(count >= 60, "only {count} files");
}

#[test]
fn a_missing_file_is_named() {
    let output = run(&["lint", "-f", "no-such-file.yaml"]);
    says(&output, 1, "", "Error: no-such-file.yaml: cannot be read: No such file or directory (os error 2)\n");
}

#[test]
fn of_two_file_flags_the_last_counts() {
    assert_eq!(run(&["lint", "-f", "no-such-file.yaml", "-f", "examples/canary.yaml"]).status.code(), Some(0));
}

#[test]
fn wrong_words_and_flags_are_answered_as_people_know_it() {
    says(
        &run(&["lnt"]),
        1,
        "",
        "Error: unknown command \"lnt\" for \"kubectl-argo-rollouts\"\n\nDid you mean this?\n\tget\n\tlint\n\tlist\n\tset\n\nRun 'kubectl-argo-rollouts --help' for usage.\n",
    );
    says(&run(&["lint", "--x"]), 1, "", "Error: unknown flag: --x\n");
    says(&run(&["lint", "-o"]), 1, "", "Error: unknown shorthand flag: 'o' in -o\n");
    for arguments in [&[][..], &["lint"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(1));
        assert!(output.stdout.is_empty());
        assert!(String::from_utf8_lossy(&output.stderr).contains("Usage: kubectl-argo-rollouts"));
    }
    let help = run(&["--help"]);
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8_lossy(&help.stdout).contains("lint"));
}

#[test]
fn version_begins_with_the_line_scripts_look_for() {
    let output = run(&["version"]);
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(out.starts_with("kubectl-argo-rollouts: v"), "{out}");
    let keys: Vec<&str> = out.lines().skip(1).map(|line| line.split(':').next().unwrap()).collect();
    assert_eq!(keys, ["  BuildDate", "  GitCommit", "  GitTreeState", "  GoVersion", "  Compiler", "  Platform"]);
    let short = run(&["version", "--short"]);
    assert_eq!(String::from_utf8_lossy(&short.stdout).lines().count(), 1);
}

#[test]
fn the_reference_is_what_the_help_says() {
    let path = repository().join("docs/cli-reference.md");
    let ours = tidegate_cli::reference();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        fs::write(&path, &ours).unwrap();
    }
    assert_eq!(fs::read_to_string(path).unwrap(), ours, "run UPDATE_REFERENCE=1 cargo test --workspace --test program");
    for command in ["abort", "create analysisrun", "get rollout", "plan", "promote", "set image", "undo", "why"] {
        assert!(ours.contains(&format!("\n## {command}\n")), "{command}");
    }
    assert!(!ours.contains("__complete") && ours.contains("\n## dashboard\n"));
}

#[test]
fn the_manual_pages_are_what_the_help_says() {
    let folder = repository().join("docs/man");
    let ours = tidegate_cli::manual();
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        ours.iter().for_each(|(name, page)| fs::write(folder.join(name), page).unwrap());
    }
    for (name, page) in &ours {
        let stored = fs::read_to_string(folder.join(name)).unwrap_or_default();
        assert_eq!(&stored, page, "{name}: run UPDATE_REFERENCE=1 cargo test --workspace --test program");
        assert!(
            page.starts_with(".TH ") && page.contains("\n.SH NAME\n") && page.contains("\n.SH SYNOPSIS\n.B kubectl")
        );
        // Every line that begins like a request is one of those we mean.
        for line in page.lines().filter(|line| line.starts_with(['.', '\''])) {
            let request = line.split(' ').next().unwrap();
            assert!([".TH", ".SH", ".TP", ".PP", ".B", ".nf", ".fi"].contains(&request), "{name}: {line}");
        }
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), ours.len(), "a page without its command");
    let page = |name: &str| &ours.iter().find(|(found, _)| found == name).unwrap().1;
    let root = page("kubectl-argo-rollouts.1");
    assert!(
        root.contains(".SH GLOBAL FLAGS\n.TP\n\\fB\\-n, \\-\\-namespace NAMESPACE\\fR\nNamespace of the objects\n"),
        "{root}"
    );
    assert!(root.contains("\n.TP\n\\fBwhy\\fR\n"), "{root}");
    let promote = page("kubectl-argo-rollouts-promote.1");
    assert!(promote.contains("\\fB\\-\\-full[=true|false]\\fR") && !promote.contains("skip"), "{promote}");
}
