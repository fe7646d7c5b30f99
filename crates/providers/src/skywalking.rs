//! Apache SkyWalking: GraphQL over its query API.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use tidegate_api::analysis::SkywalkingProvider;
use tidegate_api::duration::GoDuration;
use tidegate_api::wire::Text;
use tidegate_expr::Value;

use crate::call::Call;
use crate::go_values;
use crate::message::{Method, Request, Response};
use crate::talk::{Failure, Reading, Talk, Turn};

/// A query to SkyWalking.
#[derive(Debug)]
pub struct Skywalking {
    request: Request,
}

impl Skywalking {
    /// The query of a metric. Times are written in UTC, which is the zone controllers run in.
    pub fn new(call: Call<'_>) -> Result<Self, Failure> {
        let none = SkywalkingProvider::default();
        let settings = call.metric.provider.as_ref().and_then(|named| named.skywalking.as_deref()).unwrap_or(&none);
        let interval = GoDuration::parse(settings.interval.text()).map_err(|error| error.to_string())?;
        let start = call.now.checked_sub(SignedDuration::from_nanos(interval.as_nanoseconds())).unwrap_or(call.now);
        let written = |at: Timestamp| at.strftime("%Y-%m-%d %H%M").to_string();
        let duration = json!({"start": written(start), "end": written(call.now), "step": "MINUTE"});
        let body = json!({"query": settings.query.text(), "variables": {"duration": duration}});
        let url = format!("{}/graphql", settings.address.text().trim_end_matches('/'));
        let request = Request::new(Method::Post, url)
            .header("Content-Type", "application/json; charset=utf-8")
            .header("Accept", "application/json; charset=utf-8")
            .body(body.to_string());
        Ok(Self { request })
    }
}

impl Talk for Skywalking {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(Box::new(self.request.clone())))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        let body = response.json().map_err(|error| {
            if response.is_success() {
                format!("decoding response: {error}")
            } else {
                format!("graphql: server returned a non-200 status code: {}", response.status)
            }
        })?;
        if let Some(error) = body["errors"].get(0) {
            return Err(format!("graphql: {}", error["message"].as_str().unwrap_or_default()).into());
        }
        let data = &body["data"];
        if data.is_null() {
            return Err(Failure::NoData("no results returned from SkyWalking query".to_owned()));
        }
        Ok(Turn::Done(Reading::new(Value::from_json(data), go_values::json(data))))
    }
}
