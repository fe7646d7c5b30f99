//! Two terminals: the playground runs in one of them, commands are typed in the other.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_kubectl-argo-rollouts");
/// The last line of what it says.
const LAST: &str = "Ctrl-C ends everything.";
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// The playground in one terminal; commands are typed in another.
pub(crate) struct Newcomer {
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
    pub(crate) fn start(scenario: &str) -> Self {
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
    pub(crate) fn commands(&self) -> Vec<String> {
        let lines = self.lines();
        let pairs = lines.windows(2).filter(|pair| pair[0].starts_with("# "));
        pairs.map(|pair| pair[1].clone()).collect()
    }

    /// What it says of one of its ports.
    pub(crate) fn address(&self, of: &str) -> String {
        let line = self.lines().into_iter().find_map(|line| Some(line.strip_prefix(of)?.trim().to_owned()));
        line.unwrap_or_else(|| panic!("it does not say where {of} is"))
    }

    pub(crate) fn run(&self, command: &str) -> Output {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).env("KUBECONFIG", &self.kubeconfig).env("PATH", &self.path).stdin(Stdio::null());
        shell.output().unwrap()
    }

    pub(crate) fn types(&self, command: &str) -> String {
        let output = self.run(command);
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{command}: {} {out}{err}", output.status);
        out.into_owned()
    }

    /// Looks again and again until the Rollout is in a phase. A pause on the way is no end: analysis may end it.
    pub(crate) fn waits(&self, phase: &str) {
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

    /// Ctrl-C.
    pub(crate) fn ends(mut self) {
        self.keyboard.write_all(&[3]).unwrap();
        self.reads("Ended: ");
        assert!(self.playground.wait().unwrap().success());
        assert!(!Path::new(&self.kubeconfig).exists(), "nothing is left behind");
    }
}

impl Drop for Newcomer {
    /// A test that fails leaves no playground running.
    fn drop(&mut self) {
        let _ = self.keyboard.write_all(&[3]);
        let _ = self.playground.wait();
    }
}
