//! One connection of a client, HTTP/1.1 or HTTP/2 without an upgrade, or neither.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use http::{HeaderMap, Request, Version};
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::server::QUESTION;
use crate::tls;

/// How long anything may take before it has failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where requests go.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// The proxy.
    pub(crate) address: SocketAddr,
    /// The host that is asked for.
    pub(crate) host: String,
}

/// What came back.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The version of the server that answered; none when a proxy did.
    pub(crate) version: Option<String>,
}

/// An open connection.
pub(crate) enum Connection {
    One(http1::SendRequest<Empty<Bytes>>),
    Two(http2::SendRequest<Empty<Bytes>>),
}

impl Connection {
    /// Connects; [`Version::HTTP_2`] without asking first whether the other side speaks it.
    pub(crate) async fn open(address: SocketAddr, version: Version) -> Result<Self> {
        tokio::time::timeout(PATIENCE, Self::handshake(address, version)).await.context("no connection in time")?
    }

    async fn handshake(address: SocketAddr, version: Version) -> Result<Self> {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        let _low_delay = stream.set_nodelay(true);
        let io = TokioIo::new(stream);
        // The connection ends with its sender; what went wrong is told to the request that waits.
        if version == Version::HTTP_2 {
            let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await?;
            tokio::spawn(connection);
            return Ok(Self::Two(sender));
        }
        let (sender, connection) = http1::handshake(io).await?;
        tokio::spawn(connection);
        Ok(Self::One(sender))
    }

    /// Whether the other side has closed it, so that it takes no further request.
    pub(crate) fn is_closed(&self) -> bool {
        match self {
            Self::One(sender) => sender.is_closed(),
            Self::Two(sender) => sender.is_closed(),
        }
    }

    /// Sends a GET with these headers and waits for the whole answer.
    pub(crate) async fn get(&mut self, host: &str, path: &str, headers: &[(&str, &str)]) -> Result<Answer> {
        tokio::time::timeout(PATIENCE, self.exchange(host, path, headers)).await.context("no answer in time")?
    }

    async fn exchange(&mut self, host: &str, path: &str, headers: &[(&str, &str)]) -> Result<Answer> {
        let request = match self {
            Self::One(_) => Request::get(path).header("host", host),
            Self::Two(_) => Request::get(format!("http://{host}{path}")),
        };
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let request = request.body(Empty::new()).context("an own request")?;
        let response = match self {
            Self::One(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
            Self::Two(sender) => {
                sender.ready().await?;
                sender.send_request(request).await?
            }
        };
        let (parts, body) = response.into_parts();
        let body = body.collect().await?.to_bytes();
        let status = parts.status.as_u16();
        let version = parts.status.is_success().then(|| version_in(&body)).flatten();
        Ok(Answer { status, headers: parts.headers, version })
    }
}

/// One request on a connection of its own.
pub(crate) async fn once(target: &Target, path: &str, headers: &[(&str, &str)]) -> Result<Answer> {
    Connection::open(target.address, Version::HTTP_11).await?.get(&target.host, path, headers).await
}

/// Asks over plain TCP who is there: the version.
pub(crate) async fn ask_over_tcp(address: SocketAddr) -> Result<String> {
    let exchange = async { question(TcpStream::connect(address).await.context("cannot connect")?).await };
    tokio::time::timeout(PATIENCE, exchange).await.context("no answer in time")?
}

/// Asks over TLS, with a certificate for `host`, who is there: the version.
pub(crate) async fn ask_over_tls(address: SocketAddr, host: &str) -> Result<String> {
    let exchange = async {
        let stream = TcpStream::connect(address).await.context("cannot connect")?;
        question(tls::connect(stream, host).await?).await
    };
    tokio::time::timeout(PATIENCE, exchange).await.context("no answer in time")?
}

async fn question(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> Result<String> {
    stream.write_all(QUESTION).await.context("cannot send")?;
    stream.flush().await.context("cannot send")?;
    let mut answer = Vec::new();
    (&mut stream).take(200).read_to_end(&mut answer).await.context("cannot read")?;
    match version_in(&answer) {
        Some(version) => Ok(version),
        None => bail!("closed without an answer"),
    }
}

/// The version in what a server of ours says.
fn version_in(answer: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(answer).ok()?;
    text.split_whitespace().next().map(str::to_owned)
}
