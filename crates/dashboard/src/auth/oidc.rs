//! Logging in at a provider: the authorization code flow of OpenID Connect, with a proof key.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tidegate_clock::Clock;
use tidegate_providers::form::{encoded, escape};
use tidegate_providers::{Method, Request, Transport};
use tokio::time::Instant;

use super::sessions::random;
use super::token;
use crate::answer::Refusal;
use crate::route::parameter;

/// How long somebody may take at the provider.
const AWAY: Duration = Duration::from_secs(600);
/// People at the provider at once; the one who left first is forgotten first.
const MOST_AWAY: usize = 1024;
/// How long what the provider says about itself is believed.
const BELIEVED: Duration = Duration::from_secs(300);
const ANSWERS_WITHIN: Duration = Duration::from_secs(10);
/// Groups that are passed on at most: each is a header of every request.
const MOST_GROUPS: usize = 200;

/// A provider of logins, and who its people are in the cluster.
#[derive(Clone)]
pub struct Provider {
    /// Its address, as it stands in its tokens.
    pub issuer: String,
    /// Who we are there.
    pub client_id: String,
    /// Our secret there; none for public clients.
    pub client_secret: Option<String>,
    /// Where people come back to: the address of the dashboard, with `/auth/callback` behind its root path.
    pub redirect_url: String,
    /// What is asked for besides `openid`.
    pub scopes: Vec<String>,
    /// The claim that names somebody.
    pub username_claim: String,
    /// Put before the name.
    pub username_prefix: String,
    /// The claim that lists groups.
    pub groups_claim: String,
    /// Put before each group.
    pub groups_prefix: String,
    /// Tells whether tokens are still good.
    pub clock: Clock,
    /// Carries requests to the provider.
    pub transport: Arc<dyn Transport>,
}

/// Somebody who has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Person {
    pub(crate) name: String,
    pub(crate) groups: Vec<String>,
}

struct Away {
    verifier: String,
    nonce: String,
    back: String,
    until: Instant,
}

/// People who are at the provider, and what it says about itself.
#[derive(Default)]
pub(crate) struct Pending {
    away: Mutex<BTreeMap<String, Away>>,
    about: Mutex<Option<(Value, Instant)>>,
}

impl Provider {
    /// Sends somebody to the provider; returns where.
    pub(crate) async fn depart(&self, pending: &Pending, back: &str) -> Result<String, Refusal> {
        let about = self.about(pending).await?;
        let (state, nonce, verifier) = (random(), random(), random());
        let challenge = token::base64url(ring::digest::digest(&ring::digest::SHA256, verifier.as_bytes()).as_ref());
        let scope = ["openid"].into_iter().chain(self.scopes.iter().map(String::as_str)).collect::<Vec<_>>().join(" ");
        let query = encoded([
            ("response_type", "code"),
            ("client_id", &self.client_id),
            ("redirect_uri", &self.redirect_url),
            ("scope", &scope),
            ("state", &state),
            ("nonce", &nonce),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ]);
        let place = endpoint(&about, "authorization_endpoint")?;
        let joint = if place.contains('?') { '&' } else { '?' };
        let away = Away { verifier, nonce, back: within(back), until: Instant::now() + AWAY };
        pending.remember(state, away);
        Ok(format!("{place}{joint}{query}"))
    }

    /// Somebody comes back; returns who, and where they wanted to go.
    pub(crate) async fn arrive(&self, pending: &Pending, query: Option<&str>) -> Result<(Person, String), Refusal> {
        let given = |name: &str| parameter(query, name).unwrap_or_default();
        let state = given("state");
        let Some(away) = pending.recall(&state) else {
            return Err(Refusal::unauthenticated("this login was not begun here, or too long ago: log in again"));
        };
        if !given("error").is_empty() {
            let text = format!("the provider refused: {} {}", given("error"), given("error_description"));
            return Err(Refusal::unauthenticated(text.trim_end()));
        }
        let about = self.about(pending).await?;
        let mut form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", given("code")),
            ("redirect_uri", self.redirect_url.clone()),
            ("client_id", self.client_id.clone()),
            ("code_verifier", away.verifier.clone()),
        ];
        if let Some(secret) = &self.client_secret {
            form.push(("client_secret", secret.clone()));
        }
        let body = encoded(form.iter().map(|(name, value)| (*name, value.as_str())));
        let request = Request::new(Method::Post, endpoint(&about, "token_endpoint")?)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(body);
        let answer = self.fetch(request).await?;
        let id_token = answer.get("id_token").and_then(Value::as_str).unwrap_or_default();
        let keys = self.fetch(Request::new(Method::Get, endpoint(&about, "jwks_uri")?)).await?;
        let claims = token::checked(id_token, &keys)
            .map_err(|problem| Refusal::unauthenticated(format!("the token of the provider: {problem}")))?;
        self.judge(&claims, &away.nonce)?;
        Ok((self.person(&claims)?, away.back))
    }

    /// Whether a token is meant for us, for this login and for now.
    fn judge(&self, claims: &Value, nonce: &str) -> Result<(), Refusal> {
        let refuse = |what: &str| Err(Refusal::unauthenticated(format!("the token of the provider: {what}")));
        if claims["iss"].as_str() != Some(&self.issuer) {
            return refuse("it is from another issuer");
        }
        let is_ours = match &claims["aud"] {
            Value::String(one) => *one == self.client_id,
            Value::Array(several) => several.iter().any(|one| *one == self.client_id),
            _ => false,
        };
        if !is_ours {
            return refuse("it is for somebody else");
        }
        if claims["nonce"].as_str() != Some(nonce) {
            return refuse("it is of another login");
        }
        let now = self.clock.now().as_second();
        if claims["exp"].as_i64().is_none_or(|ends| ends <= now) {
            return refuse("it has expired");
        }
        Ok(())
    }

    fn person(&self, claims: &Value) -> Result<Person, Refusal> {
        let name = claims[&self.username_claim].as_str().unwrap_or_default();
        if name.is_empty() {
            let text = format!("the token of the provider has no claim {:?} that names somebody", self.username_claim);
            return Err(Refusal::unauthenticated(text));
        }
        if self.username_claim == "email" && claims["email_verified"] == Value::Bool(false) {
            return Err(Refusal::unauthenticated("the provider has not verified this address"));
        }
        let person = format!("{}{name}", self.username_prefix);
        let groups = match &claims[&self.groups_claim] {
            Value::String(one) => vec![one.clone()],
            Value::Array(several) => several.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        };
        let groups = groups.iter().map(|group| format!("{}{group}", self.groups_prefix));
        // Nobody becomes part of the cluster itself by what a provider says.
        let groups = groups.filter(|group| !group.starts_with("system:")).take(MOST_GROUPS);
        if person.starts_with("system:") {
            return Err(Refusal::unauthenticated("names that begin with system: are those of the cluster"));
        }
        let everybody = std::iter::once("system:authenticated".to_owned());
        Ok(Person { name: person, groups: groups.chain(everybody).collect() })
    }

    /// What the provider says about itself.
    async fn about(&self, pending: &Pending) -> Result<Value, Refusal> {
        if let Some((about, until)) = &*pending.about.lock().unwrap_or_else(PoisonError::into_inner)
            && *until > Instant::now()
        {
            return Ok(about.clone());
        }
        let place = format!("{}/.well-known/openid-configuration", self.issuer.trim_end_matches('/'));
        let about = self.fetch(Request::new(Method::Get, place)).await?;
        let kept = (about.clone(), Instant::now() + BELIEVED);
        *pending.about.lock().unwrap_or_else(PoisonError::into_inner) = Some(kept);
        Ok(about)
    }

    async fn fetch(&self, request: Request) -> Result<Value, Refusal> {
        let request = request.header("accept", "application/json").within(ANSWERS_WITHIN);
        let answer = self.transport.send(&request).await;
        let answer = answer.map_err(|error| Refusal::unavailable(format!("the provider does not answer: {error}")))?;
        if !answer.is_success() {
            let text = format!("the provider refused with status {}", answer.status);
            return Err(Refusal::unauthenticated(text));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|error| Refusal::unavailable(format!("the answer of the provider cannot be read: {error}")))
    }
}

impl Pending {
    fn remember(&self, state: String, away: Away) {
        let mut all = self.away.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        all.retain(|_, away| away.until > now);
        if all.len() >= MOST_AWAY
            && let Some(first) = all.iter().min_by_key(|(_, away)| away.until).map(|(state, _)| state.clone())
        {
            all.remove(&first);
        }
        all.insert(state, away);
    }

    /// Each login counts once.
    fn recall(&self, state: &str) -> Option<Away> {
        let found = self.away.lock().unwrap_or_else(PoisonError::into_inner).remove(state)?;
        (found.until > Instant::now()).then_some(found)
    }
}

fn endpoint<'a>(about: &'a Value, name: &str) -> Result<&'a str, Refusal> {
    about[name].as_str().ok_or_else(|| Refusal::unavailable(format!("the provider does not name its {name}")))
}

/// A place within the dashboard, as it may stand behind its root; anything else is its front page.
fn within(back: &str) -> String {
    let path = back.trim_start_matches('/');
    let is_plain = !path.contains("://") && !path.contains('\\') && !path.contains("..") && path.len() < 512;
    if is_plain {
        path.split('/')
            .map(|part| escape(part).replace("%3F", "?").replace("%3D", "=").replace("%26", "&"))
            .collect::<Vec<_>>()
            .join("/")
    } else {
        String::new()
    }
}
