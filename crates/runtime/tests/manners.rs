//! The layer on the client: throttled, timed, counted.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking, as tests do")]

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response};
use tidegate_runtime::client::{Mannered, Manners, Rate};
use tidegate_runtime::lease::Leadership;
use tidegate_runtime::metrics::{Counters, Registry};
use tokio::time::Instant;
use tower_layer::Layer;
use tower_service::Service;

/// Answers after a while, with a status and perhaps a wish.
#[derive(Clone)]
struct Server {
    takes: Duration,
    status: u16,
    retry_after: Option<&'static str>,
}

impl Service<Request<()>> for Server {
    type Response = Response<()>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<()>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<()>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            tokio::time::sleep(server.takes).await;
            let mut answer = Response::builder().status(server.status);
            if let Some(wish) = server.retry_after {
                answer = answer.header("retry-after", wish);
            }
            Ok(answer.body(()).unwrap())
        })
    }
}

const QUICK: Server = Server { takes: Duration::ZERO, status: 200, retry_after: None };

async fn ask(service: &mut Mannered<Server>, method: &str, path: &str) -> Result<u16, String> {
    poll_fn(|context| service.poll_ready(context)).await.unwrap();
    let request = Request::builder().method(method).uri(path).body(()).unwrap();
    service.call(request).await.map(|answer| answer.status().as_u16()).map_err(|error| error.to_string())
}

#[tokio::test(start_paused = true)]
async fn requests_go_as_fast_as_the_rate_says_or_as_they_come() {
    let start = Instant::now();
    let mut free = Manners::default().layer(QUICK);
    for _ in 0..100 {
        ask(&mut free, "GET", "/api/v1/pods").await.unwrap();
    }
    assert_eq!(start.elapsed(), Duration::ZERO);

    let manners = Manners { rate: Some(Rate { per_second: 5.0, burst: 10 }), ..Manners::default() };
    let mut slow = manners.layer(QUICK);
    for _ in 0..20 {
        ask(&mut slow, "GET", "/api/v1/pods").await.unwrap();
    }
    assert_eq!(start.elapsed().as_millis() / 10, 200, "ten at once, ten more at five per second");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_a_pause_gets_it_but_a_refused_eviction_holds_nothing_up() {
    let mut service = Manners::default().layer(Server { takes: Duration::ZERO, status: 429, retry_after: Some("2") });
    let start = Instant::now();
    ask(&mut service, "POST", "/api/v1/namespaces/a/pods/b/eviction").await.unwrap();
    ask(&mut service, "GET", "/api/v1/pods").await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 0);
    ask(&mut service, "GET", "/api/v1/pods").await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_write_without_an_answer_ends_with_an_error_that_names_it() {
    let mut service =
        Manners::default().layer(Server { takes: Duration::from_secs(60), status: 200, retry_after: None });
    let problem = ask(&mut service, "PATCH", "/api/v1/namespaces/a/services/b").await.unwrap_err();
    assert_eq!(problem, "no answer to PATCH /api/v1/namespaces/a/services/b within 15s");
    assert_eq!(ask(&mut service, "GET", "/api/v1/pods").await, Ok(200), "a read may take its time");
}

#[tokio::test(start_paused = true)]
async fn every_request_is_counted_with_its_answer() {
    let counted = Counters::new("requests_total", "Requests.", &["kind", "namespace", "name", "verb", "status_code"]);
    let registry = Registry::default();
    registry.add(counted.clone());
    let manners = Manners { counted: Some(counted), ..Manners::default() };
    let mut service = manners.layer(QUICK);
    for _ in 0..2 {
        ask(&mut service, "PATCH", "/apis/argoproj.io/v1alpha1/namespaces/a/rollouts/web/status").await.unwrap();
    }
    let mut silent = manners.layer(Server { takes: Duration::from_secs(60), ..QUICK });
    ask(&mut silent, "POST", "/apis/apps/v1/namespaces/a/replicasets").await.unwrap_err();
    let line = |verb, kind, name, code| {
        format!(
            "requests_total{{kind=\"{kind}\",name=\"{name}\",namespace=\"a\",status_code=\"{code}\",verb=\"{verb}\"}}"
        )
    };
    let text = registry.text();
    assert!(text.contains(&format!("{} 2\n", line("Patch", "rollouts", "web", "200"))), "{text}");
    assert!(text.contains(&format!("{} 1\n", line("Create", "replicasets", "N/A", "0"))), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_stood_in_the_queue_while_the_lease_was_lost_is_not_sent() {
    let leadership = Leadership::until(Instant::now() + Duration::from_secs(1));
    let rate = Some(Rate { per_second: 0.5, burst: 1 });
    let mut service = Manners { rate, fence: Some(leadership), ..Manners::default() }.layer(QUICK);
    let path = "/apis/argoproj.io/v1alpha1/namespaces/a/rollouts/web/status";
    assert_eq!(ask(&mut service, "PATCH", path).await, Ok(200));
    let refused = ask(&mut service, "PATCH", path).await.unwrap_err();
    assert_eq!(refused, format!("PATCH {path} was not sent: the lease is lost"));
    assert_eq!(ask(&mut service, "GET", path).await, Ok(200), "looking is free");
}
