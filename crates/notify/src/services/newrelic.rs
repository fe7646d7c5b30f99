//! New Relic deployment markers.
//!
//! Documentation: <https://docs.newrelic.com/docs/apis/rest-api-v2/basic-functions/rest-api-calls-new-relic-agent/#deployments>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened, joined, single};
use crate::message::{Failure, HttpRequest};

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let (options, notification) = (&delivery.service.options, delivery.notification);
    let application = delivery.recipient;
    if application.is_empty() || !application.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Failure::lasting(format!("recipient '{application}' is no application id of New Relic")));
    }
    let mut deployment = Map::new();
    let Some(revision) = notification.text("newrelic", "revision") else {
        return Err(Failure::lasting("a deployment marker needs newrelic.revision in the template"));
    };
    deployment.insert("revision".to_owned(), json!(revision));
    let description = notification.text("newrelic", "description").unwrap_or(&notification.message);
    deployment.insert("description".to_owned(), json!(description));
    for field in ["changelog", "user"] {
        if let Some(text) = notification.text("newrelic", field) {
            deployment.insert(field.to_owned(), json!(text));
        }
    }
    let api = options.some_text("apiURL").unwrap_or_else(|| "https://api.newrelic.com".to_owned());
    let url = joined(&api, &format!("v2/applications/{application}/deployments.json"));
    let request = HttpRequest::json(url, &json!({"deployment": Json::Object(deployment)}))
        .header("Api-Key", options.text("apiKey"));
    single::Single::open(request, single::any_success)
}
