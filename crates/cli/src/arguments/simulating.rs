//! `simulate`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tidegate_simulate::quantities::{self, Span};
use tidegate_simulate::{Act, Assume, Expect, ImageChange, VersionSetting, words};

use super::AnswerForm;

/// What is assumed of metrics that are not simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AssumedMetrics {
    /// They succeed.
    Success,
    /// They fail.
    Failure,
}

impl From<AssumedMetrics> for Assume {
    fn from(assumed: AssumedMetrics) -> Self {
        match assumed {
            AssumedMetrics::Success => Self::Success,
            AssumedMetrics::Failure => Self::Failure,
        }
    }
}

/// How the update should end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExpectedEnd {
    /// Healthy on the new version.
    Healthy,
    /// Given up, and back on the old version.
    Aborted,
    /// Waiting for a person.
    Paused,
}

impl From<ExpectedEnd> for Expect {
    fn from(expected: ExpectedEnd) -> Self {
        match expected {
            ExpectedEnd::Healthy => Self::Healthy,
            ExpectedEnd::Aborted => Self::Aborted,
            ExpectedEnd::Paused => Self::Paused,
        }
    }
}

/// A time, or never.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PromoteAfter(pub(crate) Option<Duration>);

fn promote_after(text: &str) -> Result<PromoteAfter, String> {
    if text == "never" {
        return Ok(PromoteAfter(None));
    }
    quantities::duration(text).map(|time| PromoteAfter(Some(time)))
}

fn rate(text: &str) -> Result<f64, String> {
    let read = text.parse::<f64>().ok().filter(|rate| (0.0..=1_000_000.0).contains(rate));
    read.ok_or_else(|| format!("{text:?} is no number from 0 to 1000000"))
}

/// Runs manifests in virtual time with the real controller behind a simulated Istio mesh, and tells what will happen.
///
/// Everything in the files is created and becomes healthy; then the update is made, requests run through the mesh, and every
/// change and decision is told until all has settled. The same files, flags and seed give the same report. The exit code
/// is 0 when the update ends as expected, 1 when it does not, and 2 when the input cannot be simulated.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  kubectl argo rollouts simulate -f manifests/\n  kubectl argo rollouts simulate -f shop.yaml --image shop:2 --error-rate new=5% --expect aborted\n  kubectl argo rollouts simulate -f shop.yaml --fault drawn --seeds 100 --html report.html"
)]
pub(crate) struct Simulate {
    /// File, or folder with all below it, or - for stdin; may be repeated
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub(crate) filenames: Vec<PathBuf>,
    /// Scenario file: versions, metrics, faults, acts; flags win over it
    #[arg(long, value_name = "FILE")]
    pub(crate) scenario: Option<PathBuf>,
    /// New image of a container; may be repeated
    #[arg(long, value_name = "ROLLOUT=CONTAINER=IMAGE", value_parser = words::image_change)]
    pub(crate) set_image: Vec<ImageChange>,
    /// New image of the only Rollout; without any image, all get the tag "simulated"
    #[arg(long, value_name = "IMAGE", conflicts_with = "set_image")]
    pub(crate) image: Option<String>,
    /// Time from a pod being placed to its containers running [default: 2s-5s]
    #[arg(long, value_name = "TIME|FROM-TO", value_parser = quantities::span)]
    pub(crate) pod_start: Option<Span>,
    /// Share of requests that fail, of the version old, new or an image, such as new=5%; may be repeated
    #[arg(long, value_name = "VERSION=SHARE", value_parser = words::error_rate)]
    pub(crate) error_rate: Vec<VersionSetting>,
    /// How long answers of a version take, such as new=20ms-80ms; may be repeated
    #[arg(long, value_name = "VERSION=TIME", value_parser = words::latency)]
    pub(crate) latency: Vec<VersionSetting>,
    /// Requests per second to each Rollout [default: 20]
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) requests_per_second: Option<f64>,
    /// What goes wrong, with how many of 1000 cases: NAME[=N], all, drawn or none; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) fault: Vec<String>,
    /// How long faults happen, from the update on [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = quantities::duration)]
    pub(crate) faults_for: Option<Duration>,
    /// What somebody does, such as "2m abort shop"; may be repeated
    #[arg(long, value_name = "TIME ACT [ROLLOUT]", value_parser = words::act)]
    pub(crate) act: Vec<Act>,
    /// When the simulated user goes on after a pause without an end: a time, or never [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = promote_after)]
    pub(crate) promote_after: Option<PromoteAfter>,
    /// What metrics say that are not simulated [default: success]
    #[arg(long, value_enum, value_name = "RESULT")]
    pub(crate) assume_metrics: Option<AssumedMetrics>,
    /// How the update should end [default: healthy]
    #[arg(long, value_enum, value_name = "END")]
    pub(crate) expect: Option<ExpectedEnd>,
    /// Look on for exactly this long; otherwise until all has settled, a day at most
    #[arg(long, value_name = "TIME", value_parser = quantities::duration)]
    pub(crate) until: Option<Duration>,
    /// What everything is drawn from [default: 0]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run so many seeds and report how the updates ended
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) seeds: Option<u64>,
    /// Write the report with charts to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: AnswerForm,
    /// What was typed, for commands that show a run again.
    #[arg(skip)]
    pub(crate) typed: Vec<String>,
}
