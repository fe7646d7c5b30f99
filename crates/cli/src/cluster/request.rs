//! Requests to the API and their answers.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::address::{Resource, Selection};
use super::error::{ApiError, Refusal, cause, credentials};

/// Objects per page of a list.
const PAGE: usize = 500;
/// Pages of a list at most: half a million objects are more than anybody looks at.
const MOST_PAGES: usize = 1000;
/// How often a request that was put off is sent again.
const MOST_ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A whole object.
    Object,
    /// RFC 7396.
    MergePatch,
    /// RFC 6902.
    JsonPatch,
}

impl Form {
    fn content_type(self) -> &'static str {
        match self {
            Self::Object => "application/json",
            Self::MergePatch => "application/merge-patch+json",
            Self::JsonPatch => "application/json-patch+json",
        }
    }
}

/// A cluster and the namespace that was chosen.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) client: Client,
    /// The namespace of objects.
    pub(crate) namespace: String,
    /// The address, for messages.
    pub(crate) url: String,
    /// Who asks, for messages.
    pub(crate) user: String,
    /// How long a request may take.
    pub(crate) timeout: Option<Duration>,
}

/// A page or all of a list.
pub(crate) struct List {
    /// The objects as they came.
    pub(crate) items: Vec<Box<RawValue>>,
    /// The version to watch from.
    pub(crate) version: String,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    metadata: PageMetadata,
    #[serde(default)]
    items: Option<Vec<Box<RawValue>>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PageMetadata {
    resource_version: String,
    #[serde(rename = "continue")]
    next: String,
}

impl Cluster {
    /// The path of an object in the chosen namespace.
    pub(crate) fn path(&self, resource: Resource, name: &str) -> Result<String, ApiError> {
        resource.object(&self.namespace, name).map_err(ApiError::Name)
    }

    /// Reads an object.
    pub(crate) async fn get<T: DeserializeOwned>(&self, resource: Resource, name: &str) -> Result<T, ApiError> {
        let path = self.path(resource, name)?;
        let text = self.text(Method::GET, &path, None).await?;
        read_object(&text, &format!("{} {name:?}", resource.singular))
    }

    /// Reads what is at a path.
    pub(crate) async fn at<T: DeserializeOwned>(&self, path: &str, what: &str) -> Result<T, ApiError> {
        read_object(&self.text(Method::GET, path, None).await?, what)
    }

    /// Reads all objects of a selection, page by page.
    pub(crate) async fn list(
        &self,
        resource: Resource,
        namespace: Option<&str>,
        selection: &Selection,
    ) -> Result<List, ApiError> {
        let base = format!("{}?limit={PAGE}{}", resource.collection(namespace), selection.query());
        let mut list = List { items: Vec::new(), version: String::new() };
        let mut next = String::new();
        for _ in 0..MOST_PAGES {
            let path = if next.is_empty() {
                base.clone()
            } else {
                format!("{base}&continue={}", super::address::escaped(&next))
            };
            let page: Page = read_object(&self.text(Method::GET, &path, None).await?, resource.plural)?;
            list.items.extend(page.items.unwrap_or_default());
            list.version = page.metadata.resource_version;
            next = page.metadata.next;
            if next.is_empty() {
                break;
            }
        }
        Ok(list)
    }

    /// All objects of a selection in the chosen namespace, read; what cannot be read is left out.
    pub(crate) async fn objects<T: DeserializeOwned>(
        &self,
        resource: Resource,
        selection: &Selection,
    ) -> Result<Vec<T>, ApiError> {
        let list = self.list(resource, Some(&self.namespace), selection).await?;
        Ok(list.items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()).collect())
    }

    /// Sends a change and returns the object as it is now.
    pub(crate) async fn change(&self, method: Method, path: &str, form: Form, body: &Value) -> Result<Value, ApiError> {
        let text = self.text(method, path, Some((form, body.to_string()))).await?;
        read_object(&text, "the answer")
    }

    pub(crate) async fn merge(&self, path: &str, body: &Value) -> Result<Value, ApiError> {
        self.change(Method::PATCH, path, Form::MergePatch, body).await
    }

    /// Patches the status; objects of CRDs without that subresource are patched as a whole.
    pub(crate) async fn merge_status(&self, path: &str, body: &Value) -> Result<Value, ApiError> {
        match self.merge(&format!("{path}/status"), body).await {
            Err(error) if error.is_not_found() => self.merge(path, body).await,
            other => other,
        }
    }

    async fn text(&self, method: Method, path: &str, body: Option<(Form, String)>) -> Result<String, ApiError> {
        let mut pause = FIRST_PAUSE;
        let mut attempt = 1;
        loop {
            match self.once(&method, path, body.as_ref()).await {
                Err(error) if error.is_passing() && attempt < MOST_ATTEMPTS => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    attempt += 1;
                }
                other => return other,
            }
        }
    }

    async fn once(&self, method: &Method, path: &str, body: Option<&(Form, String)>) -> Result<String, ApiError> {
        let mut request = Request::builder().method(method).uri(path);
        if let Some((form, _)) = body {
            request = request.header(http::header::CONTENT_TYPE, form.content_type());
        }
        let bytes = body.map(|(_, text)| text.clone().into_bytes()).unwrap_or_default();
        let request = request.body(bytes).map_err(|error| ApiError::Name(format!("{path}: {error}")))?;
        let answer = self.client.request_text(request);
        let answer = match self.timeout {
            None => answer.await,
            Some(limit) => tokio::time::timeout(limit, answer).await.map_err(|_| ApiError::Late {
                method: named(method),
                url: format!("{}{path}", self.url),
                limit,
            })?,
        };
        answer.map_err(|error| self.failure(method, path, error))
    }

    pub(crate) fn failure(&self, method: &Method, path: &str, error: kube::Error) -> ApiError {
        match error {
            kube::Error::Api(status) => {
                let path = path.split('?').next().unwrap_or_default();
                ApiError::Refused(Refusal::new(&status, format!("{method} {path}")))
            }
            other => {
                if let Some(cause) = credentials(&other) {
                    return ApiError::Credentials { user: self.user.clone(), cause };
                }
                let authority = self.url.split("://").last().unwrap_or_default().trim_end_matches('/');
                ApiError::Unreachable {
                    method: named(method),
                    url: format!("{}{path}", self.url),
                    cause: cause(&other, authority),
                }
            }
        }
    }
}

/// A method as other clients write it in messages.
pub(crate) fn named(method: &Method) -> &'static str {
    match method.as_str() {
        "PATCH" => "Patch",
        "POST" => "Post",
        "PUT" => "Put",
        _ => "Get",
    }
}

/// Reads an answer, or says what cannot be read and why.
pub(crate) fn read_object<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, ApiError> {
    serde_json::from_str(text)
        .map_err(|error| ApiError::Unreadable { what: what.to_owned(), problem: error.to_string() })
}
