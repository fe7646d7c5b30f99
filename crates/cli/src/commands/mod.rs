//! The commands, one file each.

pub(crate) mod complete;
mod completion;
mod create;
mod create_run;
mod dashboard;
mod get;
mod lint;
mod lint_analyses;
mod list;
pub(crate) mod notifications;
mod patches;
mod plan;
mod playground;
mod printed;
mod promote;
mod set;
mod signals;
pub(crate) mod simulate;
mod status;
mod triggers;
mod undo;
mod verify;
mod version;
mod why;

use std::io;

use tidegate_api::rollout::Rollout;
use tidegate_clock::Clock;

use crate::arguments::{
    Arguments, Command, CreateCommand, GetCommand, Global, Group, ListCommand, RetryCommand, TerminateCommand,
};
use crate::cluster::{self, Cluster};
use crate::failure::Failure;
use crate::{Outcome, Streams};

/// What a command works with: the cluster, the clock, the streams.
pub(crate) struct Session<'a, 's> {
    pub(crate) cluster: Cluster,
    pub(crate) clock: Clock,
    pub(crate) streams: &'a mut Streams<'s>,
}

impl Session<'_, '_> {
    /// Warns whoever decides by what is said here, when the Rollout holds more than is known here.
    fn tell_if_newer(&mut self, rollout: &Rollout) -> io::Result<()> {
        match cluster::newer(rollout) {
            Some(text) => writeln!(self.streams.err, "Hint: {text}"),
            None => Ok(()),
        }
    }
}

pub(crate) fn run(arguments: Arguments, streams: &mut Streams<'_>) -> Result<Outcome, Failure> {
    arguments.global.checked_level().map_err(Failure::Said)?;
    match arguments.command {
        Command::Lint(lint) => Ok(lint::run(&lint, streams)?),
        Command::Version(version) => Ok(version::run(&version, streams)?),
        Command::Plan(plan) if plan.filename.is_some() => plan::of_file(&plan, streams),
        Command::Completion(completion) => completion::run(&completion, streams),
        Command::Playground(asked) => playground::run(&asked, streams),
        Command::Dashboard(asked) => dashboard::run(&asked, &arguments.global, streams),
        Command::Simulate(asked) => simulate::run(&asked, &arguments.global, streams),
        Command::Notifications(asked) => runtime()?.block_on(async {
            let connect = async || Ok(cluster::connect(&arguments.global).await?);
            notifications::run(&asked, connect, Clock::system(), streams).await
        }),
        command => {
            let checked = check(&command);
            checked?;
            runtime()?.block_on(async {
                let cluster = cluster::connect(&arguments.global).await?;
                let mut session = Session { cluster, clock: Clock::system(), streams };
                talk(command, &arguments.global, &mut session).await
            })
        }
    }
}

/// Runs a command on a cluster that is at hand.
pub(crate) async fn run_on(
    client: kube::Client,
    clock: Clock,
    namespace: &str,
    arguments: Arguments,
    streams: &mut Streams<'_>,
) -> Result<Outcome, Failure> {
    check(&arguments.command)?;
    let namespace = arguments.global.namespace.clone().unwrap_or_else(|| namespace.to_owned());
    let cluster =
        Cluster { client, namespace, url: "this process".to_owned(), user: "this process".to_owned(), timeout: None };
    let mut session = Session { cluster, clock, streams };
    talk(arguments.command, &arguments.global, &mut session).await
}

/// One thread is enough for one person.
pub(crate) fn runtime() -> io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// What can be refused before anything is sent.
fn check(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Promote(promote) => promote::check(promote),
        Command::Restart(restart) => patches::delay(restart).map(|_| ()),
        Command::Create(create) => match &create.command {
            Some(CreateCommand::AnalysisRun(run)) => create_run::check(run).map(|_| ()),
            None => create::check(create),
        },
        Command::Set(set) => set::check(set),
        Command::List(Group { command: ListCommand::Rollouts(list) }) => list::check(list),
        _ => Ok(()),
    }
}

async fn talk(command: Command, global: &Global, session: &mut Session<'_, '_>) -> Result<Outcome, Failure> {
    match command {
        Command::Abort(names) => patches::abort(session, &names.names).await,
        Command::Pause(names) => patches::pause(session, &names.names).await,
        Command::Restart(restart) => patches::restart(session, &restart).await,
        Command::Retry(group) => match group.command {
            RetryCommand::Rollout(names) => patches::retry_rollout(session, &names.names).await,
            RetryCommand::Experiment(names) => patches::retry_experiment(session, &names.names).await,
        },
        Command::Terminate(group) => match group.command {
            TerminateCommand::AnalysisRun(names) => patches::terminate_run(session, &names.names).await,
            TerminateCommand::Experiment(names) => patches::terminate_experiment(session, &names.names).await,
        },
        Command::Promote(promote) => promote::run(session, &promote).await,
        Command::Resume(names) => promote::resume(session, &names.names).await,
        Command::Set(set) => set::run(session, &set).await,
        Command::Undo(undo) => undo::run(session, &undo).await,
        Command::Plan(plan) => plan::of_cluster(session, &plan).await,
        Command::Why(asked) => why::run(session, &asked).await,
        Command::Verify(asked) => verify::run(session, &asked).await,
        Command::Status(status) => status::run(session, &status).await,
        Command::Get(group) => match group.command {
            GetCommand::Rollout(get) => get::rollout(session, &get).await,
            GetCommand::Experiment(get) => get::experiment(session, &get).await,
        },
        Command::List(group) => match group.command {
            ListCommand::Rollouts(list) => list::rollouts(session, &list).await,
            ListCommand::Experiments(list) => list::experiments(session, &list).await,
        },
        Command::Create(create) => match &create.command {
            Some(CreateCommand::AnalysisRun(run)) => create_run::run(session, run).await,
            None => create::run(session, &create, global).await,
        },
        Command::Notifications(asked) => {
            let cluster = session.cluster.clone();
            notifications::run(&asked, async || Ok(cluster.clone()), session.clock, session.streams).await
        }
        Command::Dashboard(asked) => {
            let reached = cluster::Reached {
                cluster: session.cluster.clone(),
                bare: session.cluster.client.clone(),
                is_in_cluster: false,
            };
            dashboard::serve(&asked, global, reached, session.clock, session.streams).await
        }
        // These were answered without a cluster.
        Command::Lint(_)
        | Command::Version(_)
        | Command::Completion(_)
        | Command::Playground(_)
        | Command::Simulate(_) => Ok(Outcome::Success),
    }
}
