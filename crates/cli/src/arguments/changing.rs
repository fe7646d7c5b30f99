//! Commands that change what is there.

use clap::{Args, Subcommand};

use super::value;

/// Names of objects.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Names {
    /// One or more names
    #[arg(required = true, value_name = "NAME")]
    pub(crate) names: Vec<String>,
}

/// The name of one object.
#[derive(Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct OneName {
    /// The name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
}

/// Continues an update past its pause, or the current step; with --full to its end.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  kubectl argo rollouts promote guestbook\n  kubectl argo rollouts promote guestbook --full"
)]
pub(crate) struct Promote {
    #[command(flatten)]
    pub(crate) target: OneName,
    /// Go to the end: no analysis, no pauses, no steps
    #[arg(long)]
    pub(crate) full: bool,
    /// Deprecated: promote without a flag
    #[arg(short = 'c', long, hide = true)]
    pub(crate) skip_current_step: bool,
    /// Deprecated: --full
    #[arg(short = 'a', long, hide = true)]
    pub(crate) skip_all_steps: bool,
}

/// Recreates the pods of a Rollout.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  kubectl argo rollouts restart guestbook\n  kubectl argo rollouts restart guestbook --in 10s"
)]
pub(crate) struct Restart {
    #[command(flatten)]
    pub(crate) target: OneName,
    /// Wait so long first, such as 30s, 5m or 1h30m
    #[arg(short = 'i', long = "in", value_name = "TIME", default_value = "", hide_default_value = true)]
    pub(crate) after: String,
}

#[derive(Subcommand)]
pub(crate) enum RetryCommand {
    /// Try an aborted update again
    #[command(visible_aliases = ["ro", "rollouts"], after_help = "Aliases:\n  rollout, ro, rollouts")]
    Rollout(Names),
    /// Run a finished Experiment again
    #[command(visible_aliases = ["exp", "experiments"], after_help = "Aliases:\n  experiment, exp, experiments")]
    Experiment(Names),
}

#[derive(Subcommand)]
pub(crate) enum TerminateCommand {
    /// End a running AnalysisRun
    #[command(name = "analysisrun", visible_aliases = ["ar", "analysisruns"], after_help = "Aliases:\n  analysisrun, ar, analysisruns")]
    AnalysisRun(Names),
    /// End a running Experiment
    #[command(visible_aliases = ["exp", "experiments"], after_help = "Aliases:\n  experiment, exp, experiments")]
    Experiment(Names),
}

/// Restores the pod template of an earlier revision.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  kubectl argo rollouts undo guestbook\n  kubectl argo rollouts undo guestbook --to-revision=3\n  kubectl argo rollouts undo guestbook --to-stable"
)]
pub(crate) struct Undo {
    #[command(flatten)]
    pub(crate) target: OneName,
    /// The revision to go back to; 0 is the previous one
    #[arg(long, value_name = "N", default_value = "0", value_parser = value::integer, allow_hyphen_values = true)]
    pub(crate) to_revision: i64,
    /// Go back to the stable revision
    #[arg(long)]
    pub(crate) to_stable: bool,
}

/// Changes the pod template of a Rollout, or of the workload it refers to.
#[derive(Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct Set {
    #[command(subcommand)]
    pub(crate) command: SetCommand,
}

#[derive(Subcommand)]
pub(crate) enum SetCommand {
    /// Set the image of a container
    Image(SetImage),
    /// Set or remove environment variables
    Env(SetEnv),
    /// Set requests and limits
    Resources(SetResources),
    /// Use another ConfigMap wherever one is used
    #[command(name = "configmap")]
    ConfigMap(SetConfigMap),
}

/// Sets the image of a container.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Examples:\n  kubectl argo rollouts set image my-rollout www=image:v2\n  kubectl argo rollouts set image my-rollout '*=image:v2'"
)]
pub(crate) struct SetImage {
    #[command(flatten)]
    pub(crate) target: OneName,
    /// The container, or * for all, and its image
    #[arg(value_name = "CONTAINER=IMAGE", value_parser = one_equals)]
    pub(crate) image: (String, String),
}

fn one_equals(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((container, image)) if !image.contains('=') => Ok((container.to_owned(), image.to_owned())),
        _ => Err("CONTAINER=IMAGE is needed".to_owned()),
    }
}

/// Sets environment variables (KEY=VALUE) or removes them (KEY-).
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Example:\n  kubectl argo rollouts set env my-rollout -c www MODE=fast DEBUG-"
)]
pub(crate) struct SetEnv {
    #[command(flatten)]
    pub(crate) target: OneName,
    /// Only in this container; in all when left out
    #[arg(short, long, value_name = "NAME", default_value = "*", hide_default_value = true)]
    pub(crate) container: String,
    /// KEY=VALUE or KEY-
    #[arg(required = true, value_name = "KEY=VALUE")]
    pub(crate) variables: Vec<String>,
}

/// Sets requests and limits of containers; what is not named stays as it is.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Example:\n  kubectl argo rollouts set resources my-rollout -c www --limits cpu=1,memory=512Mi"
)]
pub(crate) struct SetResources {
    #[command(flatten)]
    pub(crate) target: OneName,
    /// Only in this container; in all when left out
    #[arg(short, long, value_name = "NAME", default_value = "*", hide_default_value = true)]
    pub(crate) container: String,
    /// Limits, such as cpu=1,memory=512Mi
    #[arg(long, value_delimiter = ',', value_name = "RESOURCE=AMOUNT")]
    pub(crate) limits: Vec<String>,
    /// Requests, such as cpu=100m,memory=64Mi
    #[arg(long, value_delimiter = ',', value_name = "RESOURCE=AMOUNT")]
    pub(crate) requests: Vec<String>,
}

/// Replaces a ConfigMap by another one in volumes and environment variables.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    after_help = "Example:\n  kubectl argo rollouts set configmap my-rollout settings-v1=settings-v2"
)]
pub(crate) struct SetConfigMap {
    #[command(flatten)]
    pub(crate) target: OneName,
    /// The ConfigMap in use and the one to use
    #[arg(value_name = "OLD=NEW", value_parser = one_equals)]
    pub(crate) names: (String, String),
}
