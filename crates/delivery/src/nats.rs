//! A small NATS client: one connection, one message, and a PONG after it that says that the server has taken it.
//!
//! Documentation: <https://docs.nats.io/reference/reference-protocols/nats-protocol>.

use serde_json::{Map, Value as Json, json};
use tidegate_notify::{NatsLogin, NatsServer, Publication};
use tidegate_providers::Client;

use crate::lines::Lines;

/// Characters of a server's words that are shown.
const MOST_SHOWN: usize = 300;
/// What servers say that will not get better by itself.
const LASTING: [&str; 6] = [
    "authorization violation",
    "permissions violation",
    "authentication",
    "invalid",
    "maximum payload",
    "unknown protocol",
];

/// Why a message was not published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NatsError {
    /// The connection failed.
    Connection {
        /// The server.
        server: String,
        /// Why.
        text: String,
    },
    /// The server said `-ERR`.
    Refused {
        /// The server.
        server: String,
        /// Its words.
        text: String,
    },
    /// It must not or cannot be done so.
    Impossible {
        /// The server.
        server: String,
        /// Why.
        text: String,
    },
}

impl NatsError {
    /// Whether another try may help.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Connection { .. } => true,
            Self::Refused { text, .. } => {
                let text = text.to_ascii_lowercase();
                !LASTING.iter().any(|word| text.contains(word))
            }
            Self::Impossible { .. } => false,
        }
    }
}

impl std::fmt::Display for NatsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connection { server, text } => write!(f, "the NATS server {server} cannot be talked to: {text}"),
            Self::Refused { server, text } => write!(f, "the NATS server {server} refused: {text}"),
            Self::Impossible { server, text } => write!(f, "the NATS server {server} {text}"),
        }
    }
}

impl std::error::Error for NatsError {}

/// Publishes at the first server that takes it. One that hangs or is gone leaves its turn to the next.
pub(crate) async fn publish(client: &Client, publication: &Publication) -> Result<(), NatsError> {
    let mut last = NatsError::Impossible { server: String::new(), text: "is missing".to_owned() };
    for server in &publication.servers {
        let name = format!("{}:{}", server.host, server.port);
        let published = tokio::time::timeout(publication.timeout, publish_at(client, publication, server)).await;
        last = match published {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(trouble)) => trouble.at(name),
            Err(_) => {
                let text = format!("it took longer than {:?}", publication.timeout);
                NatsError::Connection { server: name, text }
            }
        };
        if !last.may_pass() {
            break;
        }
    }
    Err(last)
}

/// An error, before the server is named.
enum Trouble {
    Connection(String),
    Refused(String),
    Impossible(String),
}

impl Trouble {
    fn at(self, server: String) -> NatsError {
        match self {
            Self::Connection(text) => NatsError::Connection { server, text },
            Self::Refused(text) => NatsError::Refused { server, text },
            Self::Impossible(text) => NatsError::Impossible { server, text },
        }
    }
}

async fn publish_at(client: &Client, publication: &Publication, server: &NatsServer) -> Result<(), Trouble> {
    let stream = client.dial(&server.host, server.port).await.map_err(Trouble::Connection)?;
    let mut lines = Lines::new(stream);
    let info = hello(&mut lines).await?;
    let is_required = info["tls_required"].as_bool() == Some(true);
    let is_secure = server.is_tls || is_required;
    if is_secure {
        if !is_required && info["tls_available"].as_bool() != Some(true) {
            return Err(Trouble::Impossible("offers no TLS, which the option url asks for".to_owned()));
        }
        let plain = lines.into_stream().map_err(|error| Trouble::Impossible(error.to_owned()))?;
        let stream = client.secure(plain, &server.host, publication.insecure).await.map_err(Trouble::Connection)?;
        lines = Lines::new(stream);
    }
    let message = message(publication, &info).map_err(Trouble::Impossible)?;
    let connect = connect(&server.login, &info, is_secure).map_err(Trouble::Impossible)?;
    say(&mut lines, format!("CONNECT {connect}\r\nPING\r\n").as_bytes()).await?;
    wait_for_pong(&mut lines).await?;
    say(&mut lines, &message).await?;
    // What is wrong with the message is said before this is answered.
    say(&mut lines, b"PING\r\n").await?;
    wait_for_pong(&mut lines).await
}

/// What the server says of itself.
async fn hello(lines: &mut Lines) -> Result<Json, Trouble> {
    let line = lines.line().await.map_err(Trouble::Connection)?;
    let info = match line.split_once([' ', '\t']) {
        Some((word, info)) if word.eq_ignore_ascii_case("INFO") => serde_json::from_str(info).ok(),
        _ => None,
    };
    if let Some(text) = refusal(&line) {
        return Err(Trouble::Refused(text));
    }
    info.filter(Json::is_object).ok_or_else(|| Trouble::Connection("its greeting is not that of NATS".to_owned()))
}

/// Who we are.
fn connect(login: &NatsLogin, info: &Json, is_secure: bool) -> Result<Json, String> {
    let mut fields = Map::new();
    let options = json!({
        "verbose": false, "pedantic": true, "tls_required": is_secure, "headers": true, "echo": false, "protocol": 1,
        "lang": "rust", "version": env!("CARGO_PKG_VERSION"), "name": "rollouts-controller",
    });
    fields.extend(options.as_object().cloned().unwrap_or_default());
    let mut set = |field: &str, value: &str| fields.insert(field.to_owned(), json!(value));
    match login {
        NatsLogin::Nobody => {}
        NatsLogin::User { username, password } => {
            set("user", username);
            set("pass", password);
        }
        NatsLogin::Token(token) => {
            set("auth_token", token);
        }
        NatsLogin::Key(key) => {
            let Some(nonce) = info["nonce"].as_str().filter(|nonce| !nonce.is_empty()) else {
                return Err("asks for no signature, so that it knows no keys (option nkey)".to_owned());
            };
            set("nkey", &key.public()?);
            set("sig", &key.sign(nonce)?);
        }
    }
    Ok(Json::Object(fields))
}

/// The message as it is sent.
fn message(publication: &Publication, info: &Json) -> Result<Vec<u8>, String> {
    let (subject, payload) = (&publication.subject, &publication.payload);
    let mut headers = String::new();
    if !publication.headers.is_empty() {
        if info["headers"].as_bool() != Some(true) {
            return Err("takes no headers (option headers)".to_owned());
        }
        headers.push_str("NATS/1.0\r\n");
        for (name, value) in &publication.headers {
            headers.push_str(&format!("{name}: {value}\r\n"));
        }
        headers.push_str("\r\n");
    }
    let size = headers.len() + payload.len();
    if let Some(most) = info["max_payload"].as_u64().filter(|most| *most > 0 && size as u64 > *most) {
        return Err(format!("takes messages of {most} bytes, and this one has {size}"));
    }
    let line = match headers.len() {
        0 => format!("PUB {subject} {size}\r\n"),
        length => format!("HPUB {subject} {length} {size}\r\n"),
    };
    let mut bytes = line.into_bytes();
    bytes.extend_from_slice(headers.as_bytes());
    bytes.extend_from_slice(payload);
    bytes.extend_from_slice(b"\r\n");
    Ok(bytes)
}

async fn say(lines: &mut Lines, bytes: &[u8]) -> Result<(), Trouble> {
    let Err(error) = lines.write(bytes).await else { return Ok(()) };
    // A server that hangs up has often said why.
    match wait_for_pong(lines).await {
        Err(Trouble::Refused(text)) => Err(Trouble::Refused(text)),
        _ => Err(Trouble::Connection(error)),
    }
}

/// Waits until the server has looked at everything so far.
async fn wait_for_pong(lines: &mut Lines) -> Result<(), Trouble> {
    loop {
        let line = lines.line().await.map_err(Trouble::Connection)?;
        if let Some(text) = refusal(&line) {
            return Err(Trouble::Refused(text));
        }
        match line.split_whitespace().next().map(str::to_ascii_uppercase).as_deref() {
            Some("PONG") => return Ok(()),
            Some("PING") => lines.write(b"PONG\r\n").await.map_err(Trouble::Connection)?,
            // Servers tell of others that come and go.
            None | Some("INFO" | "+OK") => {}
            Some(_) => return Err(Trouble::Connection("its answer is not that of NATS".to_owned())),
        }
    }
}

/// The words of `-ERR 'words'`.
fn refusal(line: &str) -> Option<String> {
    let text = line.strip_prefix("-ERR")?.trim().trim_matches('\'');
    Some(text.chars().filter(|c| !c.is_control()).take(MOST_SHOWN).collect())
}
