//! The router of `trafficRouting.alb`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tidegate_api::rollout::{AlbTrafficRouting, CanaryStrategy};
use tidegate_api::wire::{Items, Text};

use super::action::{Action, ActionTarget};
use super::book::Book;
use super::headers::{USE_ANNOTATION, arrange, conditions};
use super::notes::{Notes, told};
use crate::ingress::{annotation, names, one_or_many, paths, port, rules, service};
use crate::router::reach::Known;
use crate::router::weighted::{Split, count, seen_route};
use crate::router::{
    Change, ManagedKind, Need, ObjectRef, Owner, Router, RouterError, Seen, SeenRoute, ServicePorts, Versions, Wanted,
    Wording, Written,
};

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

    /// The annotations that are wanted.
    fn notes(&self, name: &ObjectRef, found: &Value, wanted: &Wanted<'_>) -> Result<Notes, RouterError> {
        let (rollout, service) = (wanted.rollout.name, self.action_service(wanted));
        let mut book = Book::read(&name.to_string(), found)?;
        self.check_names(name, &book, wanted)?;
        let action = self.action(wanted)?;
        let key = self.key("actions", service);
        book.set(rollout, &key, true);
        let mut notes = Notes { action, key, routes: BTreeMap::new(), book: String::new() };
        for route in self.owned_headers(&book, wanted).into_iter().filter(|route| route != service) {
            let keys = ["actions", "conditions"].map(|kind| self.key(kind, &route));
            let step = wanted.headers().into_iter().find(|(other, _)| *other == route).map(|(_, step)| step);
            keys.iter().for_each(|key| book.set(rollout, key, step.is_some()));
            let values = match step {
                Some(step) => {
                    let forward = Action::to(wanted.paired.canary, &self.port(), None);
                    [Some(forward.json()), Some(conditions(&route, step)?)]
                }
                None => [None, None],
            };
            notes.routes.insert(route, keys.into_iter().zip(values).collect());
        }
        notes.book = book.json();
        Ok(notes)
    }

    fn edit_one(&self, name: &ObjectRef, seen: &Seen, wanted: &Wanted<'_>) -> Result<Option<Change>, RouterError> {
        let found = self.find(name, seen)?;
        let service = self.action_service(wanted);
        if !rules(found).iter().any(|rule| names(rule, service)) {
            let hint = format!("{name}: add a path with backend.service.name {service} to spec.rules");
            return Err(Wording::AlbService(service.to_owned()).hint(hint));
        }
        let notes = self.notes(name, found, wanted)?;
        let mut body = found.clone();
        let mut written = notes.write(name, &mut body)?;
        let headers: Vec<&str> = wanted.headers().into_iter().map(|(route, _)| route).collect();
        let owned: Vec<&str> = notes.routes.keys().map(String::as_str).collect();
        if arrange(&mut body, &headers, &owned, service) && written.is_empty() {
            let field = "spec.rules[].http.paths".to_owned();
            written.push(Written::Field { field, before: None, after: Some("managed routes in order".to_owned()) });
        }
        let weight = notes.action.targets.first().map_or(0, |canary| canary.weight);
        Ok(Change::update(name, body, written).map(|change| told(change, wanted, weight)))
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
            count(&mut route, &target.service, target.weight, &wanted.paired);
        }
        Ok(route)
    }
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

    fn reach(&self, seen: &Seen, wanted: &Wanted<'_>, services: &ServicePorts<'_>) -> Result<(), RouterError> {
        let action = self.action_service(wanted);
        for name in self.ingresses(wanted)? {
            let Some(found) = seen.find(&name)? else { continue };
            let mut all = rules(found).iter().flat_map(paths).filter(|path| service(path) == action);
            if !all.any(|path| port(path) == USE_ANNOTATION) {
                return Err(RouterError::NoActionPort { object: name.to_string(), service: action.to_owned() });
            }
        }
        let Owner { namespace, name, .. } = wanted.rollout;
        let place = (format!("Rollout {namespace}/{name}"), "trafficRouting.alb.servicePort".to_owned());
        services.check(wanted.paired.canary, &Value::String(self.port()), Known::Ports, place)
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        match self.ingresses(wanted) {
            Ok(names) => names.iter().map(|name| self.read_one(name, seen, wanted)).collect(),
            Err(error) => vec![Err(error)],
        }
    }
}
