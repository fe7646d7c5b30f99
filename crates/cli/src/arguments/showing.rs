//! Commands that only show.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::changing::OneName;
use super::value;

/// The form of what is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For programs.
    Json,
    /// For programs and people.
    Yaml,
    /// Only kind and name.
    Name,
    /// With more for people.
    Wide,
}

#[derive(Subcommand)]
pub(crate) enum GetCommand {
    /// Show a Rollout
    #[command(visible_aliases = ["ro", "rollouts"], after_help = "Aliases:\n  rollout, ro, rollouts\n\nExamples:\n  kubectl argo rollouts get rollout guestbook\n  kubectl argo rollouts get rollout guestbook -w")]
    Rollout(GetRollout),
    /// Show an Experiment
    #[command(visible_aliases = ["exp", "experiments"], after_help = "Aliases:\n  experiment, exp, experiments")]
    Experiment(GetExperiment),
}

/// How something is shown, whatever it is.
#[derive(Args)]
pub(crate) struct Showing {
    /// Go on showing it
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// No colours
    #[arg(long)]
    pub(crate) no_color: bool,
    /// Colours also where there is no terminal
    #[arg(long, value_parser = ["auto", "always", "never"], default_value = "auto")]
    pub(crate) color: String,
    /// Form of the output
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Output>,
}

/// Shows a Rollout: where it stands, its revisions, their pods and analyses.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct GetRollout {
    #[command(flatten)]
    pub(crate) target: OneName,
    #[command(flatten)]
    pub(crate) showing: Showing,
    /// End after so many seconds; 0 for never
    #[arg(long, value_name = "N", default_value = "0", value_parser = value::integer, allow_hyphen_values = true)]
    pub(crate) timeout_seconds: i64,
    /// End with the update: exit code 0 when it is healthy, 1 when it is degraded
    #[arg(long)]
    pub(crate) until_done: bool,
}

/// Shows an Experiment, its pods and analyses.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct GetExperiment {
    #[command(flatten)]
    pub(crate) target: OneName,
    #[command(flatten)]
    pub(crate) showing: Showing,
}

#[derive(Subcommand)]
pub(crate) enum ListCommand {
    /// List Rollouts
    #[command(visible_aliases = ["ro", "rollout"], after_help = "Aliases:\n  rollouts, ro, rollout")]
    Rollouts(ListRollouts),
    /// List Experiments
    #[command(visible_aliases = ["exp", "experiment"], after_help = "Aliases:\n  experiments, exp, experiment")]
    Experiments(ListExperiments),
}

/// Lists Rollouts, one line each.
#[derive(Args)]
pub(crate) struct ListRollouts {
    /// Only the one of this name
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Of all namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Go on with a line for every change
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// Say when a line was printed
    #[arg(long)]
    pub(crate) timestamps: bool,
    /// Only those with these labels, such as app=web
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub(crate) selector: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Output>,
    #[arg(hide = true)]
    pub(crate) ignored: Vec<String>,
}

/// Lists Experiments, one line each.
#[derive(Args)]
pub(crate) struct ListExperiments {
    /// Of all namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Only those with these labels, such as app=web
    #[arg(short = 'l', long, value_name = "LABELS")]
    pub(crate) selector: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum)]
    pub(crate) output: Option<Output>,
    #[arg(hide = true)]
    pub(crate) ignored: Vec<String>,
}

/// A phase to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitFor {
    /// All is as asked.
    Healthy,
    /// Waiting for a time or a person.
    Paused,
    /// Something has gone wrong.
    Degraded,
}

/// Prints the phase of a Rollout and waits until it is healthy or degraded.
///
/// The exit code is 0 when it is healthy and 1 otherwise. With --wait-for it is 0 when the phase is reached, 1 when
/// the Rollout is degraded instead, 3 when the time is over and 4 when it waits for a person.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  kubectl argo rollouts status guestbook\n  kubectl argo rollouts status guestbook --timeout 5m --wait-for healthy"
)]
pub(crate) struct Status {
    #[command(flatten)]
    pub(crate) target: OneName,
    /// Wait until the update is over
    #[arg(
        short, long, action = clap::ArgAction::Set, num_args = 0..=1, require_equals = true,
        value_name = "true|false", default_value = "true", default_missing_value = "true", hide_possible_values = true, value_parser = value::boolean
    )]
    pub(crate) watch: bool,
    /// Wait no longer than this, such as 30s or 5m; 0 for without end
    #[arg(short, long, value_name = "TIME", default_value = "0s", value_parser = value::duration)]
    pub(crate) timeout: Duration,
    /// The phase to wait for, with exit codes of its own
    #[arg(long, value_enum, value_name = "PHASE")]
    pub(crate) wait_for: Option<WaitFor>,
}

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerForm {
    /// For people.
    Text,
    /// For programs; docs/why.schema.json says how it looks.
    Json,
}

/// Says what an update will do: steps, weights, pods, times, routes, and what would be refused.
///
/// Of a manifest (-f, without a cluster), or of a Rollout in the cluster with another image. The exit code is 0 when
/// all is well, 2 when the update would be refused, and with --strict 3 when there are warnings.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  kubectl argo rollouts plan -f my-rollout.yaml\n  kubectl argo rollouts plan guestbook --image main=guestbook:v2"
)]
pub(crate) struct Plan {
    /// A Rollout in the cluster
    #[arg(value_name = "NAME", conflicts_with = "filename", required_unless_present = "filename")]
    pub(crate) name: Option<String>,
    /// File with the Rollout and what it refers to
    #[arg(short, long, value_name = "FILE")]
    pub(crate) filename: Option<std::path::PathBuf>,
    /// The container, or * for all, and its new image
    #[arg(long, value_name = "CONTAINER=IMAGE", conflicts_with = "filename")]
    pub(crate) image: Option<String>,
    /// Warnings count
    #[arg(long)]
    pub(crate) strict: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: AnswerForm,
}

/// Says what a Rollout waits for and since when, what led there, and which command unblocks it.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = "Example:\n  kubectl argo rollouts why guestbook")]
pub(crate) struct Why {
    #[command(flatten)]
    pub(crate) target: OneName,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: AnswerForm,
}

/// Prints the version and how this program was built.
#[derive(Args)]
pub(crate) struct Version {
    /// Print only the version
    #[arg(long)]
    pub(crate) short: bool,
    #[arg(hide = true)]
    pub(crate) ignored: Vec<String>,
}

/// Prints a script that makes a shell complete commands, flags and names.
#[derive(Args)]
#[command(after_help = "Example:\n  source <(kubectl-argo-rollouts completion bash)")]
pub(crate) struct Completion {
    /// bash, zsh, fish or powershell
    #[arg(value_name = "SHELL")]
    pub(crate) shells: Vec<String>,
}

/// Says what Tidegate's controller would do first if it took over now, for every Rollout. Nothing is written: only get and list
/// are asked of the API.
///
/// `same`: nothing would be written. `would-write`: this would be written. `unsupported`: the Rollout asks for what the controller
/// cannot do yet, and would be held as it is. The exit code is 0 when all are the same, otherwise 2.
#[derive(Args)]
#[command(after_help = "Examples:\n  kubectl argo rollouts verify -A\n  kubectl argo rollouts verify -n shop -o json")]
pub(crate) struct Verify {
    /// Of all namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Form of the answer
    #[arg(short, long, value_enum, default_value = "text")]
    pub(crate) output: AnswerForm,
}
