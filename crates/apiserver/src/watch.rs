//! Watches: a cursor over the log of changes, turned into lines of events.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use serde_json::{Value, json};
use tidegate_clock::Clock;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::columns::Table;
use crate::faults::{Deliver, Delivery};
use crate::list::{Selection, check_options, read_version, too_large};
use crate::object::{meta_mut, set_or_remove};
use crate::observer::Fate;
use crate::registry::Resource;
use crate::request::Target;
use crate::server::Shared;
use crate::state::State;
use crate::status::StatusError;
use crate::store::{Change, Text, prefix, write_shown};
use crate::stored::Object;
use crate::view::View;

/// A watch that nobody limits ends after this long.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1800);
/// How often a watch that allows bookmarks gets one.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);

/// One open watch.
pub(crate) struct Watch {
    shared: Arc<Shared>,
    client: String,
    number: u64,
    resource: Arc<Resource>,
    view: View,
    clock: Clock,
    /// Whether the columns of a table have been told.
    told_columns: bool,
    prefix: String,
    selection: Selection,
    cursor: u64,
    /// Whether everything up to the cursor was looked at, rather than asked to be left out.
    follows: bool,
    initial: VecDeque<Event>,
    held_back: Vec<(Instant, Event)>,
    changed: Arc<Notify>,
    bookmark_at: Option<Instant>,
    ends_at: Instant,
    ended: bool,
}

struct Event {
    kind: &'static str,
    object: Object,
    /// The text of the object, if others may want it, too.
    text: Option<Text>,
    initial: bool,
}

impl Event {
    fn new(kind: &'static str, object: Object) -> Self {
        Self { kind, object, text: None, initial: false }
    }

    /// The new state of a change.
    fn of(kind: &'static str, change: &Change) -> Self {
        Self { text: Some(change.text.clone()), ..Self::new(kind, change.new.clone()) }
    }
}

impl Watch {
    /// Reads the options and takes the initial state; the answer has not begun yet, so errors are plain answers.
    pub(crate) fn open(
        shared: &Arc<Shared>,
        state: &mut State,
        number: u64,
        target: &Target,
        view: View,
        client: &str,
        lag: u64,
    ) -> Result<Self, StatusError> {
        let query = &target.query;
        let selection = Selection::read(target)?;
        check_options(query, true)?;
        let asked = read_version(query)?;
        let now = Instant::now();
        let timeout = match query.number("timeoutSeconds")?.and_then(|n| u64::try_from(n).ok()) {
            None | Some(0) => DEFAULT_TIMEOUT,
            Some(seconds) => Duration::from_secs(seconds.min(86_400)),
        };
        let mut watch = Self {
            shared: Arc::clone(shared),
            client: client.to_owned(),
            number,
            resource: Arc::clone(&target.resource),
            view,
            clock: state.clock,
            told_columns: false,
            prefix: prefix(&target.resource.id, target.scope()),
            selection,
            cursor: state.store.revision(),
            follows: false,
            initial: VecDeque::new(),
            held_back: Vec::new(),
            changed: state.store.subscribe(&target.resource.id),
            bookmark_at: query.flag("allowWatchBookmarks").then(|| now + BOOKMARK_PERIOD),
            ends_at: now + timeout,
            ended: false,
        };
        watch.begin(state, target, asked, lag)?;
        Ok(watch)
    }

    fn begin(&mut self, state: &State, target: &Target, asked: Option<u64>, lag: u64) -> Result<(), StatusError> {
        let current = state.store.revision();
        let initial_events = target.query.flag("sendInitialEvents");
        match asked {
            Some(asked) if asked > current => return Err(too_large(asked, current)),
            Some(asked) if asked > 0 && !initial_events => {
                self.cursor = asked;
                return Ok(());
            }
            _ if target.query.has("sendInitialEvents") && !initial_events => return Ok(()),
            _ => {}
        }
        self.cursor = state.store.revision_before(lag).max(asked.unwrap_or(0));
        let found = state.store.list_at(&self.resource.id, target.scope(), self.cursor);
        for object in found.unwrap_or_default().into_values() {
            if self.selection.matches(&object) {
                self.initial.push_back(Event { initial: true, ..Event::new("ADDED", object) });
            }
        }
        if initial_events && self.bookmark_at.is_some() {
            let end = self.bookmark(Some(json!({"k8s.io/initial-events-end": "true"})));
            self.initial.push_back(Event { initial: true, ..end });
        }
        Ok(())
    }

    fn bookmark(&self, annotations: Option<Value>) -> Event {
        // An object of the kind with nothing in it but the version.
        let mut object = crate::typed::empty(&self.resource);
        if matches!(self.resource.id.as_str(), "deployments.apps" | "replicasets.apps" | "statefulsets.apps") {
            // Inside the server the number of replicas cannot be absent.
            crate::object::child_mut(&mut object, &["spec"]).insert("replicas".to_owned(), json!(0));
        }
        let map = crate::object::map_mut(&mut object);
        map.insert("kind".to_owned(), json!(self.resource.kind));
        map.insert("apiVersion".to_owned(), json!(self.resource.api_version()));
        map.insert("metadata".to_owned(), json!({"resourceVersion": self.cursor.to_string()}));
        set_or_remove(meta_mut(&mut object), "annotations", annotations);
        Event::new("BOOKMARK", object.into())
    }

    /// The stream of lines.
    pub(crate) fn lines(self) -> impl Stream<Item = Bytes> + Send + 'static {
        futures::stream::unfold(self, |mut watch| async move { watch.next_line().await.map(|line| (line, watch)) })
    }

    async fn next_line(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.take_due() {
                return Some(self.arrive(&event));
            }
            if self.ended {
                return None;
            }
            match self.next_event() {
                Ok(Some(event)) => {
                    if let Some(line) = self.deliver(event).await {
                        return Some(line);
                    }
                }
                Ok(None) => {
                    if let Some(event) = self.wait().await
                        && let Some(line) = self.deliver(event).await
                    {
                        return Some(line);
                    }
                }
                Err(error) => return Some(self.end_with(&error)),
            }
        }
    }

    /// Waits for a change, a bookmark's time, a held-back event or the end.
    async fn wait(&mut self) -> Option<Event> {
        let due = self.held_back.iter().map(|(at, _)| *at).min();
        let bookmark = self.bookmark_at.unwrap_or(self.ends_at);
        let until = bookmark.min(self.ends_at).min(due.unwrap_or(self.ends_at));
        let changed = Arc::clone(&self.changed);
        let mut changed = pin!(changed.notified());
        // Waits from here on; a change since the log was last read must not be slept through.
        changed.as_mut().enable();
        if let (Some(_), _) = self.shared.lock().store.next_change(&self.prefix, self.cursor) {
            return None;
        }
        tokio::select! {
            biased;
            () = changed => None,
            () = sleep_until(until) => {
                let now = Instant::now();
                if now >= self.ends_at {
                    self.ended = true;
                    return None;
                }
                if self.bookmark_at.is_some_and(|at| now >= at) {
                    self.bookmark_at = Some(now + BOOKMARK_PERIOD);
                    // What others wrote meanwhile was slept through; the bookmark covers it.
                    if let (None, reached) = self.shared.lock().store.next_change(&self.prefix, self.cursor) {
                        self.cursor = reached;
                    }
                    return Some(self.bookmark(None));
                }
                None
            }
        }
    }

    /// An event that was held back long enough. Before a watch ends it hands out all of them: a client that goes on
    /// from the last version it saw would never get them.
    fn take_due(&mut self) -> Option<Event> {
        let now = Instant::now();
        let index = self.held_back.iter().position(|(at, _)| *at <= now || self.ended)?;
        Some(self.held_back.remove(index).1)
    }

    fn next_event(&mut self) -> Result<Option<Event>, StatusError> {
        if let Some(event) = self.initial.pop_front() {
            return Ok(Some(event));
        }
        let shared = Arc::clone(&self.shared);
        let state = shared.lock();
        let store = &state.store;
        let is_late = match self.follows {
            true => store.has_missed(&self.resource.id, self.cursor),
            false => store.is_compacted(self.cursor),
        };
        if is_late {
            let text = format!("too old resource version: {} ({})", self.cursor, store.revision());
            return Err(StatusError::expired(text));
        }
        self.follows = true;
        loop {
            let (found, reached) = store.next_change(&self.prefix, self.cursor);
            self.cursor = reached;
            let Some(change) = found else { return Ok(None) };
            if let Some(event) = self.event_of(&change) {
                return Ok(Some(event));
            }
        }
    }

    /// What a change means to this watch: an object may come into or fall out of its selection.
    fn event_of(&self, change: &Change) -> Option<Event> {
        let before = change.old.as_ref().filter(|old| self.selection.matches(old));
        let after = (!change.removed && self.selection.matches(&change.new)).then_some(&change.new);
        match (before, after) {
            (None, None) => None,
            (None, Some(_)) => Some(Event::of("ADDED", change)),
            (Some(_), Some(_)) => Some(Event::of("MODIFIED", change)),
            (Some(_), None) if change.removed => Some(Event::of("DELETED", change)),
            (Some(old), None) => {
                let mut object = old.clone();
                let revision = Value::from(change.revision.to_string());
                set_or_remove(meta_mut(&mut object), "resourceVersion", Some(revision));
                Some(Event::new("DELETED", object))
            }
        }
    }

    async fn deliver(&mut self, event: Event) -> Option<Bytes> {
        let verdict = self.shared.faults.deliver(&self.delivery(&event));
        let fate = match verdict {
            Deliver::Pass => return Some(self.arrive(&event)),
            Deliver::Delay(pause) => {
                tokio::time::sleep(pause).await;
                return Some(self.arrive(&event));
            }
            Deliver::HoldBack(_) => Fate::HeldBack,
            Deliver::Drop => Fate::Lost,
            Deliver::End => Fate::Ended,
            Deliver::Expire => Fate::Expired,
        };
        self.shared.observer.delivered(&self.delivery(&event), fate);
        match verdict {
            Deliver::HoldBack(pause) => self.held_back.push((Instant::now() + pause, event)),
            Deliver::End => self.ended = true,
            Deliver::Expire => {
                let text = format!("too old resource version: {} ({})", self.cursor, self.cursor.saturating_add(1));
                return Some(self.end_with(&StatusError::expired(text)));
            }
            Deliver::Pass | Deliver::Delay(_) | Deliver::Drop => {}
        }
        None
    }

    fn delivery<'a>(&'a self, event: &'a Event) -> Delivery<'a> {
        Delivery {
            group: &self.resource.group,
            resource: &self.resource.plural,
            kind: event.kind,
            object: &event.object,
            watch: self.number,
            client: &self.client,
            initial: event.initial,
        }
    }

    fn arrive(&mut self, event: &Event) -> Bytes {
        self.shared.observer.delivered(&self.delivery(event), Fate::Arrived);
        if let Some(table) = self.view.table(&self.resource, || self.clock.now()) {
            let with_columns = !std::mem::replace(&mut self.told_columns, true);
            return line(event.kind, &Table { with_columns, ..table }.of_one(&event.object));
        }
        match &event.text {
            Some(text) if self.view.is_plain(&self.resource, &event.object) => {
                line(event.kind, &text.of(&event.object, self.view.managers))
            }
            _ => line(event.kind, &self.view.write(&self.resource, &event.object)),
        }
    }

    fn end_with(&mut self, error: &StatusError) -> Bytes {
        self.ended = true;
        // Who is told to start over needs nothing of the past.
        self.held_back.clear();
        line("ERROR", &write_shown(&error.to_value()))
    }
}

/// One event; `type` comes first, because clients that decode in one pass need it first.
fn line(kind: &str, object: &[u8]) -> Bytes {
    Bytes::from([b"{\"type\":\"", kind.as_bytes(), b"\",\"object\":", object, b"}\n"].concat())
}
