//! The router of `trafficRouting.appMesh`.

use serde_json::Value;
use tidegate_api::rollout::AppMeshTrafficRouting;
use tidegate_api::wire::{Items, Text};

use super::nodes::{hash, hashes, relabel};
use super::routes::{Nodes, Route, routes};
use crate::router::fields::{at, list, put, text};
use crate::router::{Change, Need, ObjectRef, Router, RouterError, Seen, SeenRoute, Versions, Wanted, Wording};

/// The router of `trafficRouting.appMesh`.
pub(crate) struct AppMesh<'a> {
    pub(crate) spec: &'a AppMeshTrafficRouting,
    pub(crate) versions: &'a Versions,
}

const FIELD: &str = "spec.strategy.canary.trafficRouting.appMesh";

impl AppMesh<'_> {
    fn nodes(&self) -> Nodes<'_> {
        let group = self.spec.virtual_node_group.as_ref();
        let canary = group.and_then(|group| group.canary_virtual_node_ref.as_ref()).map(|node| node.name.text());
        let stable = group.and_then(|group| group.stable_virtual_node_ref.as_ref()).map(|node| node.name.text());
        Nodes { canary: canary.unwrap_or_default(), stable: stable.unwrap_or_default() }
    }

    fn node(&self, name: &str, wanted: &Wanted<'_>) -> ObjectRef {
        self.versions.app_mesh("VirtualNode", "virtualnodes").named(wanted.rollout.namespace, name)
    }

    fn virtual_service(&self, wanted: &Wanted<'_>) -> ObjectRef {
        let name = self.spec.virtual_service.as_ref().map(|service| service.name.text()).unwrap_or_default();
        self.versions.app_mesh("VirtualService", "virtualservices").named(wanted.rollout.namespace, name)
    }

    /// The VirtualRouter that the VirtualService leads to.
    fn router(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<ObjectRef, RouterError> {
        let name = self.virtual_service(wanted);
        let Some(found) = seen.find(&name)? else {
            let hint = format!("{name}: create it, or correct {FIELD}.virtualService.name");
            return Err(Wording::VirtualService.hint(hint));
        };
        let path = ["spec", "provider", "virtualRouter", "virtualRouterRef"];
        let reference = at(found, &path);
        let router = text(reference, &["name"]);
        if router.is_empty() {
            return Err(Wording::NoVirtualRouter.hint(format!("{name}: set {}.name", path.join("."))));
        }
        let namespace = match text(reference, &["namespace"]) {
            "" => wanted.rollout.namespace,
            namespace => namespace,
        };
        Ok(self.versions.app_mesh("VirtualRouter", "virtualrouters").named(namespace, router))
    }

    fn routes<'s>(
        &self,
        seen: &'s Seen,
        wanted: &'s Wanted<'s>,
    ) -> Result<(ObjectRef, &'s Value, Vec<Route<'s>>), RouterError> {
        let nodes = self.nodes();
        if nodes.canary == nodes.stable {
            let (object, field) = ("Rollout".to_owned(), format!("{FIELD}.virtualNodeGroup"));
            return Err(RouterError::Shape { object, field, wanted: "a pair of different VirtualNodes" });
        }
        let name = self.router(seen, wanted)?;
        let Some(found) = seen.find(&name)? else {
            let service = self.virtual_service(wanted);
            return Err(Wording::VirtualRouter.hint(format!("{name}: create it, or correct {service}")));
        };
        let names = self.spec.virtual_service.as_ref().map(|service| service.routes.items()).unwrap_or_default();
        let routes = routes(&name, found, names, nodes, wanted)?;
        Ok((name, found, routes))
    }

    fn weigh(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Option<Change>, RouterError> {
        let (name, found, routes) = self.routes(seen, wanted)?;
        let mut all = list(found, &["spec", "routes"]).cloned().unwrap_or_default();
        let mut written = Vec::new();
        for route in routes {
            let mut targets = route.targets.clone();
            written.extend(route.weighted.weigh(&mut targets, |_| None)?);
            if let Some(entry) = all.get_mut(route.index) {
                put(entry, &[route.kind, "action"], "weightedTargets", Value::Array(targets));
            }
        }
        let mut body = found.clone();
        put(&mut body, &["spec"], "routes", Value::Array(all));
        Ok(Change::update(&name, body, written))
    }

    /// The stable node and the canary's with the hashes that are wanted.
    fn relabel(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<(Option<Change>, Option<Change>), RouterError> {
        let nodes = self.nodes();
        let (stable, stable_node) = self.find_node(nodes.stable, "stableVirtualNodeRef", seen, wanted)?;
        let (canary, canary_node) = self.find_node(nodes.canary, "canaryVirtualNodeRef", seen, wanted)?;
        let (stable_hash, canary_hash) = hashes(wanted, (hash(stable_node), hash(canary_node)));
        Ok((relabel(&stable, stable_node, stable_hash)?, relabel(&canary, canary_node, canary_hash)?))
    }

    fn find_node<'s>(
        &self,
        node: &str,
        field: &str,
        seen: &'s Seen,
        wanted: &Wanted<'_>,
    ) -> Result<(ObjectRef, &'s Value), RouterError> {
        let name = self.node(node, wanted);
        match seen.find(&name)? {
            Some(object) => Ok((name, object)),
            None => {
                let hint = format!("{name}: create it, or correct {FIELD}.virtualNodeGroup.{field}");
                Err(Wording::VirtualNode.hint(hint))
            }
        }
    }

    /// Whether a route takes weight from the canary.
    fn lowers(&self, seen: &Seen, wanted: &Wanted<'_>) -> bool {
        let weight = wanted.part_of(100, i64::from(wanted.weight));
        self.read(seen, wanted).into_iter().flatten().any(|route| route.canary > weight)
    }
}

impl Router for AppMesh<'_> {
    fn name(&self) -> &'static str {
        "appMesh"
    }

    fn needs(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError> {
        let service = self.virtual_service(wanted);
        let nodes = self.nodes();
        let mut names = vec![self.node(nodes.stable, wanted), self.node(nodes.canary, wanted), service.clone()];
        if seen.has(&Need::Object(service)) {
            names.push(self.router(seen, wanted)?);
        }
        Ok(names.into_iter().map(Need::Object).collect())
    }

    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        wanted.check_routes(self.name(), &[])?;
        let weights = self.weigh(seen, wanted)?;
        let (stable, canary) = self.relabel(seen, wanted)?;
        // Weight leaves the canary's node before that stands for other pods, and comes to it after. The stable node is first:
        // at the end of an update its old pods may be gone, and for the time of two writes both stand for the new ones.
        let (second, third) = if self.lowers(seen, wanted) { (weights, canary) } else { (canary, weights) };
        Ok([stable, second, third].into_iter().flatten().collect())
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        match self.routes(seen, wanted) {
            Ok((_, _, routes)) => routes.iter().map(|route| route.weighted.read(route.targets)).collect(),
            Err(error) => vec![Err(error)],
        }
    }
}
