//! Graphite: its render API.

use std::time::Duration;

use serde_json::Value as Json;
use tidegate_api::analysis::GraphiteProvider;
use tidegate_api::wire::Text;
use tidegate_expr::Value;

use crate::call::Call;
use crate::message::{Method, Request, Response};
use crate::talk::{Failure, Reading, Talk, Turn};

/// A query to Graphite.
#[derive(Debug)]
pub struct Graphite {
    request: Request,
}

impl Graphite {
    /// The query of a metric.
    pub fn new(call: Call<'_>) -> Result<Self, Failure> {
        let none = GraphiteProvider::default();
        let settings = call.metric.provider.as_ref().and_then(|named| named.graphite.as_deref()).unwrap_or(&none);
        let address = settings.address.text();
        let uri: Option<http::Uri> = address.parse().ok();
        if address.is_empty() || uri.is_none_or(|uri| uri.scheme().is_none() || uri.host().is_none()) {
            return Err(format!("Graphite address {address} is not a valid URL").into());
        }
        // The query is a raw query string; people break it into lines.
        let query: String = settings.query.text().chars().filter(|c| !c.is_whitespace()).collect();
        let url = format!("{}/render?{query}&format=json", address.trim_end_matches('/'));
        Ok(Self { request: Request::new(Method::Get, url).within(Duration::from_secs(10)) })
    }
}

impl Talk for Graphite {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(Box::new(self.request.clone())))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        if response.status >= 400 {
            return Err(format!("error response: {}", response.text()).into());
        }
        let body = response.json()?;
        let points = body.get(0).and_then(|target| target["datapoints"].as_array());
        let mut numbers = Vec::new();
        for point in points.into_iter().flatten() {
            numbers.extend(value(point)?);
        }
        if numbers.is_empty() {
            return Err(Failure::NoData("no values found".to_owned()));
        }
        let text: Vec<String> = numbers.iter().map(|number| format!("{number:.6}")).collect();
        let mut reading = Reading::new(Value::floats(numbers), format!("[{}]", text.join(",")));
        reading.keeps_value = true;
        Ok(Turn::Done(reading))
    }
}

/// The value of `[value, timestamp]`, `None` where there is a hole.
fn value(point: &Json) -> Result<Option<f64>, Failure> {
    let Some([value, timestamp]) = point.as_array().map(Vec::as_slice) else {
        return Err(format!("error unmarshaling data point: {point}").into());
    };
    let number = |json: &Json| json.as_f64().or_else(|| json.as_str().and_then(|text| text.parse().ok()));
    if number(timestamp).is_none() {
        return Err(format!("error unmarshaling timestamp: {timestamp}").into());
    }
    if value.is_null() {
        return Ok(None);
    }
    number(value).map(Some).ok_or_else(|| format!("error unmarshaling value: {value}").into())
}
