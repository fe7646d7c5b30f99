//! The README's first command, as a newcomer runs it: it must come up, answer, and end without a trace.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::run::{cargo, say, succeed, target_folder};

/// How long it may take until the application answers with a version.
const PATIENCE: Duration = Duration::from_secs(60);
/// What stands before the address of the application.
const APPLICATION: &str = "application";

/// Builds it as a newcomer does, runs it, asks the application, and ends it with Ctrl-C.
pub(crate) fn check(root: &Path) -> Result<()> {
    succeed(cargo(root).args(["build", "--release", "--locked"]))?;
    let program = target_folder(root).join("release/kubectl-argo-rollouts");
    let begun = Instant::now();
    let mut running = Command::new(program)
        .args(["playground", "--port-app", "0", "--port-api", "0", "--port-dashboard", "0"])
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot start the playground")?;
    let checked = look(&mut running, begun);
    let ended = interrupt(&mut running);
    checked?;
    ended
}

fn look(running: &mut Child, begun: Instant) -> Result<()> {
    let Some(out) = running.stdout.take() else { bail!("the playground has no output") };
    let mut lines = BufReader::new(out).lines();
    let port = loop {
        let Some(line) = lines.next() else { bail!("the playground ended before it said where the application is") };
        let line = line?;
        if let Some(address) = line.trim().strip_prefix(APPLICATION) {
            break address.trim().rsplit(':').next().and_then(|port| port.parse::<u16>().ok()).context(line)?;
        }
    };
    say(&format!("the playground was there after {:.1} s", begun.elapsed().as_secs_f64()));
    // Its output is read on, or it would stand still.
    std::thread::spawn(move || lines.for_each(drop));
    loop {
        match ask(port) {
            Ok(answer) if answer.contains("version 1.0") => return Ok(()),
            _ if begun.elapsed() < PATIENCE => std::thread::sleep(Duration::from_millis(200)),
            answer => bail!("the application does not answer with its version: {answer:?}"),
        }
    }
}

fn ask(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn interrupt(running: &mut Child) -> Result<()> {
    succeed(Command::new("kill").args(["-INT", &running.id().to_string()]))?;
    let status = running.wait().context("cannot wait for the playground")?;
    ensure!(status.success(), "the playground ended with {status} after Ctrl-C");
    Ok(())
}
