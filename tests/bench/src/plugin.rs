//! What the command line costs: the time a person waits for it, the memory it takes, its size.
//!
//! Nothing but the program is measured: no controller runs, the Rollouts and their statuses are written by the bench.

use std::io::{PipeWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kube::api::{Api, DynamicObject};
use serde_json::{Value, json};

use crate::day;
use crate::figures::{Figures, Unit, megabytes, milliseconds, percentile, table};
use crate::objects::{self, HASH, NAMESPACE};
use crate::processes::memory;
use crate::say;
use crate::stage::Stage;

/// How often each command is run; what is told is the one in the middle.
const RUNS: usize = 40;
/// Bytes that a pipe holds before whoever writes has to wait.
const PIPE: usize = 64 * 1024;
/// How long a command may take to come to its output.
const PATIENCE: Duration = Duration::from_secs(20);
/// The Rollout that is looked at.
const SHOWN: usize = 0;
const HASHES: [&str; 2] = ["6d4b75cb6d", "77c686987c"];

/// Milliseconds, megabytes.
const VERSION: f64 = 5.0;
const GET: f64 = 40.0;
const GET_MEMORY: f64 = 25.0;
const LIST_500: f64 = 100.0;
const SIZE: f64 = 25.0;

/// Measures the program against a control plane with 500 and then with 2,000 Rollouts.
pub(crate) async fn measure(program: &Path) -> Result<String> {
    let size = std::fs::metadata(program).with_context(|| format!("where is {}?", program.display()))?.len();
    let stage = Stage::start(false).await?;
    let plugin = Plugin { program: program.to_owned(), kubeconfig: stage.testbed.kubeconfig() };
    let mut figures = Figures::default();
    say("500 Rollouts with their statuses");
    fill(&stage, 0..500).await?;
    show(&stage).await?;
    figures.held("version", plugin.time(&["version"])?, Unit::Milliseconds, Some(VERSION));
    let shown = objects::name(SHOWN);
    let get = ["get", "rollout", &shown];
    figures.held("get rollout", plugin.time(&get)?, Unit::Milliseconds, Some(GET));
    figures.held("get rollout, memory", plugin.memory(&get)?, Unit::Megabytes, Some(GET_MEMORY));
    figures.add("status --watch=false", plugin.time(&["status", &shown, "--watch=false"])?, Unit::Milliseconds);
    figures.add("why", plugin.time(&["why", &shown])?, Unit::Milliseconds);
    let list = ["list", "rollouts"];
    figures.held("list rollouts, 500", plugin.time(&list)?, Unit::Milliseconds, Some(LIST_500));
    figures.add("list rollouts, 500, memory", plugin.memory(&list)?, Unit::Megabytes);
    say("2,000 Rollouts with their statuses");
    fill(&stage, 500..2000).await?;
    figures.add("list rollouts, 2000", plugin.time(&list)?, Unit::Milliseconds);
    figures.add("list rollouts, 2000, memory", plugin.memory(&list)?, Unit::Megabytes);
    say("a simulated day of a fleet");
    day::measure(program, &mut figures)?;
    figures.held("the program", megabytes(size), Unit::Megabytes, Some(SIZE));
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(format!("\nThe command line, median of {RUNS} runs each\n\n{}", table(&[(name, figures)])))
}

/// Rollouts that stand at their first pause, with statuses as a controller writes them.
pub(crate) async fn fill(stage: &Stage, numbers: std::ops::Range<usize>) -> Result<()> {
    let made = numbers.clone().map(|number| objects::rollout(number, 2, false));
    stage.create_all("argoproj.io", "Rollout", made).await?;
    stage.patch_rollouts(numbers, true, |number| json!({"status": paused(number)})).await
}

fn paused(number: usize) -> Value {
    let name = objects::name(number);
    let condition = |kind: &str, status: &str, reason: &str, message: String| {
        json!({"type": kind, "status": status, "reason": reason, "message": message,
            "lastTransitionTime": "2026-08-14T09:20:00Z", "lastUpdateTime": "2026-08-14T09:20:00Z"})
    };
    json!({
        "phase": "Paused", "message": "CanaryPauseStep", "observedGeneration": "1", "currentStepIndex": 1,
        "currentPodHash": HASHES[1], "stableRS": HASHES[0], "selector": format!("app={name}"),
        "replicas": 2, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2, "HPAReplicas": 2,
        "controllerPause": true, "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-08-14T09:20:00Z"}],
        "conditions": [
            condition("Available", "True", "AvailableReason", "Rollout has minimum availability".to_owned()),
            condition("Paused", "True", "RolloutPaused", "Rollout is paused".to_owned()),
            condition("Progressing", "Unknown", "RolloutPaused", "Rollout is paused".to_owned()),
            condition("Healthy", "False", "RolloutHealthy", "Rollout is not healthy".to_owned()),
        ],
    })
}

/// Gives the Rollout that is looked at two ReplicaSets, and waits for their pods.
async fn show(stage: &Stage) -> Result<()> {
    let name = objects::name(SHOWN);
    let rollouts: Api<DynamicObject> = stage.api("argoproj.io", "Rollout", Some(NAMESPACE));
    let uid = rollouts.get(&name).await?.metadata.uid.context("a Rollout without a uid")?;
    for (index, hash) in HASHES.iter().enumerate() {
        let rollout = objects::rollout(SHOWN, 1, false);
        let mut template = rollout["spec"]["template"].clone();
        if let Some(labels) = template.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
            labels.insert(HASH.to_owned(), json!(hash));
        }
        let owner = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": name, "uid": uid,
            "controller": true, "blockOwnerDeletion": true});
        let labels = json!({"app": name, HASH: hash});
        let set = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {
            "name": format!("{name}-{hash}"), "namespace": NAMESPACE, "labels": labels, "ownerReferences": [owner],
            "annotations": {"rollout.argoproj.io/revision": (index + 1).to_string()}},
            "spec": {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}});
        stage.create("apps", "ReplicaSet", set).await?;
    }
    let sets = stage.api("apps", "ReplicaSet", Some(NAMESPACE));
    let begun = Instant::now();
    loop {
        let mut available = 0;
        for hash in HASHES {
            let set = sets.get(&format!("{name}-{hash}")).await?;
            available += set.data.pointer("/status/availableReplicas").and_then(Value::as_i64).unwrap_or(0);
        }
        match available {
            2 => return Ok(()),
            _ if begun.elapsed() > PATIENCE => bail!("the pods of {name} do not become available"),
            _ => tokio::time::sleep(Duration::from_millis(100)).await,
        }
    }
}

/// The program and the cluster it is sent to.
struct Plugin {
    program: PathBuf,
    kubeconfig: PathBuf,
}

impl Plugin {
    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(arguments).args(["--namespace", NAMESPACE]).env_clear();
        command.env("KUBECONFIG", &self.kubeconfig).stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Milliseconds from the start of the process to its end.
    fn time(&self, arguments: &[&str]) -> Result<f64> {
        let mut times = Vec::new();
        for _ in 0..RUNS {
            let begun = Instant::now();
            let output = self.command(arguments).output().with_context(|| format!("{arguments:?}"))?;
            let time = begun.elapsed();
            if !output.status.success() || output.stdout.is_empty() {
                bail!("{arguments:?} failed: {:?}", output.status.code());
            }
            times.push(milliseconds(time));
        }
        Ok(percentile(&times, 0.5))
    }

    /// The most memory it had when it came to its output: it finds nobody who reads, and waits there until it was looked at.
    fn memory(&self, arguments: &[&str]) -> Result<f64> {
        let (mut reader, writer) = full_pipe()?;
        let mut child = self.command(arguments).stdout(writer).spawn().with_context(|| format!("{arguments:?}"))?;
        let begun = Instant::now();
        let (mut most, mut looks_alike) = (0, 0);
        // It has come to its output when nothing changes any more.
        while looks_alike < 20 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(10));
            let Some(now) = memory(child.id()) else { break };
            looks_alike = if now.most == most { looks_alike + 1 } else { 0 };
            most = now.most;
        }
        let mut rest = Vec::new();
        reader.read_to_end(&mut rest).context("reading what a command printed")?;
        let status = child.wait()?;
        if !status.success() || rest.len() <= PIPE {
            bail!("{arguments:?} failed: {:?}", status.code());
        }
        Ok(megabytes(most))
    }
}

/// A pipe that takes nothing more.
fn full_pipe() -> Result<(std::io::PipeReader, PipeWriter)> {
    let (reader, mut writer) = std::io::pipe().context("making a pipe")?;
    writer.write_all(&[b' '; PIPE]).context("filling a pipe")?;
    Ok((reader, writer))
}
