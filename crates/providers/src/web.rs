//! Any HTTP request whose answer is the value.

use std::time::Duration;

use tidegate_api::analysis::WebProvider;
use tidegate_api::wire::{Items, Text};
use tidegate_expr::Value;

use crate::call::Call;
use crate::go_values;
use crate::jsonpath::JsonPath;
use crate::message::{Authorization, Method, Request, Response};
use crate::oauth2;
use crate::talk::{Failure, Reading, Talk, Turn};

const DEFAULT_TIMEOUT: u64 = 10;

/// A web request.
#[derive(Debug)]
pub struct Web {
    request: Request,
    path: JsonPath,
}

impl Web {
    /// The request of a metric.
    pub fn new(call: Call<'_>) -> Result<Self, Failure> {
        let none = WebProvider::default();
        let settings = call.metric.provider.as_ref().and_then(|named| named.web.as_deref()).unwrap_or(&none);
        let path = match settings.json_path.text() {
            "" => "{$}",
            path => path,
        };
        let path = JsonPath::parse(path).map_err(|error| error.to_string())?;
        Ok(Self { request: request(settings)?, path })
    }
}

fn request(settings: &WebProvider) -> Result<Request, Failure> {
    let method = match settings.method.text() {
        "" | "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        other => return Err(format!("method {other:?} is none of GET, POST, PUT").into()),
    };
    let json = settings.json_body.as_ref().map(|body| body.json().to_owned()).filter(|json| json != "null");
    let body = settings.body.text();
    if !body.is_empty() && json.is_some() {
        return Err("use either Body or JSONBody; both cannot exists for WebMetric payload".into());
    }
    if method == Method::Get && (!body.is_empty() || json.is_some()) {
        return Err("Body/JSONBody can only be used with POST or PUT WebMetric Method types".into());
    }
    let timeout = u64::try_from(settings.timeout_seconds.unwrap_or(0)).ok().filter(|seconds| *seconds > 0);
    let mut request =
        Request::new(method, settings.url.text()).within(Duration::from_secs(timeout.unwrap_or(DEFAULT_TIMEOUT)));
    for header in settings.headers.items() {
        request = request.header(header.key.text(), header.value.text());
    }
    request = match json {
        Some(json) => request.header("Content-Type", "application/json").body(json),
        None => request.body(body),
    };
    request.insecure = settings.insecure.unwrap_or(false);
    let how = settings.authentication.as_ref();
    if let Some(credentials) = oauth2::credentials(how.and_then(|how| how.oauth2.as_ref()))? {
        request.authorization = Authorization::OAuth2(credentials);
    }
    Ok(request)
}

impl Talk for Web {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(Box::new(self.request.clone())))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        if !response.is_success() {
            return Err(Failure::Error(format!("received non 2xx response code: {}", response.status)));
        }
        let Ok(json) = response.json() else {
            // What is no JSON is taken as text, whole.
            let text = response.text();
            return Ok(Turn::Done(Reading::new(Value::text(&text), text)));
        };
        let found = self
            .path
            .find(&json)
            .map_err(|error| Failure::Error(format!("Could not find JSONPath in body: {error}")))?;
        let Some(first) = found.into_iter().next() else {
            return Err(Failure::NoData("result of web metric produced no value".to_owned()));
        };
        Ok(Turn::Done(Reading::new(Value::from_json(&first), go_values::json(&first))))
    }
}
