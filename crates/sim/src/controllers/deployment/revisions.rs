//! The ReplicaSet of the current template, revision numbers, and the history limit.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};

use super::{POD_TEMPLATE_HASH, REVISION, View, Write, annotation, asked, created, name};

/// Annotation with earlier revisions of a ReplicaSet.
const REVISION_HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DEFAULT_HISTORY_LIMIT: i32 = 10;

/// A name for the pod template. The value differs from the real controller's; that it tells templates apart is all
/// that anybody relies on.
pub fn template_hash(deployment: &Deployment) -> String {
    let text = serde_json::to_string(&deployment.spec.template).unwrap_or_default();
    let sum = text.bytes().fold(2_166_136_261_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(16_777_619));
    sum.to_string().bytes().map(|digit| char::from(b"bcdfghjklm"[usize::from(digit - b'0')])).collect()
}

fn revision(set: &ReplicaSet) -> i64 {
    annotation(set, REVISION).and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Creates the ReplicaSet of the current template or numbers it, and numbers the Deployment.
pub(super) fn sync(view: &View<'_>, hash: &str) -> Vec<Write> {
    let next = view.old().map(revision).max().unwrap_or(0) + 1;
    let Some(new) = view.new else {
        let create = Write::CreateSet(Box::new(new_set(view, hash, next)));
        return std::iter::once(create).chain(annotate(view, next)).collect();
    };
    let mut writes = Vec::new();
    if revision(new) < next {
        let mut annotations = view.size_annotations();
        annotations.insert(REVISION.to_owned(), next.to_string());
        let history = annotation(new, REVISION_HISTORY).map(|earlier| format!("{earlier},")).unwrap_or_default();
        annotations.insert(REVISION_HISTORY.to_owned(), format!("{history}{}", revision(new)));
        writes.push(Write::UpdateSet { name: name(new).to_owned(), replicas: asked(new), annotations });
    }
    writes.extend(annotate(view, revision(new).max(next)));
    writes
}

fn annotate(view: &View<'_>, revision: i64) -> Option<Write> {
    let wanted = revision.to_string();
    let found = view.deployment.metadata.annotations.as_ref().and_then(|all| all.get(REVISION));
    (found != Some(&wanted)).then(|| Write::Annotate(BTreeMap::from([(REVISION.to_owned(), wanted)])))
}

fn new_set(view: &View<'_>, hash: &str, revision: i64) -> ReplicaSet {
    let deployment = view.deployment;
    let mut template = deployment.spec.template.clone();
    let labelled = template.metadata.get_or_insert_with(ObjectMeta::default);
    labelled.labels.get_or_insert_default().insert(POD_TEMPLATE_HASH.to_owned(), hash.to_owned());
    let mut selector: LabelSelector = deployment.spec.selector.clone();
    selector.match_labels.get_or_insert_default().insert(POD_TEMPLATE_HASH.to_owned(), hash.to_owned());
    let mut annotations = view.size_annotations();
    annotations.insert(REVISION.to_owned(), revision.to_string());
    let owner = OwnerReference {
        api_version: "apps/v1".to_owned(),
        kind: "Deployment".to_owned(),
        name: deployment.metadata.name.clone().unwrap_or_default(),
        uid: deployment.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    };
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", owner.name)),
            namespace: deployment.metadata.namespace.clone(),
            labels: template.metadata.as_ref().and_then(|metadata| metadata.labels.clone()),
            annotations: Some(annotations),
            owner_references: Some(vec![owner]),
            ..ObjectMeta::default()
        },
        spec: ReplicaSetSpec {
            replicas: Some(view.new_replicas(0)),
            min_ready_seconds: deployment.spec.min_ready_seconds,
            selector,
            template: Some(template),
        },
        status: None,
    }
}

/// Old ReplicaSets beyond the history limit that have no pods left, oldest first.
pub(super) fn expired(view: &View<'_>) -> Vec<Write> {
    let complete = view.new.is_some_and(|new| {
        super::available(new) == view.replicas()
            && asked(new) == view.replicas()
            && view.old().all(|set| asked(set) == 0)
    });
    if !complete {
        return Vec::new();
    }
    let mut old: Vec<&ReplicaSet> = view.old().collect();
    old.sort_by_key(|set| (created(set), name(set).to_owned()));
    let limit = view.deployment.spec.revision_history_limit.unwrap_or(DEFAULT_HISTORY_LIMIT);
    let surplus = old.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
    let is_empty = |set: &&ReplicaSet| set.status.as_ref().is_none_or(|status| status.replicas == 0);
    old.into_iter().take(surplus).filter(is_empty).map(|set| Write::DeleteSet(name(set).to_owned())).collect()
}
