//! `notifications`: what is configured, what it would say, and whether it arrives.
//!
//! ```text
//!   listing.rs    what is configured, in every form
//!   source.rs     the configuration and the Rollout, from the cluster or from files
//!   templates.rs  `template get` and `template notify`
//!   triggers.rs   `trigger get` and `trigger run`
//! ```
//!
//! A cluster is asked only for what no file was named for.

mod listing;
mod source;
mod templates;
mod triggers;

use tidegate_clock::Clock;

use self::source::Source;
use crate::arguments::{Notifications, NotificationsCommand, TemplateCommand, TriggerCommand};
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::{Outcome, Streams, usage};

pub(crate) async fn run(
    asked: &Notifications,
    connect: impl AsyncFn() -> Result<Cluster, Failure>,
    clock: Clock,
    streams: &mut Streams<'_>,
) -> Result<Outcome, Failure> {
    let Some(command) = &asked.command else {
        return Ok(usage::help(&["notifications".to_owned()], streams)?);
    };
    let mut source = Source::new(asked, connect);
    match command {
        NotificationsCommand::Template(templates) => match &templates.command {
            Some(TemplateCommand::Get(get)) => templates::get(get, &mut source, streams).await,
            Some(TemplateCommand::Notify(notify)) => templates::notify(notify, &mut source, clock, streams).await,
            None => Err(no_child()),
        },
        NotificationsCommand::Trigger(triggers) => match &triggers.command {
            Some(TriggerCommand::Get(get)) => triggers::get(get, &mut source, streams).await,
            Some(TriggerCommand::Run(run)) => triggers::run(run, &mut source, clock, streams).await,
            None => Err(no_child()),
        },
    }
}

/// What `template` and `trigger` say without a command of theirs.
pub(crate) const NO_CHILD: &str = "select child command";

fn no_child() -> Failure {
    Failure::said(NO_CHILD)
}

/// A name and the Rollout that goes with it.
fn two(words: &[String]) -> Result<(&str, &str), Failure> {
    match words {
        [name, resource] => Ok((name, resource)),
        _ => Err(Failure::said(format!("expected two arguments, got {}", words.len()))),
    }
}
