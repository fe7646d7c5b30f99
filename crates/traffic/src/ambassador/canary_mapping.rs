//! The canary's Mapping, made from the user's.

use serde_json::{Value, json};

use crate::istio::whole_number;
use crate::router::fields::{at, fields_mut, put, text};
use crate::router::{Change, Failure, ObjectRef, RouterError, Wanted, Written, controller};

/// The longest beginning of a name that leaves room for the suffix.
const LONGEST_BEGINNING: usize = 246;
/// Since when the canary's Mapping has had no weight, in seconds since 1970; proxies get time before it goes.
const ZERO_SINCE: &str = "rollouts.tidegate.dev/zero-since";
const SECONDS_BEFORE_DELETION: i64 = 5;

/// `MAPPING-canary`.
pub(super) fn name(mapping: &str) -> String {
    let beginning: String = mapping.chars().take(LONGEST_BEGINNING).collect();
    beginning + "-canary"
}

/// A canary's Mapping that is wanted or there.
pub(super) struct CanaryMapping<'a> {
    pub(super) name: &'a ObjectRef,
    /// The weight it should have.
    pub(super) weight: i64,
    pub(super) wanted: &'a Wanted<'a>,
}

/// The weight of a Mapping; one without it takes what the others leave.
pub(super) fn weight(mapping: &Value) -> Option<i64> {
    whole_number(at(mapping, &["spec", "weight"]))
}

impl CanaryMapping<'_> {
    /// The address of the canary: the first mention of stable in that of the user's Mapping is replaced.
    fn service(&self, base_name: &ObjectRef, base: &Value) -> Result<String, RouterError> {
        let (services, service) = (&self.wanted.services, text(base, &["spec", "service"]));
        if !service.contains(services.stable) {
            let (object, field) = (base_name.to_string(), "spec.service".to_owned());
            return Err(RouterError::Shape { object, field, wanted: "an address with the stable Service in it" });
        }
        Ok(service.replacen(services.stable, services.canary, 1))
    }

    /// A new one; none when it would get no traffic.
    pub(super) fn create(&self, base_name: &ObjectRef, base: &Value) -> Result<Option<Change>, RouterError> {
        let service = self.service(base_name, base)?;
        if self.weight == 0 {
            return Ok(None);
        }
        let mut spec = at(base, &["spec"]).clone();
        put(&mut spec, &[], "service", json!(service));
        put(&mut spec, &[], "weight", json!(self.weight));
        let body = json!({
            "apiVersion": self.name.resource.api_version(), "kind": self.name.resource.kind,
            "metadata": {
                "name": self.name.name, "namespace": self.name.namespace,
                "ownerReferences": [self.wanted.rollout.reference()],
            },
            "spec": spec,
        });
        let failed = self.failure("CanaryMappingCreationError", "creating");
        Ok(Some(Change::create(self.name, body).or_telling(failed)))
    }

    /// The one that is there with its weight, and when it may go.
    pub(super) fn follow(
        &self,
        found: &Value,
        base_name: &ObjectRef,
        base: &Value,
    ) -> Result<Vec<Change>, RouterError> {
        let service = self.service(base_name, base)?;
        let mut body = found.clone();
        let mut written = Vec::new();
        if !self.wanted.rollout.controls(found) {
            // One made by a controller that leaves no owner behind is taken over; any other is somebody's.
            if controller(found).is_some() || text(found, &["spec", "service"]) != service {
                return Err(RouterError::NotOurs { object: self.name.to_string() });
            }
            put(&mut body, &["metadata"], "ownerReferences", json!([self.wanted.rollout.reference()]));
            let (before, after) = (None, Some(self.wanted.rollout.name.to_owned()));
            written.push(Written::Field { field: "owner".to_owned(), before, after });
        }
        let shape = |field: &str| {
            let (object, field) = (self.name.to_string(), field.to_owned());
            RouterError::Shape { object, field, wanted: "an object" }
        };
        let before = at(found, &["spec", "weight"]);
        let before = if before.is_null() { None } else { whole_number(before) };
        if before != Some(self.weight) {
            let (place, destination) = ("spec.weight".to_owned(), self.wanted.services.canary.to_owned());
            written.push(Written::Weight { place, destination, before, after: Some(self.weight) });
            let spec = fields_mut(&mut body, &["spec"]).ok_or_else(|| shape("spec"))?;
            spec.insert("weight".to_owned(), json!(self.weight));
        }
        if text(found, &["spec", "service"]) != service {
            let before = Some(text(found, &["spec", "service"]).to_owned());
            let field = "spec.service".to_owned();
            written.push(Written::Field { field, before, after: Some(service.clone()) });
            let spec = fields_mut(&mut body, &["spec"]).ok_or_else(|| shape("spec"))?;
            spec.insert("service".to_owned(), json!(service));
        }
        let now = self.wanted.now;
        let noted = text(found, &["metadata", "annotations", ZERO_SINCE]);
        // A moment that cannot be read, or lies ahead, is none.
        let since = noted.parse().ok().filter(|since| *since <= now && before == Some(0)).unwrap_or(now);
        let after = (self.weight == 0).then(|| since.to_string());
        if after.as_deref().unwrap_or_default() != noted {
            let annotations = fields_mut(&mut body, &["metadata", "annotations"]);
            let annotations = annotations.ok_or_else(|| shape("metadata.annotations"))?;
            match &after {
                Some(since) => annotations.insert(ZERO_SINCE.to_owned(), json!(since)),
                None => annotations.remove(ZERO_SINCE),
            };
            let before = (!noted.is_empty()).then(|| noted.to_owned());
            written.push(Written::Field { field: format!("annotation {ZERO_SINCE}"), before, after });
        }
        let update = Change::update(self.name, body, written);
        let failed = self.failure("CanaryMappingUpdateError", "updating");
        let mut changes: Vec<Change> = update.map(|change| change.or_telling(failed)).into_iter().collect();
        if self.weight == 0 {
            let failed = self.failure("CanaryMappingCleanupError", "deleting");
            let not_before = Some(since.saturating_add(SECONDS_BEFORE_DELETION));
            changes.push(Change::delete(self.name, found, not_before).or_telling(failed));
        }
        Ok(changes)
    }

    fn failure(&self, reason: &'static str, doing: &str) -> Failure {
        Failure::warning(reason, format!("Error {doing} canary mapping \"{}\"", self.name.name))
    }
}
