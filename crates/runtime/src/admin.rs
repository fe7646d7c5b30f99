//! A small HTTP server for those who run a controller: health, readiness, figures, a look inside; and, behind TLS, for an API
//! server that asks before it stores an object.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::certificates::Certificates;

/// Connections served at once; more wait. A probe and a few scrapers need no more.
const MOST_CONNECTIONS: usize = 64;
/// The longest setting that is read.
const MOST_SETTING: usize = 1024;
/// The longest question that is read: an object as it was and as it is to be, each of the most that etcd stores, and room
/// for escapes.
const MOST_QUESTION: usize = 8 << 20;
/// A connection on which nothing is asked for this long is closed, so that idle ones cannot take all the room.
const IDLE: Duration = Duration::from_secs(30);
/// How long running requests may take after the end.
const GRACE: Duration = Duration::from_secs(1);
/// After a failed accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    status: StatusCode,
    content_type: &'static str,
    body: String,
}

impl Answer {
    /// Text.
    pub fn text(status: StatusCode, body: impl Into<String>) -> Self {
        Self { status, content_type: "text/plain; charset=utf-8", body: body.into() }
    }

    /// All is well, here it is.
    pub fn ok(content_type: &'static str, body: impl Into<String>) -> Self {
        Self { status: StatusCode::OK, content_type, body: body.into() }
    }

    /// JSON for people.
    pub fn json(value: &Value) -> Self {
        Self::ok("application/json", format!("{value:#}\n"))
    }
}

type Handler = Box<dyn Fn(&str) -> Answer + Send + Sync>;

struct Page {
    handler: Handler,
    is_local: bool,
    most: usize,
}

/// What is served where.
#[derive(Default)]
pub struct Pages(BTreeMap<(&'static str, &'static str), Page>);

impl Pages {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A page for everybody.
    #[must_use]
    pub fn get(self, path: &'static str, handler: impl Fn() -> Answer + Send + Sync + 'static) -> Self {
        self.with("GET", path, Page { handler: Box::new(move |_| handler()), is_local: false, most: MOST_SETTING })
    }

    /// A page for whoever is on this machine or comes through `kubectl port-forward`.
    #[must_use]
    pub fn get_local(self, path: &'static str, handler: impl Fn() -> Answer + Send + Sync + 'static) -> Self {
        self.with("GET", path, Page { handler: Box::new(move |_| handler()), is_local: true, most: MOST_SETTING })
    }

    /// A setting, for whoever is on this machine or comes through `kubectl port-forward`; given the text that was sent.
    #[must_use]
    pub fn put_local(self, path: &'static str, handler: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        self.with("PUT", path, Page { handler: Box::new(handler), is_local: true, most: MOST_SETTING })
    }

    /// A question that anybody may ask; given the text that was sent, which may be long.
    #[must_use]
    pub fn post(self, path: &'static str, handler: impl Fn(&str) -> Answer + Send + Sync + 'static) -> Self {
        self.with("POST", path, Page { handler: Box::new(handler), is_local: false, most: MOST_QUESTION })
    }

    fn with(mut self, method: &'static str, path: &'static str, page: Page) -> Self {
        self.0.insert((path, method), page);
        self
    }

    fn most(&self, method: &Method, path: &str) -> usize {
        self.0.get(&(path, method.as_str())).map_or(MOST_SETTING, |page| page.most)
    }

    fn answer(&self, method: &Method, path: &str, is_local: bool, body: &str) -> Answer {
        let method = if method == Method::HEAD { "GET" } else { method.as_str() };
        if let Some(page) = self.0.get(&(path, method)) {
            if page.is_local && !is_local {
                let why = "only from this machine; use kubectl port-forward\n";
                return Answer::text(StatusCode::FORBIDDEN, why);
            }
            return (page.handler)(body);
        }
        if self.0.keys().any(|(known, _)| *known == path) {
            return Answer::text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n");
        }
        Answer::text(StatusCode::NOT_FOUND, "404 page not found\n")
    }
}

/// A running server; dropping it ends it.
#[derive(Debug)]
pub struct Admin {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Admin {
    /// Listens and serves from now on.
    pub async fn start(address: SocketAddr, pages: Pages) -> io::Result<Self> {
        Self::listen(address, pages, None).await
    }

    /// The same behind TLS. Certificates that change are used from the next connection on.
    pub async fn start_secured(address: SocketAddr, pages: Pages, certificates: Certificates) -> io::Result<Self> {
        let config = certificates.server_config().map_err(io::Error::other)?;
        Self::listen(address, pages, Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    async fn listen(address: SocketAddr, pages: Pages, secured: Option<TlsAcceptor>) -> io::Result<Self> {
        let socket = TcpListener::bind(address).await?;
        let address = socket.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(accept(socket, Arc::new(pages), secured, stopped));
        Ok(Self { address, stop, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections and lets running requests finish.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // The task only fails by cancellation, and then there is nothing left to wait for.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Admin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(
    socket: TcpListener,
    pages: Arc<Pages>,
    secured: Option<TlsAcceptor>,
    mut stopped: watch::Receiver<bool>,
) {
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stopped.changed() => break,
            Some(_) = connections.join_next() => continue,
            accepted = next(&socket, &room) => accepted,
        };
        let Some((stream, peer, permit)) = accepted else { continue };
        let (pages, secured, watcher) = (Arc::clone(&pages), secured.clone(), graceful.watcher());
        let is_local = peer.ip().to_canonical().is_loopback();
        connections.spawn(async move {
            match secured {
                None => talk(stream, pages, is_local, watcher).await,
                Some(secured) => {
                    // Whoever does not get through the handshake in time is not waited for, nor answered.
                    if let Ok(Ok(stream)) = tokio::time::timeout(IDLE, secured.accept(stream)).await {
                        talk(stream, pages, is_local, watcher).await;
                    }
                }
            }
            drop(permit);
        });
    }
    drop(socket);
    let _ = tokio::time::timeout(GRACE, graceful.shutdown()).await;
    connections.shutdown().await;
}

async fn talk(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    pages: Arc<Pages>,
    is_local: bool,
    watcher: Watcher,
) {
    let service = service_fn(move |request| serve(Arc::clone(&pages), is_local, request));
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(IDLE);
    // A client that goes away in the middle is not our failure.
    let _ = watcher.watch(server.serve_connection(TokioIo::new(stream), service)).await;
}

/// The next connection, once there is room for it.
async fn next(socket: &TcpListener, room: &Arc<Semaphore>) -> Option<(TcpStream, SocketAddr, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match socket.accept().await {
        Ok((stream, peer)) => Some((stream, peer, permit)),
        Err(_) => {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

async fn serve(
    pages: Arc<Pages>,
    is_local: bool,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let most = pages.most(&head.method, head.uri.path());
    let body = match tokio::time::timeout(IDLE, Limited::new(body, most).collect()).await {
        Ok(Ok(body)) => String::from_utf8_lossy(&body.to_bytes()).into_owned(),
        _ => {
            return Ok(respond(Answer::text(
                StatusCode::PAYLOAD_TOO_LARGE,
                format!("at most {most} bytes are read\n"),
            )));
        }
    };
    Ok(respond(pages.answer(&head.method, head.uri.path(), is_local, &body)))
}

fn respond(answer: Answer) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    *response.status_mut() = answer.status;
    let content_type = header::HeaderValue::from_static(answer.content_type);
    response.headers_mut().insert(header::CONTENT_TYPE, content_type);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages() -> Pages {
        Pages::new()
            .get("/healthz", || Answer::text(StatusCode::OK, "ok"))
            .put_local("/level", |given| Answer::text(StatusCode::OK, format!("now {given}")))
    }

    #[test]
    fn what_is_not_served_is_refused_with_the_right_word() {
        let pages = pages();
        let status = |method: Method, path: &str, is_local| pages.answer(&method, path, is_local, "x").status.as_u16();
        assert_eq!(status(Method::GET, "/healthz", false), 200);
        assert_eq!(status(Method::HEAD, "/healthz", false), 200);
        assert_eq!(status(Method::POST, "/healthz", false), 405);
        assert_eq!(status(Method::GET, "/elsewhere", false), 404);
        assert_eq!(status(Method::PUT, "/level", false), 403, "nobody else in the cluster may change settings");
        assert_eq!(status(Method::PUT, "/level", true), 200);
    }
}
