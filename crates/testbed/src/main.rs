//! Starts and stops testbeds from the command line.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Parser, Subcommand};
use tidegate_clock::Clock;
use tidegate_testbed::registry::{self, Pid, Record};
use tidegate_testbed::{Options, Testbed, prepare, prepare_helm, prepare_mesh};
use tokio::signal::unix::{SignalKind, signal};

/// A real Kubernetes control plane on loopback, for tests and for trying things out.
#[derive(Parser)]
#[command(name = "tidegate-testbed", version)]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Start a testbed and print the path of its kubeconfig (the only line on standard output).
    Up(Up),
    /// Stop testbeds and wait until nothing of them runs.
    Down(Down),
    /// List running testbeds: name, process, age, kubeconfig.
    Status,
    /// Only prepare the programs: etcd, kube-apiserver, kube-controller-manager, kubectl, Helm.
    Build(Build),
}

#[derive(Args)]
struct Build {
    /// Also istiod, Envoy and Istio's kinds.
    #[arg(long)]
    mesh: bool,
}

#[derive(Args)]
struct Up {
    /// Name of the testbed.
    #[arg(long, default_value = "default")]
    name: String,
    /// Leave it running in the background; stop it with `down`.
    #[arg(long)]
    detach: bool,
    /// Write an audit log next to the other logs.
    #[arg(long)]
    audit: bool,
}

#[derive(Args)]
struct Down {
    /// Name of the testbed.
    #[arg(default_value = "default")]
    name: String,
    /// Stop all of them.
    #[arg(long, conflicts_with = "name")]
    all: bool,
}

fn main() -> ExitCode {
    let task = Cli::parse().command;
    let result = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("starting the runtime")
        .and_then(|runtime| {
            let result = runtime.block_on(perform(task));
            // Not by dropping it: that would wait for a build that was interrupted.
            runtime.shutdown_background();
            result
        });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

async fn perform(task: Task) -> anyhow::Result<()> {
    match task {
        Task::Up(up) if up.detach => detach(&up).await,
        Task::Up(up) => run(&up).await,
        Task::Down(down) => stop(&down).await,
        Task::Status => status(),
        Task::Build(wanted) => build(&wanted).await,
    }
}

fn say(line: &str) {
    let _closed = writeln!(std::io::stderr(), "testbed: {line}");
}

fn answer(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}").context("writing to standard output")
}

fn refuse_second(name: &str) -> anyhow::Result<()> {
    registry::check_name(name)?;
    if let Some(running) = registry::find(name)? {
        bail!(
            "testbed {name:?} is already running (process {}); stop it with `down {name}` or use another --name",
            running.holder.pid
        );
    }
    Ok(())
}

/// Runs in the foreground until asked to stop.
async fn run(up: &Up) -> anyhow::Result<()> {
    refuse_second(&up.name)?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    say("starting");
    let start = Testbed::start(Options { audit: up.audit, ..Options::default() });
    let testbed = tokio::select! {
        biased;
        _ = interrupt.recv() => bail!("interrupted while starting"),
        _ = terminate.recv() => bail!("terminated while starting"),
        testbed = start => testbed?,
    };
    registry::enter(&record_of(&up.name, &testbed)?)?;
    say(&format!("ready; logs in {}; Ctrl-C stops it", testbed.logs_dir().display()));
    answer(&testbed.kubeconfig().display().to_string())?;
    tokio::select! {
        biased;
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    say("stopping");
    testbed.stop().await;
    registry::leave(&up.name)?;
    Ok(())
}

fn record_of(name: &str, testbed: &Testbed) -> anyhow::Result<Record> {
    let parts = testbed.pids().into_iter().filter_map(|(name, pid)| Pid::of(name, pid)).collect();
    Ok(Record {
        name: name.to_owned(),
        holder: Pid::of("tidegate-testbed", std::process::id()).context("this process is not in /proc")?,
        parts,
        kubeconfig: testbed.kubeconfig(),
        started_at: Clock::system().now_seconds(),
    })
}

/// Starts the same program in the background and waits until it is ready.
async fn detach(up: &Up) -> anyhow::Result<()> {
    refuse_second(&up.name)?;
    // Built in the foreground: it takes minutes the first time, and its progress is for the person who waits.
    tokio::task::spawn_blocking(prepare).await??;
    let dir = registry::run_dir()?;
    std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    let log_path = dir.join(format!("{}.log", up.name));
    let log = std::fs::File::create(&log_path).with_context(|| log_path.display().to_string())?;
    // A session of its own: closing the terminal must not end it.
    let mut command = Command::new("setsid");
    command.arg(std::env::current_exe()?).args(["up", "--name", &up.name]);
    if up.audit {
        command.arg("--audit");
    }
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .context("setsid (from util-linux) could not be started")?;
    loop {
        if let Some(record) = registry::find(&up.name)? {
            say(&format!("testbed {:?} runs as process {}", up.name, record.holder.pid));
            return answer(&record.kubeconfig.display().to_string());
        }
        if let Some(status) = child.try_wait()? {
            let log = std::fs::read_to_string(&log_path).unwrap_or_default();
            bail!("it ended with {status}:\n{log}");
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn stop(down: &Down) -> anyhow::Result<()> {
    let chosen = if down.all { registry::all()? } else { registry::find(&down.name)?.into_iter().collect() };
    if chosen.is_empty() {
        say(if down.all { "nothing is running" } else { "it is not running" });
    }
    for record in chosen {
        registry::end(&record).await?;
        say(&format!("testbed {:?} stopped", record.name));
    }
    Ok(())
}

fn status() -> anyhow::Result<()> {
    let running = registry::all()?;
    if running.is_empty() {
        say("nothing is running");
        return Ok(());
    }
    let now = Clock::system().now_seconds();
    answer(&format!("{:<20} {:>8} {:>8}  KUBECONFIG", "NAME", "PID", "AGE"))?;
    for record in running {
        let age = format!("{}s", now.duration_since(record.started_at).as_secs());
        let (name, pid, kubeconfig) = (&record.name, record.holder.pid, record.kubeconfig.display());
        answer(&format!("{name:<20} {pid:>8} {age:>8}  {kubeconfig}"))?;
    }
    Ok(())
}

async fn build(wanted: &Build) -> anyhow::Result<()> {
    let binaries = tokio::task::spawn_blocking(prepare).await??;
    let helm = tokio::task::spawn_blocking(prepare_helm).await??;
    for path in [&binaries.etcd, &binaries.kube_apiserver, &binaries.kube_controller_manager, &binaries.kubectl, &helm]
    {
        say(&format!("using {}", path.display()));
    }
    if wanted.mesh {
        let mesh = tokio::task::spawn_blocking(prepare_mesh).await??;
        for path in [&mesh.istiod, &mesh.envoy, &mesh.crds] {
            say(&format!("using {}", path.display()));
        }
    }
    Ok(())
}
