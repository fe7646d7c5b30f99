//! The layer on kube's client.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode, header};
use tokio::time::{Instant, Sleep};
use tower_layer::Layer;
use tower_service::Service;

use super::asked::Asked;
use super::bucket::{Bucket, Rate};
use crate::lease::Leadership;
use crate::metrics::Counters;

/// The longest pause a server can make us take.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// How a client behaves.
#[derive(Clone)]
pub struct Manners {
    /// How fast requests may go; as fast as they come when absent.
    pub rate: Option<Rate>,
    /// How long a write may take. Reads are not limited here: a watch goes on for minutes, a list may be long.
    pub write_timeout: Duration,
    /// Writes go out only while this is held. Asked last, after every wait: a request that stood in a queue while the
    /// lease was lost is not sent.
    pub fence: Option<Leadership>,
    /// Counts requests by kind, namespace, name, verb and status code, in this order of labels.
    pub counted: Option<Counters>,
}

impl Default for Manners {
    fn default() -> Self {
        Self { rate: None, write_timeout: Duration::from_secs(15), fence: None, counted: None }
    }
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A write that nobody answered.
#[derive(Debug, thiserror::Error)]
#[error("no answer to {method} {path} within {limit:?}")]
struct NoAnswer {
    method: Method,
    path: String,
    limit: Duration,
}

/// A write of somebody who does not lead.
#[derive(Debug, thiserror::Error)]
#[error("{method} {path} was not sent: the lease is lost")]
struct NotLeading {
    method: Method,
    path: String,
}

impl<S> Layer<S> for Manners {
    type Service = Mannered<S>;

    fn layer(&self, inner: S) -> Mannered<S> {
        Mannered {
            inner,
            bucket: self.rate.map(Bucket::new),
            manners: self.clone(),
            may_go: false,
            pause: Arc::default(),
            sleep: None,
        }
    }
}

/// A client with manners.
pub struct Mannered<S> {
    inner: S,
    manners: Manners,
    bucket: Option<Bucket>,
    /// A token was taken for the next request.
    may_go: bool,
    /// Until when the server asked us to stay away.
    pause: Arc<Mutex<Option<Instant>>>,
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<S> Mannered<S> {
    /// When the next request may go; now when there is nothing to wait for.
    fn due(&mut self) -> Option<Instant> {
        let now = Instant::now();
        let mut pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(until) = *pause {
            if now < until {
                return Some(until);
            }
            *pause = None;
        }
        drop(pause);
        self.bucket.as_mut().and_then(|bucket| bucket.take(now).err())
    }

    fn poll_due(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                std::task::ready!(sleep.as_mut().poll(context));
                self.sleep = None;
            }
            match self.due() {
                None => return Poll::Ready(()),
                Some(at) => self.sleep = Some(Box::pin(tokio::time::sleep_until(at))),
            }
        }
    }
}

impl<S, A, B> Service<Request<A>> for Mannered<S>
where
    S: Service<Request<A>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
{
    type Response = Response<B>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<B>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        if !self.may_go {
            std::task::ready!(self.poll_due(context));
            self.may_go = true;
        }
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<A>) -> Self::Future {
        self.may_go = false;
        let (method, uri) = (request.method().clone(), request.uri().clone());
        let is_read = matches!(method, Method::GET | Method::HEAD);
        if !is_read && self.manners.fence.as_ref().is_some_and(|leadership| !leadership.is_held()) {
            let refused = NotLeading { method, path: uri.path().to_owned() };
            return Box::pin(async { Err(refused.into()) });
        }
        let (counted, limit, pause) =
            (self.manners.counted.clone(), self.manners.write_timeout, Arc::clone(&self.pause));
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = if is_read {
                answer.await.map_err(Into::into)
            } else {
                match tokio::time::timeout(limit, answer).await {
                    Ok(answer) => answer.map_err(Into::into),
                    Err(_) => Err(NoAnswer { method: method.clone(), path: uri.path().to_owned(), limit }.into()),
                }
            };
            if let Some(counted) = counted {
                let asked = Asked::of(&method, &uri);
                let status = answer.as_ref().map_or(0, |answer| answer.status().as_u16()).to_string();
                counted.increment(&[asked.kind, asked.namespace, asked.name, asked.verb, &status]);
            }
            // A refused eviction is about one pod, not about the server.
            if let Ok(answer) = &answer
                && !uri.path().ends_with("/eviction")
                && let Some(wanted) = wanted_pause(answer)
            {
                let until = Instant::now() + wanted.min(LONGEST_PAUSE);
                let mut pause = pause.lock().unwrap_or_else(PoisonError::into_inner);
                *pause = Some(pause.map_or(until, |known| known.max(until)));
            }
            answer
        })
    }
}

/// How long a server that has too much to do asks us to stay away.
fn wanted_pause<B>(answer: &Response<B>) -> Option<Duration> {
    if !matches!(answer.status(), StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let seconds = answer.headers().get(header::RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
