//! PagerDuty events.
//!
//! Documentation: <https://developer.pagerduty.com/docs/send-alert-event>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened, single};
use crate::message::HttpRequest;

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let (options, notification) = (&delivery.service.options, delivery.notification);
    let key = options.by_recipient("serviceKeys", delivery.recipient)?;
    let text = |field: &str| notification.text("pagerdutyv2", field);
    let mut payload = Map::new();
    payload.insert("summary".to_owned(), json!(text("summary").unwrap_or(&notification.message)));
    payload.insert("severity".to_owned(), json!(text("severity").unwrap_or("error")));
    payload.insert("source".to_owned(), json!(text("source").unwrap_or("argo-rollouts")));
    for field in ["component", "group", "class"] {
        if let Some(value) = text(field) {
            payload.insert(field.to_owned(), json!(value));
        }
    }
    let mut event = Map::new();
    event.insert("routing_key".to_owned(), json!(key));
    event.insert("event_action".to_owned(), json!("trigger"));
    event.insert("payload".to_owned(), Json::Object(payload));
    if let Some(dedup) = text("dedupKey") {
        event.insert("dedup_key".to_owned(), json!(dedup));
    }
    if let Some(url) = text("url") {
        event.insert("client".to_owned(), json!("Argo Rollouts"));
        event.insert("client_url".to_owned(), json!(url));
    }
    let request = HttpRequest::json("https://events.pagerduty.com/v2/enqueue", &Json::Object(event));
    single::Single::open(request, single::any_success)
}
