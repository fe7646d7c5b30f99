//! Who asked the API server for what, and when: its audit log, read as it grows.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;

use jiff::Timestamp;
use serde::Deserialize;

/// One request that was answered, or a watch that has begun.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) user: String,
    pub(crate) verb: String,
    /// With the subresource, such as `rollouts/status`.
    pub(crate) resource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// A watch that begins with everything there is.
    pub(crate) lists_first: bool,
    /// When the API server had read the request.
    pub(crate) received: Timestamp,
    /// When it was done with it, or when a watch began.
    pub(crate) answered: Timestamp,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Line {
    stage: String,
    verb: String,
    #[serde(default, rename = "requestURI")]
    uri: String,
    user: User,
    #[serde(default)]
    object_ref: Object,
    request_received_timestamp: Timestamp,
    stage_timestamp: Timestamp,
}

#[derive(Deserialize)]
struct User {
    username: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Object {
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
}

/// Reads a line; none for what is no request of its own, such as the end of a watch.
fn read(line: &str) -> Option<Entry> {
    let line: Line = serde_json::from_str(line).ok()?;
    let counted_at = if line.verb == "watch" { "ResponseStarted" } else { "ResponseComplete" };
    if line.stage != counted_at {
        return None;
    }
    let object = line.object_ref;
    let resource = match (object.resource.as_str(), object.subresource.as_str()) {
        ("", _) => line.uri.split('?').next().unwrap_or_default().to_owned(),
        (resource, "") => resource.to_owned(),
        (resource, subresource) => format!("{resource}/{subresource}"),
    };
    Some(Entry {
        user: line.user.username,
        verb: line.verb,
        resource,
        namespace: object.namespace,
        name: object.name,
        lists_first: line.uri.contains("sendInitialEvents=true"),
        received: line.request_received_timestamp,
        answered: line.stage_timestamp,
    })
}

/// An audit log that is being written.
pub(crate) struct AuditLog {
    path: PathBuf,
    offset: u64,
    /// The beginning of a line whose end is not written yet.
    unfinished: Vec<u8>,
}

impl AuditLog {
    /// From its beginning.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, offset: 0, unfinished: Vec::new() }
    }

    /// What was written since the last call.
    pub(crate) fn news(&mut self) -> io::Result<Vec<Entry>> {
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            file => file?,
        };
        file.seek(SeekFrom::Start(self.offset))?;
        self.offset += u64::try_from(file.read_to_end(&mut self.unfinished)?).unwrap_or_default();
        let Some(end) = self.unfinished.iter().rposition(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
        let rest = self.unfinished.split_off(end + 1);
        let finished = std::mem::replace(&mut self.unfinished, rest);
        Ok(String::from_utf8_lossy(&finished).lines().filter_map(read).collect())
    }
}

/// Requests by verb and resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    by: BTreeMap<(String, String), u64>,
    /// Watches that began with everything there is: lists by another name.
    watch_lists: u64,
}

impl Tally {
    /// Counts the requests of one user.
    pub(crate) fn of(entries: &[Entry], user: &str) -> Self {
        let mut tally = Self::default();
        for entry in entries.iter().filter(|entry| entry.user == user) {
            *tally.by.entry((entry.verb.clone(), entry.resource.clone())).or_default() += 1;
            tally.watch_lists += u64::from(entry.lists_first);
        }
        tally
    }

    fn sum(&self, counts: impl Fn(&str, &str) -> bool) -> u64 {
        self.by.iter().filter(|((verb, resource), _)| counts(verb, resource)).map(|(_, count)| count).sum()
    }

    /// Writes apart from events and the lease.
    pub(crate) fn writes(&self) -> u64 {
        self.sum(|verb, resource| is_write(verb) && !matches!(resource, "events" | "leases"))
    }

    /// Writes of a Rollout's status.
    pub(crate) fn status_writes(&self) -> u64 {
        self.sum(|verb, resource| is_write(verb) && resource == "rollouts/status")
    }

    /// Events told, anew or once more.
    pub(crate) fn events(&self) -> u64 {
        self.sum(|verb, resource| is_write(verb) && resource == "events")
    }

    /// Lists, also those that come as a watch.
    pub(crate) fn lists(&self) -> u64 {
        self.sum(|verb, _| verb == "list") + self.watch_lists
    }

    /// Single objects read.
    pub(crate) fn reads(&self) -> u64 {
        self.sum(|verb, _| verb == "get")
    }

    /// Verb, resource and how many of them there were for each of `share`, most first.
    pub(crate) fn rows(&self, share: u64) -> Vec<(String, f64)> {
        let each = |count: u64| count as f64 / share.max(1) as f64;
        let mut rows: Vec<_> =
            self.by.iter().map(|((verb, resource), count)| (format!("{verb} {resource}"), each(*count))).collect();
        rows.sort_by(|one, other| other.1.total_cmp(&one.1));
        rows
    }
}

fn is_write(verb: &str) -> bool {
    matches!(verb, "create" | "update" | "patch" | "delete" | "deletecollection")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn line(stage: &str, user: &str, verb: &str, object: &str, uri: &str) -> String {
        format!(
            r#"{{"kind":"Event","stage":"{stage}","requestURI":"{uri}","verb":"{verb}","user":{{"username":"{user}"}},"objectRef":{object},"requestReceivedTimestamp":"2026-01-02T03:04:05.678901Z","stageTimestamp":"2026-01-02T03:04:05.700000Z"}}"#
        )
    }

    const STATUS: &str = r#"{"resource":"rollouts","subresource":"status","namespace":"n","name":"a"}"#;
    const SETS: &str = r#"{"resource":"replicasets","namespace":"n","name":"a"}"#;

    #[test]
    fn requests_are_counted_once_and_by_whose_they_are() {
        let lines = [
            line("ResponseComplete", "controller", "patch", STATUS, "/x"),
            line("ResponseComplete", "controller", "create", SETS, "/x"),
            line("ResponseComplete", "controller", "create", r#"{"resource":"events"}"#, "/x"),
            line("ResponseComplete", "controller", "update", r#"{"resource":"leases"}"#, "/x"),
            line("ResponseComplete", "controller", "list", SETS, "/x"),
            line("ResponseStarted", "controller", "watch", SETS, "/x?sendInitialEvents=true&watch=true"),
            line("ResponseComplete", "controller", "watch", SETS, "/x?sendInitialEvents=true&watch=true"),
            line("ResponseComplete", "controller", "get", SETS, "/x"),
            line("ResponseComplete", "admin", "patch", STATUS, "/x"),
            "no JSON".to_owned(),
        ];
        let entries: Vec<Entry> = lines.iter().filter_map(|line| read(line)).collect();
        let tally = Tally::of(&entries, "controller");
        assert_eq!((tally.writes(), tally.status_writes(), tally.events()), (2, 1, 1));
        assert_eq!((tally.lists(), tally.reads()), (2, 1));
        assert!(tally.rows(2).contains(&("patch rollouts/status".to_owned(), 0.5)));
        assert_eq!(entries[0].received.to_string(), "2026-01-02T03:04:05.678901Z");
    }

    #[test]
    fn a_line_that_is_half_written_is_read_when_it_is_whole() {
        let file = std::env::temp_dir().join(format!("tidegate-bench-audit-{}", std::process::id()));
        let mut log = AuditLog::new(file.clone());
        assert_eq!(log.news().unwrap(), []);
        let text = line("ResponseComplete", "controller", "patch", STATUS, "/x");
        let (first, second) = text.split_at(40);
        let mut written = File::create(&file).unwrap();
        write!(written, "{text}\n{first}").unwrap();
        assert_eq!(log.news().unwrap().len(), 1);
        assert_eq!(log.news().unwrap().len(), 0);
        writeln!(written, "{second}").unwrap();
        assert_eq!(log.news().unwrap()[0].resource, "rollouts/status");
        std::fs::remove_file(file).unwrap();
    }
}
