//! The router of `trafficRouting.alb`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use tidegate_api::names::annotations::MANAGED_ALB_ANNOTATIONS;
use tidegate_api::rollout::{AlbTrafficRouting, CanaryStrategy};
use tidegate_api::wire::{Items, Text};

use super::action::{Action, ActionTarget};
use super::book::Book;
use super::headers::{arrange, conditions};
use crate::ingress::{annotation, names, one_or_many, rules};
use crate::istio::{ManagedKind, SeenRoute};
use crate::router::fields::fields_mut;
use crate::router::weighted::{Split, seen_route};
use crate::router::{Change, Event, Need, ObjectRef, Router, RouterError, Seen, Versions, Wanted, Wording, Written};

/// The weight that means all traffic.
const TOTAL: i64 = 100;
const LONGEST_STICKINESS: i64 = 604_800;

/// The router of `trafficRouting.alb`.
pub struct Alb<'a> {
    pub(crate) spec: &'a AlbTrafficRouting,
    pub(crate) versions: &'a Versions,
}

impl<'a> Alb<'a> {
    /// The one a canary strategy asks for.
    pub fn of(canary: &'a CanaryStrategy, versions: &'a Versions) -> Option<Self> {
        let spec = canary.traffic_routing.as_ref()?.alb.as_ref()?;
        Some(Self { spec, versions })
    }

    pub(super) fn ingresses(&self, wanted: &Wanted<'_>) -> Result<Vec<ObjectRef>, RouterError> {
        let texts = (Wording::AlbBoth, Wording::AlbNeither);
        let fields = "spec.strategy.canary.trafficRouting.alb.ingress and ingresses";
        let names = one_or_many(self.spec.ingress.text(), self.spec.ingresses.items(), texts, fields)?;
        let ingress = self.versions.ingress();
        Ok(names.into_iter().map(|name| ingress.named(wanted.rollout.namespace, name)).collect())
    }

    pub(super) fn find<'s>(&self, name: &ObjectRef, seen: &'s Seen) -> Result<&'s Value, RouterError> {
        let field = if self.spec.ingress.text().is_empty() { "ingresses" } else { "ingress" };
        seen.get(name, || format!("create it, or correct spec.strategy.canary.trafficRouting.alb.{field}"))
    }

    pub(super) fn port(&self) -> String {
        self.spec.service_port.unwrap_or_default().to_string()
    }

    /// The Service of the Ingress that the action stands for.
    fn action_service<'w>(&'w self, wanted: &'w Wanted<'_>) -> &'w str {
        match self.spec.root_service.text() {
            "" => wanted.paired.stable,
            root => root,
        }
    }

    fn key(&self, kind: &str, name: &str) -> String {
        let prefix = match self.spec.annotation_prefix.text() {
            "" => "alb.ingress.kubernetes.io",
            prefix => prefix,
        };
        format!("{prefix}/{kind}.{name}")
    }

    fn sticky_seconds(&self) -> Result<Option<i64>, RouterError> {
        let config = self.spec.stickiness_config.as_ref().filter(|config| config.enabled == Some(true));
        let Some(config) = config else { return Ok(None) };
        let seconds = config.duration_seconds.unwrap_or_default();
        if (1..=LONGEST_STICKINESS).contains(&seconds) {
            return Ok(Some(seconds));
        }
        let hint = "spec.strategy.canary.trafficRouting.alb.stickinessConfig.durationSeconds";
        Err(Wording::AlbStickiness.hint(format!("{hint} is {seconds}; correct it")))
    }

    /// Canary first, then experiments, stable last.
    fn action(&self, wanted: &Wanted<'_>) -> Result<Action, RouterError> {
        let split = Split::of(wanted, TOTAL, 0, true);
        let target = |service: &str, weight| ActionTarget { service: service.to_owned(), port: self.port(), weight };
        let mut targets = vec![target(wanted.paired.canary, split.canary)];
        targets.extend(split.experiments.iter().map(|(service, part)| target(service, *part)));
        targets.push(target(wanted.paired.stable, split.stable));
        Ok(Action { targets, sticky_seconds: self.sticky_seconds()? })
    }

    /// Names of header routes that are this Rollout's to remove.
    fn owned_headers(&self, book: &Book, wanted: &Wanted<'_>) -> BTreeSet<String> {
        let rollout = wanted.rollout.name;
        let conditions = self.key("conditions", "");
        let recorded = book.keys(rollout).iter().filter_map(|key| key.strip_prefix(&conditions));
        let named = wanted.owned_routes().into_iter();
        let is_free = |name: &&str| book.rival(rollout, &self.key("actions", name)).is_none();
        named.filter(is_free).chain(recorded).map(str::to_owned).collect()
    }

    /// A header route must not take the annotations of anybody else.
    fn check_names(&self, name: &ObjectRef, book: &Book, wanted: &Wanted<'_>) -> Result<(), RouterError> {
        for (route, _) in wanted.headers() {
            let rival = book.rival(wanted.rollout.name, &self.key("actions", route));
            let rival = rival.map(|rival| format!("Rollout {rival}"));
            let root = (route == self.action_service(wanted)).then(|| "the Service of the action".to_owned());
            if let Some(rival) = rival.or(root) {
                return Err(RouterError::NameTaken { object: name.to_string(), name: route.to_owned(), rival });
            }
        }
        Ok(())
    }

    fn edit_one(&self, name: &ObjectRef, seen: &Seen, wanted: &Wanted<'_>) -> Result<Option<Change>, RouterError> {
        let found = self.find(name, seen)?;
        let service = self.action_service(wanted);
        if !rules(found).iter().any(|rule| names(rule, service)) {
            let hint = format!("{name}: add a path with backend.service.name {service} to spec.rules");
            return Err(Wording::AlbService(service.to_owned()).hint(hint));
        }
        let mut book = Book::read(&name.to_string(), found)?;
        self.check_names(name, &book, wanted)?;
        let action = self.action(wanted)?;
        let mut annotations = BTreeMap::from([(self.key("actions", service), Some(action.json()))]);
        let mut owned = self.owned_headers(&book, wanted);
        owned.remove(service);
        for route in &owned {
            annotations.extend(["actions", "conditions"].map(|kind| (self.key(kind, route), None)));
        }
        book.set(wanted.rollout.name, &self.key("actions", service), true);
        let headers = wanted.headers();
        for (route, step) in &headers {
            let forward = Action::to(wanted.paired.canary, &self.port(), None);
            annotations.insert(self.key("actions", route), Some(forward.json()));
            annotations.insert(self.key("conditions", route), Some(conditions(route, step)?));
        }
        for route in &owned {
            let is_there = headers.iter().any(|(other, _)| other == route);
            ["actions", "conditions"]
                .iter()
                .for_each(|kind| book.set(wanted.rollout.name, &self.key(kind, route), is_there));
        }
        annotations.insert(MANAGED_ALB_ANNOTATIONS.to_owned(), Some(book.json()));

        let mut body = found.clone();
        let mut written = weights(annotation(found, &self.key("actions", service)), &action);
        let mut routes = BTreeSet::new();
        for (key, value) in &annotations {
            let Some(before) = set(&mut body, name, key, value.as_deref())? else { continue };
            match owned.iter().find(|route| ["actions", "conditions"].iter().any(|kind| self.key(kind, route) == *key))
            {
                Some(route) => routes.extend(Some(route.clone())),
                None => {
                    written.push(Written::Field { field: format!("annotation {key}"), before, after: value.clone() })
                }
            }
        }
        let names: Vec<&str> = headers.iter().map(|(route, _)| *route).collect();
        let owned: Vec<&str> = owned.iter().map(String::as_str).collect();
        if arrange(&mut body, &names, &owned, service) && routes.is_empty() {
            let field = "spec.rules[].http.paths".to_owned();
            written.push(Written::Field { field, before: None, after: Some("managed routes in order".to_owned()) });
        }
        let kind = ManagedKind::Header;
        written.extend(routes.into_iter().map(|route| match names.contains(&route.as_str()) {
            true => Written::Put(kind, route),
            false => Written::Removed(kind, route),
        }));
        Ok(Change::update(name, body, written).map(|change| told(change, wanted, &action)))
    }

    fn read_one(&self, name: &ObjectRef, seen: &Seen, wanted: &Wanted<'_>) -> Result<SeenRoute, RouterError> {
        let found = self.find(name, seen)?;
        let key = self.key("actions", self.action_service(wanted));
        let mut route = seen_route(&name.to_string(), &format!("annotation {key}"));
        let Some(text) = annotation(found, &key) else { return Ok(route) };
        let Some(action) = Action::read(text) else {
            let (object, field) = (name.to_string(), format!("annotation {key}"));
            return Err(RouterError::Shape { object, field, wanted: "a forward action" });
        };
        for target in action.targets {
            route.total = route.total.saturating_add(target.weight);
            if target.service == wanted.paired.canary {
                route.canary = route.canary.saturating_add(target.weight);
            } else if target.service == wanted.paired.stable {
                route.stable = route.stable.saturating_add(target.weight);
            } else {
                let sum = route.additional.entry(target.service).or_default();
                *sum = sum.saturating_add(target.weight);
            }
        }
        Ok(route)
    }
}

/// Sets or removes an annotation; what it was before, when that differs.
pub(super) fn set(
    body: &mut Value,
    name: &ObjectRef,
    key: &str,
    value: Option<&str>,
) -> Result<Option<Option<String>>, RouterError> {
    let before = body.pointer("/metadata/annotations").and_then(|all| all.get(key)).cloned();
    if before == value.map(|value| json!(value)) {
        return Ok(None);
    }
    let Some(all) = fields_mut(body, &["metadata", "annotations"]) else {
        let (object, field) = (name.to_string(), "metadata.annotations".to_owned());
        return Err(RouterError::Shape { object, field, wanted: "an object" });
    };
    match value {
        Some(value) => all.insert(key.to_owned(), json!(value)),
        None => all.remove(key),
    };
    Ok(Some(before.map(|before| before.as_str().map_or_else(|| before.to_string(), str::to_owned))))
}

/// How the weights of an action differ from those that are there.
fn weights(before: Option<&str>, after: &Action) -> Vec<Written> {
    let before = before.and_then(Action::read).map(|action| action.targets).unwrap_or_default();
    let of = |all: &[ActionTarget], service: &str| {
        all.iter().find(|target| target.service == service).map(|target| target.weight)
    };
    let gone = before.iter().filter(|target| of(&after.targets, &target.service).is_none());
    let all = after.targets.iter().chain(gone).map(|target| {
        let (before, after) = (of(&before, &target.service), of(&after.targets, &target.service));
        (target.service.clone(), before, after)
    });
    let place = || "action".to_owned();
    all.filter(|(_, before, after)| before != after)
        .map(|(destination, before, after)| Written::Weight { place: place(), destination, before, after })
        .collect()
}

/// The change with its events, in the order the routes were asked for and weighted.
fn told(change: Change, wanted: &Wanted<'_>, action: &Action) -> Change {
    let ingress = format!("Updating Ingress `{}`", change.object.name);
    let mut messages = Vec::new();
    for written in &change.written {
        match written {
            Written::Removed(..) if wanted.routes.is_none() => {
                messages.push(format!("{ingress} removing managed routes"))
            }
            Written::Put(_, name) | Written::Removed(_, name) => {
                messages.push(format!("{ingress} to headerRoute '{name}'"))
            }
            _ => {}
        }
    }
    messages.dedup();
    if messages.is_empty() || change.written.iter().any(|written| matches!(written, Written::Weight { .. })) {
        let weight = action.targets.first().map_or(0, |canary| canary.weight);
        messages.push(format!("{ingress} to desiredWeight '{weight}'"));
    }
    messages.into_iter().fold(change, |change, message| change.telling(Event::normal("PatchingALBIngress", message)))
}

impl Router for Alb<'_> {
    fn name(&self) -> &'static str {
        "alb"
    }

    fn needs(&self, _: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError> {
        Ok(self.ingresses(wanted)?.into_iter().map(Need::Object).collect())
    }

    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        wanted.check_routes(self.name(), &[ManagedKind::Header])?;
        wanted.paired.check_differ()?;
        let mut changes = Vec::new();
        for name in self.ingresses(wanted)? {
            changes.extend(self.edit_one(&name, seen, wanted)?);
        }
        Ok(changes)
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        match self.ingresses(wanted) {
            Ok(names) => names.iter().map(|name| self.read_one(name, seen, wanted)).collect(),
            Err(error) => vec![Err(error)],
        }
    }
}
