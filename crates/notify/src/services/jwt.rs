//! Claims that are signed with an RSA key (RS256), as GitHub and Google want them from those who ask for a token.
//!
//! Documentation: RFC 7515, RFC 7519; the text of keys is that of RFC 7468.

use std::fmt;

use ring::rand::SystemRandom;
use ring::rsa::KeyPair;
use ring::signature::RSA_PKCS1_SHA256;
use serde_json::{Value as Json, json};
use tidegate_expr::base64;

/// A private key. Its `Debug` shows nothing of it.
pub(super) struct SigningKey(KeyPair);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a private key")
    }
}

impl SigningKey {
    /// Reads a key in PEM. The error goes on after the name of what holds the key, and shows nothing of it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        // Some tools keep the line ends of JSON when they write a Secret.
        let text = text.replace("\\n", "\n");
        let (label, body) = block(&text).ok_or("is no private key in PEM, which begins with -----BEGIN")?;
        if label.starts_with("ENCRYPTED") || body.contains("ENCRYPTED") {
            return Err("is a private key with a password; one without is needed".to_owned());
        }
        let bare: String = body.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        let bytes = base64::decode(&bare).ok_or("is a private key in PEM whose base64 is broken")?;
        let key = match label {
            "RSA PRIVATE KEY" => KeyPair::from_der(&bytes),
            "PRIVATE KEY" => KeyPair::from_pkcs8(&bytes),
            _ => return Err("is no RSA private key: its first line says something else".to_owned()),
        };
        key.map(Self).map_err(|rejected| format!("is no RSA private key that can be used: {rejected}"))
    }

    /// The claims with a signature; the header says which of several keys it is by, when they have ids.
    pub(super) fn sign(&self, claims: &Json, id: Option<&str>) -> Result<String, String> {
        let header = match id {
            Some(id) => json!({"alg": "RS256", "typ": "JWT", "kid": id}),
            None => json!({"alg": "RS256", "typ": "JWT"}),
        };
        let mut token = format!("{}.{}", base64url(header.to_string()), base64url(claims.to_string()));
        let mut signature = vec![0; self.0.public().modulus_len()];
        // Chance only hides how long the signing takes: the same claims have the same signature.
        let signed = self.0.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), token.as_bytes(), &mut signature);
        signed.map_err(|_| "the private key cannot sign".to_owned())?;
        token.push('.');
        token.push_str(&base64url(signature));
        Ok(token)
    }
}

/// The label and the body of the first block.
fn block(text: &str) -> Option<(&str, &str)> {
    let (_, rest) = text.split_once("-----BEGIN ")?;
    let (label, rest) = rest.split_once("-----")?;
    let (body, _) = rest.split_once("-----END ")?;
    Some((label, body))
}

/// Base64 for addresses, without padding.
pub(super) fn base64url(bytes: impl AsRef<[u8]>) -> String {
    base64::encode(bytes.as_ref()).trim_end_matches('=').replace('+', "-").replace('/', "_")
}
