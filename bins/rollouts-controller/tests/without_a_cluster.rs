//! The program where there is no cluster to be had: what it refuses, and what it says while it waits.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_rollouts-controller"))
}

fn refused(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = program().args(arguments).output().unwrap();
    assert_eq!(status.code(), Some(1), "{arguments:?}");
    assert!(stdout.is_empty(), "{arguments:?}");
    String::from_utf8(stderr).unwrap()
}

#[test]
fn what_cannot_work_is_refused_with_one_line_that_names_the_flag() {
    let cases: [(&[&str], &str); 5] = [
        (&["--loglevel=loud"], "Error: --loglevel loud: not a valid level; use debug, info, warn or error\n"),
        (&["--controllers=other"], "Error: unsupported controller: other\n"),
        (&["--kubeconfig=/no/such/file"], "Error: kubeconfig /no/such/file: "),
        (&["--proxy-url=http://x"], "Error: --proxy-url is not supported by this build\n"),
        (&["--leader-election-renew-deadline=20s"], "Error: --leader-election-lease-duration must be longer than "),
    ];
    for (arguments, beginning) in cases {
        let said = refused(arguments);
        assert!(said.starts_with(beginning) && said.lines().count() == 1, "{arguments:?}: {said}");
    }
    let version = program().arg("--version").output().unwrap();
    assert!(String::from_utf8(version.stdout).unwrap().starts_with("rollouts-controller: v"));
}

/// The flags that the Helm chart gives the controller with the values of this case of its tests.
fn flags_of_the_chart(case: &str) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(tidegate_testbed::prepare_helm().unwrap())
        .args(["template", "argo-rollouts", "--show-only=templates/controller/deployment.yaml", "--values"])
        .arg(root.join(format!("crates/install/tests/chart/cases/{case}.yaml")))
        .arg(root.join("charts/argo-rollouts"))
        .output()
        .unwrap();
    let rendered = String::from_utf8(output.stdout).unwrap();
    let flags =
        rendered.lines().filter_map(|line| line.trim().strip_prefix("- ")).filter(|item| item.starts_with("--"));
    flags.map(str::to_owned).collect()
}

#[test]
fn every_flag_that_the_chart_can_give_is_accepted() {
    for (case, count) in [("default", 6), ("every-flag", 16)] {
        let mut flags = flags_of_the_chart(case);
        assert_eq!(flags.len(), count, "{case}: {flags:?}");
        // What is complained about after all flags have been read and found good.
        flags.push("--kubeconfig=/no/such/file".to_owned());
        let said = refused(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said.starts_with("Error: kubeconfig /no/such/file: "), "{case}: {said}");
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

fn get(address: &str) -> String {
    let port = address.rsplit(':').next().unwrap();
    let mut stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_silent_api_server_leaves_it_unready_and_a_second_signal_ends_it_at_once() {
    // Takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let config = format!(
        r#"{{"apiVersion": "v1", "kind": "Config", "current-context": "a", "users": [{{"name": "a", "user": {{}}}}],
            "clusters": [{{"name": "a", "cluster": {{"server": "http://{}"}}}}],
            "contexts": [{{"name": "a", "context": {{"cluster": "a", "user": "a"}}}}]}}"#,
        silent.local_addr().unwrap()
    );
    let file = std::env::temp_dir().join(format!("tidegate-silent-{}.json", std::process::id()));
    std::fs::write(&file, config).unwrap();
    let mut child = program()
        .arg(format!("--kubeconfig={}", file.display()))
        .args(["--metricsPort=0", "--healthzPort=0", "--leader-election-retry-period=9s"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let announced = lines.by_ref().find(|line| line.contains("Starting Healthz Server at ")).unwrap();
    let announced = announced.trim_end_matches('"');
    let ready = get(announced);
    assert!(ready.starts_with("HTTP/1.1 503"), "{ready}");
    assert!(ready.contains("not synced yet: rollouts, replicasets, services"), "{ready}");

    let begun = Instant::now();
    signal(&child, "-TERM");
    assert!(lines.any(|line| line.contains("Signal SIGTERM received, shutting down")));
    signal(&child, "-INT");
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    std::fs::remove_file(&file).unwrap();
}
