//! Opsgenie.
//!
//! Documentation: <https://docs.opsgenie.com/docs/alert-api#create-alert>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened, joined, single};
use crate::message::HttpRequest;

/// Characters the service takes as the message of an alert.
const MOST_MESSAGE: usize = 130;

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let (options, notification) = (&delivery.service.options, delivery.notification);
    let key = options.by_recipient("apiKeys", delivery.recipient)?;
    let mut alert = Map::new();
    let message: String = notification.message.chars().take(MOST_MESSAGE).collect();
    alert.insert("message".to_owned(), json!(message));
    alert.insert("responders".to_owned(), json!([{"type": "team", "id": delivery.recipient}]));
    for field in ["description", "priority", "alias", "note", "entity", "user"] {
        if let Some(text) = notification.text("opsgenie", field) {
            alert.insert(field.to_owned(), json!(text));
        }
    }
    for field in ["actions", "tags", "details", "visibleTo"] {
        if let Some(data) = notification.data("opsgenie", field)? {
            alert.insert(field.to_owned(), data);
        }
    }
    let api = options.text("apiUrl");
    let api = if api.contains("://") { api } else { format!("https://{api}") };
    let request = HttpRequest::json(joined(&api, "v2/alerts"), &Json::Object(alert))
        .header("Authorization", format!("GenieKey {key}"));
    single::Single::open(request, single::any_success)
}
