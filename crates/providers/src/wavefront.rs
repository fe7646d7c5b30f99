//! Wavefront: its chart API.

use jiff::Timestamp;
use serde_json::Value as Json;
use tidegate_api::analysis::WavefrontProvider;
use tidegate_api::wire::Text;
use tidegate_expr::Value;

use crate::call::Call;
use crate::form::encoded;
use crate::message::{Method, Request, Response};
use crate::talk::{Failure, Reading, Talk, Turn};

/// A query to Wavefront.
#[derive(Debug)]
pub struct Wavefront {
    request: Request,
    now: Timestamp,
}

impl Wavefront {
    /// The query of a metric.
    pub fn new(call: Call<'_>) -> Result<Self, Failure> {
        let none = WavefrontProvider::default();
        let settings = call.metric.provider.as_ref().and_then(|named| named.wavefront.as_deref()).unwrap_or(&none);
        let address = settings.address.text();
        let token = call.credentials.get(address).filter(|token| !token.is_empty()).ok_or("API token not found")?;
        let at = call.now.as_millisecond().to_string();
        let query = encoded([
            ("autoEvents", "false"),
            ("e", at.as_str()),
            ("g", "s"),
            ("i", "true"),
            ("includeObsoleteMetrics", "false"),
            ("listmode", "false"),
            ("p", "1"),
            ("q", settings.query.text()),
            ("s", at.as_str()),
            ("strict", "false"),
        ]);
        let request = Request::new(Method::Get, format!("https://{address}/api/v2/chart/api?{query}"))
            .header("Authorization", format!("Bearer {token}"))
            .header("Accept", "application/json");
        Ok(Self { request, now: call.now })
    }
}

/// A point of a series that is nearest to a time.
struct Point {
    epoch: i64,
    value: f64,
}

impl Talk for Wavefront {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(Box::new(self.request.clone())))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        if response.status != 200 {
            let reason = http::StatusCode::from_u16(response.status).ok().and_then(|code| code.canonical_reason());
            let status = format!("{} {}", response.status, reason.unwrap_or_default());
            return Err(format!("server returned {}\n{}\n", status.trim_end(), response.text()).into());
        }
        let body = response.json().map_err(|error| format!("the answer is no JSON: {error}"))?;
        let series = body["timeseries"].as_array().map(Vec::as_slice).unwrap_or_default();
        let now = self.now.as_second();
        // A series without points has no data.
        let points: Vec<Point> = series.iter().filter_map(|one| nearest(one, now)).collect();
        if points.is_empty() {
            return Err(Failure::NoData("No TimeSeries found in response from Wavefront".to_owned()));
        }
        let mut reading = match (series.len(), points.as_slice()) {
            (1, [point]) => Reading::new(Value::Float(point.value), format!("{:.2}", point.value)),
            _ => {
                let texts: Vec<String> = points.iter().map(|point| format!("{:.2}", point.value)).collect();
                Reading::new(Value::floats(points.iter().map(|point| point.value)), format!("[{}]", texts.join(",")))
            }
        };
        let listed = |each: &dyn Fn(&Point) -> i64| match (series.len(), points.as_slice()) {
            (1, [point]) => each(point).to_string(),
            _ => format!("[{}]", points.iter().map(|point| each(point).to_string()).collect::<Vec<_>>().join(",")),
        };
        reading.metadata.insert("timestamps".to_owned(), listed(&|point| point.epoch));
        reading.metadata.insert("drift".to_owned(), listed(&|point| now - point.epoch));
        if let Some(warnings) = body["warnings"].as_str().filter(|text| !text.is_empty()) {
            reading.metadata.insert("warnings".to_owned(), warnings.to_owned());
        }
        Ok(Turn::Done(reading))
    }
}

fn nearest(series: &Json, now: i64) -> Option<Point> {
    let points = series["data"].as_array().into_iter().flatten();
    let points = points
        .filter_map(|point| Some(Point { epoch: point.get(0)?.as_f64()? as i64, value: point.get(1)?.as_f64()? }));
    points.min_by_key(|point| now.abs_diff(point.epoch))
}
