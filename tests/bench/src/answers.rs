//! The service that metrics ask: answers everybody the same, and notes who came when.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use tidegate_clock::Clock;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What everybody is told.
const BODY: &str = r#"{"data":{"rate":0.99}}"#;
/// A request has no more bytes than this before its body.
const LONGEST_HEAD: usize = 16 * 1024;
/// How long a connection may be silent.
const SILENCE: Duration = Duration::from_secs(60);

type Arrivals = Arc<Mutex<BTreeMap<String, Vec<Timestamp>>>>;

/// A running service; ends when dropped.
pub(crate) struct Answers {
    address: SocketAddr,
    arrivals: Arrivals,
    accepting: JoinHandle<()>,
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Answers {
    /// Listens on a free port of this machine.
    pub(crate) async fn start() -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.context("listening for measurements")?;
        let address = listener.local_addr().context("listening for measurements")?;
        let arrivals = Arrivals::default();
        let noted = Arc::clone(&arrivals);
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&noted)));
            }
        });
        Ok(Self { address, arrivals, accepting })
    }

    /// Where a run asks, so that its requests can be told from those of others.
    pub(crate) fn url(&self, run: &str) -> String {
        format!("http://{}/{run}", self.address)
    }

    /// When requests of each run came, in order.
    pub(crate) fn arrivals(&self) -> BTreeMap<String, Vec<Timestamp>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many requests came in all.
    pub(crate) fn count(&self) -> usize {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner).values().map(Vec::len).sum()
    }
}

/// Answers requests without a body on one connection until it is closed.
async fn serve(mut stream: TcpStream, arrivals: Arrivals) {
    let clock = Clock::system();
    let mut head = Vec::new();
    loop {
        let Ok(Ok(read)) = tokio::time::timeout(SILENCE, stream.read_buf(&mut head)).await else { return };
        if read == 0 || head.len() > LONGEST_HEAD {
            return;
        }
        let Some(end) = head.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let now = clock.now();
        let text = String::from_utf8_lossy(&head[..end]).into_owned();
        head.drain(..end + 4);
        let run = path(&text).to_owned();
        arrivals.lock().unwrap_or_else(PoisonError::into_inner).entry(run).or_default().push(now);
        let length = BODY.len();
        let answer =
            format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{BODY}");
        if stream.write_all(answer.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The path of a request, without its slash.
fn path(head: &str) -> &str {
    head.split_whitespace().nth(1).unwrap_or_default().trim_start_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn requests_are_answered_and_noted_by_who_asks() {
        let answers = Answers::start().await.unwrap();
        let mut stream = TcpStream::connect(answers.address).await.unwrap();
        for run in ["one", "two", "one"] {
            let request = format!("GET /{run} HTTP/1.1\r\nHost: here\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let mut buffer = vec![0; 512];
            let read = stream.read(&mut buffer).await.unwrap();
            assert!(String::from_utf8_lossy(&buffer[..read]).ends_with(BODY));
        }
        let came: Vec<_> = answers.arrivals().into_iter().map(|(run, times)| (run, times.len())).collect();
        assert_eq!(came, [("one".to_owned(), 2), ("two".to_owned(), 1)]);
        assert_eq!(answers.count(), 3);
    }
}
