//! Requests to the pages of the program.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::program::Program;

/// The port of a server that the program has announced.
pub(crate) async fn port(program: &Program, announced: &str) -> u16 {
    let address = program.says(announced).await;
    address.rsplit(':').next().unwrap().parse().unwrap()
}

/// Status and body of an answer.
pub(crate) async fn ask(port: u16, request: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let length = body.len();
    let request =
        format!("{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}
