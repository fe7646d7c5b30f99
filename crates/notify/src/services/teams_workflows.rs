//! Microsoft Teams through workflows: adaptive cards.
//!
//! Documentation:
//! <https://learn.microsoft.com/en-us/connectors/teams/#microsoft-teams-webhook>, <https://adaptivecards.io/explorer/AdaptiveCard.html>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened, single};
use crate::message::{Failure, HttpRequest};

const SECTION: &str = "teams-workflows";

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let url = delivery.service.options.by_recipient("recipientUrls", delivery.recipient)?;
    single::Single::open(HttpRequest::json(url, &message(delivery)?), single::any_success)
}

fn message(delivery: &Delivery<'_>) -> Result<Json, Failure> {
    let notification = delivery.notification;
    if let Some(template) = notification.data(SECTION, "template")? {
        return Ok(template);
    }
    let card = match notification.data(SECTION, "adaptiveCard")? {
        Some(card) => card,
        None => card(delivery)?,
    };
    let kind = "application/vnd.microsoft.card.adaptive";
    Ok(json!({"type": "message", "attachments": [{"contentType": kind, "content": card}]}))
}

fn card(delivery: &Delivery<'_>) -> Result<Json, Failure> {
    let notification = delivery.notification;
    let mut body = Vec::new();
    if let Some(title) = notification.text(SECTION, "title") {
        body.push(json!({"type": "TextBlock", "text": title, "size": "Large", "weight": "Bolder", "wrap": true}));
    }
    let text = notification.text(SECTION, "text").unwrap_or(&notification.message);
    if !text.is_empty() {
        body.push(json!({"type": "TextBlock", "text": text, "wrap": true}));
    }
    if let Some(Json::Array(facts)) = notification.data(SECTION, "facts")? {
        // Message cards say `name` where adaptive cards say `title`.
        let fact =
            |fact: &Json| json!({"title": fact["name"].as_str().or(fact["title"].as_str()), "value": fact["value"]});
        body.push(json!({"type": "FactSet", "facts": facts.iter().map(fact).collect::<Vec<_>>()}));
    }
    if let Some(Json::Array(sections)) = notification.data(SECTION, "sections")? {
        body.extend(sections);
    }
    let mut card = Map::new();
    card.insert("$schema".to_owned(), json!("http://adaptivecards.io/schemas/adaptive-card.json"));
    card.insert("type".to_owned(), json!("AdaptiveCard"));
    card.insert("version".to_owned(), json!("1.4"));
    card.insert("body".to_owned(), Json::Array(body));
    if let Some(Json::Array(actions)) = notification.data(SECTION, "potentialAction")? {
        card.insert("actions".to_owned(), Json::Array(actions.iter().map(action).collect()));
    }
    Ok(Json::Object(card))
}

/// An action of a message card as one of an adaptive card; those that are such already stay.
fn action(action: &Json) -> Json {
    match action["@type"].as_str() {
        Some("OpenUri") => {
            let url = &action["targets"][0]["uri"];
            json!({"type": "Action.OpenUrl", "title": action["name"], "url": url})
        }
        _ => action.clone(),
    }
}
