//! Keys, tokens and kubeconfig files of one testbed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;
use tidegate_certificate::{Key, pem};

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
        // The API server reads public keys from a file of their own: it does not derive them from PKCS#8.
        let key = Key::generate()?;
        fs::write(self.private_key(), pem("PRIVATE KEY", key.private_der()))?;
        fs::write(self.public_key(), pem("PUBLIC KEY", &key.public_der()))
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

#[cfg(test)]
mod tests {
    use super::*;

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
