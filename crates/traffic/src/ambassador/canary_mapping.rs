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
        let mut draft = Draft { name: self.name, body: found.clone(), written: Vec::new() };
        self.adopt(&mut draft, found, &service)?;
        self.weigh(&mut draft, found, &service)?;
        let since = self.note(&mut draft, found)?;
        let update = Change::update(self.name, draft.body, draft.written);
        let failed = self.failure("CanaryMappingUpdateError", "updating");
        let mut changes: Vec<Change> = update.map(|change| change.or_telling(failed)).into_iter().collect();
        if self.weight == 0 {
            let failed = self.failure("CanaryMappingCleanupError", "deleting");
            let not_before = Some(since.saturating_add(SECONDS_BEFORE_DELETION));
            changes.push(Change::delete(self.name, found, not_before).or_telling(failed));
        }
        Ok(changes)
    }

    /// One made by a controller that leaves no owner behind is taken over; any other is somebody's.
    fn adopt(&self, draft: &mut Draft<'_>, found: &Value, service: &str) -> Result<(), RouterError> {
        if self.wanted.rollout.controls(found) {
            return Ok(());
        }
        if controller(found).is_some() || text(found, &["spec", "service"]) != service {
            return Err(RouterError::NotOurs { object: self.name.to_string() });
        }
        let (before, after) = (None, Some(self.wanted.rollout.name.to_owned()));
        let written = Written::Field { field: "owner".to_owned(), before, after };
        draft.set(&["metadata"], "ownerReferences", Some(json!([self.wanted.rollout.reference()])), written)
    }

    fn weigh(&self, draft: &mut Draft<'_>, found: &Value, service: &str) -> Result<(), RouterError> {
        let before = own_weight(found);
        if before != Some(self.weight) {
            let (place, destination) = ("spec.weight".to_owned(), self.wanted.services.canary.to_owned());
            let written = Written::Weight { place, destination, before, after: Some(self.weight) };
            draft.set(&["spec"], "weight", Some(json!(self.weight)), written)?;
        }
        let before = text(found, &["spec", "service"]);
        if before != service {
            let (before, after) = (Some(before.to_owned()), Some(service.to_owned()));
            let written = Written::Field { field: "spec.service".to_owned(), before, after };
            draft.set(&["spec"], "service", Some(json!(service)), written)?;
        }
        Ok(())
    }

    /// Notes since when there has been no weight, and tells it.
    fn note(&self, draft: &mut Draft<'_>, found: &Value) -> Result<i64, RouterError> {
        let noted = text(found, &["metadata", "annotations", ZERO_SINCE]);
        // A moment that cannot be read, or lies ahead, is none.
        let is_sound = |since: &i64| *since <= self.wanted.now && own_weight(found) == Some(0);
        let since = noted.parse().ok().filter(is_sound).unwrap_or(self.wanted.now);
        let after = (self.weight == 0).then(|| since.to_string());
        if after.as_deref().unwrap_or_default() != noted {
            let before = (!noted.is_empty()).then(|| noted.to_owned());
            let value = after.as_ref().map(|since| json!(since));
            let written = Written::Field { field: format!("annotation {ZERO_SINCE}"), before, after };
            draft.set(&["metadata", "annotations"], ZERO_SINCE, value, written)?;
        }
        Ok(since)
    }

    fn failure(&self, reason: &'static str, doing: &str) -> Failure {
        Failure::warning(reason, format!("Error {doing} canary mapping \"{}\"", self.name.name))
    }
}

/// The weight that a Mapping says itself.
fn own_weight(mapping: &Value) -> Option<i64> {
    Some(at(mapping, &["spec", "weight"])).filter(|weight| !weight.is_null()).and_then(whole_number)
}

/// A Mapping that is being edited.
struct Draft<'a> {
    name: &'a ObjectRef,
    body: Value,
    written: Vec<Written>,
}

impl Draft<'_> {
    /// Sets a field, or removes it.
    fn set(&mut self, path: &[&str], field: &str, value: Option<Value>, written: Written) -> Result<(), RouterError> {
        let Some(fields) = fields_mut(&mut self.body, path) else {
            let (object, field) = (self.name.to_string(), path.join("."));
            return Err(RouterError::Shape { object, field, wanted: "an object" });
        };
        match value {
            Some(value) => fields.insert(field.to_owned(), value),
            None => fields.remove(field),
        };
        self.written.push(written);
        Ok(())
    }
}
