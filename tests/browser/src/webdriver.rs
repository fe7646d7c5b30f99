//! One question to the driver.

use std::net::SocketAddr;
use std::time::Duration;

use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

/// Starting a browser is the longest of what it is asked for.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) async fn ask(driver: SocketAddr, method: &str, path: &str, body: String) -> Value {
    let asked = async {
        let stream = TcpStream::connect(driver).await.unwrap();
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", driver.to_string())
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body)))
            .unwrap();
        let answer = sender.send_request(request).await.unwrap();
        answer.into_body().collect().await.unwrap().to_bytes()
    };
    let answer = tokio::time::timeout(PATIENCE, asked).await.expect("the driver answers");
    serde_json::from_slice(&answer)
        .unwrap_or_else(|error| panic!("{method} {path}: {error}: {}", String::from_utf8_lossy(&answer)))
}
