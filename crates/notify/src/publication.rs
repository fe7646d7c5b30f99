//! A message to a subject of NATS, as data.

use std::fmt;
use std::time::Duration;

use crate::nkey::Nkey;

/// How somebody logs in. Its `Debug` shows no credential.
#[derive(Clone, PartialEq, Eq)]
pub enum NatsLogin {
    /// Not at all.
    Nobody,
    /// With a password.
    User {
        /// Who.
        username: String,
        /// With what.
        password: String,
    },
    /// With a token.
    Token(String),
    /// With a key that never leaves us: the server's nonce is signed.
    Key(Nkey),
}

impl fmt::Debug for NatsLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "nobody",
            Self::User { .. } => "a user",
            Self::Token(_) => "a token",
            Self::Key(_) => "a key",
        })
    }
}

/// A server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NatsServer {
    /// Its host.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// Whether nothing may be said to it without TLS. Servers that require TLS get it in any case.
    pub is_tls: bool,
    /// How one logs in there.
    pub login: NatsLogin,
}

/// A message to a subject. Its `Debug` shows no header and nothing of the message.
#[derive(Clone, PartialEq, Eq)]
pub struct Publication {
    /// Servers, of which the first that takes it is enough.
    pub servers: Vec<NatsServer>,
    /// Whether any certificate is accepted.
    pub insecure: bool,
    /// How long one server may take.
    pub timeout: Duration,
    /// The subject.
    pub subject: String,
    /// Headers, without line breaks.
    pub headers: Vec<(String, String)>,
    /// The message.
    pub payload: Vec<u8>,
}

impl fmt::Debug for Publication {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes to {} through {:?}", self.payload.len(), self.subject, self.servers)
    }
}
