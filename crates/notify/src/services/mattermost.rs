//! Mattermost.
//!
//! Documentation: <https://developers.mattermost.com/api-documentation/#/operations/CreatePost>.

use serde_json::json;

use super::{Delivery, Opened, joined, single};
use crate::message::HttpRequest;

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let options = &delivery.service.options;
    let mut post = json!({"channel_id": delivery.recipient, "message": delivery.notification.message});
    if let Some(attachments) = delivery.notification.data("mattermost", "attachments")?
        && let Some(fields) = post.as_object_mut()
    {
        fields.insert("props".to_owned(), json!({"attachments": attachments}));
    }
    let request = HttpRequest::json(joined(&options.text("apiURL"), "api/v4/posts"), &post)
        .header("Authorization", format!("Bearer {}", options.text("token")))
        .insecure(options.flag("insecureSkipVerify"));
    single::Single::open(request, single::any_success)
}
