//! Webhooks: any request that people describe.

use super::{Delivery, Opened, joined, single::Single};
use crate::message::{Failure, HttpRequest, Response};

pub(super) fn open(delivery: &Delivery<'_>) -> Opened {
    let options = &delivery.service.options;
    // The section is that of the service's name: one template may speak to several webhooks.
    let section = &delivery.notification.section("webhook")[delivery.service.name.as_str()];
    let text = |field: &str| section[field].as_str().filter(|text| !text.is_empty());
    let url = match text("path") {
        Some(path) => joined(&options.text("url"), path),
        None => options.text("url"),
    };
    let method = text("method").unwrap_or("GET").trim().to_ascii_uppercase();
    let body = text("body").unwrap_or(&delivery.notification.message);
    let mut request = HttpRequest::new(&method, url).body(body).insecure(options.flag("insecureSkipVerify"));
    for header in options.items("headers") {
        if let (Some(name), Some(value)) = (header["name"].as_str(), header["value"].as_str()) {
            request = request.header(name, value);
        }
    }
    if let Some(value) = options.basic_auth() {
        request = request.header("Authorization", value);
    }
    Single::open(request, judge)
}

fn judge(response: &Response) -> Result<(), Failure> {
    if response.is_success() {
        return Ok(());
    }
    let (status, body) = (response.status, response.text());
    Err(Failure::of_status(status, format!("request to webhook has failed with error code {status} : {body}")))
}
