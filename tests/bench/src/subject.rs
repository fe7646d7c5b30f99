//! The controller that is measured: a command line of somebody's, started as often as needed.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tidegate_testbed::{Part, Testbed};

use crate::audit::{AuditLog, Entry};
use crate::processes::{self, Memory};

/// The user as which the controller asks.
pub(crate) const USER: &str = "rollouts-controller";
/// How long a controller may take to begin its work.
const START_WITHIN: Duration = Duration::from_secs(60);
/// How long it may take to end when it is asked to.
const STOP_WITHIN: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(20);

/// A controller as it was named on the command line.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    program: PathBuf,
    args: Vec<String>,
}

impl Subject {
    /// Splits a command line at its spaces; quotes are not known. Fails when there is no such program.
    pub(crate) fn parse(command: &str) -> Result<Self> {
        let mut words = command.split_whitespace().map(str::to_owned);
        let Some(program) = words.next() else { bail!("--controller is empty; name a program") };
        let program = find(&program).with_context(|| {
            format!("--controller {command}: there is no program {program}; build it, or give its path")
        })?;
        Ok(Self { program, args: words.collect() })
    }

    /// A short name for the head of a table.
    pub(crate) fn name(&self) -> String {
        let program = self.program.file_name().unwrap_or_default().to_string_lossy().into_owned();
        std::iter::once(program).chain(self.args.iter().cloned()).collect::<Vec<_>>().join(" ")
    }

    /// Its own flags, and ours where it has not decided otherwise: free ports, so that several can run on one machine,
    /// and no lease, which would be written while nothing happens and would delay a restart.
    fn arguments(&self, kubeconfig: &Path, ports: [u16; 2]) -> Vec<String> {
        let wanted = [
            ("--kubeconfig", kubeconfig.display().to_string()),
            ("--metricsPort", ports[0].to_string()),
            ("--healthzPort", ports[1].to_string()),
            ("--leader-elect", "false".to_owned()),
        ];
        let has = |flag: &str| self.args.iter().any(|arg| arg.split('=').next() == Some(flag));
        let ours = wanted.into_iter().filter(|(flag, _)| !has(flag)).map(|(flag, value)| format!("{flag}={value}"));
        self.args.iter().cloned().chain(ours).collect()
    }

    /// Starts it.
    pub(crate) fn start(&self, testbed: &Testbed) -> Result<Running> {
        let kubeconfig = testbed.kubeconfig_of(USER).context("the testbed has no user for a controller")?;
        let ports = [free_port()?, free_port()?];
        let environment = [("POD_NAMESPACE", "argo-rollouts")];
        let arguments = self.arguments(&kubeconfig, ports);
        let started = Instant::now();
        let part = testbed.program("controller", &self.program, &arguments, &environment)?;
        Ok(Running { part, name: self.name(), started })
    }
}

/// The program itself, or the first of its name on the path.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates: Vec<PathBuf> = if program.contains('/') {
        vec![PathBuf::from(program)]
    } else {
        std::env::split_paths(&path).map(|folder| folder.join(program)).collect()
    };
    let found = candidates.into_iter().find(|candidate| candidate.is_file())?;
    Some(std::path::absolute(&found).unwrap_or(found))
}

fn free_port() -> Result<u16> {
    let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).context("looking for a free port")?;
    Ok(listener.local_addr().context("looking for a free port")?.port())
}

/// A running controller; killed when dropped.
pub(crate) struct Running {
    part: Part,
    name: String,
    pub(crate) started: Instant,
}

impl Running {
    pub(crate) fn pid(&self) -> u32 {
        self.part.pid()
    }

    /// Fails with the end of its log when it has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.part.ended() {
            None => Ok(()),
            Some(status) => bail!("{} ended by itself ({status}); its last lines:\n{}", self.name, self.part.tail()),
        }
    }

    pub(crate) fn memory(&mut self) -> Result<Memory> {
        self.check()?;
        processes::memory(self.pid()).with_context(|| format!("{} is not in /proc", self.name))
    }

    /// Waits until it watches Rollouts; returns what was asked meanwhile.
    pub(crate) async fn watches(&mut self, audit: &mut AuditLog) -> Result<Vec<Entry>> {
        let mut seen = Vec::new();
        loop {
            let news = audit.news().context("reading the audit log")?;
            let is_it = |entry: &Entry| entry.user == USER && entry.verb == "watch" && entry.resource == "rollouts";
            let watches = news.iter().any(is_it);
            seen.extend(news);
            if watches {
                return Ok(seen);
            }
            self.check()?;
            if self.started.elapsed() > START_WITHIN {
                let (name, seconds, log) = (&self.name, START_WITHIN.as_secs(), self.part.tail());
                bail!("{name} did not begin to watch Rollouts within {seconds} s; its last lines:\n{log}");
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Ends it as a cluster would.
    pub(crate) async fn stop(mut self) -> Result<()> {
        self.check()?;
        tokio::task::spawn_blocking(move || self.part.stop(STOP_WITHIN)).await.context("stopping the controller")?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let problem = Subject::parse("/no/such/controller --flag").unwrap_err().to_string();
        assert!(problem.contains("there is no program /no/such/controller"), "{problem}");
        assert!(Subject::parse("  ").is_err());
    }

    #[test]
    fn flags_of_the_command_line_win_over_ours() {
        let subject = Subject::parse("sh --leader-elect=true --qps 5").unwrap();
        assert_eq!(subject.name(), "sh --leader-elect=true --qps 5");
        let arguments = subject.arguments(Path::new("/k"), [1, 2]);
        let wanted = ["--leader-elect=true", "--qps", "5", "--kubeconfig=/k", "--metricsPort=1", "--healthzPort=2"];
        assert_eq!(arguments, wanted);
    }
}
