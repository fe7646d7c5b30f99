//! Loads what the engine looks at: the objects a Rollout names, as a controller sees them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;
use tidegate_api::analysis::AnalysisTemplateSpec;
use tidegate_api::rollout::{AnalysisTemplateRef, Rollout};
use tidegate_api::view::Service;
use tidegate_api::wire::Text;
use tidegate_engine::{Observed, SeenWorkload, Workload, needs_pods, routing};
use tidegate_traffic::router::Seen;
use tidegate_validate::references::{Found, Lookup, service_roles, template_references};
use tidegate_view::Objects;

use crate::address::{
    ANALYSIS_TEMPLATES, CLUSTER_ANALYSIS_TEMPLATES, DEPLOYMENTS, DESTINATION_RULES, ISTIO_VERSIONS, POD_TEMPLATES,
    PODS, REPLICA_SETS, Resource, SERVICES, Selection, VIRTUAL_SERVICES, selector_text,
};
use crate::error::ApiError;
use crate::request::Cluster;

/// The name controllers write routes under.
const MANAGERS: [&str; 2] = ["rollouts-controller", "argo-rollouts"];
/// Templates that name templates at most; what is deeper is refused by validation anyway.
const MOST_TEMPLATES: usize = 1000;

/// Everything the engine looks at. An object that may not be read is an error: the engine must not take it for missing.
pub async fn observe(cluster: &Cluster, objects: &Objects, now: Timestamp) -> Result<Observed, ApiError> {
    let rollout = &objects.rollout;
    let workload = workload(cluster, rollout).await?;
    let uid = rollout.metadata.uid.text();
    let mut seen = Observed {
        workload,
        replica_sets: objects.replica_sets.clone(),
        found: found(cluster, rollout).await?,
        analysis_runs: objects.analysis_runs.iter().filter(|run| owned(&run.metadata, uid)).cloned().collect(),
        experiments: objects.experiments.clone(),
        drives: tidegate_engine::Router::DRIVEN.into(),
        rollout: rollout.clone(),
        ..Observed::default()
    };
    see_routes(cluster, &mut seen).await?;
    crate::routers::see(cluster, &mut seen, now).await?;
    // Only a controller that asks AWS leaves this in a status.
    seen.routes.aws.is_on = rollout.status.as_ref().is_some_and(|status| status.alb.is_some() || status.albs.is_some());
    if needs_pods(&seen, now) {
        let selector = rollout.spec.selector.as_ref().map(selector_text);
        seen.pods = cluster.objects(PODS, &Selection { labels: selector, ..Selection::default() }).await?;
    }
    Ok(seen)
}

fn owned(metadata: &tidegate_api::ObjectMeta, uid: &str) -> bool {
    metadata.owner_references.iter().flatten().any(|owner| owner.uid == uid && owner.controller == Some(true))
}

/// Services, templates and VirtualServices that a Rollout names.
async fn found(cluster: &Cluster, rollout: &Rollout) -> Result<Found, ApiError> {
    let mut services: BTreeMap<String, Lookup<Service>> = BTreeMap::new();
    for role in service_roles(rollout) {
        if !services.contains_key(role.name) {
            let missing = format!("service \"{}\" not found", role.name);
            let looked = looked(cluster.get(SERVICES, role.name).await, missing)?;
            services.insert(role.name.to_owned(), looked);
        }
    }
    let mut found = Found { services, ..Found::default() };
    follow(cluster, rollout, &mut found).await?;
    for (name, _) in routing::virtual_services(rollout) {
        let looked = istio(cluster, VIRTUAL_SERVICES, &name.namespace, &name.name).await?;
        found.virtual_services.insert(name, looked);
    }
    Ok(found)
}

/// All that a Rollout names, and the objects of its routers.
pub async fn named(cluster: &Cluster, rollout: &Rollout) -> Result<(Found, Seen), ApiError> {
    let (mut found, seen) = (found(cluster, rollout).await?, crate::routers::all(cluster, rollout).await?);
    routing::put_found(rollout, &seen, &mut found);
    Ok((found, seen))
}

/// The DestinationRule that a Rollout names.
async fn destination_rule(cluster: &Cluster, rollout: &Rollout) -> Result<Option<Lookup<Value>>, ApiError> {
    match routing::destination_rule(rollout) {
        Some(rule) => Ok(Some(istio(cluster, DESTINATION_RULES, &cluster.namespace, rule.name.text()).await?)),
        None => Ok(None),
    }
}

fn looked<T>(read: Result<T, ApiError>, missing: String) -> Result<Lookup<T>, ApiError> {
    match read {
        Ok(object) => Ok(Lookup::Found(object)),
        Err(error) if error.is_not_found() => Ok(Lookup::Missing(missing)),
        // A name that cannot be asked for cannot be there.
        Err(ApiError::Name(problem)) => Ok(Lookup::Missing(problem)),
        Err(error) => Err(error),
    }
}

/// An object of Istio, in the newest version that the cluster serves.
async fn istio(cluster: &Cluster, resource: Resource, namespace: &str, name: &str) -> Result<Lookup<Value>, ApiError> {
    let missing = format!("{}.networking.istio.io \"{name}\" not found", resource.plural);
    for base in ISTIO_VERSIONS {
        let Ok(path) = (Resource { base, ..resource }).object(namespace, name) else { break };
        match cluster.at(&path, &format!("{} {name:?}", resource.singular)).await {
            Ok(object) => return Ok(Lookup::Found(object)),
            Err(error) if error.is_missing_object() => break,
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Lookup::Missing(missing))
}

/// Templates and those they name; one that was looked for is not looked for again, so circles end.
async fn follow(cluster: &Cluster, rollout: &Rollout, found: &mut Found) -> Result<(), ApiError> {
    let mut open: Vec<AnalysisTemplateRef> = template_references(rollout).into_iter().flatten().cloned().collect();
    for _ in 0..MOST_TEMPLATES {
        let Some(reference) = open.pop() else { break };
        let name = reference.template_name.text();
        let is_cluster = reference.cluster_scope == Some(true);
        let (looked_for, resource, kind) = if is_cluster {
            (&mut found.cluster_templates, CLUSTER_ANALYSIS_TEMPLATES, "ClusterAnalysisTemplate")
        } else {
            (&mut found.templates, ANALYSIS_TEMPLATES, "AnalysisTemplate")
        };
        if looked_for.contains_key(name) {
            continue;
        }
        let read = looked(cluster.get::<Template>(resource, name).await, format!("{kind} '{name}' not found"))?;
        let spec = match read {
            Lookup::Found(template) => Lookup::Found(template.spec),
            Lookup::Missing(text) => Lookup::Missing(text),
        };
        if let Lookup::Found(spec) = &spec {
            open.extend(spec.templates.clone().unwrap_or_default());
        }
        looked_for.insert(name.to_owned(), spec);
    }
    Ok(())
}

#[derive(serde::Deserialize)]
struct Template {
    #[serde(default)]
    spec: AnalysisTemplateSpec,
}

async fn see_routes(cluster: &Cluster, seen: &mut Observed) -> Result<(), ApiError> {
    seen.routes.destination_rule = destination_rule(cluster, &seen.rollout).await?;
    let routes = seen.found.virtual_services.values();
    seen.routes.routed_at = routes.filter_map(written_at).max();
    seen.routes.relabelled_at = seen.routes.destination_rule.as_ref().and_then(written_at);
    Ok(())
}

/// When a controller last wrote an object, as the API server noted it.
pub(crate) fn written_at(looked: &Lookup<Value>) -> Option<Timestamp> {
    let Lookup::Found(object) = looked else { return None };
    let notes = object.pointer("/metadata/managedFields")?.as_array()?.iter();
    let text = |note: &Value, field: &str| note.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let own = notes.filter(|note| MANAGERS.contains(&text(note, "manager").as_str()));
    own.filter_map(|note| text(note, "time").parse().ok()).max()
}

/// The workload that lends its template.
pub async fn workload(cluster: &Cluster, rollout: &Rollout) -> Result<SeenWorkload, ApiError> {
    let Some(reference) = &rollout.spec.workload_ref else { return Ok(SeenWorkload::None) };
    let (kind, name) = (reference.kind.text(), reference.name.text());
    let (resource, pointer) = match kind {
        "Deployment" => (DEPLOYMENTS, "/spec/template"),
        "ReplicaSet" => (REPLICA_SETS, "/spec/template"),
        "PodTemplate" => (POD_TEMPLATES, "/template"),
        _ => return Ok(SeenWorkload::None),
    };
    let missing = format!("{}.{} \"{name}\" not found", resource.plural, resource.group);
    let object: Value = match looked(cluster.get(resource, name).await, missing)? {
        Lookup::Found(object) => object,
        Lookup::Missing(problem) => return Ok(SeenWorkload::Missing(problem)),
    };
    let at = |pointer: &str| object.pointer(pointer).cloned().unwrap_or_default();
    let replicas = at("/spec/replicas").as_i64().and_then(|replicas| i32::try_from(replicas).ok());
    Ok(SeenWorkload::Found(Workload {
        template: tidegate_api::raw::Raw::from(&at(pointer)),
        selector: serde_json::from_value(at("/spec/selector")).ok(),
        generation: at("/metadata/generation").as_i64().unwrap_or_default(),
        replicas: replicas.filter(|_| kind == "Deployment"),
    }))
}
