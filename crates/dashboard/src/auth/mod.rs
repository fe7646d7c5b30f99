//! Who asks, and what they may do.

pub(crate) mod identity;
pub(crate) mod oidc;
mod rights;
mod sessions;
mod token;

use std::sync::Arc;

use http::header::{self, HeaderMap};
use kube::Client;
use serde_json::{Value, json};
use tidegate_cluster::Cluster;

use crate::answer::{Refusal, header_text};
use crate::options::Auth;
use rights::Rights;
pub(crate) use rights::{Asked, Decision};
use sessions::Sessions;

/// The name of the cookie that holds a session.
const COOKIE: &str = "tidegate-session";
/// How long a request to the cluster may take.
const ANSWERS_WITHIN: std::time::Duration = std::time::Duration::from_secs(30);

/// Somebody who asks.
pub(crate) struct Visitor {
    /// For the log and the page.
    pub(crate) name: String,
    /// Asks the cluster as this person.
    client: Client,
    /// Whether what is shown depends on who it is.
    is_known: bool,
    rights: Rights,
}

impl Visitor {
    fn new(name: &str, client: Client, is_known: bool) -> Arc<Self> {
        Arc::new(Self { name: name.to_owned(), client, is_known, rights: Rights::default() })
    }

    /// The cluster as this person may use it.
    pub(crate) fn cluster(&self, namespace: &str) -> Cluster {
        Cluster {
            client: self.client.clone(),
            namespace: namespace.to_owned(),
            url: "the cluster".to_owned(),
            user: self.name.clone(),
            timeout: Some(ANSWERS_WITHIN),
        }
    }

    /// Whether something may be done.
    pub(crate) async fn may(&self, asked: Asked) -> Decision {
        self.rights.ask(&self.client, asked).await
    }

    /// Whether Rollouts of a namespace, or of all when it is empty, may be seen.
    pub(crate) async fn sees(&self, namespace: &str) -> bool {
        if !self.is_known {
            return true;
        }
        let everywhere = Asked { verb: "list", resource: "rollouts", subresource: "", namespace: String::new() };
        if self.may(everywhere.clone()).await.is_allowed {
            return true;
        }
        !namespace.is_empty() && self.may(Asked { namespace: namespace.to_owned(), ..everywhere }).await.is_allowed
    }
}

/// Finds out who asks.
pub(crate) struct Gate {
    auth: Auth,
    everybody: Arc<Visitor>,
    base: Client,
    sessions: Sessions,
    pending: oidc::Pending,
}

impl Gate {
    pub(crate) fn new(auth: Auth, base: Client) -> Self {
        let everybody = Visitor::new("everybody", base.clone(), false);
        Self { auth, everybody, base, sessions: Sessions::default(), pending: oidc::Pending::default() }
    }

    /// The name of the mode.
    pub(crate) fn mode(&self) -> &'static str {
        self.auth.name()
    }

    /// Who asks.
    pub(crate) async fn visitor(&self, headers: &HeaderMap) -> Result<Arc<Visitor>, Refusal> {
        if matches!(self.auth, Auth::Nobody) {
            return Ok(Arc::clone(&self.everybody));
        }
        if let Some(id) = cookie(headers)
            && let Some(visitor) = self.sessions.find(id)
        {
            return Ok(visitor);
        }
        match (&self.auth, bearer(headers)) {
            (Auth::Token(bare), Some(token)) => {
                // Programs send the token with every request; it is looked up, not asked about each time.
                let name = sessions::digest(token);
                if let Some(visitor) = self.sessions.find(&name) {
                    return Ok(visitor);
                }
                let visitor = self.introduced(bare, token).await?;
                self.sessions.keep(name, Arc::clone(&visitor), sessions::BRIEFLY);
                Ok(visitor)
            }
            _ => Err(Refusal::unauthenticated("log in first")),
        }
    }

    /// Asks the cluster whose token it is.
    async fn introduced(&self, bare: &Client, token: &str) -> Result<Arc<Visitor>, Refusal> {
        let client = identity::with_token(bare, token)?;
        let name = identity::who(&client).await?;
        Ok(Visitor::new(&name, client, true))
    }

    /// Begins a session for a token; returns the name and the cookie.
    pub(crate) async fn log_in(&self, body: &Value, is_secure: bool) -> Result<(String, String), Refusal> {
        let Auth::Token(bare) = &self.auth else {
            return Err(Refusal::invalid(format!("--auth-mode={} takes no tokens", self.mode())));
        };
        let token = body.get("token").and_then(Value::as_str).map(str::trim).unwrap_or_default();
        if token.is_empty() {
            return Err(Refusal::invalid("token: it is needed"));
        }
        let visitor = self.introduced(bare, token).await?;
        tracing::info!(user = visitor.name, "logged in");
        Ok((visitor.name.clone(), self.begin(visitor, is_secure)))
    }

    /// Begins a session; returns the cookie.
    fn begin(&self, visitor: Arc<Visitor>, is_secure: bool) -> String {
        let id = sessions::random();
        self.sessions.keep(id.clone(), visitor, sessions::WORKDAY);
        written(&id, sessions::WORKDAY.as_secs(), is_secure)
    }

    /// Where to go to log in, and where to come back to.
    pub(crate) async fn depart(&self, back: &str) -> Result<String, Refusal> {
        let Auth::Oidc(provider) = &self.auth else { return Err(Refusal::unknown()) };
        provider.depart(&self.pending, back).await
    }

    /// Somebody comes back from the provider; returns the cookie and where they wanted to go.
    pub(crate) async fn arrive(&self, query: Option<&str>, is_secure: bool) -> Result<(String, String), Refusal> {
        let Auth::Oidc(provider) = &self.auth else { return Err(Refusal::unknown()) };
        let (person, back) = provider.arrive(&self.pending, query).await?;
        let client = identity::impersonating(&self.base, &person.name, &person.groups)?;
        tracing::info!(user = person.name, "logged in");
        let visitor = Visitor::new(&person.name, client, true);
        Ok((self.begin(visitor, is_secure), back))
    }

    /// Ends the session; returns the cookie that says so.
    pub(crate) fn log_out(&self, headers: &HeaderMap, is_secure: bool) -> String {
        if let Some(id) = cookie(headers) {
            self.sessions.forget(id);
        }
        written("", 0, is_secure)
    }

    /// What a page has to know before it shows anything.
    pub(crate) async fn session(&self, headers: &HeaderMap) -> Value {
        match self.visitor(headers).await {
            Ok(visitor) if matches!(self.auth, Auth::Nobody) => {
                json!({"authMode": "none", "isLoggedIn": true, "user": visitor.name})
            }
            Ok(visitor) => json!({"authMode": self.mode(), "isLoggedIn": true, "user": visitor.name}),
            Err(_) => json!({"authMode": self.mode(), "isLoggedIn": false}),
        }
    }
}

fn written(id: &str, seconds: u64, is_secure: bool) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    // The provider sends people back with a link, which a strict cookie would not come along with; it is set then, not read.
    format!("{COOKIE}={id}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

fn cookie(headers: &HeaderMap) -> Option<&str> {
    let pairs = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let mut pairs = pairs.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).map(|(_, id)| id).filter(|id| !id.is_empty())
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = header_text(headers, header::AUTHORIZATION).split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}
