//! Commands that bring a cluster of their own.

use std::path::PathBuf;

use clap::Args;
use tidegate_playground::{Scenario, Speed};

/// Runs a Kubernetes API, pods, an Istio mesh under load, the controller and a demo application in this process.
///
/// Nothing is installed and nothing is left behind: Ctrl-C ends it all. While it runs, kubectl and every command of this plugin work on it with
/// the kubeconfig it names.
#[derive(Args)]
#[command(
    after_help = "Scenarios:\n  host        a canary between two Services behind Istio, judged by analysis\n  subset      a canary between two subsets of one Service\n  blue-green  a blue-green switch, judged by analysis after it\n  header      testers see the canary by a header before anybody else does\n  tcp         connections instead of requests\n  experiment  an experiment with baseline and candidate before the canary\n\nExamples:\n  kubectl argo rollouts playground\n  kubectl argo rollouts playground --scenario blue-green --speed 3"
)]
pub(crate) struct Playground {
    /// What is shown
    #[arg(long, value_name = "NAME", default_value = "host", value_parser = scenario)]
    pub(crate) scenario: Scenario,
    /// How many times faster pauses pass and pods start
    #[arg(long, value_name = "FACTOR", default_value = "1", value_parser = speed)]
    pub(crate) speed: Speed,
    /// Port of the Kubernetes API; if it is taken, the next free one
    #[arg(long, value_name = "PORT", default_value = "6443")]
    pub(crate) port_api: u16,
    /// Port of the dashboard, likewise
    #[arg(long, value_name = "PORT", default_value = "3100")]
    pub(crate) port_dashboard: u16,
    /// Port of the demo application, likewise
    #[arg(long, value_name = "PORT", default_value = "8080")]
    pub(crate) port_app: u16,
    /// Keep the state in this folder, and go on from there the next time
    #[arg(long, value_name = "FOLDER")]
    pub(crate) dir: Option<PathBuf>,
}

fn scenario(name: &str) -> Result<Scenario, String> {
    Scenario::named(name).ok_or_else(|| {
        let names: Vec<&str> = Scenario::ALL.iter().map(|scenario| scenario.name()).collect();
        format!("choose one of {}", names.join(", "))
    })
}

fn speed(text: &str) -> Result<Speed, String> {
    text.parse().ok().and_then(Speed::new).ok_or_else(|| "choose a number from 0.1 to 20".to_owned())
}
