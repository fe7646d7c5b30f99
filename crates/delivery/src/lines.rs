//! A connection whose other side speaks in lines.

use tidegate_providers::client::Stream;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Bytes a line may have.
pub(crate) const MOST_LINE: usize = 64 * 1024;

/// The connection, and what has arrived but was not looked at yet.
pub(crate) struct Lines {
    stream: Box<dyn Stream>,
    waiting: Vec<u8>,
}

impl Lines {
    pub(crate) fn new(stream: Box<dyn Stream>) -> Self {
        Self { stream, waiting: Vec::new() }
    }

    /// The next line, without its end.
    pub(crate) async fn line(&mut self) -> Result<String, String> {
        loop {
            if let Some(end) = self.waiting.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.waiting.drain(..=end).collect();
                return Ok(String::from_utf8_lossy(&line).trim_end().to_owned());
            }
            if self.waiting.len() > MOST_LINE {
                return Err("the answer is too long".to_owned());
            }
            let mut bytes = [0; 4096];
            match self.stream.read(&mut bytes).await {
                Ok(0) => return Err("the connection was closed".to_owned()),
                Ok(count) => self.waiting.extend_from_slice(&bytes[..count]),
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) -> Result<(), String> {
        self.stream.write_all(bytes).await.map_err(|error| error.to_string())?;
        self.stream.flush().await.map_err(|error| error.to_string())
    }

    /// The connection alone, for TLS. What was said before TLS begins could be anybody's, so that nothing may be left.
    pub(crate) fn into_stream(self) -> Result<Box<dyn Stream>, &'static str> {
        if self.waiting.is_empty() { Ok(self.stream) } else { Err("said more than it should before TLS") }
    }
}
