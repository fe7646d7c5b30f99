//! Commands of run-to-completion pods as local processes.
//!
//! Each runs in its own process group. The group is killed when the pod goes, when the agent stops and, through a
//! [`Warden`], even when the agent's process is killed.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::{Container, Pod};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::unix::pipe;

/// Lines and bytes of output kept for the message of a failure; Kubernetes allows 4096 bytes.
const KEPT_LINES: usize = 20;
const KEPT_LINE_BYTES: u64 = 180;

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) message: Option<String>,
}

/// A started process.
pub(crate) struct Job {
    child: tokio::process::Child,
    output: pipe::Receiver,
    group: Group,
}

/// Kills the process group when dropped: background children of the command must not outlive it.
struct Group {
    id: u32,
    warden: Warden,
}

impl Drop for Group {
    fn drop(&mut self) {
        signal_group(self.id, "KILL");
        self.warden.forget(self.id);
    }
}

impl Job {
    /// Starts the command of `container`.
    ///
    /// # Errors
    /// With a message for the container's status when the command cannot be started.
    pub(crate) fn start(pod: &Pod, container: &Container, warden: &Warden) -> Result<Self, String> {
        let environment = environment(pod, container);
        let words = container.command.iter().flatten().chain(container.args.iter().flatten());
        let mut words = words.map(|word| expand(word, &environment));
        let program = words.next().ok_or("the container has no command")?;
        let mut command = tokio::process::Command::new(&program);
        command.args(words).env_clear().envs(&environment).process_group(0).kill_on_drop(true);
        // One pipe for both streams, or the order of lines would be lost and with it which ones are the last.
        let no_pipe = |error: std::io::Error| format!("no pipe for the output of {program:?}: {error}");
        let (reader, writer) = std::io::pipe().map_err(no_pipe)?;
        let output = pipe::Receiver::from_owned_fd(reader.into()).map_err(no_pipe)?;
        command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(no_pipe)?).stderr(writer);
        if let Some(dir) = container.working_dir.as_deref().filter(|dir| std::path::Path::new(dir).is_dir()) {
            command.current_dir(dir);
        }
        let child = command.spawn().map_err(|error| format!("cannot run {program:?}: {error}"))?;
        let id = child.id().ok_or("the process ended before it had a number")?;
        warden.remember(id);
        Ok(Self { child, output, group: Group { id, warden: warden.clone() } })
    }

    /// The process group, for signals.
    pub(crate) fn group(&self) -> u32 {
        self.group.id
    }

    /// Waits for the end and keeps the last lines of output.
    pub(crate) async fn wait(mut self) -> Ended {
        let tail = Mutex::new(VecDeque::with_capacity(KEPT_LINES));
        let mut output = std::pin::pin!(keep_tail(self.output, &tail));
        let mut drained = false;
        let status = loop {
            tokio::select! {
                biased;
                () = &mut output, if !drained => drained = true,
                status = self.child.wait() => break status,
            }
        };
        // A background child may hold the pipe open for ever, so the group goes first and the rest is read after.
        signal_group(self.group.id, "KILL");
        if !drained {
            let _timed_out = tokio::time::timeout(std::time::Duration::from_millis(500), output).await;
        }
        let code = status.as_ref().map_or(128, exit_code);
        let lines: Vec<String> = tail.lock().map(|tail| tail.iter().cloned().collect()).unwrap_or_default();
        Ended { code, message: (code != 0 && !lines.is_empty()).then(|| lines.join("\n")) }
    }
}

fn exit_code(status: &ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

async fn keep_tail(pipe: pipe::Receiver, tail: &Mutex<VecDeque<String>>) {
    let mut reader = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        // A line without end must not fill the memory: it is cut into pieces of this length.
        let mut limited = tokio::io::AsyncReadExt::take(&mut reader, KEPT_LINE_BYTES);
        match limited.read_until(b'\n', &mut line).await {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        if let Ok(mut tail) = tail.lock() {
            if tail.len() == KEPT_LINES {
                tail.pop_front();
            }
            tail.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
        }
    }
}

/// The container's own variables on top of the few that a command needs to find programs.
fn environment(pod: &Pod, container: &Container) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    found.insert("PATH".to_owned(), std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned()));
    found.insert("HOSTNAME".to_owned(), pod.metadata.name.clone().unwrap_or_default());
    for variable in container.env.iter().flatten() {
        let path = variable.value_from.as_ref().and_then(|v| v.field_ref.as_ref()).map(|f| f.field_path.as_str());
        let value = match path {
            Some("metadata.name") => pod.metadata.name.clone(),
            Some("metadata.namespace") => pod.metadata.namespace.clone(),
            Some("metadata.uid") => pod.metadata.uid.clone(),
            Some("spec.nodeName") => pod.spec.as_ref().and_then(|s| s.node_name.clone()),
            _ => variable.value.as_ref().map(|value| expand(value, &found)),
        };
        if let Some(value) = value {
            found.insert(variable.name.clone(), value);
        }
    }
    found
}

/// Replaces `$(NAME)` by the variable if there is one; `$$` stands for `$`.
fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(tail) = rest.strip_prefix('$') {
            out.push('$');
            rest = tail;
            continue;
        }
        let name = rest.strip_prefix('(').and_then(|inner| inner.split_once(')'));
        match name.and_then(|(name, tail)| variables.get(name).map(|value| (value, tail))) {
            Some((value, tail)) => {
                out.push_str(value);
                rest = tail;
            }
            None => out.push('$'),
        }
    }
    out.push_str(rest);
    out
}

/// Sends a signal to a process group. Through `sh`, because the standard library has no safe call for it.
pub(crate) fn signal_group(group: u32, signal: &str) {
    let script = format!("kill -s {signal} -- -{group}");
    let _best_effort = Command::new("/bin/sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
}

/// A shell that holds the list of process groups and kills them when its input ends, which happens however the
/// agent's process ends. Started with the first job.
#[derive(Clone, Default)]
pub(crate) struct Warden(Arc<Mutex<Option<Child>>>);

const WARDEN_SCRIPT: &str = r#"
groups=" "
while read -r what group; do
  case "$what" in
    add) groups="$groups$group " ;;
    drop) case "$groups" in *" $group "*) groups="${groups%% $group *} ${groups#* $group }" ;; esac ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"#;

impl Warden {
    fn remember(&self, group: u32) {
        self.tell(&format!("add {group}\n"));
    }

    fn forget(&self, group: u32) {
        self.tell(&format!("drop {group}\n"));
    }

    /// Best effort: without a shell there is no warden, and the groups still end with the agent in the usual way.
    fn tell(&self, line: &str) {
        let Ok(mut held) = self.0.lock() else { return };
        if held.is_none() {
            let mut command = Command::new("/bin/sh");
            // Its own group: a Ctrl-C at the terminal must reach the agent but not the one who cleans up after it.
            command.args(["-c", WARDEN_SCRIPT]).process_group(0);
            *held = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok();
        }
        if let Some(stdin) = held.as_mut().and_then(|child| child.stdin.as_mut()) {
            let _best_effort = stdin.write_all(line.as_bytes());
        }
    }

    /// Ends the warden after all jobs are gone.
    pub(crate) fn dismiss(&self) {
        let Ok(mut held) = self.0.lock() else { return };
        if let Some(mut child) = held.take() {
            drop(child.stdin.take());
            let _reaped = child.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_expanded_as_kubernetes_does() {
        let variables = BTreeMap::from([("A".to_owned(), "1".to_owned())]);
        for (text, expected) in
            [("$(A)", "1"), ("x$(A)y$(A)", "x1y1"), ("$(B)", "$(B)"), ("$$(A)", "$(A)"), ("$", "$"), ("a$(", "a$(")]
        {
            assert_eq!(expand(text, &variables), expected, "{text}");
        }
    }

    fn container(script: &str) -> Container {
        let words = |list: &[&str]| Some(list.iter().map(|w| (*w).to_owned()).collect());
        Container { command: words(&["/bin/sh"]), args: words(&["-c", script]), ..Default::default() }
    }

    #[tokio::test]
    async fn a_failing_command_reports_its_code_and_last_lines() {
        let warden = Warden::default();
        let job =
            Job::start(&Pod::default(), &container("seq 1 100; echo broken >&2; sleep 0.1; exit 3"), &warden).unwrap();
        let ended = job.wait().await;
        warden.dismiss();

        assert_eq!(ended.code, 3);
        let message = ended.message.unwrap();
        assert!(message.contains("broken") && message.lines().count() <= KEPT_LINES, "{message}");
    }

    #[tokio::test]
    async fn a_background_child_does_not_outlive_the_command() {
        let warden = Warden::default();
        let job = Job::start(&Pod::default(), &container("sleep 300 & echo $!; exit 1"), &warden).unwrap();
        let ended = job.wait().await;
        warden.dismiss();

        let child = ended.message.unwrap();
        let gone = || match std::fs::read_to_string(format!("/proc/{}/stat", child.trim())) {
            Ok(stat) => stat.contains(") Z "),
            Err(_) => true,
        };
        for _ in 0..100 {
            if gone() {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        panic!("process {child} is still running");
    }

    #[tokio::test]
    async fn a_command_that_does_not_exist_is_an_error_with_its_name() {
        let container = Container { command: Some(vec!["/no/such/program".to_owned()]), ..Default::default() };
        let error = Job::start(&Pod::default(), &container, &Warden::default()).err().unwrap();
        assert!(error.contains("/no/such/program"), "{error}");
    }
}
