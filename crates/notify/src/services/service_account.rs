//! Keys of Google's service accounts, and the tokens they are exchanged for.
//!
//! Documentation: <https://developers.google.com/identity/protocols/oauth2/service-account#httprest>.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value as Json, json};

use super::escaped;
use super::jwt::SigningKey;
use super::token::{Token, is_header_text};
use crate::message::{Failure, HttpRequest, Response};

/// Where tokens come from when the key does not say.
const TOKENS: &str = "https://oauth2.googleapis.com/token";
/// How long a request for a token is good; Google gives no more.
const GOOD_FOR_SECONDS: i64 = 3600;

/// A key.
#[derive(Debug)]
pub(super) struct ServiceAccount {
    email: String,
    key: SigningKey,
    key_id: Option<String>,
    token_uri: String,
    /// The project it was made in.
    pub(super) project: Option<String>,
}

impl ServiceAccount {
    /// Reads the JSON that Google hands out. The error goes on after the name of what holds it, and shows nothing of it.
    pub(super) fn read(text: &[u8]) -> Result<Self, String> {
        let Ok(Json::Object(fields)) = serde_json::from_slice(text) else {
            return Err("is no key of a service account: it is no JSON object".to_owned());
        };
        let field = |name: &str| fields.get(name).and_then(Json::as_str).filter(|text| !text.is_empty());
        let needed =
            |name: &str| field(name).ok_or_else(|| format!("is no key of a service account: it has no {name}"));
        let email = needed("client_email")?.to_owned();
        let key =
            SigningKey::read(needed("private_key")?).map_err(|error| format!("has a private_key that {error}"))?;
        let token_uri = field("token_uri").unwrap_or(TOKENS).to_owned();
        if !token_uri.starts_with("https://") && !token_uri.starts_with("http://") {
            return Err("has a token_uri that is no address".to_owned());
        }
        let text = |name: &str| field(name).map(str::to_owned);
        Ok(Self { email, key, key_id: text("private_key_id"), token_uri, project: text("project_id") })
    }

    /// Asks for a token with this right.
    pub(super) fn ask(&self, scope: &str, now: Timestamp) -> Result<HttpRequest, Failure> {
        let issued = now.as_second();
        let claims = json!({
            "iss": self.email, "scope": scope, "aud": self.token_uri, "iat": issued, "exp": issued + GOOD_FOR_SECONDS,
        });
        let assertion = self.key.sign(&claims, self.key_id.as_deref()).map_err(Failure::lasting)?;
        let grant = escaped("urn:ietf:params:oauth:grant-type:jwt-bearer");
        Ok(HttpRequest::new("POST", self.token_uri.clone())
            .header("Content-Type", "application/x-www-form-urlencoded")
            .body(format!("grant_type={grant}&assertion={assertion}")))
    }

    /// Takes the token out of the answer.
    pub(super) fn hear(response: &Response, token: &mut Token) -> Result<(), Failure> {
        let answer = response.json();
        if !response.is_success() {
            // Only what says why: the rest could repeat what was asked with.
            let why = answer["error_description"].as_str().or(answer["error"].as_str()).unwrap_or("no reason is given");
            let text = format!("google gave no token, with status {}: {why}", response.status);
            return Err(Failure::of_status(response.status, text));
        }
        let Some(value) = answer["access_token"].as_str().filter(|value| is_header_text(value)) else {
            return Err(Failure::lasting("google's answer holds no token; is token_uri of the key right?"));
        };
        let seconds = answer["expires_in"].as_i64().filter(|seconds| *seconds > 0);
        let ends = seconds.and_then(|seconds| token.now().checked_add(SignedDuration::from_secs(seconds)).ok());
        token.take(value, ends);
        Ok(())
    }
}
