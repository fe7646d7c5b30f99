//! A page of figures for a Prometheus to scrape.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Serves a page that is made anew for every request, and gives its port.
pub(crate) async fn serve(mut page: impl FnMut() -> String + Send + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let body = page();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
        }
    });
    port
}
