//! Rocket.Chat: login, then the message.
//!
//! Documentation: <https://developer.rocket.chat/apidocs/login-with-username-and-password>,
//! <https://developer.rocket.chat/apidocs/post-message>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened, joined};
use crate::message::{Conversation, Failure, HttpRequest, Response, Turn};

struct RocketChat {
    server: String,
    login: Json,
    message: Json,
    has_login: bool,
}

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let options = &delivery.service.options;
    let mut message = Map::new();
    let place = if delivery.recipient.starts_with(['#', '@']) { "channel" } else { "roomId" };
    message.insert(place.to_owned(), json!(delivery.recipient));
    message.insert("text".to_owned(), json!(delivery.notification.message));
    if let Some(attachments) = delivery.notification.data("rocketchat", "attachments")? {
        message.insert("attachments".to_owned(), attachments);
    }
    for (option, field) in [("alias", "alias"), ("icon", "emoji"), ("avatar", "avatar")] {
        if let Some(value) = options.some_text(option) {
            message.insert(field.to_owned(), json!(value));
        }
    }
    Ok(Box::new(RocketChat {
        server: options.text("serverUrl"),
        login: json!({"user": options.text("email"), "password": options.text("password")}),
        message: Json::Object(message),
        has_login: false,
    }))
}

impl Conversation for RocketChat {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(HttpRequest::json(joined(&self.server, "api/v1/login"), &self.login)))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        let answer = response.json();
        if !self.has_login {
            let (token, user) = (answer["data"]["authToken"].as_str(), answer["data"]["userId"].as_str());
            let (Some(token), Some(user)) = (token, user) else {
                let text = format!("rocketchat refused the login with status {}", response.status);
                return Err(Failure::of_status(response.status, text));
            };
            self.has_login = true;
            let request = HttpRequest::json(joined(&self.server, "api/v1/chat.postMessage"), &self.message);
            return Ok(Turn::Ask(request.header("X-Auth-Token", token).header("X-User-Id", user)));
        }
        if response.is_success() && answer["success"].as_bool() != Some(false) {
            return Ok(Turn::Done(Vec::new()));
        }
        let text = format!("rocketchat answered with status {}: {}", response.status, response.text());
        Err(Failure::of_status(response.status, text))
    }
}
