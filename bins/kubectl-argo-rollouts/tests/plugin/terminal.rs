//! The live view in a real pseudo-terminal.

use std::fs::File;
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcgetattr, tcgetwinsize, tcsetwinsize};
use serde_json::json;

use crate::world::{World, canary, steps};

/// A terminal with a program in it.
struct Terminal {
    master: OwnedFd,
    slave: File,
    child: Child,
    chunks: Receiver<Vec<u8>>,
    seen: String,
}

impl Terminal {
    fn start(world: &World, arguments: &[&str], rows: u16, columns: u16) -> Self {
        Self::start_with(world, arguments, rows, columns, &[("TERM", "xterm")])
    }

    fn start_with(world: &World, arguments: &[&str], rows: u16, columns: u16, environment: &[(&str, &str)]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave = File::options().read(true).write(true).open(name.to_str().unwrap()).unwrap();
        let stream = || Stdio::from(slave.try_clone().unwrap());
        resize(&master, rows, columns);
        let mut command: Command = world.command(arguments);
        let child = command
            .envs(environment.iter().copied())
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap();
        let (sender, chunks) = mpsc::channel();
        let mut reader = File::from(master.try_clone().unwrap());
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count) = reader.read(&mut buffer) {
                if count == 0 || sender.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { master, slave, child, chunks, seen: String::new() }
    }

    /// Reads until a text has appeared; returns everything up to and with it, and forgets it.
    fn until(&mut self, text: &str) -> String {
        let limit = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(end) = self.seen.find(text).map(|start| start + text.len()) {
                let rest = self.seen.split_off(end);
                return std::mem::replace(&mut self.seen, rest);
            }
            let left = limit.saturating_duration_since(Instant::now());
            let chunk = self.chunks.recv_timeout(left).unwrap_or_else(|_| panic!("no {text:?} in {:?}", self.seen));
            self.seen.push_str(&String::from_utf8_lossy(&chunk));
        }
    }

    fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([&format!("-{name}"), &id]).status().unwrap().success());
    }
}

fn resize(master: &OwnedFd, rows: u16, columns: u16) {
    tcsetwinsize(master, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    assert_eq!(tcgetwinsize(master).unwrap().ws_col, columns);
}

/// One frame, without the sequences that place it.
fn lines(frame: &str) -> Vec<String> {
    let frame = frame.split("\u{1b}[H").last().unwrap().replace("\u{1b}[J", "");
    frame.split("\u{1b}[K").map(|line| line.trim_start_matches(['\r', '\n']).to_owned()).collect()
}

#[test]
fn the_live_view_fits_the_terminal_follows_its_size_and_gives_it_back() {
    let world = World::new();
    world.rollout(&canary(
        "web",
        steps(),
        json!({"phase": "Paused", "message": "CanaryPauseStep", "currentStepIndex": 1,
        "pauseConditions": [{"reason": "CanaryPauseStep", "startTime": "2026-01-01T00:00:00Z"}]}),
    ));
    let mut terminal = Terminal::start(&world, &["get", "rollout", "web", "-w"], 6, 30);
    let before = tcgetattr(&terminal.slave).unwrap();

    // The screen of its own is opened, and the frame is no larger than the terminal.
    let frame = terminal.until("\u{1b}[J");
    assert!(frame.starts_with("\u{1b}[?1049h\u{1b}[?25l\u{1b}[H"), "{frame:?}");
    let shown = lines(&frame);
    assert_eq!(shown[0], "Name:            web");
    assert_eq!(shown.iter().filter(|line| !line.is_empty()).count(), 6, "{shown:?}");
    assert!(frame.contains("\u{1b}[0m॥\u{1b}[0m Paused"), "no colours: {frame:?}");
    let waiting = shown.iter().find(|line| line.starts_with("Waiting")).unwrap();
    assert_eq!(waiting.chars().count(), 30, "{waiting:?}");

    // A larger terminal shows more of it.
    resize(&terminal.master, 40, 120);
    terminal.signal("WINCH");
    terminal.until("⟳ web");
    terminal.until("\u{1b}[J");

    // Changes are drawn over what was there: nothing is cleared first.
    world.status("web", json!({"phase": "Healthy", "message": null, "pauseConditions": null}));
    let frame = terminal.until("Healthy");
    assert!(!frame.contains("\u{1b}[2J"), "{frame:?}");

    // Ctrl-C brings the old screen and the cursor back, and leaves the last state on it.
    terminal.signal("INT");
    let end = terminal.until("\u{1b}[?25h\u{1b}[?1049lName:            web");
    assert!(!end.is_empty());
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
    let after = tcgetattr(&terminal.slave).unwrap();
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
}

#[test]
fn an_error_in_a_terminal_tells_a_person_where_to_look() {
    let world = World::new();
    let mut terminal = Terminal::start(&world, &["abort", "gone"], 24, 80);
    let text = terminal.until("Hint: is it in another namespace (-n)");
    assert!(text.contains("Error: rollouts.argoproj.io \"gone\" not found"), "{text:?}");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(1));
}

#[test]
fn colours_on_a_terminal_are_for_whoever_does_not_refuse_them() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    let coloured = |environment: &[(&str, &str)], arguments: &[&str]| {
        let arguments = [&["get", "rollout", "web"], arguments].concat();
        let mut terminal = Terminal::start_with(&world, &arguments, 40, 120, environment);
        let text = terminal.until("⟳ web");
        assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
        text.contains('\u{1b}')
    };
    assert!(coloured(&[("TERM", "xterm")], &[]));
    assert!(coloured(&[("TERM", "xterm"), ("NO_COLOR", "")], &[]), "an empty NO_COLOR refuses nothing");
    assert!(!coloured(&[("TERM", "xterm"), ("NO_COLOR", "1")], &[]));
    assert!(!coloured(&[("TERM", "dumb")], &[]));
    assert!(!coloured(&[("TERM", "xterm")], &["--no-color"]));
}

#[test]
fn a_terminal_of_one_column_and_one_row_is_enough_to_live() {
    let world = World::new();
    world.rollout(&canary("web", steps(), json!({"phase": "Healthy"})));
    let mut terminal = Terminal::start(&world, &["get", "rollout", "web", "-w"], 1, 1);
    assert_eq!(lines(&terminal.until("\u{1b}[J"))[0], "N");
    terminal.signal("INT");
    terminal.until("\u{1b}[?1049lName:");
    assert_eq!(terminal.child.wait().unwrap().code(), Some(0));
}
