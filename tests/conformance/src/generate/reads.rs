//! Getting, listing and watching.

use super::Maker;
use crate::kinds::Kind;
use crate::sequence::Request;

/// What `PartialObjectMetadata` is asked for with.
const METADATA_ONLY: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

const LABELS: [&str; 9] =
    ["app=x", "app!=x", "app in (x,y)", "app notin (x)", "tier", "!tier", "app=x,tier=front", "app==y", ""];
const BAD_LABELS: [&str; 5] = ["app in x", "=x", "app=not a value", "a=b=c", "app in ()"];
const BAD_FIELDS: [&str; 4] = ["spec.nothing=1", "metadata.labels.app=x", "metadata.name", "a=b=c"];

impl Maker {
    pub(super) fn get(&mut self) -> Request {
        let (kind, name) = self.target();
        let get = |topic: &str, path: String| Request::new(topic, "GET", path).about(kind.resource);
        match self.random.below(12) {
            0 if kind.status => get("get/status", format!("{}/status", kind.object(name))),
            1 if kind.scale => get("get/scale", format!("{}/scale", kind.object(name))),
            2 => get("get/metadata-only", kind.object(name)).header("accept", METADATA_ONLY),
            3 => get("get/generated", kind.object(&format!("${{generated {}}}", kind.resource))),
            4 => {
                let version = format!("${{list-rv {}}}", kind.resource);
                self.after_a_list(kind, get("get/not-older", kind.object(name)).query("resourceVersion", version))
            }
            _ => get("get", kind.object(name)),
        }
    }

    pub(super) fn list(&mut self) -> Request {
        let (kind, name) = self.target();
        let list = |topic: &str| Request::new(topic, "GET", kind.collection()).about(kind.resource);
        match self.random.below(13) {
            0 | 1 => list("list"),
            2 | 3 => list("list/labels").query("labelSelector", *self.random.pick(&LABELS)),
            4 | 5 => list("list/fields").query("fieldSelector", self.field_selector(kind, name)),
            6 => list("list/limit").query("limit", *self.random.pick(&["1", "2", "100"])),
            7 => {
                list("list/continue").query("limit", "1").query("continue", format!("${{continue {}}}", kind.resource))
            }
            8 => list("list/metadata-only").header("accept", METADATA_LIST),
            9 => self.odd_list(kind),
            10 => {
                let request =
                    list("list/not-older").query("resourceVersion", format!("${{list-rv {}}}", kind.resource));
                self.after_a_list(kind, request.query("resourceVersionMatch", "NotOlderThan"))
            }
            11 => list("list/both-selectors")
                .query("labelSelector", *self.random.pick(&LABELS))
                .query("fieldSelector", format!("metadata.name={name}")),
            _ => list("list/limit-labels").query("limit", "1").query("labelSelector", *self.random.pick(&LABELS)),
        }
    }

    /// A list is always up to date and brings the server's cache there; what asks for "at least that version" directly
    /// afterwards has only one right answer.
    fn after_a_list(&mut self, kind: Kind, request: Request) -> Request {
        self.pending.push(request);
        Request::new("list", "GET", kind.collection()).about(kind.resource)
    }

    fn odd_list(&mut self, kind: Kind) -> Request {
        let list = |topic: &str| Request::new(topic, "GET", kind.collection()).about(kind.resource);
        match self.random.below(9) {
            0 => list("list/bad/labels").query("labelSelector", *self.random.pick(&BAD_LABELS)),
            1 => list("list/bad/fields").query("fieldSelector", *self.random.pick(&BAD_FIELDS)),
            2 => list("list/bad/continue").query("limit", "1").query("continue", "nonsense"),
            3 => list("list/bad/limit").query("limit", "many"),
            4 => list("list/bad/version").query("resourceVersion", "nonsense"),
            5 => list("list/bad/match").query("resourceVersionMatch", "NotOlderThan"),
            6 => list("list/bad/match").query("resourceVersion", "1").query("resourceVersionMatch", "Sometimes"),
            7 => list("list/bad/match-limit").query("resourceVersion", "0").query("resourceVersionMatch", "Exact"),
            _ => list("list/bad/initial-events").query("sendInitialEvents", "true"),
        }
    }

    fn field_selector(&mut self, kind: Kind, name: &str) -> String {
        let own: &[&str] = match kind.resource {
            "pods" => &[
                "spec.nodeName=elsewhere",
                "status.phase=Pending",
                "spec.schedulerName=none",
                "status.phase!=Running",
                "spec.restartPolicy=Always",
            ],
            "secrets" => &["type=Opaque", "type=kubernetes.io/basic-auth"],
            "events" => &["involvedObject.name=a", "reason=Started", "type=Normal,involvedObject.kind=Pod"],
            "replicasets" => &["status.replicas=0"],
            "jobs" => &["status.successful=0"],
            _ => &[],
        };
        match self.random.below(4) {
            0 => format!("metadata.name={name}"),
            1 => format!("metadata.name!={name}"),
            2 => "metadata.namespace=${ns}".to_owned(),
            _ if own.is_empty() => format!("metadata.name={name},metadata.namespace=${{ns}}"),
            _ => (*self.random.pick(own)).to_owned(),
        }
    }

    /// A watch on an empty namespace: from now, from any version, or with initial events.
    pub(super) fn first_watch(&mut self) -> Request {
        let kind = self.kind();
        let mut request = Request::new("watch", "GET", kind.collection()).about(kind.resource).watching();
        match self.random.below(4) {
            0 => request = request.query("resourceVersion", "0"),
            1 => request = initial_events(request, ""),
            _ => {}
        }
        self.selected(request)
    }

    /// A watch in the middle, from a version seen before: events since then come first.
    pub(super) fn watch_from_here(&mut self) -> Request {
        let (kind, name) = self.target();
        let request = Request::new("watch", "GET", kind.collection()).about(kind.resource).watching();
        let version = format!("${{rv {}/{name}}}", kind.resource);
        match self.random.below(8) {
            0 => {
                let request = initial_events(request, &format!("${{list-rv {}}}", kind.resource));
                let request = self.selected(request);
                self.after_a_list(kind, request)
            }
            1 => self.odd_watch(kind),
            2 => self.selected(request.query("resourceVersion", format!("${{list-rv {}}}", kind.resource))),
            3 => self.selected(request.query("resourceVersion", version).query("allowWatchBookmarks", "true")),
            4 => self.selected(request.query("resourceVersion", version).header("accept", METADATA_ONLY)),
            _ => self.selected(request.query("resourceVersion", version)),
        }
    }

    fn odd_watch(&mut self, kind: Kind) -> Request {
        let watch = |topic: &str| Request::new(topic, "GET", kind.collection()).about(kind.resource).watching();
        match self.random.below(5) {
            0 => watch("watch/bad/version").query("resourceVersion", "nonsense"),
            1 => watch("watch/bad/labels").query("labelSelector", "app in x"),
            2 => watch("watch/bad/initial-events").query("sendInitialEvents", "true"),
            3 => watch("watch/bad/match").query("resourceVersionMatch", "NotOlderThan").query("resourceVersion", "1"),
            _ => watch("watch/bad/fields").query("fieldSelector", "spec.nothing=1"),
        }
    }

    fn selected(&mut self, mut request: Request) -> Request {
        match self.random.below(6) {
            0 | 1 => {
                request.topic.push_str("/labels");
                request.query("labelSelector", *self.random.pick(&["app=x", "app!=x", "tier", "app in (x,y)"]))
            }
            2 => {
                request.topic.push_str("/fields");
                request.query("fieldSelector", "metadata.name=a")
            }
            _ => request,
        }
    }
}

/// A streaming list: what exists, a bookmark that says so, and then what happens.
pub(super) fn initial_events(mut request: Request, version: &str) -> Request {
    request.topic.push_str("/initial-events");
    request
        .query("sendInitialEvents", "true")
        .query("resourceVersionMatch", "NotOlderThan")
        .query("resourceVersion", version)
        .query("allowWatchBookmarks", "true")
}
