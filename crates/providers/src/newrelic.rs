//! New Relic: NRQL queries over NerdGraph.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::json;
use tidegate_api::analysis::NewRelicProvider;
use tidegate_api::wire::Text;
use tidegate_expr::Value;

use crate::call::Call;
use crate::client::TransportError;
use crate::go_values;
use crate::message::{Method, Request, Response};
use crate::talk::{Failure, Reading, Talk, Turn};

const QUERY: &str = "query ($accountId: Int!, $query: Nrql!, $timeout: Seconds) { actor { account(id: $accountId) { \
                     nrql(query: $query, timeout: $timeout) { results } } } }";
const DEFAULT_TIMEOUT: i64 = 5;
const CLIENT_TIMEOUT: Duration = Duration::from_secs(30);
const RETRIES: u32 = 3;

/// An NRQL query.
#[derive(Debug)]
pub struct NewRelic {
    request: Request,
    query: String,
    retries: u32,
}

impl NewRelic {
    /// The query of a metric.
    pub fn new(call: Call<'_>) -> Result<Self, Failure> {
        let none = NewRelicProvider::default();
        let settings = call.metric.provider.as_ref().and_then(|named| named.new_relic.as_deref()).unwrap_or(&none);
        let timeout = match settings.timeout.unwrap_or(0) {
            negative if negative < 0 => return Err("timeout value needs to be a positive value".into()),
            0 => DEFAULT_TIMEOUT,
            seconds => seconds,
        };
        let secret = |name: &str| call.credentials.get(name).map(String::as_str).unwrap_or_default();
        let (key, account) = (secret("personal-api-key"), secret("account-id"));
        if key.is_empty() || account.is_empty() {
            return Err("account ID or personal API key not found".into());
        }
        let account: i64 = account
            .trim()
            .parse()
            .map_err(|_| format!("could not parse account ID: strconv.Atoi: parsing {account:?}: invalid syntax"))?;
        let url = match (secret("base-url-nerdgraph"), secret("region").to_ascii_lowercase().as_str()) {
            ("", "" | "us") => "https://api.newrelic.com/graphql".to_owned(),
            ("", "eu") => "https://api.eu.newrelic.com/graphql".to_owned(),
            ("", "jp") => "https://api.jp.newrelic.com/graphql".to_owned(),
            ("", "gov") => "https://gov-api.newrelic.com/graphql".to_owned(),
            ("", other) => return Err(format!("region {other:?} is none of us, eu, jp, gov").into()),
            (given, _) => given.to_owned(),
        };
        let query = settings.query.text().to_owned();
        let body = json!({"query": QUERY, "variables": {"accountId": account, "query": query, "timeout": timeout}});
        let agent = format!("argo-rollouts/{} (https://github.com/argoproj/argo-rollouts)", call.surroundings.version);
        let request = Request::new(Method::Post, url)
            .header("Content-Type", "application/json")
            .header("Api-Key", key)
            .header("User-Agent", agent)
            .body(body.to_string())
            .within(CLIENT_TIMEOUT);
        Ok(Self { request, query, retries: RETRIES })
    }

    fn again(&mut self) -> Option<Turn> {
        self.retries = self.retries.checked_sub(1)?;
        Some(Turn::Ask(Box::new(self.request.clone())))
    }
}

impl Talk for NewRelic {
    fn begin(&mut self) -> Result<Turn, Failure> {
        Ok(Turn::Ask(Box::new(self.request.clone())))
    }

    fn hear(&mut self, response: &Response) -> Result<Turn, Failure> {
        if matches!(response.status, 429 | 500..600)
            && let Some(again) = self.again()
        {
            return Ok(again);
        }
        if !response.is_success() {
            return Err(format!("{} response returned: {}", response.status, response.text()).into());
        }
        let body = response.json().map_err(|error| format!("the answer is no JSON: {error}"))?;
        if let Some(error) = body["errors"].get(0) {
            return Err(error["message"].as_str().unwrap_or("the query failed").to_owned().into());
        }
        let rows = body["data"]["actor"]["account"]["nrql"]["results"].as_array().cloned().unwrap_or_default();
        let is_empty = |row: &serde_json::Value| row.as_object().is_none_or(serde_json::Map::is_empty);
        match rows.as_slice() {
            [] => Err(Failure::NoData("no results returned from NRQL query".to_owned())),
            [row] if is_empty(row) => Err(Failure::NoData("no results returned from NRQL query".to_owned())),
            [row] => Ok(Turn::Done(Reading::new(Value::from_json(row), go_values::json(row)))),
            _ => {
                let all = serde_json::Value::Array(rows);
                Ok(Turn::Done(Reading::new(Value::from_json(&all), go_values::json(&all))))
            }
        }
    }

    fn unanswered(&mut self, error: &TransportError) -> Result<Turn, Failure> {
        match self.again().filter(|_| !error.is_timeout) {
            Some(again) => Ok(again),
            None => Err(Failure::Error(error.to_string())),
        }
    }

    fn metadata(&self) -> BTreeMap<String, String> {
        BTreeMap::from([("ResolvedNewRelicQuery".to_owned(), self.query.clone())])
    }
}
