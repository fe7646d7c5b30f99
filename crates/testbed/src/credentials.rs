//! Keys, tokens and kubeconfig files of one testbed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair};
use serde_json::json;

/// Users with a token of their own, and their groups.
const USERS: [(&str, &str); 8] = [
    ("admin", "system:masters"),
    ("controller-manager", "system:masters"),
    ("node-agent", "system:masters"),
    // Nothing but what a test grants them.
    ("rollouts-controller", "testbed:components"),
    ("alice", "testbed:users"),
    ("bob", "testbed:users"),
    ("carol", "testbed:users"),
    ("dave", "testbed:users"),
];

/// The beginning of every DER-encoded public key on the curve P-256; the point follows.
const P256_PUBLIC_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// Files and tokens of one testbed.
pub(crate) struct Credentials {
    dir: PathBuf,
    tokens: Vec<(&'static str, String)>,
}

impl Credentials {
    /// Makes tokens and the service-account key in `dir`.
    pub(crate) fn create(dir: &Path) -> io::Result<Self> {
        fs::create_dir_all(dir)?;
        let tokens = USERS.iter().map(|(user, _)| Ok((*user, random_hex(16)?))).collect::<io::Result<Vec<_>>>()?;
        let made = Self { dir: dir.to_owned(), tokens };
        let lines: String = made
            .tokens
            .iter()
            .zip(USERS)
            .map(|((user, token), (_, group))| format!("{token},{user},{user},\"{group}\"\n"))
            .collect();
        fs::write(made.token_file(), lines)?;
        made.write_service_account_key()?;
        Ok(made)
    }

    fn write_service_account_key(&self) -> io::Result<()> {
        let failed = |_| io::Error::other("the service-account key could not be made");
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_FIXED_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random).map_err(failed)?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random)
            .map_err(|error| io::Error::other(error.to_string()))?;
        // The API server reads public keys from a file of their own: it does not derive them from PKCS#8.
        let mut public = P256_PUBLIC_PREFIX.to_vec();
        public.extend_from_slice(pair.public_key().as_ref());
        fs::write(self.private_key(), pem("PRIVATE KEY", document.as_ref()))?;
        fs::write(self.public_key(), pem("PUBLIC KEY", &public))
    }

    pub(crate) fn token_file(&self) -> PathBuf {
        self.dir.join("tokens.csv")
    }

    pub(crate) fn private_key(&self) -> PathBuf {
        self.dir.join("service-account.key")
    }

    pub(crate) fn public_key(&self) -> PathBuf {
        self.dir.join("service-account.pub")
    }

    pub(crate) fn ca_file(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    /// Names of the users with a token.
    pub(crate) fn users(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.tokens.iter().map(|(user, _)| *user)
    }

    /// The kubeconfig of a user with a token.
    pub(crate) fn kubeconfig(&self, user: &str) -> PathBuf {
        self.dir.join(format!("{user}.kubeconfig"))
    }

    /// Takes the CA out of the certificate chain that the API server wrote and makes a kubeconfig for every user.
    /// `false` while the chain is not there yet.
    pub(crate) fn write_kubeconfigs(&self, server_chain: &Path, port: u16) -> io::Result<bool> {
        let chain = fs::read_to_string(server_chain).unwrap_or_default();
        let Some(ca) = second_certificate(&chain) else { return Ok(false) };
        fs::write(self.ca_file(), ca)?;
        for (user, token) in &self.tokens {
            // JSON is YAML, and is written without a library for it.
            let config = json!({
                "apiVersion": "v1", "kind": "Config", "current-context": user,
                "clusters": [{"name": "testbed", "cluster": {
                    "server": format!("https://127.0.0.1:{port}"), "certificate-authority": self.ca_file(),
                }}],
                "users": [{"name": user, "user": {"token": token}}],
                "contexts": [{"name": user, "context": {"cluster": "testbed", "user": user, "namespace": "default"}}],
            });
            fs::write(self.kubeconfig(user), format!("{config:#}\n"))?;
        }
        Ok(true)
    }
}

/// `bytes` random bytes in hexadecimal.
pub(crate) fn random_hex(bytes: usize) -> io::Result<String> {
    let mut buffer = vec![0; bytes];
    SystemRandom::new().fill(&mut buffer).map_err(|_| io::Error::other("the system gave no random bytes"))?;
    Ok(buffer.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The second certificate of a PEM chain: the API server writes its own first and its CA after it.
fn second_certificate(chain: &str) -> Option<&str> {
    const BEGIN: &str = "-----BEGIN CERTIFICATE-----";
    const END: &str = "-----END CERTIFICATE-----";
    let first = chain.find(BEGIN)?;
    let start = first + BEGIN.len() + chain.get(first + BEGIN.len()..)?.find(BEGIN)?;
    let end = start + chain.get(start..)?.find(END)? + END.len();
    chain.get(start..end)
}

fn pem(label: &str, der: &[u8]) -> String {
    let text = base64(der);
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(64));
        out.push_str(line);
        out.push('\n');
        rest = tail;
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4_usize {
            let index = (word >> (18 - 6 * position)) & 63;
            let letter = usize::try_from(index).ok().and_then(|index| ALPHABET.get(index)).copied().unwrap_or(b'=');
            out.push(if position <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_as_the_standard_says() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn the_ca_is_the_second_certificate() {
        let one = |body: &str| format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
        let chain = one("leaf") + &one("ca");
        assert_eq!(second_certificate(&chain).map(|ca| ca.contains("ca") && !ca.contains("leaf")), Some(true));
        assert_eq!(second_certificate(&one("leaf")), None);
        assert_eq!(second_certificate(""), None);
    }

    #[test]
    fn every_user_has_a_token_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let made = Credentials::create(dir.path()).unwrap();
        let lines = fs::read_to_string(made.token_file()).unwrap();
        let tokens: std::collections::BTreeSet<_> = lines.lines().filter_map(|l| l.split(',').next()).collect();
        assert_eq!(tokens.len(), made.users().count());
        assert!(lines.contains(",admin,admin,\"system:masters\""), "{lines}");
    }
}
