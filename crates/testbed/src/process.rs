//! Child processes that cannot outlive this one.
//!
//! Every child gets SIGKILL from the kernel when the thread that started it ends (`setpriv --pdeathsig`), so all are
//! started by one thread that lives as long as the process. That covers panics, Ctrl-C and SIGKILL alike.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{LazyLock, mpsc};
use std::time::{Duration, Instant};

type Order = (Command, mpsc::Sender<io::Result<Child>>);

static SPAWNER: LazyLock<mpsc::Sender<Order>> = LazyLock::new(|| {
    let (orders, inbox) = mpsc::channel::<Order>();
    // The sender is never dropped, so the thread ends with the process. If it cannot be started, orders fail below.
    let _thread = std::thread::Builder::new().name("testbed-spawner".to_owned()).spawn(move || {
        for (mut command, reply) in inbox {
            let _caller_gone = reply.send(command.spawn());
        }
    });
    orders
});

/// A command for `program` that will die with this process, if started with [`spawn`].
pub(crate) fn tied(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--"]).arg(program);
    command
}

/// Starts a command on the thread that lives as long as the process.
pub(crate) fn spawn(command: Command) -> io::Result<Child> {
    let gone = || io::Error::other("the thread that starts processes is gone");
    let (reply, answer) = mpsc::channel();
    SPAWNER.send((command, reply)).map_err(|_| gone())?;
    answer.recv().map_err(|_| gone())?.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::new(error.kind(), "setpriv was not found: install util-linux"),
        _ => error,
    })
}

/// A process with a log, killed when dropped and when this process ends: a part of the control plane, or a program that
/// is tested on it.
pub struct Part {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Part {
    /// Starts `program` with its output in `logs/NAME.log`.
    pub(crate) fn start(name: &'static str, program: &Path, args: &[String], logs: &Path) -> io::Result<Self> {
        Self::start_with(name, program, args, &[], logs)
    }

    /// The same, with more in its environment.
    pub(crate) fn start_with(
        name: &'static str,
        program: &Path,
        args: &[String],
        environment: &[(&str, &str)],
        logs: &Path,
    ) -> io::Result<Self> {
        let log = logs.join(format!("{name}.log"));
        let output = File::create(&log)?;
        let errors = output.try_clone()?;
        let mut command = tied(program);
        // Its own group: a Ctrl-C at the terminal is for us to answer, in order.
        command
            .args(args)
            .envs(environment.iter().copied())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(errors);
        Ok(Self { name, child: spawn(command)?, log })
    }

    /// Name of the part.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }

    /// The last lines of its log.
    pub fn tail(&self) -> String {
        tail(&self.log, 25)
    }

    /// Asks it to end and waits up to `patience`; whoever has not ended by then is killed. Says whether it ended by itself.
    pub fn stop(&mut self, patience: Duration) -> bool {
        let asked = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status();
        let begun = Instant::now();
        while asked.as_ref().is_ok_and(ExitStatus::success) && begun.elapsed() < patience {
            if self.ended().is_some() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        self.kill();
        false
    }

    /// Kills it at once: its data is thrown away, so there is nothing to finish.
    pub fn kill(&mut self) {
        let _already_gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The last `count` lines of a file, long lines cut.
pub(crate) fn tail(path: &Path, count: usize) -> String {
    let Ok(file) = File::open(path) else { return String::new() };
    let mut lines = VecDeque::with_capacity(count);
    for line in BufReader::new(file).lines().map_while(Result::ok) {
        if lines.len() == count {
            lines.pop_front();
        }
        lines.push_back(line.chars().take(400).collect::<String>());
    }
    Vec::from(lines).join("\n")
}

/// `N` ports that are free now. Someone may take one before it is used; the caller then tries again.
///
/// # Errors
/// When no more can be had.
pub fn free_ports<const N: usize>() -> io::Result<[u16; N]> {
    // All are held until all are known, or the same one could be given twice.
    let mut held = Vec::with_capacity(N);
    let mut ports = [0; N];
    for port in &mut ports {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        *port = listener.local_addr()?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// Removes a folder when this process ends, however it ends: a shell waits for the end of its input and then cleans.
pub(crate) struct Sweeper {
    dir: PathBuf,
    shell: Child,
    input: Option<ChildStdin>,
}

const SWEEP: &str = r#"while read -r _; do :; done
n=0
while [ -e "$1" ] && [ "$n" -lt 50 ]; do rm -rf -- "$1"; n=$((n+1)); [ -e "$1" ] && sleep 0.1; done"#;

impl Sweeper {
    /// Watches over `dir`.
    pub(crate) fn over(dir: &Path) -> io::Result<Self> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SWEEP, "testbed-sweeper"]).arg(dir).process_group(0);
        let mut shell = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let input = shell.stdin.take();
        Ok(Self { dir: dir.to_owned(), shell, input })
    }
}

impl Drop for Sweeper {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.dir);
        drop(self.input.take());
        let _reaped = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_given_together_differ() {
        let mut ports = free_ports::<8>().unwrap();
        ports.sort_unstable();
        assert!(ports.windows(2).all(|pair| pair[0] != pair[1]), "{ports:?}");
    }

    #[test]
    fn the_tail_is_the_end_of_the_file() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), (1..=100).map(|n| format!("{n}\n")).collect::<String>()).unwrap();
        assert_eq!(tail(file.path(), 2), "99\n100");
        assert_eq!(tail(Path::new("/no/such/file"), 2), "");
    }

    #[test]
    fn a_swept_folder_is_gone() {
        let dir = tempfile::tempdir().unwrap().keep();
        std::fs::write(dir.join("file"), "x").unwrap();
        drop(Sweeper::over(&dir).unwrap());
        assert!(!dir.exists());
    }

    #[test]
    fn a_dropped_part_is_not_running() {
        let logs = tempfile::tempdir().unwrap();
        let part = Part::start("sleep", Path::new("sleep"), &["600".to_owned()], logs.path()).unwrap();
        let stat = PathBuf::from(format!("/proc/{}", part.pid()));
        assert!(stat.exists());
        drop(part);
        assert!(!stat.exists());
    }

    #[test]
    fn a_part_that_does_not_listen_is_killed() {
        let logs = tempfile::tempdir().unwrap();
        let start = |script: &str| {
            let args = ["-c".to_owned(), script.to_owned()];
            let environment = [("LASTS", "600")];
            Part::start_with("sh", Path::new("sh"), &args, &environment, logs.path()).unwrap()
        };
        let patience = Duration::from_millis(500);
        assert!(start("exec sleep $LASTS").stop(patience));
        let mut deaf = start("trap '' TERM; echo deaf; while :; do sleep 0.1; done");
        while deaf.tail().is_empty() {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!deaf.stop(patience));
        assert!(deaf.ended().is_some());
    }
}
