//! Webex.
//!
//! Documentation: <https://developer.webex.com/docs/api/v1/messages/create-a-message>.

use serde_json::json;

use super::{Delivery, Opened, joined, single};
use crate::message::HttpRequest;

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let options = &delivery.service.options;
    let api = options.some_text("apiURL").unwrap_or_else(|| "https://webexapis.com".to_owned());
    let field = if delivery.recipient.contains('@') { "toPersonEmail" } else { "roomId" };
    let message = json!({"markdown": delivery.notification.message, field: delivery.recipient});
    let request = HttpRequest::json(joined(&api, "v1/messages"), &message)
        .header("Authorization", format!("Bearer {}", options.text("token")));
    single::Single::open(request, single::any_success)
}
