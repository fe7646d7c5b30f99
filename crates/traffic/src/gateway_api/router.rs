//! The router of `trafficRouting.plugins["argoproj-labs/gatewayAPI"]`.

use serde_json::{Value, json};

use super::book::Book;
use super::config::Config;
use super::kind::Kind;
use super::managed::manage;
use super::rules::{backend_ref, refs, rules, split, weighted};
use crate::router::fields::{at, fields_mut, put};
use crate::router::reach::Known;
use crate::router::{
    Change, ManagedKind, Need, ObjectRef, Resource, Router, RouterError, Seen, SeenRoute, Selection, ServicePorts,
    Wanted, Written,
};

/// The name of the plugin.
pub const PLUGIN: &str = "argoproj-labs/gatewayAPI";

/// The router that stands for the plugin.
pub struct GatewayApi {
    config: Result<Config, RouterError>,
}

/// A route to write.
struct Target {
    kind: Kind,
    name: ObjectRef,
    takes_headers: bool,
}

impl GatewayApi {
    /// From the plugin's configuration.
    pub fn of(config: &Value) -> Self {
        Self { config: Config::read(config) }
    }

    fn config(&self) -> Result<&Config, RouterError> {
        self.config.as_ref().map_err(|error| failed("set weight", error.clone()))
    }

    fn namespace<'w>(&'w self, wanted: &'w Wanted<'_>) -> Result<&'w str, RouterError> {
        Ok(self.config()?.namespace.as_deref().unwrap_or(wanted.rollout.namespace))
    }

    fn selections(&self, wanted: &Wanted<'_>) -> Result<Vec<(Kind, Selection)>, RouterError> {
        let namespace = self.namespace(wanted)?;
        let selection = |(kind, labels): &(Kind, String)| {
            let (namespace, labels) = (namespace.to_owned(), labels.clone());
            (*kind, Selection { resource: kind.resource(), namespace, labels })
        };
        Ok(self.config()?.selectors.iter().map(selection).collect())
    }

    /// The ConfigMap, where there can be rules to remember.
    fn book_name(&self, wanted: &Wanted<'_>) -> Result<Option<ObjectRef>, RouterError> {
        let config = self.config()?;
        let has_rules = !wanted.owned_routes().is_empty() && config.routes.iter().any(|route| route.takes_headers);
        let name =
            Resource::new("", "v1", "ConfigMap", "configmaps").named(self.namespace(wanted)?, &config.config_map);
        Ok(has_rules.then_some(name))
    }

    /// The routes, each once.
    fn targets(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Target>, RouterError> {
        let namespace = self.namespace(wanted)?;
        let mut all: Vec<Target> = Vec::new();
        let mut add = |target: Target| match all.iter_mut().find(|other| other.name == target.name) {
            Some(other) => other.takes_headers |= target.takes_headers,
            None => all.push(target),
        };
        for route in &self.config()?.routes {
            let name = route.kind.resource().named(namespace, &route.name);
            add(Target { kind: route.kind, name, takes_headers: route.takes_headers });
        }
        for (kind, selection) in self.selections(wanted)? {
            for name in seen.selected(&selection)? {
                add(Target { kind, name: name.clone(), takes_headers: false });
            }
        }
        Ok(all)
    }

    fn check_headers(&self, wanted: &Wanted<'_>) -> Result<(), RouterError> {
        let takes_headers = self.config()?.routes.iter().any(|route| route.takes_headers);
        if takes_headers || wanted.headers().is_empty() {
            return Ok(());
        }
        let (field, wanted) = ("httpRoutes[].useHeaderRoutes".to_owned(), "true for any route, as header steps need");
        Err(failed("set header route", RouterError::Config { plugin: PLUGIN, field, wanted }))
    }
}

fn failed(what: &'static str, error: RouterError) -> RouterError {
    RouterError::Plugin { what, error: Box::new(error) }
}

impl Target {
    fn find<'s>(&self, seen: &'s Seen) -> Result<&'s Value, RouterError> {
        let field = self.kind.field();
        seen.get(&self.name, || {
            format!("create it, or correct spec.strategy.canary.trafficRouting.plugins[\"{PLUGIN}\"].{field}")
        })
    }

    /// The route as it should be.
    fn edit(
        &self,
        seen: &Seen,
        wanted: &Wanted<'_>,
        label: Option<&(String, String)>,
        book: Option<&mut Book<'_>>,
    ) -> Result<Option<Change>, RouterError> {
        let set_weight = |error| failed("set weight", error);
        let found = self.find(seen).map_err(set_weight)?;
        let positions = split(self.kind, &self.name, found, wanted).map_err(set_weight)?;
        let mut list = rules(found).to_vec();
        let mut written = Vec::new();
        for index in &positions {
            let Some(rule) = list.get_mut(*index) else { continue };
            let before = rule.clone();
            let mut entries = refs(&before).to_vec();
            let weighted = weighted(self.kind, &self.name, *index, &before, wanted);
            let make = |service: &str| backend_ref(&before, service, wanted);
            written.extend(weighted.weigh(&mut entries, make).map_err(set_weight)?);
            put(rule, &[], "backendRefs", Value::Array(entries));
        }
        if let (Some(book), Some(base)) = (book, positions.first()) {
            let what = if wanted.headers().is_empty() { "remove managed routes" } else { "set header route" };
            let recorded = book.recorded(self.kind, &self.name.name);
            let managed = manage(list, *base, &recorded, wanted).map_err(|error| failed(what, error))?;
            book.record(self.kind, &self.name.name, &managed.positions);
            list = managed.rules;
            written.extend(managed.written);
        }
        let mut body = found.clone();
        put(&mut body, &["spec"], "rules", Value::Array(list));
        if let Some((key, value)) = label {
            written.extend(self.mark(&mut body, key, value, wanted).map_err(set_weight)?);
        }
        Ok(Change::update(&self.name, body, written))
    }

    /// Labels a route while the canary gets traffic.
    fn mark(
        &self,
        body: &mut Value,
        key: &str,
        value: &str,
        wanted: &Wanted<'_>,
    ) -> Result<Option<Written>, RouterError> {
        let before = at(body, &["metadata", "labels", key]).as_str().map(str::to_owned);
        let is_marked = before.as_deref() == Some(value);
        if is_marked == (wanted.weight > 0) {
            return Ok(None);
        }
        let Some(labels) = fields_mut(body, &["metadata", "labels"]) else {
            let (object, field) = (self.name.to_string(), "metadata.labels".to_owned());
            return Err(RouterError::Shape { object, field, wanted: "an object" });
        };
        let after = (!is_marked).then(|| value.to_owned());
        match &after {
            Some(value) => labels.insert(key.to_owned(), json!(value)),
            None => labels.remove(key),
        };
        Ok(Some(Written::Field { field: format!("label {key}"), before, after }))
    }

    /// Whether the canary has the ports that its backendRefs name.
    fn reach(&self, seen: &Seen, wanted: &Wanted<'_>, services: &ServicePorts<'_>) -> Result<(), RouterError> {
        let found = self.find(seen)?;
        for index in split(self.kind, &self.name, found, wanted)? {
            let entries = rules(found).get(index).map(refs).unwrap_or_default();
            for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| is_own(entry, &self.name, wanted)) {
                let place = (self.name.to_string(), format!("spec.rules[{index}].backendRefs[{at}].port"));
                let port = entry.get("port").unwrap_or(&Value::Null);
                services.check(wanted.services.canary, port, Known::Ports, place)?;
            }
        }
        Ok(())
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<SeenRoute>, RouterError> {
        let found = self.find(seen)?;
        let mut routes = Vec::new();
        for index in split(self.kind, &self.name, found, wanted)? {
            let Some(rule) = rules(found).get(index) else { continue };
            routes.push(weighted(self.kind, &self.name, index, rule, wanted).read(refs(rule))?);
        }
        Ok(routes)
    }
}

/// Whether a backendRef is the canary Service of the Rollout's namespace.
fn is_own(entry: &Value, route: &ObjectRef, wanted: &Wanted<'_>) -> bool {
    let text = |field: &str, absent| entry.get(field).and_then(Value::as_str).unwrap_or(absent).to_owned();
    text("name", "") == wanted.services.canary
        && text("kind", "Service") == "Service"
        && text("namespace", &route.namespace) == wanted.rollout.namespace
}

impl Router for GatewayApi {
    fn name(&self) -> &'static str {
        "plugins[\"argoproj-labs/gatewayAPI\"]"
    }

    fn verified(&self) -> Option<bool> {
        Some(true)
    }

    fn needs(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError> {
        let namespace = self.namespace(wanted)?;
        let named = self.config()?.routes.iter().map(|route| route.kind.resource().named(namespace, &route.name));
        let mut needs: Vec<Need> = named.chain(self.book_name(wanted)?).map(Need::Object).collect();
        needs.extend(self.selections(wanted)?.into_iter().map(|(_, selection)| Need::Selected(selection)));
        needs.retain(|need| !seen.has(need));
        Ok(needs)
    }

    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        wanted.check_routes(self.name(), &[ManagedKind::Header])?;
        wanted.services.check_differ().map_err(|error| failed("set weight", error))?;
        self.check_headers(wanted)?;
        let mut book = match self.book_name(wanted)? {
            Some(name) => {
                let found = seen.find(&name)?;
                Some(Book::read(name, found).map_err(|error| failed("remove managed routes", error))?)
            }
            None => None,
        };
        let label = self.config()?.label.as_ref();
        let mut changes = Vec::new();
        for target in self.targets(seen, wanted)? {
            let book = book.as_mut().filter(|_| target.takes_headers);
            changes.extend(target.edit(seen, wanted, label, book)?);
        }
        // A rule must never be there that nobody remembers: it is remembered before it comes and forgotten after it
        // has gone.
        let comes = |change: &Change| change.written.iter().any(|written| matches!(written, Written::Put(..)));
        let place = if changes.iter().any(comes) { 0 } else { changes.len() };
        if let Some(change) = book.and_then(|book| book.change()) {
            changes.insert(place, change);
        }
        Ok(changes)
    }

    fn reach(&self, seen: &Seen, wanted: &Wanted<'_>, services: &ServicePorts<'_>) -> Result<(), RouterError> {
        for target in self.targets(seen, wanted)? {
            target.reach(seen, wanted, services).map_err(|error| failed("set weight", error))?;
        }
        Ok(())
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        let targets = match self.targets(seen, wanted) {
            Ok(targets) => targets,
            Err(error) => return vec![Err(error)],
        };
        let mut all = Vec::new();
        for target in targets {
            match target.read(seen, wanted) {
                Ok(routes) => all.extend(routes.into_iter().map(Ok)),
                Err(error) => all.push(Err(error)),
            }
        }
        all
    }
}
