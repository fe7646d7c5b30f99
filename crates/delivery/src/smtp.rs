//! A small SMTP client: one connection, one mail (RFC 5321, STARTTLS of RFC 3207, AUTH of RFC 4954).

use std::time::Duration;

use jiff::Timestamp;
use tidegate_expr::base64;
use tidegate_notify::Mail;
use tidegate_providers::Client;

use crate::lines::{Lines, MOST_LINE};
use crate::mail;

/// How long a mail may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
/// Where a connection begins with TLS.
const IMPLICIT_TLS: u16 = 465;
/// Bytes all lines of an answer may have.
const MOST_ANSWER: usize = MOST_LINE;

/// Why a mail was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmtpError {
    /// The connection failed.
    Connection(String),
    /// The server answered otherwise than it should.
    Refused {
        /// What it was asked.
        step: &'static str,
        /// Its code.
        code: u16,
        /// Its words.
        text: String,
    },
    /// It must not be done so.
    Unsafe(String),
}

impl SmtpError {
    /// Whether another try may help.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Connection(_) => true,
            Self::Refused { code, .. } => *code < 500,
            Self::Unsafe(_) => false,
        }
    }
}

impl std::fmt::Display for SmtpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Connection(text) => write!(f, "the mail server cannot be talked to: {text}"),
            Self::Refused { step, code, text } => write!(f, "the mail server refused {step} with {code} {text}"),
            Self::Unsafe(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for SmtpError {}

struct Answer {
    code: u16,
    lines: Vec<String>,
}

impl Answer {
    /// The words after a capability such as `AUTH`.
    fn capability(&self, name: &str) -> Option<Vec<String>> {
        let words = |line: &String| line.split_whitespace().map(str::to_ascii_uppercase).collect::<Vec<_>>();
        self.lines.iter().skip(1).map(words).find(|words| words.first().is_some_and(|first| first == name))
    }
}

struct Talk(Lines);

/// Sends a mail.
pub(crate) async fn send(client: &Client, mail: &Mail, now: Timestamp) -> Result<(), SmtpError> {
    let mut stream = client.dial(&mail.host, mail.port).await.map_err(SmtpError::Connection)?;
    let mut is_secure = mail.port == IMPLICIT_TLS;
    if is_secure {
        stream = client.secure(stream, &mail.host, mail.insecure).await.map_err(SmtpError::Connection)?;
    }
    let mut talk = Talk(Lines::new(stream));
    talk.answer("the greeting", 220).await?;
    let mut hello = talk.hello().await?;
    if !is_secure && hello.capability("STARTTLS").is_some() {
        talk.ask("STARTTLS", "STARTTLS", 220).await?;
        let plain = talk.0.into_stream().map_err(|error| SmtpError::Unsafe(format!("the mail server {error}")))?;
        let stream = client.secure(plain, &mail.host, mail.insecure).await.map_err(SmtpError::Connection)?;
        talk = Talk(Lines::new(stream));
        is_secure = true;
        hello = talk.hello().await?;
    }
    if !mail.username.is_empty() {
        talk.log_in(mail, &hello, is_secure).await?;
    }
    talk.ask("the sender", &format!("MAIL FROM:<{}>", mail::bare(&mail.from)), 250).await?;
    for to in &mail.to {
        talk.ask("a receiver", &format!("RCPT TO:<{}>", mail::bare(to)), 250).await?;
    }
    talk.ask("the mail", "DATA", 354).await?;
    // The body is base64 and no header begins with a dot, so that no line does.
    talk.write(&format!("{}.\r\n", mail::text(mail, now))).await?;
    talk.answer("the mail", 250).await?;
    // It has been taken; how the server says goodbye changes nothing.
    let _goodbye = talk.write("QUIT\r\n").await;
    Ok(())
}

impl Talk {
    async fn hello(&mut self) -> Result<Answer, SmtpError> {
        self.ask("the hello", "EHLO rollouts-controller", 250).await
    }

    async fn write(&mut self, text: &str) -> Result<(), SmtpError> {
        self.0.write(text.as_bytes()).await.map_err(SmtpError::Connection)
    }

    async fn ask(&mut self, step: &'static str, command: &str, wanted: u16) -> Result<Answer, SmtpError> {
        self.write(&format!("{command}\r\n")).await?;
        self.answer(step, wanted).await
    }

    /// An answer of one or more lines; 251 is as good as 250.
    async fn answer(&mut self, step: &'static str, wanted: u16) -> Result<Answer, SmtpError> {
        let mut lines = Vec::new();
        let mut size = 0;
        loop {
            let line = self.0.line().await.map_err(SmtpError::Connection)?;
            size += line.len();
            if size > MOST_ANSWER {
                return Err(SmtpError::Connection("the answer is too long".to_owned()));
            }
            let code = line.get(..3).and_then(|code| code.parse::<u16>().ok());
            let Some(code) = code else { return Err(SmtpError::Connection("the answer is no SMTP".to_owned())) };
            let goes_on = line.as_bytes().get(3) == Some(&b'-');
            lines.push(line.get(4..).unwrap_or_default().to_owned());
            if goes_on {
                continue;
            }
            if code == wanted || (wanted == 250 && code == 251) {
                return Ok(Answer { code, lines });
            }
            return Err(SmtpError::Refused { step, code, text: lines.join(" ") });
        }
    }

    async fn log_in(&mut self, mail: &Mail, hello: &Answer, is_secure: bool) -> Result<(), SmtpError> {
        debug_assert_eq!(hello.code, 250, "every other answer is an error");
        let is_local = matches!(mail.host.as_str(), "localhost" | "127.0.0.1" | "::1");
        if !is_secure && !is_local {
            let host = &mail.host;
            let text =
                format!("{host} offers no TLS, and a password is not sent in the clear; use port 465 or no username");
            return Err(SmtpError::Unsafe(text));
        }
        let ways = hello.capability("AUTH").unwrap_or_default();
        if ways.iter().any(|way| way == "PLAIN") {
            let proof = base64::encode(format!("\0{}\0{}", mail.username, mail.password).as_bytes());
            return self.ask("the login", &format!("AUTH PLAIN {proof}"), 235).await.map(drop);
        }
        if ways.iter().any(|way| way == "LOGIN") {
            self.ask("the login", "AUTH LOGIN", 334).await?;
            self.ask("the user name", &base64::encode(mail.username.as_bytes()), 334).await?;
            return self.ask("the password", &base64::encode(mail.password.as_bytes()), 235).await.map(drop);
        }
        Err(SmtpError::Unsafe(format!("the mail server offers no login that is known here (found {ways:?})")))
    }
}
