//! What can be typed.

mod changing;
mod dashboard;
mod global;
mod making;
mod notifications;
mod playing;
mod showing;
mod simulating;
mod value;

use clap::{ArgAction, Args, CommandFactory as _, Parser, Subcommand};

pub(crate) use changing::{
    Names, Promote, Restart, RetryCommand, Set, SetCommand, SetConfigMap, SetEnv, SetImage, SetResources,
    TerminateCommand, Undo,
};
pub(crate) use dashboard::{AuthMode, Dashboard};
pub(crate) use global::Global;
pub(crate) use making::{Create, CreateAnalysisRun, CreateCommand, Lint};
pub(crate) use notifications::{
    ConfiguredForm, GetConfigured, Notifications, NotificationsCommand, Notify, RunTrigger, TemplateCommand,
    TriggerCommand,
};
pub(crate) use playing::Playground;
pub(crate) use showing::{
    AnswerForm, Completion, GetCommand, GetExperiment, GetRollout, ListCommand, ListExperiments, ListRollouts, Output,
    Plan, Status, Verify, Version, WaitFor, Why,
};

pub(crate) use simulating::Simulate;

/// Manages Rollouts.
#[derive(Parser)]
#[command(
    name = crate::PROGRAM,
    about = "Manage Argo Rollouts objects: canary and blue-green updates on Kubernetes",
    disable_version_flag = true,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "Use \"kubectl-argo-rollouts COMMAND --help\" for more about a command."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// A command that stands above others.
#[derive(Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub(crate) struct Group<C: Subcommand> {
    #[command(subcommand)]
    pub(crate) command: C,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Stop an update and go back to the stable version
    Abort(Names),
    /// Print a shell completion script
    Completion(Completion),
    /// Create objects from files
    Create(Create),
    /// Serve the dashboard
    Dashboard(Box<Dashboard>),
    /// Show a Rollout or an Experiment and all that belongs to it
    Get(Group<GetCommand>),
    /// Check a Rollout manifest without a cluster
    Lint(Lint),
    /// List Rollouts or Experiments
    List(Group<ListCommand>),
    /// Show, try out and send notifications
    Notifications(Notifications),
    /// Set the manual pause of a Rollout
    Pause(Names),
    /// Say what an update will do
    Plan(Plan),
    /// Run a cluster with a demo application in this process, to see a canary without any cluster
    Playground(Playground),
    /// Continue past a pause, or go to the end of the update
    Promote(Promote),
    /// Recreate the pods of a Rollout, now or later
    Restart(Restart),
    /// Continue a paused Rollout
    Resume(Names),
    /// Try an aborted update or a finished Experiment again
    Retry(Group<RetryCommand>),
    /// Change the pod template of a Rollout
    Set(Set),
    /// Run manifests in virtual time and say what will happen
    Simulate(Box<Simulate>),
    /// Show the phase of a Rollout, or wait for it
    Status(Status),
    /// End a running AnalysisRun or Experiment
    Terminate(Group<TerminateCommand>),
    /// Restore an earlier pod template
    Undo(Undo),
    /// Say what a takeover by this version's controller would change
    Verify(Verify),
    /// Print the version
    Version(Version),
    /// Say why a Rollout stands where it stands
    Why(Why),
}

/// The whole command line, with flags that take `=true` and `=false` as people know it.
pub(crate) fn command() -> clap::Command {
    with_values(Arguments::command())
}

fn with_values(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.get_action() {
            ArgAction::SetTrue => arg
                .action(ArgAction::Set)
                .num_args(0..=1)
                .require_equals(true)
                .value_name("true|false")
                .default_missing_value("true")
                .default_value("false")
                .hide_default_value(true)
                .hide_possible_values(true)
                .value_parser(value::boolean),
            _ => arg,
        })
        .mut_subcommands(with_values)
}
