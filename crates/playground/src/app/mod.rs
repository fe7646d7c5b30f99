//! The port of the application: a gateway of the simulated mesh for real requests, and a page that shows the live mix.

mod gateway;
mod mix;
mod page;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tidegate_mesh::Protocol;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinHandle;

pub(crate) use gateway::Gateway;
pub(crate) use mix::Mix;

/// Connections served at once; more wait.
const MOST_CONNECTIONS: usize = 256;
/// A connection on which nothing is asked for this long is closed.
const IDLE: Duration = Duration::from_secs(60);
/// After a failed accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The running port; dropping it ends it.
#[derive(Debug)]
pub(crate) struct App {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl App {
    /// Serves on a socket.
    pub(crate) fn serve(socket: TcpListener, gateway: Gateway, mix: Mix) -> io::Result<Self> {
        let address = socket.local_addr()?;
        let task = tokio::spawn(accept(socket, Arc::new(gateway), mix));
        Ok(Self { address, task })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for App {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(socket: TcpListener, gateway: Arc<Gateway>, mix: Mix) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    // Connections end with the port.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        // Never closed, so there is always a permit some day.
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        match socket.accept().await {
            Ok((stream, _)) => {
                connections.spawn(connection(stream, Arc::clone(&gateway), mix.clone(), permit));
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn connection(stream: TcpStream, gateway: Arc<Gateway>, mix: Mix, _permit: OwnedSemaphorePermit) {
    if gateway.protocol() == Protocol::Tcp && !speaks_http(&stream).await {
        let mut stream = stream;
        // What was said is taken off the connection: closing it with words unread would tell of a broken one.
        let _ = stream.try_read(&mut [0; 4096]);
        // Whoever is gone already needs no answer.
        let _ = stream.write_all(gateway.connect().as_bytes()).await;
        let _ = stream.shutdown().await;
        return;
    }
    let answer = service_fn(move |request: Request<Incoming>| {
        let (gateway, mix) = (Arc::clone(&gateway), mix.clone());
        async move { Ok::<_, Infallible>(respond(&gateway, &mix, &request).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(IDLE);
    // A connection that breaks is the client's affair.
    let _ = server.serve_connection(TokioIo::new(stream), answer).await;
}

/// Who speaks HTTP on the port of TCP connections: only their own words tell, never a time. Browsers open connections long
/// before they say something on them, and must not find an answer there to what they did not ask. Clients of TCP say something
/// else, or that they have nothing to say.
async fn speaks_http(stream: &TcpStream) -> bool {
    let mut first = [0; 4];
    match tokio::time::timeout(IDLE, stream.peek(&mut first)).await {
        Ok(Ok(length @ 1..)) => [b"GET ", b"HEAD"].iter().any(|method| first.get(..length) == method.get(..length)),
        _ => false,
    }
}

async fn respond(gateway: &Gateway, mix: &Mix, request: &Request<Incoming>) -> Response<Full<Bytes>> {
    match page::respond(request, mix) {
        Some(response) => response,
        None => gateway.respond(request).await,
    }
}
