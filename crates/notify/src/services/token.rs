//! A token that is asked for once and used until shortly before it ends.

use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};
use ring::digest::{Context, SHA256};

use super::Delivery;

/// This long before its end a token is not used any more: clocks differ, and requests take their time.
const MARGIN: SignedDuration = SignedDuration::from_secs(60);

/// A token, known or still to be asked for.
pub(super) struct Token {
    memory_key: String,
    value: Option<String>,
    /// Whether it is from an earlier message, so that it may have been taken back since.
    is_old: bool,
    learned: Vec<(String, String)>,
    now: Timestamp,
}

impl Token {
    /// The token of these credentials: with others it is another one.
    pub(super) fn recall(delivery: &Delivery<'_>, credentials: &[&str]) -> Self {
        let mut context = Context::new(&SHA256);
        for part in credentials {
            context.update(&(part.len() as u64).to_be_bytes());
            context.update(part.as_bytes());
        }
        let mut memory_key = format!("\ntoken\n{}\n", delivery.service.name);
        for byte in context.finish().as_ref() {
            // Writing into a text cannot fail.
            let _ = write!(memory_key, "{byte:02x}");
        }
        let value = delivery.memory.get(&memory_key).and_then(|known| unexpired(known, delivery.now));
        Self { memory_key, is_old: value.is_some(), value, learned: Vec::new(), now: delivery.now }
    }

    pub(super) fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// A new token. One that does not say when it ends serves this message only.
    pub(super) fn take(&mut self, token: &str, ends: Option<Timestamp>) {
        self.value = Some(token.to_owned());
        self.is_old = false;
        if let Some(ends) = ends {
            self.learned.push((self.memory_key.clone(), format!("{} {token}", ends.as_second())));
        }
    }

    /// The service did not believe the token; whether a new one may help.
    pub(super) fn refused(&mut self) -> bool {
        self.learned.push((self.memory_key.clone(), String::new()));
        self.value = None;
        std::mem::replace(&mut self.is_old, false)
    }

    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    pub(super) fn learned(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.learned)
    }
}

/// The token in `<end> <token>`, unless it is over.
fn unexpired(known: &str, now: Timestamp) -> Option<String> {
    let (ends, token) = known.split_once(' ')?;
    let ends = Timestamp::from_second(ends.parse().ok()?).ok()?;
    (ends.duration_since(now) > MARGIN).then(|| token.to_owned())
}

/// Whether a token can stand in a header.
pub(super) fn is_header_text(text: &str) -> bool {
    const MOST: usize = 16 * 1024;
    !text.is_empty() && text.len() <= MOST && text.bytes().all(|byte| byte.is_ascii_graphic())
}
