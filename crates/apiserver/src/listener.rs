//! A listener on loopback, for clients that are other programs: plain HTTP, or TLS as kubectl wants it.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::{Method, Request, Response, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use tidegate_certificate::{Loopback, base64};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tower_service::Service;

use crate::answer::{self, Body};
use crate::server::ApiServer;
use crate::status::StatusError;

/// How many connections are served at once; more wait.
const CONNECTION_LIMIT: usize = 256;
/// How long a client may take to agree on a cipher.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// What a real server tells everybody: that it is there, and what it is.
const OPEN_TO_ALL: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

/// A running listener; dropping it ends it.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    token: Arc<str>,
    /// PEM of the authority that clients must trust; none over plain HTTP.
    authority: Option<String>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Listens on a free port of 127.0.0.1 (or on the given one); every request must carry the token.
    ///
    /// # Errors
    /// When the port is taken (`AddrInUse`) or the token is empty.
    pub async fn start(server: ApiServer, port: u16, token: &str) -> io::Result<Self> {
        Self::begin(server, port, token, None).await
    }

    /// The same over TLS, which kubectl asks for before it sends a token. The certificate is made here and lives in memory
    /// only; [`Self::kubeconfig`] carries the authority that vouches for it.
    ///
    /// # Errors
    /// When the port is taken (`AddrInUse`), the token is empty, or the system gives no random bytes.
    pub async fn start_tls(server: ApiServer, port: u16, token: &str) -> io::Result<Self> {
        Self::begin(server, port, token, Some(Loopback::generate()?)).await
    }

    async fn begin(server: ApiServer, port: u16, token: &str, made: Option<Loopback>) -> io::Result<Self> {
        if token.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the token of the listener must not be empty"));
        }
        let acceptor = made.as_ref().map(acceptor).transpose()?;
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = socket.local_addr()?;
        let token: Arc<str> = Arc::from(token);
        let (stop, stopped) = watch::channel(false);
        let door = Door { server, token: Arc::clone(&token), acceptor };
        let task = tokio::spawn(accept(socket, door, stopped));
        Ok(Self { address, token, authority: made.map(|made| made.authority_pem()), stop, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig (JSON, which is YAML too) for it.
    pub fn kubeconfig(&self) -> String {
        let cluster = match &self.authority {
            None => json!({"server": format!("http://{}", self.address)}),
            Some(pem) => json!({
                "server": format!("https://{}", self.address), "certificate-authority-data": base64(pem.as_bytes()),
            }),
        };
        let config: Value = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "tidegate",
            "clusters": [{"name": "tidegate", "cluster": cluster}],
            "users": [{"name": "admin", "user": {"token": &*self.token}}],
            "contexts": [{"name": "tidegate", "context": {
                "cluster": "tidegate", "user": "admin", "namespace": "default",
            }}],
        });
        format!("{config:#}\n")
    }

    /// Takes no more connections, lets running requests finish, ends watches.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // The task only fails by cancellation, and then there is nothing left to wait for.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn acceptor(made: &Loopback) -> io::Result<TlsAcceptor> {
    let chain = vec![CertificateDer::from(made.certificate_der().to_vec())];
    let key = PrivateKeyDer::try_from(made.key_der().to_vec()).map_err(io::Error::other)?;
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// What every connection needs.
#[derive(Clone)]
struct Door {
    server: ApiServer,
    token: Arc<str>,
    acceptor: Option<TlsAcceptor>,
}

impl Door {
    /// Serves one connection to its end. A client that goes away in the middle is not our failure.
    async fn admit(self, stream: TcpStream, watcher: Watcher) {
        match self.acceptor.clone() {
            None => self.speak(stream, watcher).await,
            Some(acceptor) => {
                if let Ok(Ok(stream)) = tokio::time::timeout(HANDSHAKE, acceptor.accept(stream)).await {
                    self.speak(stream, watcher).await;
                }
            }
        }
    }

    async fn speak(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, watcher: Watcher) {
        let service = service_fn(move |request| serve(self.server.clone(), Arc::clone(&self.token), request));
        let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        let _ = watcher.watch(connection).await;
    }
}

async fn accept(socket: TcpListener, door: Door, mut stopped: watch::Receiver<bool>) {
    let graceful = GracefulShutdown::new();
    let room = Arc::new(Semaphore::new(CONNECTION_LIMIT));
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stopped.changed() => break,
            Some(_) = connections.join_next() => continue,
            accepted = next(&socket, &room) => accepted,
        };
        let Some((stream, permit)) = accepted else { continue };
        let (door, watcher) = (door.clone(), graceful.watcher());
        connections.spawn(async move {
            door.admit(stream, watcher).await;
            drop(permit);
        });
    }
    // Watches never finish by themselves: a second is enough for everything else.
    let _ = tokio::time::timeout(Duration::from_secs(1), graceful.shutdown()).await;
    connections.shutdown().await;
}

/// The next connection, once there is room for it; part of the select above, so that a full house can still be closed.
async fn next(socket: &TcpListener, room: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    let (stream, _) = socket.accept().await.ok()?;
    Some((stream, permit))
}

async fn serve(
    mut server: ApiServer,
    token: Arc<str>,
    request: Request<Incoming>,
) -> Result<Response<Body>, std::convert::Infallible> {
    let is_open = request.method() == Method::GET && OPEN_TO_ALL.contains(&request.uri().path());
    if !is_open && !is_authorized(&request, &token) {
        return Ok(answer::failure(&StatusError::new(401, "Unauthorized", "Unauthorized")));
    }
    server.call(request).await
}

/// Compares in constant time, so that answers do not tell how much of a guess was right.
fn is_authorized(request: &Request<Incoming>, token: &str) -> bool {
    let given = request.headers().get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
    let Some(given) = given.and_then(|v| v.strip_prefix("Bearer ")) else { return false };
    let differences = given.bytes().zip(token.bytes()).fold(0_u8, |sum, (a, b)| sum | (a ^ b));
    given.len() == token.len() && differences == 0
}
