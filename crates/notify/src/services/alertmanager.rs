//! Alertmanager: the same alert to every target; one that takes it is enough.
//!
//! Documentation: <https://github.com/prometheus/alertmanager/blob/main/api/v2/openapi.yaml> (`/alerts`).

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened};
use crate::message::{Conversation, Failure, HttpRequest, Response, Turn};

struct Alertmanager {
    /// Requests still to come, the next one last.
    requests: Vec<HttpRequest>,
    has_taken: bool,
    failure: Option<Failure>,
}

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let (options, notification) = (&delivery.service.options, delivery.notification);
    let texts = |field: &str| -> Map<String, Json> {
        notification.section("alertmanager")[field].as_object().cloned().unwrap_or_default()
    };
    let (labels, mut annotations) = (texts("labels"), texts("annotations"));
    if labels.is_empty() {
        return Err(Failure::lasting("an alert needs labels: add alertmanager.labels to the template"));
    }
    if annotations.is_empty() && !notification.message.is_empty() {
        annotations.insert("message".to_owned(), json!(notification.message));
    }
    let mut alert = Map::new();
    alert.insert("labels".to_owned(), Json::Object(labels));
    alert.insert("annotations".to_owned(), Json::Object(annotations));
    alert.insert("startsAt".to_owned(), json!(delivery.now.to_string()));
    if let Some(url) = notification.text("alertmanager", "generatorURL") {
        alert.insert("generatorURL".to_owned(), json!(url));
    }
    let alerts = Json::Array(vec![Json::Object(alert)]);
    let scheme = options.some_text("scheme").unwrap_or_else(|| "http".to_owned());
    let path = options.some_text("apiPath").unwrap_or_else(|| "/api/v2/alerts".to_owned());
    let request = |target: String| {
        let url = if target.contains("://") { target } else { format!("{scheme}://{target}") };
        let mut request =
            HttpRequest::json(super::joined(&url, &path), &alerts).insecure(options.flag("insecureSkipVerify"));
        request.timeout = options.duration("timeout").unwrap_or(std::time::Duration::from_secs(3));
        let bearer = options.some_text("bearerToken").map(|token| format!("Bearer {token}"));
        match options.basic_auth().or(bearer) {
            Some(value) => request.header("Authorization", value),
            None => request,
        }
    };
    let requests = options.texts("targets").into_iter().rev().map(request).collect();
    Ok(Box::new(Alertmanager { requests, has_taken: false, failure: None }))
}

impl Alertmanager {
    fn next(&mut self) -> Result<Turn, Failure> {
        match (self.requests.pop(), self.failure.take()) {
            (Some(request), failure) => {
                self.failure = failure;
                Ok(Turn::Ask(request))
            }
            (None, Some(failure)) if !self.has_taken => Err(failure),
            (None, _) => Ok(Turn::Done(Vec::new())),
        }
    }
}

impl Conversation for Alertmanager {
    fn begin(&mut self) -> Result<Turn, Failure> {
        self.next()
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        match super::single::any_success(response) {
            Ok(()) => self.has_taken = true,
            Err(failure) => self.failure = Some(failure),
        }
        self.next()
    }

    fn unanswered(&mut self, error: &str) -> Result<Turn, Failure> {
        self.failure = Some(Failure::passing(error));
        self.next()
    }
}
