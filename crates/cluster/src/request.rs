//! Requests to the API and their answers.

use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::address::{Resource, Selection};
use crate::error::{ApiError, Refusal, cause, credentials};

/// Objects per page of a list: while one is read here, the server makes the next.
const PAGE: usize = 250;
/// Pages of a list at most: half a million objects are more than anybody looks at.
const MOST_PAGES: usize = 2000;
/// How often others get to work until a request has been written.
const SENT_WITHIN: usize = 4;
/// How often a request that was put off is sent again.
const MOST_ATTEMPTS: u32 = 4;
const FIRST_PAUSE: Duration = Duration::from_millis(200);

/// The form of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
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
pub struct Cluster {
    /// How it is asked.
    pub client: Client,
    /// The namespace of objects.
    pub namespace: String,
    /// The address, for messages.
    pub url: String,
    /// Who asks, for messages.
    pub user: String,
    /// How long a request may take.
    pub timeout: Option<Duration>,
}

/// A page or all of a list.
pub struct List {
    /// The objects as they came.
    pub items: Vec<Box<RawValue>>,
    /// The version to watch from.
    pub version: String,
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
    pub fn path(&self, resource: Resource, name: &str) -> Result<String, ApiError> {
        resource.object(&self.namespace, name).map_err(ApiError::Name)
    }

    /// Reads an object.
    pub async fn get<T: DeserializeOwned>(&self, resource: Resource, name: &str) -> Result<T, ApiError> {
        let path = self.path(resource, name)?;
        let text = self.text(Method::GET, &path, None).await?;
        read_object(&text, &format!("{} {name:?}", resource.singular))
    }

    /// Reads what is at a path.
    pub async fn at<T: DeserializeOwned>(&self, path: &str, what: &str) -> Result<T, ApiError> {
        read_object(&self.text(Method::GET, path, None).await?, what)
    }

    /// Reads all objects of a selection.
    pub async fn list(
        &self,
        resource: Resource,
        namespace: Option<&str>,
        selection: &Selection,
    ) -> Result<List, ApiError> {
        let mut items = Vec::new();
        let version = self.list_each(resource, namespace, selection, |item| items.push(item)).await?;
        Ok(List { items, version })
    }

    /// Reads all objects of a selection, page by page, and hands them over one by one; returns the version of the list.
    pub async fn list_each(
        &self,
        resource: Resource,
        namespace: Option<&str>,
        selection: &Selection,
        mut each: impl FnMut(Box<RawValue>),
    ) -> Result<String, ApiError> {
        let base = format!("{}?limit={PAGE}{}", resource.collection(namespace), selection.query());
        let mut text = self.text(Method::GET, &base, None).await?;
        for _ in 1..MOST_PAGES {
            let page: Page = read_object(&text, resource.plural)?;
            drop(std::mem::take(&mut text));
            let PageMetadata { resource_version, next } = page.metadata;
            let items = page.items.unwrap_or_default();
            if next.is_empty() {
                items.into_iter().for_each(&mut each);
                return Ok(resource_version);
            }
            let path = format!("{base}&continue={}", crate::address::escaped(&next));
            let meanwhile = async {
                // The request is on its way before the work begins.
                for _ in 0..SENT_WITHIN {
                    tokio::task::yield_now().await;
                }
                items.into_iter().for_each(&mut each);
            };
            let (read, ()) = futures::join!(self.text(Method::GET, &path, None), meanwhile);
            text = read?;
        }
        Err(ApiError::Unreadable { what: resource.plural.to_owned(), problem: "the list has no end".to_owned() })
    }

    /// All objects of a selection in the chosen namespace, read; what cannot be read is left out.
    pub async fn objects<T: DeserializeOwned>(
        &self,
        resource: Resource,
        selection: &Selection,
    ) -> Result<Vec<T>, ApiError> {
        let list = self.list(resource, Some(&self.namespace), selection).await?;
        Ok(list.items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()).collect())
    }

    /// Sends a change and returns the object as it is now.
    pub async fn change(&self, method: Method, path: &str, form: Form, body: &Value) -> Result<Value, ApiError> {
        let text = self.text(method, path, Some((form, body.to_string()))).await?;
        read_object(&text, "the answer")
    }

    /// Sends a merge patch and returns the object as it is now.
    pub async fn merge(&self, path: &str, body: &Value) -> Result<Value, ApiError> {
        self.change(Method::PATCH, path, Form::MergePatch, body).await
    }

    /// Patches the status; objects of CRDs without that subresource are patched as a whole.
    pub async fn merge_status(&self, path: &str, body: &Value) -> Result<Value, ApiError> {
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
pub fn read_object<T: DeserializeOwned>(text: &str, what: &str) -> Result<T, ApiError> {
    serde_json::from_str(text)
        .map_err(|error| ApiError::Unreadable { what: what.to_owned(), problem: error.to_string() })
}
