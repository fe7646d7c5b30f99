//! A small HTTP client: one request, or a stream that is read piece by piece.

use std::net::SocketAddr;

use ::http::{HeaderMap, Request};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

use crate::world::PATIENCE;

pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// A stream as it arrives.
pub(crate) struct Live {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    body: Incoming,
    read: String,
}

pub(crate) async fn open(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Live {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
        request = request.header("host", address.to_string());
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(body.into())).unwrap();
    let (head, body) =
        tokio::time::timeout(PATIENCE, sender.send_request(request)).await.unwrap().unwrap().into_parts();
    Live { status: head.status.as_u16(), headers: head.headers, body, read: String::new() }
}

pub(crate) async fn ask(
    address: SocketAddr,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Bytes>,
) -> Reply {
    let live = open(address, method, path, headers, body).await;
    let bytes = tokio::time::timeout(PATIENCE, live.body.collect()).await.unwrap().unwrap().to_bytes();
    Reply { status: live.status, headers: live.headers, body: String::from_utf8_lossy(&bytes).into_owned() }
}

pub(crate) async fn get(address: SocketAddr, path: &str) -> Reply {
    ask(address, "GET", path, &[], "").await
}

impl Live {
    /// The text up to and with the next end of a message; none at the end of the stream.
    pub(crate) async fn message(&mut self, end: &str) -> Option<String> {
        loop {
            if let Some(place) = self.read.find(end) {
                let rest = self.read.split_off(place + end.len());
                return Some(std::mem::replace(&mut self.read, rest));
            }
            let frame = tokio::time::timeout(PATIENCE, self.body.frame()).await.expect("the stream is silent")?;
            let bytes = frame.ok()?.into_data().ok()?;
            self.read.push_str(&String::from_utf8_lossy(&bytes));
        }
    }

    /// The next line as JSON.
    pub(crate) async fn line(&mut self) -> Option<Value> {
        let line = self.message("\n").await?;
        Some(serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}")))
    }
}
