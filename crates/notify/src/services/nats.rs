//! NATS.
//!
//! Documentation: <https://docs.nats.io/nats-concepts/subjects>, <https://docs.nats.io/reference/reference-protocols/nats-protocol>.

use std::time::Duration;

use serde_json::Value as Json;

use super::{Delivery, Opened, Options};
use crate::message::{Conversation, Failure, Response, Turn};
use crate::nkey::Nkey;
use crate::publication::{NatsLogin, NatsServer, Publication};

const PORT: u16 = 4222;
/// How long one server may take when no option says anything else, and at most.
const TIMEOUT: Duration = Duration::from_secs(10);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);
/// Servers that are tried.
const MOST_SERVERS: usize = 8;
/// Servers take lines of 4096 bytes.
const MOST_SUBJECT: usize = 1024;

struct Nats {
    publication: Option<Publication>,
    /// The file that holds the key.
    path: Option<String>,
}

/// What can be said of the options before anything is sent.
pub(super) fn examine(options: &Options) -> Result<(), String> {
    let (login, _) = login(options)?;
    servers(&options.text("url"), &login)?;
    headers(options).map(drop)
}

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let options = &delivery.service.options;
    check_subject(delivery.recipient).map_err(Failure::lasting)?;
    let (login, path) = login(options).map_err(Failure::lasting)?;
    let publication = Publication {
        servers: servers(&options.text("url"), &login).map_err(Failure::lasting)?,
        insecure: options.flag("insecureSkipVerify"),
        timeout: options.duration("timeout").unwrap_or(TIMEOUT).min(LONGEST_TIMEOUT),
        subject: delivery.recipient.to_owned(),
        headers: headers(options).map_err(Failure::lasting)?,
        payload: delivery.notification.message.clone().into_bytes(),
    };
    Ok(Box::new(Nats { publication: Some(publication), path }))
}

/// How one logs in, and the file that still has to be read for it. A key is preferred to a password.
fn login(options: &Options) -> Result<(NatsLogin, Option<String>), String> {
    if let Some(key) = options.some_text("nkey") {
        if key.starts_with('/') {
            return Ok((NatsLogin::Nobody, Some(key)));
        }
        return match Nkey::read(&key) {
            Ok(key) => Ok((NatsLogin::Key(key), None)),
            Err(error) => Err(format!("the option nkey {error}, and no path that begins with /")),
        };
    }
    match (options.some_text("username"), options.text("password")) {
        (Some(username), password) => Ok((NatsLogin::User { username, password }, None)),
        (None, password) if password.is_empty() => Ok((NatsLogin::Nobody, None)),
        (None, _) => Err("the option username is missing".to_owned()),
    }
}

/// The servers of a list with commas. Addresses are not shown: some hold a password.
fn servers(urls: &str, login: &NatsLogin) -> Result<Vec<NatsServer>, String> {
    let urls: Vec<&str> = urls.split(',').map(str::trim).filter(|url| !url.is_empty()).collect();
    if urls.is_empty() || urls.len() > MOST_SERVERS {
        return Err(format!("the option url must name one to {MOST_SERVERS} servers"));
    }
    let wrong = "the option url is no address of NATS such as nats://host:4222 or tls://host:4222";
    urls.into_iter().map(|url| server(url, login)).collect::<Option<_>>().ok_or_else(|| wrong.to_owned())
}

fn server(url: &str, login: &NatsLogin) -> Option<NatsServer> {
    let (scheme, place) = url.split_once("://").unwrap_or(("nats", url));
    let is_tls = match scheme {
        "nats" => false,
        "tls" => true,
        _ => return None,
    };
    let place = place.trim_end_matches('/');
    let (user, place) = place.rsplit_once('@').map_or((None, place), |(user, place)| (Some(user), place));
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => rest.split_once(']').map(|(host, port)| (host, port.strip_prefix(':')))?,
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Some(PORT), |port| port.parse().ok().filter(|port| *port != 0))?;
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_' | ':');
    if host.is_empty() || !host.chars().all(fits) {
        return None;
    }
    // What the options say counts for every server.
    let login = match (login, user.map(|user| user.split_once(':').unwrap_or((user, "")))) {
        (NatsLogin::Nobody, Some((token, ""))) => NatsLogin::Token(unescaped(token)?),
        (NatsLogin::Nobody, Some((user, password))) => {
            NatsLogin::User { username: unescaped(user)?, password: unescaped(password)? }
        }
        (login, _) => login.clone(),
    };
    Some(NatsServer { host: host.to_owned(), port, is_tls, login })
}

fn unescaped(text: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        bytes.push(match byte {
            b'%' => u8::try_from(digit(rest.next())? * 16 + digit(rest.next())?).ok()?,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Headers as names and texts, or as a list of names and values, as webhooks have them.
fn headers(options: &Options) -> Result<Vec<(String, String)>, String> {
    let named = |item: &Json| (item["name"].as_str().unwrap_or_default().to_owned(), item["value"].clone());
    let all: Vec<(String, Json)> = match options.fields("headers") {
        Some(fields) => fields.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
        None => options.items("headers").iter().map(named).collect(),
    };
    let mut headers = Vec::new();
    for (name, value) in all {
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':') {
            return Err(format!("the option headers has {name:?}, which is no name of a header"));
        }
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if value.contains(['\r', '\n', '\0']) {
            return Err(format!("the option headers has a line break in the value of {name}"));
        }
        headers.push((name, value));
    }
    Ok(headers)
}

fn check_subject(subject: &str) -> Result<(), String> {
    if subject.is_empty() {
        return Err("a message of NATS needs a subject, such as nats:rollouts.completed".to_owned());
    }
    let why = if subject.contains(|c: char| c.is_whitespace() || c.is_control()) {
        "it holds blanks"
    } else if subject.contains(['*', '>']) {
        "nobody can write to wildcards"
    } else if subject.split('.').any(str::is_empty) {
        "nothing stands beside one of its dots"
    } else if subject.len() > MOST_SUBJECT {
        "it is too long"
    } else {
        return Ok(());
    };
    let shown: String = subject.chars().take(100).collect();
    Err(format!("{shown:?} is no subject of NATS to write to: {why}"))
}

impl Conversation for Nats {
    fn begin(&mut self) -> Result<Turn, Failure> {
        if let Some(path) = self.path.take() {
            return Ok(Turn::Read(path));
        }
        let publication = self.publication.take().map(Turn::Publish);
        publication.ok_or_else(|| Failure::lasting("the conversation has begun already"))
    }

    /// The file with the key, which is all that is ever answered.
    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        let key = Nkey::read(&String::from_utf8_lossy(&response.body));
        let key = key.map_err(|error| Failure::lasting(format!("the file of the option nkey {error}")))?;
        for server in self.publication.iter_mut().flat_map(|publication| &mut publication.servers) {
            server.login = NatsLogin::Key(key.clone());
        }
        self.begin()
    }
}
