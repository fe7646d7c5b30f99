//! Service Mesh Interface: a TrafficSplit, which is the Rollout's own.

use serde_json::{Value, json};
use tidegate_api::rollout::SmiTrafficRouting;
use tidegate_api::wire::Text;

use crate::istio::whole_number;
use crate::router::fields::{at, list, put, text};
use crate::router::weighted::{Split, count, seen_route};
use crate::router::{
    Change, Event, Failure, Need, ObjectRef, Router, RouterError, Seen, SeenRoute, Versions, Wanted, Wording, Written,
};

const TOTAL: i64 = 100;
const PLACE: &str = "spec.backends";

/// The router of `trafficRouting.smi`.
pub(crate) struct Smi<'a> {
    pub(crate) spec: &'a SmiTrafficRouting,
    pub(crate) versions: &'a Versions,
}

impl Smi<'_> {
    fn object(&self, wanted: &Wanted<'_>) -> ObjectRef {
        let name = match self.spec.traffic_split_name.text() {
            "" => wanted.rollout.name,
            name => name,
        };
        self.versions.traffic_split().named(wanted.rollout.namespace, name)
    }

    /// The TrafficSplit, when there is one and it is the Rollout's.
    fn own<'s>(&self, seen: &'s Seen, wanted: &Wanted<'_>) -> Result<Option<&'s Value>, RouterError> {
        self.check_version()?;
        wanted.services.check_differ()?;
        let name = self.object(wanted);
        let Some(found) = seen.find(&name)? else { return Ok(None) };
        if !wanted.rollout.controls(found) {
            let hint = format!("{name}: delete it, or set spec.strategy.canary.trafficRouting.smi.trafficSplitName");
            return Err(Wording::TrafficSplitOwner(name.name).hint(hint));
        }
        Ok(Some(found))
    }

    fn check_version(&self) -> Result<(), RouterError> {
        let version = self.versions.traffic_split.as_str();
        if ["v1alpha1", "v1alpha2", "v1alpha3"].contains(&version) {
            return Ok(());
        }
        let hint = "set --traffic-split-api-version to v1alpha1, v1alpha2 or v1alpha3".to_owned();
        Err(Wording::TrafficSplitVersion(version.to_owned()).hint(hint))
    }

    fn root<'w>(&'w self, wanted: &'w Wanted<'_>) -> &'w str {
        match self.spec.root_service.text() {
            "" => wanted.services.stable,
            root => root,
        }
    }

    fn weight(&self, weight: i64) -> Value {
        // The first version holds a quantity, which is text.
        if self.versions.traffic_split == "v1alpha1" { json!(weight.to_string()) } else { json!(weight) }
    }
}

/// The backends in the order they are written.
fn backends<'w>(wanted: &'w Wanted<'_>) -> Vec<(&'w str, i64)> {
    let split = Split::of(wanted, TOTAL, 0, true);
    let mut all = vec![(wanted.services.canary, split.canary)];
    let parts = split.experiments.iter().map(|(_, part)| *part);
    all.extend(wanted.experiments.iter().map(|found| found.service.as_str()).zip(parts));
    all.push((wanted.services.stable, split.stable));
    all
}

/// The backends as they are, with a weight that is no number as none.
fn found(object: &Value) -> Vec<(&str, Option<i64>)> {
    let weight = |entry: &Value| match at(entry, &["weight"]) {
        Value::String(quantity) => quantity.parse().ok().filter(|weight| *weight >= 0),
        other => whole_number(other),
    };
    let all = list(object, &["spec", "backends"]).into_iter().flatten();
    all.map(|entry| (text(entry, &["service"]), weight(entry))).collect()
}

impl Router for Smi<'_> {
    fn name(&self) -> &'static str {
        "smi"
    }

    fn needs(&self, _: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Need>, RouterError> {
        self.check_version()?;
        Ok(vec![Need::Object(self.object(wanted))])
    }

    fn edit(&self, seen: &Seen, wanted: &Wanted<'_>) -> Result<Vec<Change>, RouterError> {
        wanted.check_routes(self.name(), &[])?;
        let name = self.object(wanted);
        let (root, backends) = (self.root(wanted), backends(wanted));
        let entry = |(service, weight): &(&str, i64)| json!({"service": service, "weight": self.weight(*weight)});
        let list = Value::Array(backends.iter().map(entry).collect());
        let Some(object) = self.own(seen, wanted)? else {
            let body = json!({
                "apiVersion": name.resource.api_version(), "kind": name.resource.kind,
                "metadata": {
                    "name": name.name, "namespace": name.namespace, "ownerReferences": [wanted.rollout.reference()],
                },
                "spec": {"service": root, "backends": list},
            });
            let split = &name.name;
            let created = Event::normal("TrafficSplitCreated", format!("TrafficSplit `{split}` created"));
            let failed = Failure::normal("TrafficSplitNotCreated", format!("TrafficSplit `{split}` failed creation"));
            return Ok(vec![Change::create(&name, body).telling(created).or_telling(failed)]);
        };
        let mut written = Vec::new();
        let mut body = object.clone();
        let service = text(object, &["spec", "service"]);
        if service != root {
            let (before, after) = (Some(service.to_owned()), Some(root.to_owned()));
            written.push(Written::Field { field: "spec.service".to_owned(), before, after });
            put(&mut body, &["spec"], "service", json!(root));
        }
        let differences = differences(&found(object), &backends);
        if !differences.is_empty() {
            written.extend(differences);
            put(&mut body, &["spec"], "backends", list);
        }
        if at(&body, &["spec"]).as_object().is_none() {
            let (object, field) = (name.to_string(), "spec".to_owned());
            return Err(RouterError::Shape { object, field, wanted: "an object" });
        }
        Ok(Change::update(&name, body, written).into_iter().collect())
    }

    fn read(&self, seen: &Seen, wanted: &Wanted<'_>) -> Vec<Result<SeenRoute, RouterError>> {
        vec![self.own(seen, wanted).and_then(|object| weights(&self.object(wanted), object, wanted))]
    }
}

/// The weights as they are. Without a split the root Service decides, which is the stable one or leads to it.
fn weights(name: &ObjectRef, object: Option<&Value>, wanted: &Wanted<'_>) -> Result<SeenRoute, RouterError> {
    let mut route = seen_route(&name.to_string(), PLACE);
    let Some(object) = object else { return Ok(SeenRoute { stable: TOTAL, total: TOTAL, ..route }) };
    for (index, (service, weight)) in found(object).into_iter().enumerate() {
        let weight = weight.ok_or_else(|| RouterError::Shape {
            object: name.to_string(),
            field: format!("{PLACE}[{index}].weight"),
            wanted: "a whole number",
        })?;
        count(&mut route, service, weight, &wanted.services);
    }
    Ok(route)
}

/// What differs between the backends that are there and those that should be; order counts as well.
fn differences(found: &[(&str, Option<i64>)], wanted: &[(&str, i64)]) -> Vec<Written> {
    let is_same = found.len() == wanted.len()
        && found.iter().zip(wanted).all(|((one, before), (other, after))| one == other && *before == Some(*after));
    if is_same {
        return Vec::new();
    }
    let of = |service: &str| found.iter().find(|(other, _)| *other == service).and_then(|(_, weight)| *weight);
    let difference = |service: &str, before: Option<i64>, after: Option<i64>| Written::Weight {
        place: PLACE.to_owned(),
        destination: service.to_owned(),
        before,
        after,
    };
    let changed = wanted.iter().filter(|(service, after)| of(service) != Some(*after));
    let mut written: Vec<_> = changed.map(|(service, after)| difference(service, of(service), Some(*after))).collect();
    let gone = found.iter().filter(|(service, _)| !wanted.iter().any(|(other, _)| other == service));
    written.extend(gone.map(|(service, before)| difference(service, *before, None)));
    if written.is_empty() {
        let (before, after) = (None, Some("in order".to_owned()));
        written.push(Written::Field { field: PLACE.to_owned(), before, after });
    }
    written
}
