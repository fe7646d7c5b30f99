//! A newcomer with a terminal: starts the playground, types what it says, in order, and ends it with Ctrl-C. Every scenario.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail by panicking, as tests do")]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-argo-rollouts");
/// The last line of what it says.
const LAST: &str = "Ctrl-C ends everything.";
const PATIENCE: Duration = Duration::from_secs(120);

/// The playground in one terminal; commands are typed in another.
struct Newcomer {
    playground: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
    kubeconfig: String,
    path: String,
    _tools: tempfile::TempDir,
}

/// A folder in which kubectl and the plugin are found under the names that people type.
fn tools() -> tempfile::TempDir {
    let kubectl = tidegate_testbed::prepare().unwrap().kubectl;
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(kubectl, folder.path().join("kubectl")).unwrap();
    std::os::unix::fs::symlink(PROGRAM, folder.path().join("kubectl-argo-rollouts")).unwrap();
    folder
}

impl Newcomer {
    fn start(scenario: &str) -> Self {
        let tools = tools();
        let path = format!("{}:{}", tools.path().display(), std::env::var("PATH").unwrap());
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let theirs = ptsname(&ours, Vec::new()).unwrap();
        let theirs = || -> Stdio {
            File::options().read(true).write(true).open(Path::new(theirs.to_str().unwrap())).unwrap().into()
        };
        // `setsid --ctty` makes it the terminal of the program, so that Ctrl-C reaches it as it would a person's.
        let playground = Command::new("setsid")
            .args(["--ctty", "--wait", PROGRAM, "playground", "--scenario", scenario, "--speed", "10"])
            .args(["--port-api", "0", "--port-app", "0", "--port-dashboard", "0"])
            .env("PATH", &path)
            .stdin(theirs())
            .stdout(theirs())
            .stderr(theirs())
            .spawn()
            .unwrap();
        let (screen, keyboard) = (Arc::<Mutex<String>>::default(), File::from(ours));
        let (mut from, shown) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // The terminal is gone when the program is.
            while let Ok(length @ 1..) = from.read(&mut bytes) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        let mut newcomer = Self { playground, keyboard, screen, kubeconfig: String::new(), path, _tools: tools };
        newcomer.reads(LAST);
        let line =
            newcomer.lines().into_iter().find_map(|line| Some(line.strip_prefix("export KUBECONFIG=")?.to_owned()));
        newcomer.kubeconfig = line.unwrap();
        newcomer
    }

    fn lines(&self) -> Vec<String> {
        self.screen.lock().unwrap().lines().map(|line| line.trim().to_owned()).collect()
    }

    /// Waits until something is on the screen.
    fn reads(&self, text: &str) {
        let begun = Instant::now();
        while !self.screen.lock().unwrap().contains(text) {
            assert!(begun.elapsed() < PATIENCE, "{text:?} never came: {}", self.screen.lock().unwrap());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The commands it names, in order.
    fn commands(&self) -> Vec<String> {
        let lines = self.lines();
        let pairs = lines.windows(2).filter(|pair| pair[0].starts_with("# "));
        pairs.map(|pair| pair[1].clone()).collect()
    }

    fn run(&self, command: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("KUBECONFIG", &self.kubeconfig).env("PATH", &self.path).stdin(Stdio::null());
        shell.output().unwrap()
    }

    fn types(&self, command: &str) -> String {
        let output = self.run(command);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}: {} {out}{err}", output.status);
        out.into_owned()
    }

    /// Looks again and again until the Rollout is in a phase. A pause on the way is no end: analysis may end it.
    fn waits(&self, phase: &str) {
        let begun = Instant::now();
        loop {
            let output = self.run("kubectl argo rollouts status web --watch=false");
            if String::from_utf8_lossy(&output.stdout).starts_with(phase) {
                return;
            }
            if begun.elapsed() > PATIENCE {
                panic!("not {phase}: {}", self.types("kubectl argo rollouts get rollout web"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Types one of the commands when its time has come.
    fn plays(&self, command: &str) {
        if command.ends_with("--watch") {
            // Nobody watches for ever; the time is up before it ends by itself.
            let watched = self.run(&format!("timeout 2 {command}"));
            assert!(String::from_utf8_lossy(&watched.stdout).contains("Name:            web"), "{watched:?}");
            return;
        }
        match command {
            promote if promote.ends_with("promote web") || promote.ends_with("abort web") => self.waits("Paused"),
            change if change.contains("set image") => self.waits("Healthy"),
            undo if undo.contains("undo") => self.waits("Degraded"),
            drift if drift.contains("apply -f") => {
                self.waits("Paused");
                self.types(drift);
                self.sees_routes_repaired();
                return;
            }
            _ => {}
        }
        let said = self.types(command);
        if command.starts_with("curl") {
            assert!(said.starts_with("version "), "{command}: {said}");
        }
    }

    /// What was applied over the routes does not stay.
    fn sees_routes_repaired(&self) {
        let weight = || {
            self.types("kubectl argo rollouts get rollout web -o json | tr -d ' \\n' | grep -o '\"actualWeight\":\"[0-9]*\"' || true")
        };
        let found = || self.types("kubectl get virtualservice web -o yaml");
        let begun = Instant::now();
        loop {
            let (said, routes) = (weight(), found());
            let canary = said.chars().filter(char::is_ascii_digit).collect::<String>();
            // A header route is all there is before the first weight.
            if routes.contains("x-tester")
                || (!canary.is_empty() && canary != "0" && routes.contains(&format!("weight: {canary}")))
            {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{said} {routes}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Ctrl-C.
    fn ends(mut self) {
        self.keyboard.write_all(&[3]).unwrap();
        self.reads("Ended: ");
        assert!(self.playground.wait().unwrap().success());
        assert!(!Path::new(&self.kubeconfig).exists(), "nothing is left behind");
    }
}

fn plays_all_of(scenario: &str) {
    let newcomer = Newcomer::start(scenario);
    let commands = newcomer.commands();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in &commands {
        newcomer.plays(command);
    }
    newcomer.waits("Degraded");
    newcomer.ends();
}

#[test]
fn the_host_scenario_goes_as_it_says() {
    plays_all_of("host");
}

#[test]
fn the_subset_scenario_goes_as_it_says() {
    plays_all_of("subset");
}

#[test]
fn the_blue_green_scenario_goes_as_it_says() {
    plays_all_of("blue-green");
}

#[test]
fn the_header_scenario_goes_as_it_says() {
    plays_all_of("header");
}

#[test]
fn the_tcp_scenario_goes_as_it_says() {
    plays_all_of("tcp");
}

#[test]
fn the_experiment_scenario_goes_as_it_says() {
    plays_all_of("experiment");
}

#[test]
fn a_scenario_that_does_not_exist_is_refused_with_the_list() {
    let output = Command::new(PROGRAM).args(["playground", "--scenario", "magic"]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("choose one of host, subset, blue-green, header, tcp, experiment"), "{err}");
    assert!(!output.status.success());
}
