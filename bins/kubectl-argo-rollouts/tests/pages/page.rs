//! A page as a reader plays it: every command behind a `$`, by a shell, and every output compared.
//!
//! Ages, times, the random ends of pod names and the width of columns may differ, and of `status` only the last line is
//! compared, because nobody sees every state on the way. `UPDATE_PAGE=1` writes what was seen into the page, for reading.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use regex::Regex;
use tidegate_clock::Clock;
use tidegate_runtime::lease::Leadership;
use tidegate_testbed::{Options, Testbed, prepare_helm, prepare_istio_kinds};
use tokio::task::JoinHandle;

/// How long an output may take to become what the page says.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait before what is seen is written into the page.
const SETTLED: Duration = Duration::from_secs(5);

pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command of the page and what the page says it prints.
struct Step {
    command: String,
    told: String,
}

impl Step {
    fn is_as_told(&self, seen: &str) -> bool {
        comparable(&self.command, seen) == comparable(&self.command, &self.told)
    }
}

/// The commands of all `console` blocks in their order.
fn steps(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut is_console = false;
    for line in page.lines() {
        match line {
            "```console" => is_console = true,
            "```" => is_console = false,
            _ if !is_console => {}
            _ => match (line.strip_prefix("$ "), steps.last_mut()) {
                (Some(command), _) => steps.push(Step { command: command.to_owned(), told: String::new() }),
                (None, Some(step)) => step.told.push_str(&format!("{line}\n")),
                (None, None) => {}
            },
        }
    }
    steps
}

/// The page with other outputs below its commands.
fn rewritten(page: &str, seen: &[String]) -> String {
    let mut outputs = seen.iter();
    let (mut text, mut is_console) = (String::new(), false);
    for line in page.lines() {
        match line {
            "```console" => is_console = true,
            "```" => is_console = false,
            _ => {}
        }
        let is_command = line.starts_with("$ ");
        if is_console && !is_command && line != "```console" {
            continue;
        }
        text.push_str(&format!("{line}\n"));
        if is_console && is_command {
            text.push_str(outputs.next().unwrap());
        }
    }
    text
}

/// What must be the same on every run of this command.
fn comparable(command: &str, text: &str) -> String {
    let replaced = [
        (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
        (r"LAST DEPLOYED: .*", "LAST DEPLOYED: then"),
        (r"\b(\d+h)?(\d+m)?\d+s\b|\b\d+m\b", "AGE"),
        (r"(demo-[0-9a-f]{8,10})-[a-z0-9]{5}\b", "$1-POD"),
        (r"[ \t]+", " "),
    ];
    let text = replaced.iter().fold(text.to_owned(), |text, (pattern, with)| {
        Regex::new(pattern).unwrap().replace_all(&text, *with).into_owned()
    });
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let passed_by =
        if command.starts_with("kubectl argo rollouts status ") { lines.len().saturating_sub(1) } else { 0 };
    lines[passed_by..].join("\n")
}

/// Whether a command changes nothing, so that it can be asked again.
fn is_question(command: &str) -> bool {
    ["kubectl get ", "kubectl argo rollouts get ", "kubectl argo rollouts why "]
        .iter()
        .any(|begin| command.starts_with(begin))
}

/// The reader's machine: a shell with our tools and the cluster.
pub(crate) struct Reader {
    tools: PathBuf,
    home: PathBuf,
    kubeconfig: PathBuf,
}

impl Reader {
    fn new(testbed: &Testbed, helm: &Path) -> Self {
        let (tools, home) = (testbed.dir().join("tools"), testbed.dir().join("reader"));
        std::fs::create_dir_all(&tools).unwrap();
        std::fs::create_dir_all(&home).unwrap();
        symlink(&testbed.binaries().kubectl, tools.join("kubectl")).unwrap();
        symlink(helm, tools.join("helm")).unwrap();
        symlink(env!("CARGO_BIN_EXE_kubectl-argo-rollouts"), tools.join("kubectl-argo-rollouts")).unwrap();
        Self { tools, home, kubeconfig: testbed.kubeconfig() }
    }

    /// Everything that a command prints.
    pub(crate) async fn run(&self, line: &str) -> String {
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{line} 2>&1")]).current_dir(repository()).env_clear();
        command.env("PATH", format!("{}:/usr/bin:/bin", self.tools.display()));
        command.env("HOME", &self.home).env("KUBECONFIG", &self.kubeconfig).stdin(Stdio::null());
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    /// What a command prints once it is as told, or what it still prints when patience is over.
    async fn until(&self, step: &Step) -> String {
        let limit = Instant::now() + PATIENCE;
        loop {
            let seen = self.run(&step.command).await;
            let is_done = step.is_as_told(&seen) || !is_question(&step.command);
            if is_done || Instant::now() > limit {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }
}

/// Starts our controller in this process; the pods of a Deployment run nothing.
pub(crate) async fn control(testbed: &Testbed) -> JoinHandle<()> {
    let client = testbed.client().await.unwrap();
    let options = tidegate_controller::Options::default();
    let (clock, stop) = (Clock::system(), std::future::pending());
    tokio::spawn(tidegate_controller::run(client, clock, options, Leadership::alone(), stop))
}

pub(crate) async fn prepared() -> (Testbed, Reader) {
    let assets = tokio::task::spawn_blocking(|| (prepare_helm().unwrap(), prepare_istio_kinds().unwrap()));
    let (helm, kinds) = assets.await.unwrap();
    let testbed = Testbed::start(Options::default()).await.unwrap();
    let reader = Reader::new(&testbed, &helm);
    let made = reader.run(&format!("kubectl create -f {}", kinds.display())).await;
    assert!(made.contains("virtualservices.networking.istio.io created"), "{made}");
    reader.run("kubectl wait --for=condition=Established crd --all").await;
    (testbed, reader)
}

/// Plays a page and tells of every command that was run.
pub(crate) async fn play(page: &str, reader: &Reader, mut ran: impl AsyncFnMut(&str)) {
    let file = repository().join(page);
    let page = std::fs::read_to_string(&file).unwrap();
    let update = std::env::var_os("UPDATE_PAGE").is_some();
    let mut seen = Vec::new();
    for step in &steps(&page) {
        if update && is_question(&step.command) {
            tokio::time::sleep(SETTLED).await;
        }
        let output = if update { reader.run(&step.command).await } else { reader.until(step).await };
        if !update {
            assert!(step.is_as_told(&output), "$ {}\ntold:\n{}\nseen:\n{output}", step.command, step.told);
        }
        seen.push(output);
        ran(&step.command).await;
    }
    if update {
        std::fs::write(&file, rewritten(&page, &seen)).unwrap();
    }
}
