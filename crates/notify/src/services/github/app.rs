//! Apps of GitHub, and the tokens of their installations.
//!
//! Documentation:
//! <https://docs.github.com/en/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app>,
//! <https://docs.github.com/en/rest/apps/apps#create-an-installation-access-token-for-an-app>.

use jiff::Timestamp;
use serde_json::json;

use super::super::jwt::SigningKey;
use super::super::token::{Token, is_header_text};
use super::super::{Options, joined};
use crate::message::{Failure, HttpRequest, Response};

const API: &str = "https://api.github.com";
/// Where the API of an own GitHub is, below its address.
const ENTERPRISE_PATH: &str = "/api/v3";
/// Claims begin this much earlier, because clocks differ.
const EARLIER_SECONDS: i64 = 60;
/// GitHub takes claims that are good for ten minutes at most.
const GOOD_FOR_SECONDS: i64 = 9 * 60;

/// An app with its installation.
pub(super) struct App {
    pub(super) id: String,
    installation: u64,
    key: SigningKey,
    pub(super) api: String,
    insecure: bool,
}

impl App {
    pub(super) fn read(options: &Options) -> Result<Self, String> {
        let id = options.text("appID").trim().to_owned();
        if !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '.') {
            return Err("the option appID is no id of an app".to_owned());
        }
        let installation = options.text("installationID").trim().parse();
        let installation = installation.map_err(|_| "the option installationID is no number".to_owned())?;
        let key = SigningKey::read(&options.text("privateKey"));
        let key = key.map_err(|error| format!("the option privateKey {error}"))?;
        let api = match options.some_text("enterpriseBaseURL") {
            None => API.to_owned(),
            Some(url) => enterprise(&url)?,
        };
        Ok(Self { id, installation, key, api, insecure: options.flag("insecureSkipVerify") })
    }

    /// A request of the API. The token goes with it, whichever it is.
    pub(super) fn request(&self, method: &str, path: &str, token: &str) -> HttpRequest {
        HttpRequest::new(method, joined(&self.api, path))
            .header("Accept", "application/vnd.github+json")
            .header("X-GitHub-Api-Version", "2022-11-28")
            .header("Authorization", format!("Bearer {token}"))
            .insecure(self.insecure)
    }

    /// Asks for a token of the installation.
    pub(super) fn ask(&self, now: Timestamp) -> Result<HttpRequest, Failure> {
        let now = now.as_second();
        let claims = json!({"iat": now - EARLIER_SECONDS, "exp": now + GOOD_FOR_SECONDS, "iss": self.id});
        let claims = self.key.sign(&claims, None).map_err(Failure::lasting)?;
        let path = format!("app/installations/{}/access_tokens", self.installation);
        Ok(self.request("POST", &path, &claims))
    }

    /// Takes the token out of the answer.
    pub(super) fn hear(response: &Response, token: &mut Token) -> Result<(), Failure> {
        let answer = response.json();
        if !response.is_success() {
            // Only what says why: the rest could repeat what was asked with.
            let why = answer["message"].as_str().unwrap_or("no reason is given");
            let text = format!("github gave no token, with status {}: {why}", response.status);
            return Err(Failure::of_status(response.status, text));
        }
        let Some(value) = answer["token"].as_str().filter(|value| is_header_text(value)) else {
            return Err(Failure::lasting("github's answer holds no token; is the option enterpriseBaseURL right?"));
        };
        token.take(value, answer["expires_at"].as_str().and_then(|ends| ends.parse().ok()));
        Ok(())
    }
}

/// The address of the API, whether people wrote it to its end or not.
fn enterprise(url: &str) -> Result<String, String> {
    let url = url.trim().trim_end_matches('/');
    let Some((_, place)) = url.split_once("://").filter(|(scheme, _)| matches!(*scheme, "https" | "http")) else {
        return Err("the option enterpriseBaseURL is no address that begins with https://".to_owned());
    };
    let is_whole = url.ends_with(ENTERPRISE_PATH) || place.starts_with("api.");
    Ok(if is_whole { url.to_owned() } else { format!("{url}{ENTERPRISE_PATH}") })
}
