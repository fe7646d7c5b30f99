//! From caches to what a plan is made from.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::Value;
use tidegate_api::analysis::AnalysisTemplateSpec;
use tidegate_api::rollout::{AnalysisTemplateRef, Rollout};
use tidegate_api::view::Service;
use tidegate_api::wire::Text;
use tidegate_engine::{Observed, Router, Traffic, is_verification_due, needs_pods, routing, service_to_verify};
use tidegate_runtime::Key;
use tidegate_traffic::alb::Alb;
use tidegate_validate::labels;
use tidegate_validate::references::{Found, Lookup, service_roles, template_references};

use crate::aws::Question;
use crate::cache::{BY_OWNER, ORPHANS, controller_of, dotted_key};
use crate::controller::Shared;
use crate::error::LookError;
use crate::execute::{FIELD_MANAGER, views};
use crate::istio::{IstioKind, rivals};
use crate::whole::WholeObject;

/// What was seen, and the pods whole for whoever has to write them.
pub(crate) struct Sight {
    pub seen: Observed,
    pub pods: Vec<Value>,
}

/// Takes everything a plan for this Rollout needs.
pub(crate) async fn observe(shared: &Shared, rollout: &Rollout) -> Result<Sight, LookError> {
    let mut seen = see(shared, rollout)?;
    let asked = shared.executor.routers.times_asked();
    see_routes(shared, &mut seen).await?;
    if shared.executor.routers.times_asked() != asked {
        seen = see_anew(shared, seen)?;
    }
    if !needs_pods(&seen, shared.executor.clock.now_seconds()) {
        return Ok(Sight { seen, pods: Vec::new() });
    }
    let pods = list_pods(shared, &seen).await?;
    // Others of us have gone on meanwhile, and may have written: all the rest is seen anew.
    check_is_current(shared, rollout)?;
    let mut seen = see(shared, rollout)?;
    see_routes(shared, &mut seen).await?;
    seen.pods = views(&pods);
    Ok(Sight { seen, pods })
}

/// The API was asked for routes, and others of us have gone on meanwhile: all but the routes is taken once more.
fn see_anew(shared: &Shared, before: Observed) -> Result<Observed, LookError> {
    check_is_current(shared, &before.rollout)?;
    let mut seen = see(shared, &before.rollout)?;
    seen.routes = before.routes;
    seen.found.virtual_services = before.found.virtual_services;
    seen.found.ingresses = before.found.ingresses;
    seen.found.mappings = before.found.mappings;
    Ok(seen)
}

/// An error when the Rollout is not the one any more that a look began with.
fn check_is_current(shared: &Shared, rollout: &Rollout) -> Result<(), LookError> {
    let now = shared.executor.cache.rollouts.get(&Key::of(&rollout.metadata));
    if now.is_none_or(|now| now.metadata.resource_version != rollout.metadata.resource_version) {
        return Err(LookError::NotSynced("Rollout"));
    }
    Ok(())
}

/// What the caches have. Takes no time, so that all of it is of one moment.
fn see(shared: &Shared, rollout: &Rollout) -> Result<Observed, LookError> {
    let cache = &shared.executor.cache;
    let uid = rollout.metadata.uid.text();
    let namespace = rollout.metadata.namespace.text();
    Ok(Observed {
        workload: match &rollout.spec.workload_ref {
            Some(reference) => shared.workloads.look_up(
                &shared.executor.client,
                shared.options.namespace.as_deref(),
                namespace,
                reference,
                &shared.workload_changed,
            )?,
            None => tidegate_engine::SeenWorkload::None,
        },
        replica_sets: own_or_orphaned_sets(shared, uid, namespace),
        found: found(shared, rollout),
        analysis_runs: cache.analysis_runs.find(BY_OWNER, uid).iter().map(|run| (**run).clone()).collect(),
        experiments: cache.experiments.find(BY_OWNER, uid).iter().map(|found| (**found).clone()).collect(),
        taken_names: taken_names(shared, uid, namespace, rollout.metadata.name.text()),
        drives: shared.options.drives.clone(),
        lacks_analysis: shared.options.lacks_analysis && shared.options.analysis.is_none(),
        lacks_experiments: shared.options.lacks_analysis && shared.options.experiments.is_none(),
        rollout: rollout.clone(),
        ..Observed::default()
    })
}

/// VirtualServices and the DestinationRule, if the Rollout names any.
async fn see_routes(shared: &Shared, seen: &mut Observed) -> Result<(), LookError> {
    see_other_routers(shared, seen).await?;
    see_load_balancers(shared, seen);
    let istio = &shared.executor.istio;
    if routing::istio(&seen.rollout).is_none() || !shared.options.drives.contains(&Router::Istio) {
        return Ok(());
    }
    let (mut routed_at, mut relabelled_at) = (None, None);
    for (name, reference) in routing::virtual_services(&seen.rollout) {
        let key = Key::new(name.namespace.clone(), name.name.clone());
        let mut looked = istio.look_up(IstioKind::VirtualService, &key).await?;
        if let (Lookup::Missing(_), Some(dotted)) = (&looked, dotted_key(&seen.rollout, &reference))
            && let found @ Lookup::Found(_) = istio.look_up(IstioKind::VirtualService, &dotted).await?
        {
            looked = found;
        }
        if let Lookup::Found(object) = &looked {
            routed_at = routed_at.max(object.written_at(FIELD_MANAGER));
            seen.routes.contested.extend(rivals::for_routes(shared, &seen.rollout, &key, &object.whole));
        }
        seen.found.virtual_services.insert(name, whole(looked));
    }
    if let Some(rule) = routing::destination_rule(&seen.rollout) {
        let key = Key::new(seen.rollout.metadata.namespace.text(), rule.name.text());
        let looked = istio.look_up(IstioKind::DestinationRule, &key).await?;
        if let Lookup::Found(object) = &looked {
            relabelled_at = object.written_at(FIELD_MANAGER);
            seen.routes.contested.extend(rivals::for_rule(shared, &seen.rollout, &key));
        }
        seen.routes.destination_rule = Some(whole(looked));
    }
    seen.routes.routed_at = seen.routes.routed_at.max(routed_at);
    seen.routes.relabelled_at = relabelled_at;
    seen.routes.failed = shared.executor.route_failures.of(&Key::of(&seen.rollout.metadata));
    Ok(())
}

/// The objects of routers besides Istio, if the Rollout names any.
async fn see_other_routers(shared: &Shared, seen: &mut Observed) -> Result<(), LookError> {
    seen.routes.versions.clone_from(&shared.options.versions);
    let rollout = &seen.rollout;
    let nothing = Traffic::default();
    let now = shared.executor.clock.now_seconds();
    let Some(others) = routing::Routers::besides_istio(rollout, &seen.routes.versions, &nothing, now) else {
        shared.executor.routers.forget(&Key::of(&rollout.metadata));
        return Ok(());
    };
    let (found, written) = shared.executor.routers.see(&Key::of(&rollout.metadata), &others).await?;
    routing::put_found(rollout, &found, &mut seen.found);
    seen.routes.verified = others.routers.iter().find_map(|router| router.verified());
    drop(others);
    (seen.routes.routers, seen.routes.routed_at) = (found, written);
    Ok(())
}

/// What AWS says, where it is asked.
fn see_load_balancers(shared: &Shared, seen: &mut Observed) {
    if !shared.aws.is_on() {
        return;
    }
    let question = Question { hosts: hosts(seen), service: service_to_verify(seen).map(str::to_owned) };
    seen.routes.aws = shared.aws.see(&Key::of(&seen.rollout.metadata), question, seen.routes.routed_at);
}

/// Host names of the load balancers whose weights are to be verified now.
fn hosts(seen: &Observed) -> Vec<String> {
    let Some(canary) = seen.rollout.spec.canary().filter(|_| is_verification_due(&seen.rollout)) else {
        return Vec::new();
    };
    let nothing = Traffic::default();
    let versions = &seen.routes.versions;
    let others = routing::Routers::besides_istio(&seen.rollout, versions, &nothing, Timestamp::UNIX_EPOCH);
    let (Some(alb), Some(others)) = (Alb::of(canary, versions), others) else { return Vec::new() };
    // An Ingress that cannot be read is told of elsewhere.
    let hosts = alb.hosts(&seen.routes.routers, &others.wanted).unwrap_or_default();
    hosts.into_iter().map(|(_, host)| host).collect()
}

fn whole(looked: Lookup<Arc<WholeObject>>) -> Lookup<Value> {
    match looked {
        Lookup::Found(object) => Lookup::Found(object.whole.clone()),
        Lookup::Missing(text) => Lookup::Missing(text),
    }
}

/// Our own sets, and those of nobody that carry our label: whether they fit is the engine's to say.
fn own_or_orphaned_sets(shared: &Shared, uid: &str, namespace: &str) -> Vec<tidegate_api::view::ReplicaSet> {
    let sets = &shared.executor.cache.replica_sets;
    // A namespace may hold thousands; and plans have always been given them by name.
    let mut found = sets.find(BY_OWNER, uid);
    found.extend(sets.find(ORPHANS, namespace));
    // Whoever says in another namespace that this Rollout controls it, says so wrongly.
    found.retain(|set| set.metadata.namespace.text() == namespace);
    found.sort_by(|one, other| one.metadata.name.cmp(&other.metadata.name));
    found.iter().map(|set| (**set).clone()).collect()
}

/// Names that somebody else has, among those that begin like all of ours: there may be very many others.
fn taken_names(shared: &Shared, uid: &str, namespace: &str, name: &str) -> BTreeSet<String> {
    let is_foreign = |metadata: &tidegate_api::ObjectMeta| controller_of(metadata).is_none_or(|owner| owner.uid != uid);
    let cache = &shared.executor.cache;
    let prefix = format!("{name}-");
    let runs = cache.analysis_runs.beginning(namespace, &prefix);
    let experiments = cache.experiments.beginning(namespace, &prefix);
    let runs = runs.iter().filter(|run| is_foreign(&run.metadata)).filter_map(|run| run.metadata.name.clone());
    let experiments = experiments.iter().filter(|found| is_foreign(&found.metadata));
    runs.chain(experiments.filter_map(|found| found.metadata.name.clone())).collect()
}

fn found(shared: &Shared, rollout: &Rollout) -> Found {
    let namespace = rollout.metadata.namespace.text();
    let cache = &shared.executor.cache;
    let mut services: BTreeMap<String, Lookup<Service>> = BTreeMap::new();
    for role in service_roles(rollout) {
        let looked = match cache.services.get(&Key::new(namespace, role.name)) {
            Some(service) => Lookup::Found((*service).clone()),
            None => Lookup::Missing(format!("service \"{}\" not found", role.name)),
        };
        services.insert(role.name.to_owned(), looked);
    }
    let mut found = Found { services, ..Found::default() };
    let named = template_references(rollout).into_iter().flatten().cloned().collect();
    follow(shared, namespace, named, &mut found);
    found
}

/// Looks for templates and for those they name; one that was looked for is not looked for again, so circles end, and
/// however long a chain of them is, nothing is called more deeply.
pub(crate) fn follow(shared: &Shared, namespace: &str, mut named: Vec<AnalysisTemplateRef>, found: &mut Found) {
    let cache = &shared.executor.cache;
    while let Some(reference) = named.pop() {
        let name = reference.template_name.text();
        let is_cluster = reference.cluster_scope == Some(true);
        let looked = if is_cluster { &mut found.cluster_templates } else { &mut found.templates };
        if looked.contains_key(name) {
            continue;
        }
        let spec: Option<AnalysisTemplateSpec> = if is_cluster {
            cache.cluster_templates.get(&Key::new("", name)).map(|template| template.spec.clone())
        } else {
            cache.templates.get(&Key::new(namespace, name)).map(|template| template.spec.clone())
        };
        named.extend(spec.as_ref().and_then(|spec| spec.templates.clone()).into_iter().flatten());
        let kind = if is_cluster { "ClusterAnalysisTemplate" } else { "AnalysisTemplate" };
        let missing = || Lookup::Missing(format!("{kind} '{name}' not found"));
        looked.insert(name.to_owned(), spec.map_or_else(missing, Lookup::Found));
    }
}

/// Pods are not watched: they are looked at only when a plan is about them.
async fn list_pods(shared: &Shared, seen: &Observed) -> Result<Vec<Value>, LookError> {
    let namespace = seen.rollout.metadata.namespace.text();
    let own = seen.rollout.spec.selector.as_ref();
    let lent = match &seen.workload {
        tidegate_engine::SeenWorkload::Found(workload) => workload.selector.as_ref(),
        _ => None,
    };
    let Some(selector) = own.or(lent) else { return Ok(Vec::new()) };
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "Pod"));
    let api: Api<DynamicObject> = Api::namespaced_with(shared.executor.client.clone(), namespace, &resource);
    let params = ListParams::default().labels(&labels::text(selector));
    let key = Key::of(&seen.rollout.metadata);
    let pods = api.list(&params).await.map_err(|error| LookError::api("list pods of", "Rollout", &key, error))?;
    Ok(pods.items.into_iter().filter_map(|pod| serde_json::to_value(pod).ok()).collect())
}
