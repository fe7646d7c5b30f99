//! An embedded cluster behind a listener that notes every request and can refuse, and the program run against it.

use std::convert::Infallible;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tidegate_apiserver::{ApiServer, Options};
use tidegate_clock::Clock;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tower_service::Service as _;

type Answer = Response<UnsyncBoxBody<Bytes, Infallible>>;
type Rule = Box<dyn FnMut(&Asked) -> Option<(u16, Value)> + Send>;

/// A request as it came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// With its query.
    pub(crate) path: String,
    pub(crate) content_type: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

#[derive(Default)]
struct Notes {
    asked: Mutex<Vec<Asked>>,
    rule: Mutex<Option<Rule>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The cluster; everything ends when it is dropped.
pub(crate) struct World {
    runtime: Runtime,
    server: ApiServer,
    notes: Arc<Notes>,
    folder: tempfile::TempDir,
}

const GROUP: &str = "/apis/argoproj.io/v1alpha1/namespaces/default";

impl World {
    /// A cluster with the CRDs and nothing else.
    pub(crate) fn new() -> Self {
        let world = Self::without_crds();
        for crd in tidegate_install::crds() {
            world.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", &crd);
        }
        world
    }

    pub(crate) fn without_crds() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let server = ApiServer::new(Options::new(Clock::system()));
        let notes = Arc::new(Notes::default());
        let socket = runtime.block_on(TcpListener::bind(("127.0.0.1", 0))).unwrap();
        let address = socket.local_addr().unwrap();
        runtime.spawn(accept(socket, server.clone(), Arc::clone(&notes)));
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "me", "user": {"token": "secret"}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me", "namespace": "default"}}],
        });
        std::fs::write(folder.path().join("config"), kubeconfig.to_string()).unwrap();
        Self { runtime, server, notes, folder }
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("config")
    }

    /// A request that does not pass through the listener.
    pub(crate) fn request(&self, method: &str, path: &str, content_type: &str, body: &Value) -> (u16, Value) {
        let request = Request::builder().method(method).uri(path).header("content-type", content_type);
        let request = request.body(Full::new(Bytes::from(body.to_string()))).unwrap();
        let mut server = self.server.clone();
        self.runtime.block_on(async move {
            let answer = server.call(request).await.unwrap();
            let code = answer.status().as_u16();
            let bytes = answer.into_body().collect().await.unwrap().to_bytes();
            (code, serde_json::from_slice(&bytes).unwrap_or_default())
        })
    }

    /// Creates an object, status and all.
    pub(crate) fn create(&self, collection: &str, object: &Value) -> Value {
        let (code, made) = self.request("POST", collection, "application/json", object);
        assert!(code < 300, "{made}");
        let Some(status) = object.get("status").filter(|_| !collection.contains("customresource")) else {
            return made;
        };
        let path = format!("{collection}/{}", made["metadata"]["name"].as_str().unwrap());
        let patch = json!({"status": status});
        let merge = "application/merge-patch+json";
        match self.request("PATCH", &format!("{path}/status"), merge, &patch) {
            (200, object) => object,
            _ => self.request("PATCH", &path, merge, &patch).1,
        }
    }

    pub(crate) fn rollout(&self, object: &Value) -> Value {
        self.create(&format!("{GROUP}/rollouts"), object)
    }

    pub(crate) fn stored(&self, plural_and_name: &str) -> Value {
        self.request("GET", &format!("{GROUP}/{plural_and_name}"), "application/json", &Value::Null).1
    }

    /// Changes the status of a Rollout, as its controller would.
    pub(crate) fn status(&self, name: &str, status: Value) {
        let path = format!("{GROUP}/rollouts/{name}/status");
        let (code, answer) = self.request("PATCH", &path, "application/merge-patch+json", &json!({"status": status}));
        assert_eq!(code, 200, "{answer}");
    }

    /// Answers what the rule answers, and everything else as it is.
    pub(crate) fn refuse(&self, rule: impl FnMut(&Asked) -> Option<(u16, Value)> + Send + 'static) {
        *locked(&self.notes.rule) = Some(Box::new(rule));
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        locked(&self.notes.asked).clone()
    }

    /// Writes since the last call: method, path below the group and namespace, content type, body.
    pub(crate) fn writes(&self) -> Vec<(String, String, Value)> {
        let mut asked = locked(&self.notes.asked);
        let writes = asked.drain(..).filter(|asked| asked.method != "GET");
        let short = |path: &str| path.strip_prefix(GROUP).unwrap_or(path).trim_start_matches('/').to_owned();
        let form = |asked: &Asked| match asked.content_type.as_str() {
            "application/merge-patch+json" => "MERGE".to_owned(),
            "application/json-patch+json" => "JSON".to_owned(),
            _ => asked.method.clone(),
        };
        writes.map(|asked| (form(&asked), short(&asked.path), asked.body)).collect()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kubectl-argo-rollouts"));
        command.args(arguments).env_clear().env("KUBECONFIG", self.kubeconfig()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the program and compares all it says.
    #[track_caller]
    pub(crate) fn says(&self, arguments: &[&str], code: i32, out: &str, err: &str) {
        let output = self.run(arguments);
        assert_eq!(String::from_utf8_lossy(&output.stderr), err, "{arguments:?}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), out, "{arguments:?}");
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
    }
}

async fn accept(socket: TcpListener, server: ApiServer, notes: Arc<Notes>) {
    while let Ok((stream, _)) = socket.accept().await {
        let (server, notes) = (server.clone(), Arc::clone(&notes));
        let service = service_fn(move |request| answer(request, server.clone(), Arc::clone(&notes)));
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(request: Request<Incoming>, mut server: ApiServer, notes: Arc<Notes>) -> Result<Answer, Infallible> {
    let (parts, body) = request.into_parts();
    let bytes = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let text = |value: &http::HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let asked = Asked {
        method: parts.method.to_string(),
        path: parts.uri.path_and_query().map(ToString::to_string).unwrap_or_default(),
        content_type: parts.headers.get("content-type").map(text).unwrap_or_default(),
        headers: parts.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
    };
    locked(&notes.asked).push(asked.clone());
    let refused = locked(&notes.rule).as_mut().and_then(|rule| rule(&asked));
    match refused {
        // A server that never answers.
        Some((0, _)) => std::future::pending().await,
        Some((code, body)) => {
            let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
            Ok(Response::builder().status(code).header("content-type", "application/json").body(body).unwrap())
        }
        None => {
            let answer = server.call(Request::from_parts(parts, Full::new(bytes))).await.unwrap();
            Ok(answer.map(BodyExt::boxed_unsync))
        }
    }
}

/// A Kubernetes status.
pub(crate) fn status(code: u16, reason: &str, message: &str) -> (u16, Value) {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
        "reason": reason, "code": code,
    });
    (code, body)
}

/// A valid canary Rollout with some steps.
pub(crate) fn canary(name: &str, steps: Value, status: Value) -> Value {
    json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "metadata": {"name": name},
        "spec": {
            "replicas": 2, "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}},
                         "spec": {"containers": [{"name": "main", "image": "demo/web:2"}]}},
            "strategy": {"canary": {"steps": steps}},
        },
        "status": status,
    })
}

/// Two steps: a weight and a pause without end.
pub(crate) fn steps() -> Value {
    json!([{"setWeight": 50}, {"pause": {}}])
}
