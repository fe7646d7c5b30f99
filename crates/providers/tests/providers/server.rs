//! A real HTTP server that does what the path asks for.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;

type Body = http_body_util::combinators::BoxBody<Bytes, Infallible>;

/// What came in: the request line, headers that matter and the body.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<String>>>);

impl Seen {
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// A running server; it ends with the test's runtime.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) seen: Seen,
}

impl Server {
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Seen::default();
        let shared = seen.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, shared.clone()));
            }
        });
        Self { address, seen }
    }
}

async fn serve<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(stream: S, seen: Seen) {
    let service = service_fn(move |request| answer(request, seen.clone()));
    let connection = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // Clients that hang up are part of the tests.
    let _ended = connection.await;
}

fn full(status: u16, text: impl Into<Bytes>) -> Response<Body> {
    Response::builder().status(status).body(Full::new(text.into()).boxed()).unwrap()
}

fn redirect(status: u16, to: &str) -> Response<Body> {
    Response::builder().status(status).header("location", to).body(Full::new(Bytes::new()).boxed()).unwrap()
}

async fn answer(request: Request<Incoming>, seen: Seen) -> Result<Response<Body>, Infallible> {
    let line = format!("{} {}", request.method(), request.uri());
    let header =
        |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).unwrap_or("-").to_owned();
    let (authorization, kind) = (header("authorization"), header("content-type"));
    let path = request.uri().path().to_owned();
    let text = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    seen.0.lock().unwrap().push(format!("{line} | {authorization} | {kind} | {text}"));
    Ok(match path.as_str() {
        "/json" => full(200, r#"{"ok": true, "n": 7}"#),
        "/echo" => full(200, if text.is_empty() { "null".to_owned() } else { text }),
        "/graphite/render" => full(200, r#"[{"target":"a","datapoints":[[10,1]]}]"#),
        "/plain" => full(200, "OK"),
        "/null" => full(200, "null"),
        "/broken" => full(200, "{\"a\": "),
        "/missing" => full(404, "no"),
        "/failing" => full(500, "oops"),
        "/moved" => redirect(302, "/json"),
        "/kept" => redirect(307, "/echo"),
        "/loop" => redirect(302, "/loop"),
        "/away" => redirect(302, "http://169.254.169.254/latest/meta-data"),
        "/nowhere" => redirect(302, ""),
        "/large" => full(200, vec![b'1'; 10 * 1024 * 1024]),
        "/cut" => cut_off(),
        path if path.starts_with("/redirect-") => {
            redirect(path.trim_start_matches("/redirect-").parse().unwrap(), "/echo")
        }
        "/slow-head" => {
            tokio::time::sleep(Duration::from_secs(30)).await;
            full(200, "late")
        }
        "/slow-body" => dripping(),
        "/token" => full(200, r#"{"access_token":"tok","token_type":"bearer"}"#),
        "/no-token" => full(401, "{}"),
        path if path.starts_with("/prometheus") => prometheus(path),
        _ => full(418, ""),
    })
}

/// A body that is shorter than it was said to be.
fn cut_off() -> Response<Body> {
    let bytes = futures::stream::iter([Ok(Frame::data(Bytes::from_static(b"{\"n\": 7")))]);
    Response::builder().header("content-length", "1000").body(BodyExt::boxed(StreamBody::new(bytes))).unwrap()
}

/// A body that comes one byte at a time.
fn dripping() -> Response<Body> {
    let bytes = futures::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        Some((Ok(Frame::data(Bytes::from_static(b"1"))), ()))
    });
    Response::new(BodyExt::boxed(StreamBody::new(Box::pin(bytes))))
}

fn prometheus(path: &str) -> Response<Body> {
    match path {
        "/prometheus/api/v1/query" => full(
            200,
            r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"0.97"]}]}}"#,
        ),
        "/prometheus/api/v1/query_range" => full(
            200,
            r#"{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[1,"1"],[2,"2"]]}]}}"#,
        ),
        "/prometheus-bad/api/v1/query" => {
            full(400, r#"{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\""}"#)
        }
        "/prometheus-huge/api/v1/query" => full(200, vec![b' '; 10 * 1024 * 1024]),
        _ => full(503, "starting"),
    }
}
