//! Testbeds that were started by the command line: who runs, under which name, since when.
//!
//! One JSON file per testbed in the folder `run` of the cache. A file whose process is gone is a leftover and is
//! removed when seen.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::assets::cache_dir;
use crate::error::TestbedError;

/// A process, told apart from a later one with the same number by its start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pid {
    /// What it is.
    pub name: String,
    /// Process number.
    pub pid: u32,
    /// Start in clock ticks since boot.
    pub start_ticks: u64,
}

impl Pid {
    /// The process with that number, if there is one.
    pub fn of(name: &str, pid: u32) -> Option<Self> {
        Some(Self { name: name.to_owned(), pid, start_ticks: start_ticks(pid)? })
    }

    /// Whether it still runs. A zombie does not.
    pub fn is_alive(&self) -> bool {
        start_ticks(self.pid) == Some(self.start_ticks)
    }

    /// Sends a signal, through `sh` because the standard library has no safe call for it.
    pub fn signal(&self, signal: &str) {
        if self.is_alive() {
            let script = format!("kill -s {signal} {}", self.pid);
            let _best_effort = Command::new("/bin/sh").args(["-c", &script]).stderr(Stdio::null()).status();
        }
    }
}

/// When a process started; `None` if it is gone or a zombie.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in parentheses that may itself hold anything.
    let mut fields = stat.get(stat.rfind(')')? + 1..)?.split_whitespace();
    let state = fields.next()?;
    if state == "Z" || state == "X" {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// A testbed that runs on its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub name: String,
    /// The process that holds it.
    pub holder: Pid,
    /// The parts, for checking that they are gone.
    pub parts: Vec<Pid>,
    /// The administrator's kubeconfig.
    pub kubeconfig: PathBuf,
    /// When it was started.
    pub started_at: Timestamp,
}

fn problem(name: &str, problem: impl std::fmt::Display) -> TestbedError {
    TestbedError::Registry { name: name.to_owned(), problem: problem.to_string() }
}

/// The folder of the state files.
///
/// # Errors
/// When there is no cache folder.
pub fn run_dir() -> Result<PathBuf, TestbedError> {
    Ok(cache_dir()?.join("run"))
}

/// Refuses names that are not a plain file name.
///
/// # Errors
/// Naming the form that is accepted.
pub fn check_name(name: &str) -> Result<(), TestbedError> {
    let fine = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if name.is_empty() || name.len() > 40 || !name.chars().all(fine) {
        return Err(problem(name, "a name has 1 to 40 lower-case letters, digits and dashes"));
    }
    Ok(())
}

fn file_of(name: &str) -> Result<PathBuf, TestbedError> {
    check_name(name)?;
    Ok(run_dir()?.join(format!("{name}.json")))
}

/// Writes the record of a testbed, whole or not at all.
///
/// # Errors
/// When the file cannot be written.
pub fn enter(record: &Record) -> Result<(), TestbedError> {
    let wrong = |error: std::io::Error| problem(&record.name, error);
    let dir = run_dir()?;
    fs::create_dir_all(&dir).map_err(wrong)?;
    let text = serde_json::to_string_pretty(record).map_err(|error| problem(&record.name, error))?;
    let mut file = tempfile::NamedTempFile::new_in(&dir).map_err(wrong)?;
    file.write_all(text.as_bytes()).map_err(wrong)?;
    file.persist(file_of(&record.name)?).map_err(|error| wrong(error.error))?;
    Ok(())
}

/// Removes the record of a testbed.
///
/// # Errors
/// When the name is none.
pub fn leave(name: &str) -> Result<(), TestbedError> {
    let _already_gone = fs::remove_file(file_of(name)?);
    Ok(())
}

/// The testbed of that name, if it runs.
///
/// # Errors
/// When the name is none.
pub fn find(name: &str) -> Result<Option<Record>, TestbedError> {
    let Ok(text) = fs::read_to_string(file_of(name)?) else { return Ok(None) };
    match serde_json::from_str::<Record>(&text) {
        Ok(record) if record.holder.is_alive() => Ok(Some(record)),
        _ => {
            leave(name)?;
            Ok(None)
        }
    }
}

/// All running testbeds by name. Leftovers are removed.
///
/// # Errors
/// When there is no cache folder.
pub fn all() -> Result<Vec<Record>, TestbedError> {
    let Ok(files) = fs::read_dir(run_dir()?) else { return Ok(Vec::new()) };
    let mut names: Vec<String> = files
        .filter_map(Result::ok)
        .filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".json")?.to_owned()))
        .filter(|name| check_name(name).is_ok())
        .collect();
    names.sort();
    let mut found = Vec::new();
    for name in names {
        found.extend(find(&name)?);
    }
    Ok(found)
}

/// Ends a testbed and waits until nothing of it runs.
///
/// # Errors
/// When something still runs after being killed.
pub async fn end(record: &Record) -> Result<(), TestbedError> {
    let everyone = || std::iter::once(&record.holder).chain(&record.parts);
    record.holder.signal("TERM");
    for attempt in 0..200_u32 {
        if !everyone().any(Pid::is_alive) {
            return leave(&record.name);
        }
        if attempt == 150 {
            everyone().for_each(|process| process.signal("KILL"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let left: Vec<_> = everyone().filter(|p| p.is_alive()).map(|p| format!("{} ({})", p.name, p.pid)).collect();
    Err(problem(&record.name, format!("still running after SIGKILL: {}", left.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_alive_and_one_with_another_start_is_not() {
        let own = Pid::of("test", std::process::id()).unwrap();
        assert!(own.is_alive());
        let other = Pid { start_ticks: own.start_ticks + 1, ..own };
        assert!(!other.is_alive());
        assert_eq!(Pid::of("none", u32::MAX), None);
    }

    #[test]
    fn names_are_plain() {
        for name in ["default", "a-1"] {
            assert!(check_name(name).is_ok(), "{name}");
        }
        for name in ["", "../x", "A", "a b", "x".repeat(41).as_str()] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}
