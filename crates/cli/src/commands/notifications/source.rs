//! The configuration and the Rollout, from the cluster or from files.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value as Json;
use tidegate_api::names::annotations;
use tidegate_api::rollout::Rollout;
use tidegate_engine::SeenWorkload;
use tidegate_expr::{Value, base64};
use tidegate_manifest::{Document, DuplicateKeys, Source as Manifest};
use tidegate_notify::{CONFIG_MAP, Config, RunsOf, SECRET, analysis_runs_of, variables};

use crate::arguments::Notifications;
use crate::cluster::{self, ANALYSIS_RUNS, CONFIG_MAPS, Cluster, ROLLOUTS, Resource, SECRETS, Selection};
use crate::failure::Failure;

/// No Secret at all.
const EMPTY: &str = ":empty";

/// A ConfigMap or a Secret.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Entries {
    data: Option<BTreeMap<String, String>>,
    string_data: Option<BTreeMap<String, String>>,
}

pub(super) struct Source<'a, C> {
    asked: &'a Notifications,
    connect: C,
    cluster: Option<Cluster>,
}

impl<'a, C: AsyncFn() -> Result<Cluster, Failure>> Source<'a, C> {
    pub(super) fn new(asked: &'a Notifications, connect: C) -> Self {
        Self { asked, connect, cluster: None }
    }

    async fn cluster(&mut self) -> Result<&Cluster, Failure> {
        let cluster = match self.cluster.take() {
            Some(cluster) => cluster,
            None => (self.connect)().await?,
        };
        Ok(self.cluster.insert(cluster))
    }

    /// The configuration. What is wrong with single entries is in it.
    pub(super) async fn config(&mut self) -> Result<Config, Failure> {
        let asked = self.asked;
        let is_standard_input = |path: &Option<std::path::PathBuf>| path.as_deref() == Some(Path::new("-"));
        if is_standard_input(&asked.config_map) && is_standard_input(&asked.secret) {
            return Err(Failure::said("--config-map and --secret cannot both be read from standard input"));
        }
        let entries = self.entries(asked.config_map.as_deref(), CONFIG_MAPS, "ConfigMap", CONFIG_MAP).await?;
        let secrets = match asked.secret.as_deref() {
            Some(path) if path == Path::new(EMPTY) => Entries::default(),
            path => match self.entries(path, SECRETS, "Secret", SECRET).await {
                // Whoever refers to nothing in it needs none; whoever does is told which key is missing.
                Err(Failure::Api(error)) if path.is_none() && error.is_not_found() => Entries::default(),
                found => found?,
            },
        };
        // Whoever runs this reads files with rights of their own.
        Ok(Config::read(&entries.data.unwrap_or_default(), &decoded(secrets)?).with_files())
    }

    async fn entries(
        &mut self,
        path: Option<&Path>,
        resource: Resource,
        kind: &str,
        name: &str,
    ) -> Result<Entries, Failure> {
        let object = match path {
            Some(path) => in_file(path, kind, name)?,
            None => self.cluster().await?.get::<Json>(resource, name).await?,
        };
        serde_json::from_value(object)
            .map_err(|error| Failure::said(format!("failed to get api: {kind} {name}: {error}")))
    }

    /// What conditions and templates see of a Rollout.
    pub(super) async fn variables(
        &mut self,
        resource: &str,
        config: &Config,
    ) -> Result<BTreeMap<String, Value>, Failure> {
        let path = Path::new(resource);
        if path.is_file() {
            let mut documents = documents(path)?;
            let place = documents.iter().position(|document| document.kind().is_ok_and(|kind| kind == "Rollout"));
            let Some(place) = place else {
                return Err(Failure::said(format!("failed to load resource: file '{resource}' holds no Rollout")));
            };
            return Ok(variables(&documents.swap_remove(place).into_value(), None, &config.secrets));
        }
        let cluster = self.cluster().await?;
        let mut object: Json = cluster.get(ROLLOUTS, resource).await?;
        fill_in_workload(cluster, &mut object).await?;
        let runs: Vec<Json> = cluster.objects(ANALYSIS_RUNS, &Selection::default()).await?;
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        let owned = runs.iter().filter(|run| {
            run["metadata"]["ownerReferences"].as_array().into_iter().flatten().any(|owner| owner["uid"] == uid)
        });
        let revision = object["metadata"]["annotations"][annotations::REVISION].as_str().unwrap_or_default();
        let pod_hash = object["status"]["currentPodHash"].as_str().unwrap_or_default();
        let runs = analysis_runs_of(owned, RunsOf { pod_hash, revision });
        Ok(variables(&object, Some(runs), &config.secrets))
    }
}

/// The template and the selector of the workload that a Rollout refers to.
async fn fill_in_workload(cluster: &Cluster, object: &mut Json) -> Result<(), Failure> {
    let Ok(rollout) = serde_json::from_value::<Rollout>(object.clone()) else { return Ok(()) };
    if let SeenWorkload::Found(workload) = cluster::workload(cluster, &rollout).await? {
        let json = |part: serde_json::Result<Json>| part.unwrap_or_default();
        let (template, selector) = (serde_json::to_value(&workload.template), serde_json::to_value(&workload.selector));
        tidegate_notify::fill_in_workload(object, json(template), json(selector));
    }
    Ok(())
}

fn documents(path: &Path) -> Result<Vec<Document>, Failure> {
    let source = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes)?;
        Manifest::new("standard input", bytes)
    } else {
        Manifest::read(path).map_err(Failure::Manifest)?
    };
    source.all_documents(DuplicateKeys::Refuse).map_err(Failure::Manifest)
}

fn in_file(path: &Path, kind: &str, name: &str) -> Result<Json, Failure> {
    let is_it = |document: &Document| document.kind().is_ok_and(|found| found == kind) && document.name() == Some(name);
    let found = documents(path)?.into_iter().find(is_it);
    found.map(Document::into_value).ok_or_else(|| {
        Failure::said(format!("failed to get api: file '{}' does not have '/{kind}/{name}'", path.display()))
    })
}

fn decoded(secret: Entries) -> Result<BTreeMap<String, Vec<u8>>, Failure> {
    let encoded = secret.data.unwrap_or_default().into_iter().map(|(key, text)| {
        let Some(bytes) = base64::decode(&text) else {
            return Err(Failure::said(format!("failed to get api: Secret {SECRET}: data.{key} is no base64")));
        };
        Ok((key, bytes))
    });
    let mut all: BTreeMap<String, Vec<u8>> = encoded.collect::<Result<_, _>>()?;
    all.extend(secret.string_data.unwrap_or_default().into_iter().map(|(key, text)| (key, text.into_bytes())));
    Ok(all)
}
