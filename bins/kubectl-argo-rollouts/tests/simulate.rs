//! `simulate` as people and scripts run it: exit code, output, messages.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-argo-rollouts"));
    // Where there is no cluster and no kubeconfig.
    command.arg("simulate").args(arguments).current_dir(repository()).env("KUBECONFIG", "/nonexistent");
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn the_exit_code_says_whether_the_update_ends_as_expected() {
    let healthy = run(&["-f", "examples/canary.yaml", "--image", "checkout:2"]);
    assert_eq!((healthy.status.code(), err(&healthy).as_str()), (Some(0), ""));
    assert!(out(&healthy).contains("user sets image checkout=checkout:2"), "{}", out(&healthy));
    assert!(out(&healthy).contains("\nHealthy on the new version after 10m"), "{}", out(&healthy));

    let paused = run(&["-f", "examples/canary.yaml", "--promote-after", "never"]);
    assert_eq!(paused.status.code(), Some(1));
    assert!(out(&paused).ends_with("expected: healthy\n"), "{}", out(&paused));

    let expected = run(&["-f", "examples/canary.yaml", "--promote-after", "never", "--expect", "paused"]);
    assert_eq!(expected.status.code(), Some(0), "{}", out(&expected));

    let aborted = run(&["-f", "examples/canary.yaml", "--act", "20s abort", "--expect=aborted"]);
    assert_eq!(aborted.status.code(), Some(0), "{}", out(&aborted));
}

#[test]
fn bad_input_is_told_with_exit_code_two() {
    for (arguments, wanted) in [
        (vec!["-f", "examples/missing.yaml"], "Error: examples/missing.yaml: cannot be read"),
        (vec!["-f", "examples/analysis-by-host.yaml"], "Error: examples/analysis-by-host.yaml: there is no Rollout"),
        (
            vec!["-f", "examples/6-istio-multicluster/rollout.yaml"],
            "virtualService.name: Invalid value: \"shop\": VirtualService default/shop is not in the files; add the file that holds it with -f",
        ),
        (
            vec!["-f", "examples/canary.yaml", "--fault", "quake"],
            "Error: --fault: there is no fault \"quake\"; there are late-events, ",
        ),
        (
            vec!["-f", "examples/canary.yaml", "--pod-start", "10s-2s"],
            "Error: invalid argument \"10s-2s\" for \"--pod-start\" flag: \"10s-2s\" ends before it begins",
        ),
        (
            vec!["-f", "examples/canary.yaml", "--error-rate", "new=500%"],
            "for \"--error-rate\" flag: \"500%\" is no share",
        ),
        (
            vec!["-f", "examples/canary.yaml", "--act", "2m explode"],
            "for \"--act\" flag: \"2m explode\" is no act; acts are promote, ",
        ),
        (
            vec!["-f", "examples/canary.yaml", "--set-image", "shop=main=shop:2"],
            "Error: there is no Rollout \"shop\" in the files; there are checkout",
        ),
        (
            vec!["-f", "examples/canary.yaml", "--scenario", "examples/canary.yaml"],
            "Error: examples/canary.yaml: apiVersion: unknown field `apiVersion`, expected one of `seed`",
        ),
        (vec!["-f", "examples/canary.yaml", "--nonsense"], "Error: unknown flag: --nonsense"),
        (vec!["-f"], "Error: flag needs an argument"),
    ] {
        let output = run(&arguments);
        assert!(err(&output).contains(wanted), "{arguments:?}: {}", err(&output));
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(2), ""), "{arguments:?}");
    }
}

#[test]
fn manifests_come_from_standard_input_too() {
    let mut child = command(&["-f", "-", "-o", "json"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let manifest = std::fs::read(repository().join("examples/blue-green.yaml")).unwrap();
    child.stdin.take().unwrap().write_all(&manifest).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["schema"], "tidegate.dev/simulate/v1");
    assert_eq!(report["rollouts"][0]["ending"], "healthy");
    // Everything the schema demands is there.
    let schema = std::fs::read_to_string(repository().join("docs/simulate.schema.json")).unwrap();
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    for (object, described) in [
        (&report, &schema),
        (&report["rollouts"][0], &schema["$defs"]["rollout"]),
        (&report["rollouts"][0]["timeline"][0], &schema["$defs"]["rollout"]["properties"]["timeline"]["items"]),
        (&report["rollouts"][0]["samples"][0], &schema["$defs"]["rollout"]["properties"]["samples"]["items"]),
    ] {
        let fields = object.as_object().unwrap();
        let required = described["required"].as_array().unwrap();
        assert!(required.iter().all(|field| fields.contains_key(field.as_str().unwrap())), "{described}");
        let known = described["properties"].as_object().unwrap();
        assert!(fields.keys().all(|field| known.contains_key(field)), "{:?}", fields.keys());
    }
}

#[test]
fn seeds_are_reported_with_commands_that_show_the_worst_again() {
    let arguments = ["-f", "examples/1-replicas-only", "--seeds", "4", "--requests-per-second=5", "--faults-for", "1m"];
    let output = run(&arguments);
    let told = out(&output);
    assert!(told.contains("4 seeds, each with faults of its own\n"), "{told} {}", err(&output));
    let again = "kubectl argo rollouts simulate -f examples/1-replicas-only --requests-per-second=5 --faults-for 1m --fault drawn --seed ";
    let line = told.lines().find(|line| line.contains(again)).unwrap_or_default();
    assert!(!line.is_empty(), "{told}");
    // What the command shows is what the report says of it.
    let failed = line.split_whitespace().nth(2).unwrap().replace(',', "");
    let words: Vec<&str> = line[line.find("simulate ").unwrap() + 9..].split(' ').collect();
    let shown = run(&[words.as_slice(), &["-o", "json"]].concat());
    let report: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(report["rollouts"][0]["requests"]["all"]["failed"].to_string(), failed);
}

#[test]
fn the_page_is_written_and_a_place_that_cannot_be_written_is_told() {
    let path = std::env::temp_dir().join(format!("tidegate-simulate-{}.html", std::process::id()));
    let output = run(&["-f", "examples/blue-green.yaml", "--html", path.to_str().unwrap()]);
    let page = std::fs::read_to_string(&path).unwrap();
    let _ = std::fs::remove_file(&path);
    assert_eq!(output.status.code(), Some(0));
    assert!(page.starts_with("<!doctype html>") && page.contains("Traffic of the new version"));
    let output = run(&["-f", "examples/blue-green.yaml", "--html", "/nonexistent/report.html"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(err(&output).contains("Error: /nonexistent/report.html: cannot be written"), "{}", err(&output));
}

#[test]
fn an_interruption_ends_the_run_tidily() {
    // Given a run of a virtual year, which is real minutes.
    let mut child =
        command(&["-f", "examples/2-istio-host-level", "--until", "8760h", "--requests-per-second", "1000"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
    // It listens for signals before it starts the thread that works.
    let threads = format!("/proc/{}/task", child.id());
    while std::fs::read_dir(&threads).unwrap().count() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // When somebody presses Ctrl-C.
    let id = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
    // Then it ends, and says that there is no report.
    let code = child.wait().unwrap().code();
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (code, out(&output), err(&output)),
        (Some(130), String::new(), "Interrupted: nothing is reported\n".to_owned())
    );
}
