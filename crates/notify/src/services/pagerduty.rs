//! PagerDuty incidents.
//!
//! Documentation: <https://developer.pagerduty.com/api-reference/a7d81b0e9200f-create-an-incident>.

use serde_json::{Map, Value as Json, json};

use super::{Delivery, Opened, single};
use crate::message::HttpRequest;

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let (options, notification) = (&delivery.service.options, delivery.notification);
    let text = |field: &str| notification.text("pagerduty", field);
    let service = match delivery.recipient {
        "" => options.text("serviceId"),
        recipient => recipient.to_owned(),
    };
    let mut incident = Map::new();
    incident.insert("type".to_owned(), json!("incident"));
    incident.insert("title".to_owned(), json!(text("title").unwrap_or(&notification.message)));
    incident.insert("service".to_owned(), json!({"id": service, "type": "service_reference"}));
    if let Some(urgency) = text("urgency") {
        incident.insert("urgency".to_owned(), json!(urgency));
    }
    if let Some(id) = text("priorityId") {
        incident.insert("priority".to_owned(), json!({"id": id, "type": "priority_reference"}));
    }
    let details = text("body").unwrap_or(&notification.message);
    incident.insert("body".to_owned(), json!({"type": "incident_body", "details": details}));
    let body = json!({"incident": Json::Object(incident)});
    let request = HttpRequest::json("https://api.pagerduty.com/incidents", &body)
        .header("Accept", "application/vnd.pagerduty+json;version=2")
        .header("Authorization", format!("Token token={}", options.text("token")))
        .header("From", options.text("from"));
    single::Single::open(request, single::any_success)
}
