//! Metric services that fail, hang and lie for the first minute, and tell the truth from then on.

use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Value, json};
use tidegate_clock::Clock;
use tidegate_providers::{Request, Response, Transport, TransportError};

/// As long as faults happen at most.
const TROUBLED: Duration = Duration::from_secs(60);

/// All services there are. What one says follows from the moment it is asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Services(pub Clock);

impl Services {
    /// A number that nobody foresees.
    fn draw(self, url: &str) -> u64 {
        let moment = self.0.now().as_millisecond().to_be_bytes();
        let mix = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        let mixed = moment.iter().chain(url.as_bytes()).fold(0xcbf2_9ce4_8422_2325, mix);
        mixed >> 20
    }

    async fn answer(self, request: &Request) -> Result<Response, TransportError> {
        let says = |value: Value| Ok(Response::new(200, json!({"value": value}).to_string()));
        let is_calm = self.0.now() > super::wall(TROUBLED);
        let drawn = self.draw(&request.url);
        if is_calm {
            return says(1.into());
        }
        tokio::time::sleep(Duration::from_millis(drawn / 16 % 1500)).await;
        match drawn % 16 {
            0 => Ok(Response::new(503, "later")),
            // It never answers at all, whatever time it was given.
            1 => std::future::pending().await,
            2 => {
                tokio::time::sleep(request.timeout).await;
                let reason = "no complete answer in time".to_owned();
                Err(TransportError { method: request.method, url: request.url.clone(), reason, is_timeout: true })
            }
            3 => says("many".into()),
            4 => Ok(Response::new(200, "<html>not what you wanted</html>")),
            5 => says(9.into()),
            _ => says(1.into()),
        }
    }
}

impl Transport for Services {
    fn send<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Result<Response, TransportError>> {
        self.answer(request).boxed()
    }
}
