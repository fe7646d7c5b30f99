//! The process in a pod: a tiny server that says which version it is.
//!
//! One port takes HTTP, and connections that begin with [`QUESTION`], plain or over TLS; those are told who took them, which
//! is all a test of routing needs to know.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::tls;

/// What a client sends over TCP or TLS to be told who answers.
pub(crate) const QUESTION: &[u8] = b"who?";
/// The first byte of a TLS handshake.
const HANDSHAKE: u8 = 0x16;
/// Requests with this header are remembered.
pub(crate) const NOTED: &str = "x-live-note";
/// How many are remembered.
const MOST_NOTES: usize = 20_000;

/// A request as a server got it.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    pub(crate) version: String,
    /// Of [`NOTED`].
    value: String,
}

/// What servers remember, the newest [`MOST_NOTES`].
#[derive(Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<VecDeque<Note>>>);

impl Notes {
    fn add(&self, note: Note) {
        let mut notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() == MOST_NOTES {
            notes.pop_front();
        }
        notes.push_back(note);
    }

    /// Those with this value of [`NOTED`].
    pub(crate) fn of(&self, value: &str) -> Vec<Note> {
        let notes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        notes.iter().filter(|note| note.value == value).cloned().collect()
    }
}

/// A running server; gone, with all its connections, when dropped.
pub(crate) struct Server {
    task: JoinHandle<()>,
}

impl Server {
    /// Listens at `address`.
    pub(crate) async fn start(address: SocketAddr, version: &str, pod: &str, notes: Notes) -> std::io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let secure = tls::acceptor().map_err(std::io::Error::other)?;
        let who = Arc::new(Who { version: version.to_owned(), pod: pod.to_owned(), notes, secure });
        Ok(Self { task: tokio::spawn(accept(socket, who)) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Who {
    version: String,
    pod: String,
    notes: Notes,
    secure: TlsAcceptor,
}

async fn accept(socket: TcpListener, who: Arc<Who>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            biased;
            Some(_) = connections.join_next() => {}
            accepted = socket.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(serve(stream, Arc::clone(&who)));
            }
        }
    }
}

/// Says who is there. What was sent is read to its end: closing a connection with unread bytes resets it.
async fn tell(mut stream: impl AsyncRead + AsyncWrite + Unpin, who: &Who) -> std::io::Result<()> {
    let mut ignored = [0; 4096];
    let _heard = stream.read(&mut ignored).await?;
    stream.write_all(format!("{} {}\n", who.version, who.pod).as_bytes()).await?;
    stream.shutdown().await?;
    while stream.read(&mut ignored).await? > 0 {}
    Ok(())
}

async fn serve(stream: TcpStream, who: Arc<Who>) {
    let _low_delay = stream.set_nodelay(true);
    let mut first = [0; QUESTION.len()];
    let Ok(count) = stream.peek(&mut first).await else { return };
    if first[..count] == *QUESTION {
        let _client_gone = tell(stream, &who).await;
        return;
    }
    if first.first() == Some(&HANDSHAKE) {
        if let Ok(stream) = who.secure.accept(stream).await {
            let _client_gone = tell(stream, &who).await;
        }
        return;
    }
    let service = service_fn(move |request| answer(Arc::clone(&who), request));
    let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let _client_gone = connection.await;
}

async fn answer(who: Arc<Who>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    if let Some(value) = request.headers().get(NOTED).and_then(|value| value.to_str().ok()) {
        who.notes.add(Note { version: who.version.clone(), value: value.to_owned() });
    }
    Ok(Response::new(Full::from(format!("{} {}", who.version, who.pod))))
}
