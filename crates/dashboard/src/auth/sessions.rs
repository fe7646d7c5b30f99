//! Who is logged in. Nothing is kept beyond the life of the process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ring::rand::SecureRandom as _;
use tokio::time::Instant;

use super::Visitor;

/// How long a login lasts.
pub(super) const WORKDAY: Duration = Duration::from_secs(12 * 3600);
/// How long the word of the cluster about a token is believed.
pub(super) const BRIEFLY: Duration = Duration::from_secs(60);
/// Sessions at most; the one that ends first goes first.
const MOST: usize = 4096;

struct Session {
    visitor: Arc<Visitor>,
    ends: Instant,
}

/// Who is logged in, by the digest of what they show for it.
#[derive(Default)]
pub(super) struct Sessions(Mutex<BTreeMap<String, Session>>);

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<Visitor>> {
        let mut sessions = self.lock();
        let id = digest(id);
        match sessions.get(&id) {
            Some(session) if session.ends > Instant::now() => Some(Arc::clone(&session.visitor)),
            Some(_) => {
                sessions.remove(&id);
                None
            }
            None => None,
        }
    }

    pub(super) fn keep(&self, id: String, visitor: Arc<Visitor>, lasts: Duration) {
        let mut sessions = self.lock();
        let now = Instant::now();
        if sessions.len() >= MOST {
            sessions.retain(|_, session| session.ends > now);
        }
        if sessions.len() >= MOST
            && let Some(first) = sessions.iter().min_by_key(|(_, session)| session.ends).map(|(id, _)| id.clone())
        {
            sessions.remove(&first);
        }
        sessions.insert(digest(&id), Session { visitor, ends: now + lasts });
    }

    pub(super) fn forget(&self, id: &str) {
        self.lock().remove(&digest(id));
    }
}

/// A digest, so that what is looked up is not what is shown, and how long it takes tells nothing.
pub(super) fn digest(text: &str) -> String {
    hex(ring::digest::digest(&ring::digest::SHA256, text.as_bytes()).as_ref())
}

/// A name that nobody can guess.
pub(super) fn random() -> String {
    let mut bytes = [0; 32];
    // The system has no random numbers only before it has started.
    ring::rand::SystemRandom::new().fill(&mut bytes).expect("the system gives random numbers");
    hex(&bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
