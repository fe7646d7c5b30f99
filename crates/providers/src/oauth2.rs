//! OAuth 2 client credentials (RFC 6749, section 4.4).

use tidegate_api::analysis::OAuth2;
use tidegate_api::wire::{Items, Text};
use tidegate_expr::base64;

use crate::form::{encoded, escape};
use crate::message::{Method, Request, Response};

/// Who asks for a token, and where. Its `Debug` does not show the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCredentials {
    /// Where to get the token.
    pub token_url: String,
    /// The client.
    pub client_id: String,
    /// Its secret.
    pub client_secret: String,
    /// Scopes to ask for.
    pub scopes: Vec<String>,
}

impl std::fmt::Debug for ClientCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ClientCredentials({} at {})", self.client_id, self.token_url)
    }
}

/// The credentials of a metric, `None` when it does not use OAuth 2.
pub fn credentials(settings: Option<&OAuth2>) -> Result<Option<ClientCredentials>, String> {
    let Some(settings) = settings.filter(|settings| !settings.token_url.text().is_empty()) else { return Ok(None) };
    if settings.client_id.text().is_empty() || settings.client_secret.text().is_empty() {
        return Err("missing mandatory parameter in metric for OAuth2 setup".to_owned());
    }
    Ok(Some(ClientCredentials {
        token_url: settings.token_url.text().to_owned(),
        client_id: settings.client_id.text().to_owned(),
        client_secret: settings.client_secret.text().to_owned(),
        scopes: settings.scopes.items().to_vec(),
    }))
}

/// The request for a token, with client and secret in the header.
pub fn token_request(credentials: &ClientCredentials, like: &Request) -> Request {
    let scope = credentials.scopes.join(" ");
    let mut fields = vec![("grant_type", "client_credentials")];
    if !scope.is_empty() {
        fields.push(("scope", scope.as_str()));
    }
    let user = format!("{}:{}", escape(&credentials.client_id), escape(&credentials.client_secret));
    let mut request = Request::new(Method::Post, &credentials.token_url)
        .header("Authorization", format!("Basic {}", base64::encode(user.as_bytes())))
        .header("Content-Type", "application/x-www-form-urlencoded")
        .body(encoded(fields))
        .within(like.timeout);
    request.insecure = like.insecure;
    request
}

/// The token of an answer, or why there is none.
pub fn token(response: &Response) -> Result<String, String> {
    if !response.is_success() {
        let reason = http::StatusCode::from_u16(response.status).ok().and_then(|code| code.canonical_reason());
        return Err(format!("oauth2: cannot fetch token: {} {}", response.status, reason.unwrap_or_default()));
    }
    let body = response.json().map_err(|error| format!("oauth2: cannot parse json: {error}"))?;
    match body["access_token"].as_str() {
        Some(token) if !token.is_empty() => Ok(token.to_owned()),
        _ => Err("oauth2: server response missing access_token".to_owned()),
    }
}
