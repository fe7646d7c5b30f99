//! Signed tokens of a provider: read, and checked with its keys.

use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;

/// The claims of a token whose signature is good.
pub(super) fn checked(token: &str, keys: &Value) -> Result<Value, String> {
    let mut parts = token.split('.');
    let (Some(head), Some(claims), Some(sign), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err("it is not signed".to_owned());
    };
    let signed = &token[..head.len() + 1 + claims.len()];
    let header = object(head)?;
    let signature = from_base64url(sign).ok_or("its signature cannot be read")?;
    let (algorithm, id) = (header["alg"].as_str().unwrap_or_default(), header["kid"].as_str());
    let all = keys["keys"].as_array().map(Vec::as_slice).unwrap_or_default();
    let fitting = all.iter().filter(|key| id.is_none() || key["kid"].as_str() == id);
    for key in fitting {
        if verifies(algorithm, key, signed.as_bytes(), &signature)? {
            return object(claims);
        }
    }
    Err("it is not signed with a key of the provider".to_owned())
}

fn object(part: &str) -> Result<Value, String> {
    let bytes = from_base64url(part).ok_or("it cannot be read")?;
    serde_json::from_slice(&bytes).map_err(|error| format!("it cannot be read: {error}"))
}

fn verifies(algorithm: &str, key: &Value, signed: &[u8], signature: &[u8]) -> Result<bool, String> {
    let part = |name: &str| key[name].as_str().and_then(from_base64url).unwrap_or_default();
    let kind = key["kty"].as_str().unwrap_or_default();
    match (algorithm, kind) {
        ("RS256", "RSA") => {
            let public = RsaPublicKeyComponents { n: part("n"), e: part("e") };
            Ok(public.verify(&signature::RSA_PKCS1_2048_8192_SHA256, signed, signature).is_ok())
        }
        ("ES256", "EC") => {
            let point = [&[4][..], &part("x"), &part("y")].concat();
            let public = UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point);
            Ok(public.verify(signed, signature).is_ok())
        }
        ("RS256" | "ES256", _) => Ok(false),
        (other, _) => Err(format!("signatures of kind {other:?} are not accepted; RS256 and ES256 are")),
    }
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Bytes as text for URLs, without padding.
pub(super) fn base64url(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let number =
            chunk.iter().enumerate().fold(0_u32, |all, (place, byte)| all | u32::from(*byte) << (16 - 8 * place));
        for place in 0..=chunk.len() {
            text.push(char::from(LETTERS[(number >> (18 - 6 * place)) as usize & 63]));
        }
    }
    text
}

fn from_base64url(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut number, mut bits) = (0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = LETTERS.iter().position(|known| *known == letter)?;
        number = number << 6 | u32::try_from(value).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(number >> bits & 0xff).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;

    fn signed(claims: &Value, algorithm: &str) -> (String, Value) {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).unwrap();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, document.as_ref(), &random).unwrap();
        let point = pair.public_key().as_ref();
        let keys =
            json!({"keys": [{"kid": "a", "kty": "EC", "x": base64url(&point[1..33]), "y": base64url(&point[33..])}]});
        let head = base64url(json!({"alg": algorithm, "kid": "a"}).to_string().as_bytes());
        let body = format!("{head}.{}", base64url(claims.to_string().as_bytes()));
        let signature = pair.sign(&random, body.as_bytes()).unwrap();
        (format!("{body}.{}", base64url(signature.as_ref())), keys)
    }

    #[test]
    fn a_token_is_read_only_with_a_good_signature_of_a_known_key() {
        let (token, keys) = signed(&json!({"sub": "ann"}), "ES256");
        assert_eq!(checked(&token, &keys).unwrap(), json!({"sub": "ann"}));
        let (_, others) = signed(&json!({}), "ES256");
        assert!(checked(&token, &others).is_err());
        let mut parts: Vec<&str> = token.split('.').collect();
        let forged = base64url(json!({"sub": "root"}).to_string().as_bytes());
        parts[1] = &forged;
        assert!(checked(&parts.join("."), &keys).is_err());
    }

    #[test]
    fn a_token_that_says_it_needs_no_signature_is_refused() {
        for algorithm in ["none", "HS256", ""] {
            let (token, keys) = signed(&json!({"sub": "ann"}), algorithm);
            assert!(checked(&token, &keys).is_err(), "{algorithm}");
        }
        assert!(checked("a.b", &json!({})).is_err());
        assert!(checked("", &json!({})).is_err());
    }

    #[test]
    fn base64_survives_a_round_trip_at_every_length() {
        for length in 0..20_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            assert_eq!(from_base64url(&base64url(&bytes)), Some(bytes));
        }
    }
}
