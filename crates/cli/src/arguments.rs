//! What can be typed.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// Manages Rollouts.
#[derive(Parser)]
#[command(
    name = crate::PROGRAM,
    about = "Manage Argo Rollouts objects: canary and blue-green updates on Kubernetes",
    disable_version_flag = true,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "Use \"kubectl-argo-rollouts COMMAND --help\" for more about a command."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check a Rollout manifest without a cluster
    Lint(Lint),
    /// Print the version
    Version(Version),
}

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
}

/// Prints the version and how this program was built.
#[derive(Args)]
pub(crate) struct Version {
    /// Print only the version
    #[arg(long)]
    pub(crate) short: bool,
}
