//! The admin server over real sockets.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::StatusCode;
use tidegate_runtime::admin::{Admin, Answer, Pages};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

async fn start(pages: Pages) -> Admin {
    Admin::start(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), pages).await.unwrap()
}

/// Sends a request as text and returns the answer as text.
async fn ask(address: SocketAddr, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request =
        format!("{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn health_is_text_readiness_changes_and_settings_get_what_was_sent() {
    let ready = Arc::new(AtomicBool::new(false));
    let is_ready = Arc::clone(&ready);
    let pages = Pages::new()
        .get("/healthz", || Answer::text(StatusCode::OK, "ok"))
        .get("/readyz", move || match is_ready.load(Ordering::Relaxed) {
            true => Answer::text(StatusCode::OK, "ok"),
            false => Answer::text(StatusCode::SERVICE_UNAVAILABLE, "not yet: apples\n"),
        })
        .put_local("/level", |given| Answer::text(StatusCode::OK, format!("now {given}")));
    let admin = start(pages).await;
    let address = admin.address();

    let health = ask(address, "GET /healthz", "").await;
    assert!(health.starts_with("HTTP/1.1 200") && health.ends_with("\r\n\r\nok"), "{health}");
    assert!(health.to_lowercase().contains("content-type: text/plain; charset=utf-8\r\n"), "{health}");
    let waiting = ask(address, "GET /readyz", "").await;
    assert!(waiting.starts_with("HTTP/1.1 503") && waiting.contains("apples"), "{waiting}");
    ready.store(true, Ordering::Relaxed);
    assert!(ask(address, "GET /readyz", "").await.starts_with("HTTP/1.1 200"));
    assert!(ask(address, "PUT /level", "debug").await.ends_with("now debug"));
    let long = "x".repeat(2000);
    assert!(ask(address, "PUT /level", &long).await.starts_with("HTTP/1.1 413"));
    assert!(ask(address, "GET /nothing", "").await.starts_with("HTTP/1.1 404"));
    admin.stop().await;
    assert!(TcpStream::connect(address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn a_full_house_can_still_be_closed() {
    let admin = start(Pages::new().get("/healthz", || Answer::text(StatusCode::OK, "ok"))).await;
    let mut silent = Vec::new();
    for _ in 0..100 {
        silent.push(TcpStream::connect(admin.address()).await.unwrap());
    }
    tokio::time::timeout(std::time::Duration::from_secs(3), admin.stop()).await.unwrap();
}
