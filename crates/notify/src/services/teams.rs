//! Microsoft Teams through incoming webhooks: message cards.
//!
//! Documentation: <https://learn.microsoft.com/en-us/outlook/actionable-messages/message-card-reference>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened, single::Single};
use crate::message::{Failure, HttpRequest, Response};

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let url = delivery.service.options.by_recipient("recipientUrls", delivery.recipient)?;
    Single::open(HttpRequest::json(url, &card(delivery)?), judge)
}

fn card(delivery: &Delivery<'_>) -> Result<Json, Failure> {
    let notification = delivery.notification;
    if let Some(template) = notification.data("teams", "template")? {
        return Ok(template);
    }
    let mut card = Map::new();
    card.insert("@type".to_owned(), json!("MessageCard"));
    card.insert("@context".to_owned(), json!("http://schema.org/extensions"));
    for field in ["title", "summary", "themeColor"] {
        if let Some(text) = notification.text("teams", field) {
            card.insert(field.to_owned(), json!(text));
        }
    }
    card.insert("text".to_owned(), json!(notification.text("teams", "text").unwrap_or(&notification.message)));
    let mut sections = match notification.data("teams", "sections")? {
        Some(Json::Array(sections)) => sections,
        Some(_) => return Err(Failure::lasting("teams.sections must be a list")),
        None => Vec::new(),
    };
    if let Some(facts) = notification.data("teams", "facts")? {
        sections.push(json!({"facts": facts}));
    }
    if !sections.is_empty() {
        card.insert("sections".to_owned(), Json::Array(sections));
    }
    if let Some(actions) = notification.data("teams", "potentialAction")? {
        card.insert("potentialAction".to_owned(), actions);
    }
    Ok(Json::Object(card))
}

/// The service says `1` when it took the card; errors come with status 200 as well.
fn judge(response: &Response) -> Result<(), Failure> {
    match response.text().trim() {
        "1" => Ok(()),
        body => Err(Failure::of_status(response.status, format!("teams webhook post error: {body}"))),
    }
}
