//! Grafana annotations.
//!
//! Documentation: <https://grafana.com/docs/grafana/latest/developers/http_api/annotations/#create-annotation>.

use serde_json::json;

use super::{Delivery, Opened, joined, single};
use crate::message::HttpRequest;

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let options = &delivery.service.options;
    let tags: Vec<&str> = delivery.recipient.split('|').map(str::trim).filter(|tag| !tag.is_empty()).collect();
    let annotation = json!({
        "time": delivery.now.as_millisecond(), "isRegion": false, "tags": tags, "text": delivery.notification.message,
    });
    let request = HttpRequest::json(joined(&options.text("apiUrl"), "annotations"), &annotation)
        .header("Authorization", format!("Bearer {}", options.text("apiKey")))
        .insecure(options.flag("insecureSkipVerify"));
    single::Single::open(request, single::any_success)
}
