//! `verify`: what a takeover would change, before anybody takes over. Only get and list are asked of the API.

use std::collections::BTreeMap;

use futures::{StreamExt as _, TryStreamExt as _};
use serde::Deserialize;
use serde_json::{Value, json};
use tidegate_api::ObjectMeta;
use tidegate_api::analysis::AnalysisTemplateSpec;
use tidegate_api::kind::Kind as _;
use tidegate_api::rollout::Rollout;
use tidegate_api::wire::{Items, Text};
use tidegate_view::{Takeover, aligned, takeover};

use super::Session;
use super::printed::json as printed;
use crate::Outcome;
use crate::arguments::{AnswerForm, Verify};
use crate::cluster::{
    self, ANALYSIS_TEMPLATES, CLUSTER_ANALYSIS_TEMPLATES, Cluster, DEPLOYMENTS, ROLLOUTS, Resource, Selection,
};
use crate::failure::Failure;

/// Rollouts that are looked at at once.
const AT_ONCE: usize = 8;
/// How controllers are labelled, by every way to install them.
const CONTROLLERS: &str = "app.kubernetes.io/name=argo-rollouts,app.kubernetes.io/component=rollouts-controller";
const DIFFERENT: Outcome = Outcome::Other(2);

/// A Rollout and what would happen to it.
struct Finding {
    namespace: String,
    name: String,
    takeover: Takeover,
    /// A field that is not known here, in words.
    newer: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    #[serde(default)]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: Value,
}

pub(crate) async fn run(session: &mut Session<'_, '_>, asked: &Verify) -> Result<Outcome, Failure> {
    let scope = (!asked.all_namespaces).then(|| session.cluster.namespace.clone());
    let version: Value = session.cluster.at("/version", "the version of the server").await?;
    let found = findings(session, scope.as_deref()).await?;
    let lacking = lacking(&session.cluster, scope.as_deref(), &found).await?;
    let controllers = controllers(&session.cluster).await;
    let count = |word: &str| found.iter().filter(|one| one.takeover.word() == word).count();
    let counts = ["same", "would-write", "unsupported"].map(|word| (word, count(word)));
    let server = version["gitVersion"].as_str().unwrap_or("unknown");
    let text = match asked.output {
        AnswerForm::Json => printed(&json!({
            "kubernetes": server,
            "controllers": controllers,
            "rollouts": found.iter().map(Finding::json).collect::<Vec<_>>(),
            "unsupported": lacking,
            "counts": counts.iter().map(|(word, count)| ((*word).to_owned(), json!(count))).collect::<serde_json::Map<_, _>>(),
        }))?,
        AnswerForm::Text => text(server, &controllers, &found, &lacking, counts),
    };
    session.streams.out.write_all(text.as_bytes())?;
    let is_same = lacking.is_empty() && found.iter().all(|one| one.takeover == Takeover::Same && one.newer.is_none());
    Ok(if is_same { Outcome::Success } else { DIFFERENT })
}

impl Finding {
    fn why(&self) -> Vec<String> {
        self.takeover.details().iter().chain(&self.newer).cloned().collect()
    }

    fn json(&self) -> Value {
        json!({"namespace": self.namespace, "name": self.name, "verdict": self.takeover.word(), "why": self.why()})
    }

    fn cells(&self) -> [String; 4] {
        [self.namespace.clone(), self.name.clone(), self.takeover.word().to_owned(), self.why().join("; ")]
    }
}

/// Every Rollout, in the order of the list.
async fn findings(session: &mut Session<'_, '_>, scope: Option<&str>) -> Result<Vec<Finding>, Failure> {
    let (cluster, clock) = (&session.cluster, session.clock);
    let list = cluster.list(ROLLOUTS, scope, &Selection::default()).await?;
    let all: Vec<Named> = list.items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()).collect();
    let total = all.len();
    let places =
        all.into_iter().map(|one| (one.metadata.namespace.text().to_owned(), one.metadata.name.text().to_owned()));
    let look = |(namespace, name): (String, String)| async move {
        let cluster = Cluster { namespace: namespace.clone(), ..cluster.clone() };
        let looked = finding(&cluster, &name, clock.now_seconds()).await;
        looked.map_err(|source| Failure::While { doing: format!("cannot verify rollout {namespace}/{name}"), source })
    };
    let mut looks = futures::stream::iter(places.map(look)).buffered(AT_ONCE);
    let mut found = Vec::with_capacity(total);
    while let Some(one) = looks.try_next().await? {
        // One that was deleted meanwhile is nobody's any more.
        found.extend(one);
        if session.streams.err_is_terminal && (found.len() % 50 == 0 || found.len() == total) {
            write!(session.streams.err, "\rlooked at {} of {total}", found.len())?;
        }
    }
    if session.streams.err_is_terminal && total > 0 {
        writeln!(session.streams.err)?;
    }
    Ok(found)
}

async fn finding(cluster: &Cluster, name: &str, now: jiff::Timestamp) -> Result<Option<Finding>, cluster::ApiError> {
    let loaded = match cluster::rollout(cluster, name).await {
        Err(error) if error.is_missing_object() => return Ok(None),
        loaded => loaded?,
    };
    // What may not be read would seem to be missing, and the verdict would be wrong.
    if let Some(error) = loaded.hidden.into_iter().next() {
        return Err(error);
    }
    let rollout: &Rollout = &loaded.objects.rollout;
    let newer = rollout.unknown_fields().into_iter().next().map(|field| format!("{field} is not known here"));
    let seen = cluster::observe(cluster, &loaded.objects, now).await?;
    let takeover = takeover(&seen, now);
    Ok(Some(Finding { namespace: cluster.namespace.clone(), name: name.to_owned(), takeover, newer }))
}

/// Features in use that the controller lacks, and who uses them.
async fn lacking(
    cluster: &Cluster,
    scope: Option<&str>,
    found: &[Finding],
) -> Result<BTreeMap<String, Vec<String>>, Failure> {
    let mut lacking: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for one in found {
        if let Takeover::Unsupported(fields) = &one.takeover {
            for field in fields {
                let user = format!("rollout {}/{}", one.namespace, one.name);
                lacking.entry(field.clone()).or_default().push(user);
            }
        }
    }
    for resource in [ANALYSIS_TEMPLATES, CLUSTER_ANALYSIS_TEMPLATES] {
        for template in all_of(cluster, resource, scope).await? {
            let Ok(spec) = serde_json::from_value::<AnalysisTemplateSpec>(template.spec) else { continue };
            let plugins = spec.metrics.items().iter().filter_map(|metric| metric.provider.as_ref()?.plugin.as_ref());
            if plugins.count() > 0 {
                let place = template.metadata.namespace.as_deref().map(|namespace| format!("{namespace}/"));
                let user =
                    format!("{} {}{}", resource.singular, place.unwrap_or_default(), template.metadata.name.text());
                lacking.entry("spec.metrics[].provider.plugin".to_owned()).or_default().push(user);
            }
        }
    }
    Ok(lacking)
}

async fn all_of(cluster: &Cluster, resource: Resource, scope: Option<&str>) -> Result<Vec<Named>, Failure> {
    let scope = scope.filter(|_| resource.is_namespaced);
    let list = cluster.list(resource, scope, &Selection::default()).await?;
    Ok(list.items.iter().filter_map(|item| serde_json::from_str(item.get()).ok()).collect())
}

/// Controllers that are installed, with their images. Whoever may not list Deployments elsewhere is not told of them.
async fn controllers(cluster: &Cluster) -> Vec<String> {
    let Ok(list) = cluster.list(DEPLOYMENTS, None, &Selection::labels(CONTROLLERS.to_owned())).await else {
        return Vec::new();
    };
    let found = list.items.iter().filter_map(|item| serde_json::from_str::<Named>(item.get()).ok());
    let told = found.map(|one| {
        let image = one.spec.pointer("/template/spec/containers/0/image").and_then(Value::as_str).unwrap_or("?");
        let replicas = one.spec["replicas"].as_i64().unwrap_or(1);
        format!("{}/{} {image} replicas={replicas}", one.metadata.namespace.text(), one.metadata.name.text())
    });
    told.collect()
}

fn text(
    server: &str,
    controllers: &[String],
    found: &[Finding],
    lacking: &BTreeMap<String, Vec<String>>,
    counts: [(&str, usize); 3],
) -> String {
    let mut text = format!("Kubernetes {server}\n");
    controllers.iter().for_each(|controller| text.push_str(&format!("Controller {controller}\n")));
    if !found.is_empty() {
        let head = ["NAMESPACE", "NAME", "VERDICT", "WHY"].map(str::to_owned);
        let rows: Vec<[String; 4]> = std::iter::once(head).chain(found.iter().map(Finding::cells)).collect();
        let lines = aligned(&rows);
        lines.lines().for_each(|line| text.push_str(&format!("{}\n", line.trim_end())));
    }
    if !lacking.is_empty() {
        text.push_str("Not supported here:\n");
        lacking.iter().for_each(|(field, users)| text.push_str(&format!("  {field}: {}\n", users.join(", "))));
    }
    let counts = counts.map(|(word, count)| format!("{count} {word}"));
    text.push_str(&format!("{}\n", counts.join(", ")));
    text
}
