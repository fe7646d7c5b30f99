//! Connections: how many, how long, and what comes over them.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use kube::Client;
use tidegate_clock::Clock;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

use crate::api::{self, App};
use crate::options::Options;
use crate::patience::Patient;

/// Connections at once; more wait to be accepted. Every open page holds one.
const MOST_CONNECTIONS: usize = 2048;
/// A request must have arrived within this time, and the next one begun.
const IDLE: Duration = Duration::from_secs(60);
/// Whoever takes nothing of what is sent for this long is dropped.
const UNREAD: Duration = Duration::from_secs(20);
/// The longest head of a request; tokens of large companies are long.
const MOST_HEAD: usize = 64 << 10;
const MOST_HEADERS: usize = 100;
/// How long running requests may take after the end.
const GRACE: Duration = Duration::from_secs(1);
/// After a failed accept, such as too many open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// A running dashboard; dropping it ends it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens, and serves a cluster from now on.
    ///
    /// # Errors
    /// When it cannot listen there; [`io::ErrorKind::AddrInUse`] when somebody else does.
    pub async fn start(client: Client, clock: Clock, options: Options) -> io::Result<Self> {
        let secured = match &options.certificates {
            Some(certificates) => Some(TlsAcceptor::from(Arc::new(certificates.acceptor().map_err(io::Error::other)?))),
            None => None,
        };
        let socket = TcpListener::bind((options.address, options.port)).await?;
        let address = socket.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let app = Arc::new(App::new(client, clock, options));
        let task = tokio::spawn(accept(socket, app, secured, stopped));
        Ok(Self { address, stop, task })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes no more connections, ends streams, and lets other requests finish.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        // The task only fails by cancellation, and then there is nothing left to wait for.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(socket: TcpListener, app: Arc<App>, secured: Option<TlsAcceptor>, mut stopped: watch::Receiver<bool>) {
    let room = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            _ = stopped.changed() => break,
            Some(_) = connections.join_next() => continue,
            accepted = next(&socket, &room) => accepted,
        };
        let Some((stream, permit)) = accepted else { continue };
        // A message is a whole packet, and should leave as one at once.
        let _ = stream.set_nodelay(true);
        let (app, secured) = (Arc::clone(&app), secured.clone());
        connections.spawn(async move {
            let stream = Patient::new(stream, UNREAD);
            match secured {
                None => talk(stream, app).await,
                Some(secured) => {
                    // Whoever does not get through the handshake in time is not waited for, nor answered.
                    if let Ok(Ok(stream)) = tokio::time::timeout(UNREAD, secured.accept(stream)).await {
                        talk(stream, app).await;
                    }
                }
            }
            drop(permit);
        });
    }
    drop(socket);
    app.end();
    let _ = tokio::time::timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await;
    connections.shutdown().await;
}

/// The next connection, once there is room for it.
async fn next(socket: &TcpListener, room: &Arc<Semaphore>) -> Option<(TcpStream, OwnedSemaphorePermit)> {
    let permit = Arc::clone(room).acquire_owned().await.ok()?;
    match socket.accept().await {
        Ok((stream, _)) => Some((stream, permit)),
        Err(_) => {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            None
        }
    }
}

async fn talk(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, app: Arc<App>) {
    let mut ended = app.ended();
    let service = service_fn(move |request| {
        let app = Arc::clone(&app);
        async move { Ok::<_, Infallible>(api::handle(app, request).await) }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(MOST_HEAD).max_headers(MOST_HEADERS);
    let mut connection = std::pin::pin!(server.serve_connection(TokioIo::new(stream), service));
    // A client that goes away in the middle is not our failure.
    tokio::select! {
        biased;
        _ = connection.as_mut() => return,
        _ = ended.wait_for(|ended| *ended) => {}
    }
    connection.as_mut().graceful_shutdown();
    let _ = connection.await;
}
