//! Requests that make no sense, each in its own way.

use serde_json::json;

use super::Maker;
use crate::bodies::valid;
use crate::sequence::{Body, Request};

impl Maker {
    pub(super) fn odd(&mut self) -> Request {
        let (kind, name) = self.target();
        let body = valid(&mut self.random, kind, name);
        let group = kind.collection().split("/namespaces").next().unwrap_or_default().to_owned();
        let post = |topic: &str| Request::new(topic, "POST", kind.collection()).about(kind.resource);
        let request = |topic: &str, method, path: String| Request::new(topic, method, path).about(kind.resource);
        match self.random.below(29) {
            0 => post("odd/malformed").body(Body::Text("{\"metadata\": ".to_owned())),
            1 => post("odd/not-json").body(Body::Text("hello".to_owned())),
            2 => post("odd/array").body(Body::Text("[]".to_owned())),
            3 => post("odd/null").body(Body::Text("null".to_owned())),
            4 => post("odd/empty-body").body(Body::None),
            5 => post("odd/empty-object").json(json!({})),
            6 => post("odd/content-type").json(body).header("content-type", "text/plain"),
            7 => post("odd/content-type").json(body).header("content-type", "nonsense"),
            8 => request("odd/accept", "GET", kind.object(name)).header("accept", "text/html"),
            9 => request("odd/namespace", "GET", kind.object(name).replace("${ns}", "no-such-namespace")),
            10 => request("odd/namespace", "POST", kind.collection().replace("${ns}", "no-such-namespace")).json(body),
            11 => request("odd/namespace", "GET", kind.collection().replace("${ns}", "no-such-namespace")),
            12 => request("odd/resource", "GET", format!("{group}/namespaces/${{ns}}/nothings")),
            13 => request("odd/resource", "POST", format!("{group}/namespaces/${{ns}}/nothings")).json(body),
            14 => request("odd/group", "GET", "/apis/no.such.group/v1/namespaces/${ns}/things".to_owned()),
            15 => request("odd/version", "GET", kind.collection().replace(&format!("/{}/", kind.version), "/v9/")),
            16 => request("odd/subresource", "GET", format!("{}/nothing", kind.object(name))),
            17 => request("odd/subresource", "PUT", format!("{}/nothing", kind.object(name))).json(body),
            18 => request("odd/verb", "POST", kind.object(name)).json(body),
            19 => request("odd/verb", "PUT", kind.collection()).json(body),
            20 => request("odd/verb", "PATCH", kind.collection())
                .header("content-type", "application/merge-patch+json")
                .json(json!({})),
            21 => request("odd/verb", "DELETE", format!("{}/status", kind.object(name))),
            22 => post("odd/dry-run").json(body).query("dryRun", "Some"),
            23 => post("odd/validation").json(body).query("fieldValidation", "Sometimes"),
            24 => post("odd/manager").json(body).query("fieldManager", "m".repeat(200)),
            25 => request("odd/path", "GET", "/nothing/here".to_owned()),
            26 => request("odd/path", "GET", format!("{}/{name}/status/more", kind.collection())),
            27 => request("odd/path", "GET", format!("{group}/namespaces/${{ns}}//{}", kind.resource)),
            _ => post("odd/duplicate-field").body(Body::Text(format!(
                "{{\"apiVersion\": \"{}\", \"kind\": \"{}\", \"metadata\": {{\"name\": \"a\", \"name\": \"b\"}}}}",
                kind.api_version(),
                kind.kind
            ))),
        }
    }
}
