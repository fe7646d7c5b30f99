//! One question: all of its pages, and patience when AWS is asked too often.

use std::time::Duration;

use tidegate_clock::Clock;

use crate::aws::{Caller, Signature, endpoint};
use crate::call::Surroundings;
use crate::client::Transport;
use crate::form::encoded;
use crate::message::{Method, Request, Response};
use crate::xml::{self, Element};

const SERVICE: &str = "elasticloadbalancing";
const VERSION: &str = "2015-12-01";
/// Where to ask instead of AWS, as its own programs are told.
const ADDRESSES: [&str; 2] = ["AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2", "AWS_ENDPOINT_URL"];
/// Pages that are read.
const MOST_PAGES: usize = 100;
/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(15);
/// How long to wait before asking again when it was too often.
const PAUSES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// A question.
pub(super) struct Query<'a> {
    pub(super) client: &'a dyn Transport,
    pub(super) surroundings: &'a Surroundings,
    pub(super) clock: Clock,
    pub(super) region: &'a str,
    pub(super) action: &'static str,
    pub(super) fields: &'a [(&'a str, &'a str)],
    /// The list in the answer.
    pub(super) list: &'a str,
}

impl Query<'_> {
    /// The members of the list, of all pages.
    pub(super) async fn ask(&self) -> Result<Vec<Element>, String> {
        let mut all = Vec::new();
        let mut marker = String::new();
        for _ in 0..MOST_PAGES {
            let answer = self.page(&marker).await?;
            let list = answer.find(self.list).map(|list| list.children.clone());
            all.extend(list.unwrap_or_default());
            marker = answer.text_of("NextMarker");
            if marker.is_empty() {
                return Ok(all);
            }
        }
        Err(format!("{} has more than {MOST_PAGES} pages", self.action))
    }

    async fn page(&self, marker: &str) -> Result<Element, String> {
        let mut pauses = PAUSES.iter();
        loop {
            // Signed anew every time: a signature is good for minutes only, and keys may change.
            let request = self.request(marker).await?;
            let response = self.client.send(&request).await.map_err(|error| error.to_string())?;
            match (self.understood(&response), pauses.next()) {
                (Err(Refusal::TooOften(_)), Some(pause)) => tokio::time::sleep(*pause).await,
                (Err(Refusal::TooOften(text) | Refusal::Final(text)), _) => return Err(text),
                (Ok(answer), _) => return Ok(answer),
            }
        }
    }

    async fn request(&self, marker: &str) -> Result<Request, String> {
        let known = [("Action", self.action), ("Version", VERSION)];
        let more = (!marker.is_empty()).then_some(("Marker", marker));
        let body = encoded(known.into_iter().chain(self.fields.iter().copied()).chain(more));
        let address = ADDRESSES.iter().find_map(|name| self.surroundings.variable(name));
        let url = address.map_or_else(|| endpoint(SERVICE, self.region), str::to_owned);
        let mut request = Request::new(Method::Post, url)
            .header("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")
            .body(body);
        request.timeout = PATIENCE;
        let caller = Caller { client: self.client, surroundings: self.surroundings, clock: self.clock };
        let (service, region) = (SERVICE.to_owned(), self.region.to_owned());
        caller.sign(request, &Signature { service, region, profile: String::new(), role_arn: String::new() }).await
    }

    fn understood(&self, response: &Response) -> Result<Element, Refusal> {
        let document = xml::parse(&response.text());
        if response.is_success() {
            return document.map_err(|error| Refusal::Final(format!("{}: {error}", self.action)));
        }
        let document = document.unwrap_or_default();
        let (code, message) = (document.text_of("Code"), document.text_of("Message"));
        let text = format!("{} answered {}: {code}: {message}", self.action, response.status);
        let is_too_often = matches!(response.status, 429 | 503)
            || ["Throttling", "RequestLimitExceeded", "TooManyRequests"].iter().any(|word| code.starts_with(word));
        Err(if is_too_often { Refusal::TooOften(text) } else { Refusal::Final(text) })
    }
}

/// Why a page did not come.
enum Refusal {
    /// It may come a little later.
    TooOften(String),
    Final(String),
}
