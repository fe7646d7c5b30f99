//! Traefik: the weights of a TraefikService.

use serde_json::Value;
use tidegate_api::rollout::TraefikTrafficRouting;
use tidegate_api::wire::Text;

use crate::router::fields::{at, list, put, text};
use crate::router::reach::Known;
use crate::router::weighted::{Role, Weighted};
use crate::router::{
    Change, Failure, Need, ObjectRef, Router, RouterError, Seen, SeenRoute, ServicePorts, Versions, Wanted, Wording,
};

/// A weight that nobody sets.
const DEFAULT_WEIGHT: i64 = 1;

/// The router of `trafficRouting.traefik`.
pub(crate) struct Traefik<'a> {
    pub(crate) spec: &'a TraefikTrafficRouting,
    pub(crate) versions: &'a Versions,
}

impl Traefik<'_> {
    fn object(&self, wanted: &Wanted<'_>) -> ObjectRef {
        self.versions.traefik().named(wanted.rollout.namespace, self.spec.weighted_traefik_service_name.text())
    }

    /// The list of Services with their weights.
    fn services<'s>(
        &self,
        seen: &'s Seen,
        wanted: &'s Wanted<'s>,
    ) -> Result<(&'s Value, &'s Vec<Value>, Weighted<'s>), RouterError> {
        wanted.services.check_differ()?;
        let name = self.object(wanted);
        let object = seen.get(&name, || {
            "create it, or correct spec.strategy.canary.trafficRouting.traefik.weightedTraefikServiceName".to_owned()
        })?;
        let Some(services) = list(object, &["spec", "weighted", "services"]) else {
            return Err(Wording::TraefikServices.hint(format!("{name}: add the list spec.weighted.services")));
        };
        let mut entries = Vec::new();
        for (index, service) in services.iter().enumerate() {
            let service = text(service, &["name"]);
            if service.is_empty() {
                return Err(Wording::TraefikName.hint(format!("{name}: add spec.weighted.services[{index}].name")));
            }
            entries.push((service, Role::of(service, wanted)));
        }
        let roles = [
            (Role::Canary, Wording::TraefikCanary, wanted.services.canary),
            (Role::Stable, Wording::TraefikStable, wanted.services.stable),
        ];
        for (role, wording, service) in roles {
            if !entries.iter().any(|(_, other)| *other == role) {
                return Err(wording.hint(format!("{name}: add Service '{service}' to spec.weighted.services")));
            }
        }
        let (object_name, place) = (name.to_string(), "spec.weighted.services".to_owned());
        let weighted = Weighted {
            object: object_name,
            place,
            default: DEFAULT_WEIGHT,
            total: 100,
            takes_experiments: false,
            entries,
            wanted,
        };
        Ok((object, services, weighted))
    }
}

/// Whether an entry is the canary Service of the Rollout's namespace, and not another TraefikService.
fn is_own(entry: &Value, wanted: &Wanted<'_>) -> bool {
    let is_absent_or = |field: &str, value: &str| ["", value].contains(&text(entry, &[field]));
    text(entry, &["name"]) == wanted.services.canary
        && is_absent_or("kind", "Service")
        && is_absent_or("namespace", wanted.rollout.namespace)
}

impl Router for Traefik<'_> {
    fn name(&self) -> &'static str {
        "traefik"
    }

    fn needs(&self, _: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError> {
        Ok(vec![Need::Object(self.object(wanted))])
    }

    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        wanted.check_routes(self.name(), &[])?;
        let (object, services, weighted) = self.services(seen, wanted)?;
        let mut services = services.clone();
        let written = weighted.weigh(&mut services, |_| None)?;
        let mut object = object.clone();
        put(&mut object, &["spec", "weighted"], "services", Value::Array(services));
        let name = self.object(wanted);
        let failed = format!("Error updating traefik service \"{}\"", name.name);
        let change = Change::update(&name, object, written);
        Ok(change
            .map(|change| change.or_telling(Failure::warning("TraefikServiceUpdateError", failed)))
            .into_iter()
            .collect())
    }

    fn reach(&self, seen: &Seen, wanted: &Wanted<'_>, services: &ServicePorts<'_>) -> Result<(), RouterError> {
        let (_, all, _) = self.services(seen, wanted)?;
        for (index, entry) in all.iter().enumerate().filter(|(_, entry)| is_own(entry, wanted)) {
            let place = (self.object(wanted).to_string(), format!("spec.weighted.services[{index}].port"));
            services.check(wanted.services.canary, at(entry, &["port"]), Known::PodPorts, place)?;
        }
        Ok(())
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        vec![self.services(seen, wanted).and_then(|(_, services, weighted)| weighted.read(services))]
    }
}
