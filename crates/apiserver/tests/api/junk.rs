//! Bad input: every refusal is a 4xx `Status`, nothing is stored, nothing falls over.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tidegate_apiserver::ApiServer;
use tower_service::Service;

use crate::support::{MAPS, PODS, get, make, raw_bytes, server};

#[tokio::test]
async fn bodies_that_make_no_sense_are_refused_with_a_status() {
    let server = server();
    let cases: [(&str, &str, &str, &str, u16); 12] = [
        ("POST", MAPS, "{", "application/json", 400),
        ("POST", MAPS, "", "application/json", 400),
        ("POST", MAPS, "[]", "application/json", 400),
        ("POST", MAPS, "null", "application/json", 422),
        ("POST", MAPS, "{\"metadata\": 3}", "application/json", 400),
        ("POST", MAPS, "{\"kind\": \"Pod\", \"apiVersion\": \"v1\"}", "application/json", 400),
        ("POST", MAPS, "\u{0}\u{1}\u{2}", "application/json", 400),
        ("POST", MAPS, "a=b", "application/x-www-form-urlencoded", 415),
        ("PATCH", "/api/v1/namespaces/default/configmaps/a", "{}", "text/plain", 415),
        ("PATCH", "/api/v1/namespaces/default/configmaps/a", "{", "application/merge-patch+json", 400),
        ("POST", "/apis/nope.example/v1/things", "{}", "application/json", 404),
        ("POST", "/api/v1/namespaces/default/nonsense", "{}", "application/json", 404),
    ];
    make(&server, MAPS, json!({"metadata": {"name": "a"}})).await;
    let before = server.revision();
    for (method, path, body, content_type, code) in cases {
        let (found, answer) = raw_bytes(&server, method, path, Bytes::from(body.to_owned()), content_type).await;
        assert_eq!(found, code, "{method} {path} {body:?}: {answer}");
        check_refusal(found, &answer);
    }
    assert_eq!(server.revision(), before);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_413_and_a_deep_one_is_no_harm() {
    let server = server();
    let large = format!("{{\"metadata\":{{\"name\":\"a\"}},\"data\":{{\"k\":\"{}\"}}}}", "v".repeat(4 * 1024 * 1024));
    let (code, answer) = raw_bytes(&server, "POST", MAPS, Bytes::from(large), "application/json").await;
    assert_eq!((code, answer["reason"].as_str()), (413, Some("RequestEntityTooLarge")));

    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let (code, answer) = raw_bytes(&server, "POST", MAPS, Bytes::from(deep), "application/json").await;
    assert_eq!(code, 400, "{answer}");
}

#[tokio::test]
async fn selectors_and_queries_that_make_no_sense_are_refused() {
    let server = server();
    for query in [
        "labelSelector=a%20in",
        "labelSelector=%3D%3D",
        "labelSelector=a%3Db%2C%2C",
        "fieldSelector=spec.nope%3Dx",
        "fieldSelector=metadata.name",
        "limit=many",
        "resourceVersion=old",
        "continue=%21%21",
        "continue=bm90IGpzb24",
        "watch=1&timeoutSeconds=soon",
        "resourceVersionMatch=Perhaps&resourceVersion=1",
        "labelSelector=%zz",
    ] {
        let (code, answer) = get(&server, &format!("{PODS}?{query}")).await;
        assert!((400..500).contains(&code), "{query}: {code} {answer}");
        check_refusal(code, &answer);
    }
}

/// A refusal is a `Status` with its own code; pages that are not there answer with plain text, as the real server does.
fn check_refusal(code: u16, answer: &Value) {
    if code == 404 && answer.as_str() == Some("404 page not found\n") {
        return;
    }
    assert_eq!(answer["kind"], "Status", "{answer}");
    assert_eq!(
        (answer["status"].as_str(), answer["code"].as_u64()),
        (Some("Failure"), Some(u64::from(code))),
        "{answer}"
    );
}

/// Numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn pick<'a>(&mut self, things: &[&'a str]) -> &'a str {
        things[self.below(things.len())]
    }
}

const METHODS: [&str; 9] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"];
const WORDS: [&str; 34] = [
    "api",
    "apis",
    "v1",
    "namespaces",
    "default",
    "pods",
    "configmaps",
    "a",
    "status",
    "scale",
    "eviction",
    "binding",
    "apps",
    "deployments",
    "policy",
    "poddisruptionbudgets",
    "batch",
    "jobs",
    "..",
    ".",
    "",
    "%2e%2e",
    "%2F",
    "%00",
    "%zz",
    "%",
    "~",
    "A",
    "x.y",
    "-",
    "%F0%9F%8C%8A",
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    "finalize",
];
const QUERIES: [&str; 16] = [
    "watch=0",
    "limit=-1",
    "limit=99999999999999999999",
    "labelSelector=a%3Db",
    "labelSelector=(((",
    "dryRun=All",
    "dryRun=Some",
    "fieldManager=%00",
    "continue=e30",
    "resourceVersion=-1",
    "pretty",
    "&&&",
    "=",
    "a=%",
    "propagationPolicy=Sideways",
    "gracePeriodSeconds=x",
];
const TYPES: [&str; 8] = [
    "application/json",
    "application/merge-patch+json",
    "application/json-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "application/vnd.kubernetes.protobuf",
    "",
    ";;;",
];

/// Something between an object and noise.
fn body(dice: &mut Dice) -> Vec<u8> {
    let seeds: [&str; 10] = [
        r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}"#,
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"containers":[{"name":"c","image":"i"}]}}"#,
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"},"spec":{"replicas":1,"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}"#,
        r#"[{"op":"replace","path":"/data/k","value":1},{"op":"test","path":"/~2","value":{}}]"#,
        r#"{"metadata":{"ownerReferences":[{"uid":"x"}],"finalizers":["a/b"],"labels":{"a":1}}}"#,
        r#"{"spec":{"replicas":-1,"template":null},"status":{"conditions":"x"}}"#,
        r#"{"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"a"},"deleteOptions":{"gracePeriodSeconds":-5}}"#,
        r#"{"kind":"DeleteOptions","apiVersion":"v1","preconditions":{"uid":"x"},"propagationPolicy":1}"#,
        r#"{"$patch":"delete","$setElementOrder/containers":[1],"$deleteFromPrimitiveList/x":{}}"#,
        r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"a.b"},"spec":{"group":"b","names":{"plural":"a","kind":"A"},"scope":"Namespaced","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":7}}}]}}"#,
    ];
    let mut bytes = seeds[dice.below(seeds.len())].as_bytes().to_vec();
    for _ in 0..dice.below(6) {
        let at = dice.below(bytes.len().max(1));
        match dice.below(5) {
            0 if !bytes.is_empty() => bytes[at] = u8::try_from(dice.below(256)).unwrap(),
            1 => bytes.truncate(at),
            2 => bytes.insert(at.min(bytes.len()), b"{}[]\":,0-e\\"[dice.below(11)]),
            3 => {
                let copy = bytes[at.min(bytes.len())..].to_vec();
                bytes.extend(copy);
            }
            _ => {}
        }
    }
    bytes.truncate(20_000);
    bytes
}

async fn send(server: &ApiServer, dice: &mut Dice) -> Option<(String, u16, Value)> {
    let method = dice.pick(&METHODS);
    let mut path = String::new();
    let well_formed = dice.below(2) == 0;
    if well_formed {
        let place = ["/api/v1/namespaces/default/", "/apis/apps/v1/namespaces/default/", "/apis/", "/api/v1/"];
        path.push_str(place[dice.below(place.len())]);
        path.push_str(dice.pick(&WORDS));
    }
    for _ in 0..dice.below(5) {
        path.push('/');
        path.push_str(dice.pick(&WORDS));
    }
    for index in 0..dice.below(3) {
        path.push(if index == 0 { '?' } else { '&' });
        path.push_str(dice.pick(&QUERIES));
    }
    let path = if path.starts_with('/') { path } else { format!("/{path}") };
    let request = Request::builder().method(method).uri(&path).header("content-type", dice.pick(&TYPES));
    let request = request.body(Full::new(Bytes::from(body(dice)))).ok()?;
    let response = server.clone().call(request).await.unwrap();
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let value = serde_json::from_slice(&bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(&bytes)));
    Some((format!("{method} {path}"), code, value))
}

#[tokio::test]
async fn thousands_of_requests_that_make_no_sense_do_no_harm() {
    let server = server();
    make(&server, MAPS, json!({"metadata": {"name": "a"}})).await;
    let mut dice = Dice(7);
    let (mut refused, mut accepted) = (0, 0);
    for _ in 0..6000 {
        let before = server.revision();
        let Some((what, code, answer)) = send(&server, &mut dice).await else { continue };
        if code < 400 {
            accepted += 1;
            continue;
        }
        refused += 1;
        // 504 is what the real server says to versions from the future.
        assert!(code < 500 || code == 504, "{what}: {code} {answer}");
        assert_eq!(server.revision(), before, "{what} was refused and yet did something: {answer}");
        if !what.starts_with("HEAD") {
            check_refusal(code, &answer);
        }
    }
    assert!(refused > 3000 && accepted > 100, "{refused} refused, {accepted} accepted");
    assert_eq!(get(&server, "/readyz").await.0, 200);
}
