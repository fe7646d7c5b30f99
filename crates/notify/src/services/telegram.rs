//! Telegram.
//!
//! Documentation: <https://core.telegram.org/bots/api#sendmessage>.

use serde_json::json;

use super::{Delivery, Opened, single};
use crate::message::HttpRequest;

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let url = format!("https://api.telegram.org/bot{}/sendMessage", delivery.service.options.text("token"));
    let text = &delivery.notification.message;
    let chat = match delivery.recipient.parse::<i64>() {
        Ok(id) => json!(id),
        Err(_) => json!(delivery.recipient),
    };
    let message = json!({"chat_id": chat, "text": text, "parse_mode": "Markdown"});
    single::Single::open(HttpRequest::json(url, &message), single::any_success)
}
