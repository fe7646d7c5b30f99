//! Signed claims, looked at as the services look at them.

use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::Value as Json;
use tidegate_expr::base64;

fn decoded(part: &str) -> Vec<u8> {
    let padding = "=".repeat((4 - part.len() % 4) % 4);
    base64::decode(&(part.replace('-', "+").replace('_', "/") + &padding)).unwrap()
}

/// Header and claims of a token that the key of the tests has signed.
pub(crate) fn verified(token: &str) -> (Json, Json) {
    let public: String = include_str!("../keys/public.pem").lines().filter(|line| !line.starts_with('-')).collect();
    let (signed, signature) = token.rsplit_once('.').unwrap();
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, base64::decode(&public).unwrap());
    key.verify(signed.as_bytes(), &decoded(signature)).expect("the signature is that of the key");
    let (header, claims) = signed.split_once('.').unwrap();
    let read = |part: &str| serde_json::from_slice(&decoded(part)).unwrap();
    (read(header), read(claims))
}
