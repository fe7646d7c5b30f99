//! Google Chat through webhooks.
//!
//! Documentation: <https://developers.google.com/workspace/chat/quickstart/webhooks>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened, escaped, single};
use crate::message::HttpRequest;

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let notification = delivery.notification;
    let mut url = delivery.service.options.by_recipient("webhooks", delivery.recipient)?;
    if let Some(key) = notification.text("googlechat", "threadKey") {
        let separator = if url.contains('?') { '&' } else { '?' };
        let key = escaped(key);
        url.push_str(&format!("{separator}threadKey={key}&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD"));
    }
    let mut message = Map::new();
    for field in ["cards", "cardsV2"] {
        if let Some(cards) = notification.data("googlechat", field)? {
            message.insert(field.to_owned(), cards);
        }
    }
    if message.is_empty() {
        message.insert("text".to_owned(), json!(notification.message));
    }
    single::Single::open(HttpRequest::json(url, &Json::Object(message)), single::any_success)
}
