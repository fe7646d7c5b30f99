//! Version 1: timeseries.

use serde_json::Value as Json;
use tidegate_api::analysis::DatadogProvider;
use tidegate_api::wire::Text;
use tidegate_expr::Value;

use super::{Keys, Window};
use crate::form::encoded;
use crate::go_values::{float, json};
use crate::message::{Method, Request};
use crate::talk::{Failure, Reading};

pub(super) fn request(settings: &DatadogProvider, keys: &Keys, window: &Window) -> Request {
    let (from, to) = (window.from.as_second().to_string(), window.to.as_second().to_string());
    let query = encoded([("from", from.as_str()), ("query", settings.query.text()), ("to", to.as_str())]);
    Request::new(Method::Get, format!("{}/api/v1/query?{query}", keys.address))
}

/// The last point of the first series.
pub(super) fn read(body: &Json) -> Result<Reading, Failure> {
    let series = body.get("series").unwrap_or(&Json::Null);
    let points = series.get(0).and_then(|first| first["pointlist"].as_array());
    let Some(point) = points.and_then(|points| points.last()) else {
        return Ok(Reading::new(Value::Nil, json(series)));
    };
    match point.as_array().map(Vec::as_slice) {
        Some([_, value]) => {
            let Some(number) = value.as_f64() else {
                // A point without a value is a hole in the series.
                return Ok(Reading::new(Value::Nil, json(value)));
            };
            Ok(Reading::new(Value::Float(number), float(number)))
        }
        _ => Err("Datapoint does not have 2 values".into()),
    }
}
