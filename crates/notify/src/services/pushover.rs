//! Pushover.
//!
//! Documentation: <https://pushover.net/api#messages>.

use serde_json::json;

use super::{Delivery, Opened, single};
use crate::message::HttpRequest;

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let message = json!({
        "token": delivery.service.options.text("token"), "user": delivery.recipient,
        "message": delivery.notification.message,
    });
    single::Single::open(HttpRequest::json("https://api.pushover.net/1/messages.json", &message), single::any_success)
}
