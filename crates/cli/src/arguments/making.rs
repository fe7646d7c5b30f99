//! Commands that read files.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Checks the Rollouts of a file, and how they fit the Services, Ingresses and VirtualServices in the same file.
///
/// Nothing is printed when all is well. Otherwise every problem is printed, the first once more as the error, and
/// the exit code is 1. No cluster and no kubeconfig are needed.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = "Example:\n  kubectl argo rollouts lint -f my-rollout.yaml")]
pub(crate) struct Lint {
    /// File to check, YAML with one or more documents, or JSON
    #[arg(short, long, value_name = "FILE", overrides_with = "filename")]
    pub(crate) filename: PathBuf,
    #[arg(hide = true)]
    pub(crate) ignored: Vec<String>,
}

/// Creates Rollouts, Experiments, analysis templates and AnalysisRuns from files.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Example:\n  kubectl argo rollouts create -f my-experiment.yaml -w"
)]
pub(crate) struct Create {
    #[command(subcommand)]
    pub(crate) command: Option<CreateCommand>,
    /// File with the object, may be repeated
    #[arg(short, long = "filename", value_name = "FILE", required = true)]
    pub(crate) filenames: Vec<PathBuf>,
    /// Go on with the live view of a Rollout or an Experiment
    #[arg(short, long)]
    pub(crate) watch: bool,
    /// No colours
    #[arg(long)]
    pub(crate) no_color: bool,
}

#[derive(Subcommand)]
pub(crate) enum CreateCommand {
    /// Start an AnalysisRun from a template
    #[command(name = "analysisrun", visible_aliases = ["ar"], after_help = "Aliases:\n  analysisrun, ar")]
    AnalysisRun(CreateAnalysisRun),
}

/// Starts an AnalysisRun from a template in the cluster or in a file.
#[derive(Args)]
pub(crate) struct CreateAnalysisRun {
    /// Template in the cluster
    #[arg(long, value_name = "NAME")]
    pub(crate) from: Option<String>,
    /// File with the template
    #[arg(long, value_name = "FILE")]
    pub(crate) from_file: Option<PathBuf>,
    /// The template is a ClusterAnalysisTemplate
    #[arg(long)]
    pub(crate) global: bool,
    /// Name of the run
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Beginning of the name of the run
    #[arg(long, value_name = "BEGINNING")]
    pub(crate) generate_name: Option<String>,
    /// Controller instance that is to run it
    #[arg(long, value_name = "ID")]
    pub(crate) instance_id: Option<String>,
    /// Argument of the template, may be repeated
    #[arg(short, long = "argument", value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<String>,
    #[arg(hide = true)]
    pub(crate) ignored: Vec<String>,
}
