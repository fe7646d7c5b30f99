//! Log lines as operators of the project we stand in for know them: `time`, `level`, `msg`, then fields by name.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Metadata, Subscriber, span};

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `key=value`.
    Text,
    /// One object per line.
    Json,
}

/// Which lines are written; may change at any time. Clones share it.
#[derive(Clone, Debug)]
pub struct Verbosity(Arc<AtomicUsize>);

const LEVELS: [Level; 5] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG, Level::TRACE];

/// The level of a name, as logrus reads it.
fn named(name: &str) -> Option<usize> {
    Some(match name.trim().to_ascii_lowercase().as_str() {
        "panic" | "fatal" | "error" => 0,
        "warn" | "warning" => 1,
        "info" => 2,
        "debug" => 3,
        "trace" => 4,
        _ => return None,
    })
}

fn name(level: &Level) -> &'static str {
    match *level {
        Level::ERROR => "error",
        Level::WARN => "warning",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        Level::TRACE => "trace",
    }
}

fn rank(level: &Level) -> usize {
    LEVELS.iter().position(|known| known == level).unwrap_or(0)
}

impl Verbosity {
    /// From the name of the least important level that is written.
    pub fn named(name: &str) -> Option<Self> {
        named(name).map(|rank| Self(Arc::new(AtomicUsize::new(rank))))
    }

    /// Changes it; says whether the name is known.
    pub fn set(&self, name: &str) -> bool {
        let Some(rank) = named(name) else { return false };
        self.0.store(rank, Ordering::Relaxed);
        tracing::callsite::rebuild_interest_cache();
        true
    }

    /// The name of the least important level that is written.
    pub fn name(&self) -> &'static str {
        LEVELS.get(self.0.load(Ordering::Relaxed)).map_or("trace", name)
    }

    fn allows(&self, level: &Level) -> bool {
        rank(level) <= self.0.load(Ordering::Relaxed)
    }
}

/// What is written where.
pub struct Options {
    /// How lines look.
    pub format: Format,
    /// Which of our own lines are written.
    pub verbosity: Verbosity,
    /// Our own lines come from modules whose path begins with one of these.
    pub own: &'static [&'static str],
    /// Of all other lines, those up to this level; none when absent.
    pub others: Option<Level>,
    /// The time as it is written.
    pub wall: Box<dyn Fn() -> String + Send + Sync>,
    /// Takes finished lines.
    pub write: Box<dyn Fn(&str) + Send + Sync>,
}

/// Writes events; spans are not followed.
pub struct Logger(Options);

impl Logger {
    /// A logger.
    pub fn new(options: Options) -> Self {
        Self(options)
    }

    fn is_own(&self, target: &str) -> bool {
        self.0.own.iter().any(|own| target.starts_with(own))
    }
}

impl Subscriber for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        if !metadata.is_event() {
            return false;
        }
        if self.is_own(metadata.target()) {
            return self.0.verbosity.allows(metadata.level());
        }
        self.0.others.is_some_and(|most| rank(metadata.level()) <= rank(&most))
    }

    fn event(&self, event: &Event<'_>) {
        let mut found = Fields::default();
        event.record(&mut found);
        let level = name(event.metadata().level());
        let line = match self.0.format {
            Format::Text => text(&(self.0.wall)(), level, &found),
            Format::Json => as_json(&(self.0.wall)(), level, found),
        };
        (self.0.write)(&line);
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Fields {
    message: String,
    others: BTreeMap<&'static str, Value>,
}

impl Fields {
    fn add(&mut self, field: &Field, value: Value) {
        if field.name() == "message" {
            self.message = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        } else {
            self.others.insert(field.name(), value);
        }
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.add(field, Value::String(format!("{value:?}")));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.add(field, Value::from(value));
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field, Value::from(value));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.add(field, Value::from(value));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field, Value::from(value));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field, Value::from(value));
    }
}

fn text(time: &str, level: &str, fields: &Fields) -> String {
    let mut line = format!("time={} level={level} msg={}", quoted(time), quoted(&fields.message));
    for (name, value) in &fields.others {
        let value = value.as_str().map_or_else(|| value.to_string(), quoted);
        // Writing to a string cannot fail.
        let _ = write!(line, " {name}={value}");
    }
    line.push('\n');
    line
}

/// Quotes only what would be misread.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._/@^+".contains(c);
    if text.chars().all(is_plain) { text.to_owned() } else { format!("{text:?}") }
}

fn as_json(time: &str, level: &str, fields: Fields) -> String {
    let mut line = json!({"level": level, "msg": fields.message, "time": time});
    if let Some(object) = line.as_object_mut() {
        for (name, value) in fields.others {
            // The three of every line keep their meaning.
            let name = if object.contains_key(name) { format!("fields.{name}") } else { name.to_owned() };
            object.insert(name, value);
        }
    }
    format!("{line}\n")
}
