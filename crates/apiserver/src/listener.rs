//! An HTTP listener on loopback, for clients that are other programs.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use http::{Request, Response, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulShutdown;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinHandle;
use tower_service::Service;

use crate::answer::{self, Body};
use crate::server::ApiServer;
use crate::status::StatusError;

/// How many connections are served at once; more wait.
const CONNECTION_LIMIT: usize = 256;

/// A running listener; dropping it ends it.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    token: Arc<str>,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Listener {
    /// Listens on a free port of 127.0.0.1 (or on the given one); every request must carry the token.
    pub async fn start(server: ApiServer, port: u16, token: &str) -> io::Result<Self> {
        if token.is_empty() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the token of the listener must not be empty"));
        }
        let socket = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        let address = socket.local_addr()?;
        let token: Arc<str> = Arc::from(token);
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(accept(socket, server, Arc::clone(&token), stopped));
        Ok(Self { address, token, stop, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A kubeconfig (JSON, which is YAML too) for it.
    pub fn kubeconfig(&self) -> String {
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "tidegate",
            "clusters": [{"name": "tidegate", "cluster": {"server": format!("http://{}", self.address)}}],
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

async fn accept(socket: TcpListener, server: ApiServer, token: Arc<str>, mut stopped: watch::Receiver<bool>) {
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
        let (server, token) = (server.clone(), Arc::clone(&token));
        let service = service_fn(move |request| serve(server.clone(), Arc::clone(&token), request));
        let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        let connection = graceful.watch(connection);
        connections.spawn(async move {
            // A client that goes away in the middle is not our failure.
            let _ = connection.await;
            drop(permit);
        });
    }
    // Watches never finish by themselves: a second is enough for everything else.
    let _ = tokio::time::timeout(std::time::Duration::from_secs(1), graceful.shutdown()).await;
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
    if !is_authorized(&request, &token) {
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
