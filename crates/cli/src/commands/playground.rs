//! `playground`: a cluster in this process, until Ctrl-C.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tidegate_playground::{Options, Playground, Ports};

use super::signals::Signals;
use crate::arguments::Playground as Asked;
use crate::failure::Failure;
use crate::{Outcome, PROGRAM, Streams};

pub(super) fn run(asked: &Asked, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    // Analyses of users may ask services behind TLS. Whoever installed a provider first has the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let outcome = runtime.block_on(play(asked, streams));
    // Not by dropping it: requests that still wait have nobody to wait for.
    runtime.shutdown_background();
    outcome
}

async fn play(asked: &Asked, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    let mut signals = Signals::new()?;
    let options = Options {
        scenario: asked.scenario,
        speed: asked.speed,
        ports: Ports { api: asked.port_api, app: asked.port_app, dashboard: asked.port_dashboard },
        dir: asked.dir.clone(),
        version: tidegate_build_info::version(),
        folder: std::env::temp_dir().join(format!("tidegate-playground-{}", std::process::id())),
    };
    let playground = Playground::start(options).await.map_err(|error| Failure::said(error.to_string()))?;
    greet(&playground, asked, streams)?;
    signals.end().await;
    let totals = playground.stop().await.map_err(|error| Failure::said(error.to_string()))?;
    writeln!(streams.out, "\nEnded: {} requests, {} failed.", totals.requests, totals.failed)?;
    Ok(Outcome::Success)
}

fn greet(playground: &Playground, asked: &Asked, streams: &mut Streams<'_>) -> io::Result<()> {
    let out = &mut streams.out;
    writeln!(out, "The playground runs: {}.\n", asked.scenario.about())?;
    writeln!(out, "  application     http://localhost:{}", playground.app().port())?;
    writeln!(out, "  dashboard       http://localhost:{}/rollouts", playground.dashboard().port())?;
    writeln!(out, "  Kubernetes API  https://localhost:{}", playground.api().port())?;
    writeln!(out, "  kubeconfig      {}\n", playground.kubeconfig().display())?;
    writeln!(out, "In a second terminal:\n")?;
    writeln!(out, "  export KUBECONFIG={}\n", playground.kubeconfig().display())?;
    let (plugin, kubectl) = called();
    for (says, command) in playground.tries(&plugin, &kubectl) {
        writeln!(out, "  # {says}\n  {command}")?;
    }
    writeln!(out, "\nYour own manifests work too: {kubectl} apply -f FILE. Ctrl-C ends everything.")?;
    out.flush()
}

/// How people call the plugin and kubectl here: `kubectl argo rollouts` where kubectl finds it, else the path of this program.
fn called() -> (String, String) {
    let folders: Vec<PathBuf> =
        std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
    let is_there = |name: &str| folders.iter().any(|folder| folder.join(name).is_file());
    let plugin = if is_there("kubectl") && is_there(PROGRAM) {
        "kubectl argo rollouts".to_owned()
    } else {
        own_path().unwrap_or_else(|| PROGRAM.to_owned())
    };
    (plugin, "kubectl".to_owned())
}

/// The path of this program, from here if it is below.
fn own_path() -> Option<String> {
    let program = std::env::current_exe().ok()?;
    let here = std::env::current_dir().ok()?;
    let shown: &Path = program.strip_prefix(&here).unwrap_or(&program);
    Some(shown.display().to_string())
}
