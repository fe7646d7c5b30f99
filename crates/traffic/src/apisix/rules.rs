//! Rules of an ApisixRoute and the weights of their backends.

use serde_json::Value;

use crate::router::fields::{list, text};
use crate::router::weighted::{Role, Weighted};
use crate::router::{ObjectRef, RouterError, Wanted, Wording};

/// A weight that nobody sets.
const DEFAULT_WEIGHT: i64 = 100;

/// Positions of the rules to write.
pub(super) fn positions(names: &[&str], name: &ObjectRef, route: &Value) -> Result<Vec<usize>, RouterError> {
    let Some(all) = list(route, &["spec", "http"]) else {
        return Err(Wording::ApisixHttp.hint(format!("{name}: add the list spec.http")));
    };
    let mut positions = Vec::new();
    for wanted in names {
        let Some(index) = all.iter().position(|rule| text(rule, &["name"]) == *wanted) else {
            let found: Vec<&str> = all.iter().map(|rule| text(rule, &["name"])).collect();
            let hint = format!("{name}: wanted rule {wanted} in spec.http; found {}", found.join(" "));
            return Err(Wording::ApisixRule((*wanted).to_owned()).hint(hint));
        };
        if !positions.contains(&index) {
            positions.push(index);
        }
    }
    Ok(positions)
}

/// The backends of a rule with their weights.
pub(super) fn weighted<'a>(
    name: &ObjectRef,
    index: usize,
    rule: &'a Value,
    wanted: &'a Wanted<'a>,
) -> Result<(&'a Vec<Value>, Weighted<'a>), RouterError> {
    let place = format!("spec.http[{index}].backends");
    let Some(backends) = list(rule, &["backends"]) else {
        return Err(Wording::ApisixBackends.hint(format!("{name}: add the list {place}")));
    };
    let mut entries = Vec::new();
    for (at, backend) in backends.iter().enumerate() {
        let service = text(backend, &["serviceName"]);
        if service.is_empty() {
            return Err(Wording::ApisixServiceName.hint(format!("{name}: add {place}[{at}].serviceName")));
        }
        entries.push((service, Role::of(service, wanted)));
    }
    for service in [wanted.services.canary, wanted.services.stable] {
        if !entries.iter().any(|(other, _)| *other == service) {
            let hint = format!("{name}: add Service '{service}' to {place}");
            return Err(Wording::ApisixBackend(service.to_owned()).hint(hint));
        }
    }
    let weighted = Weighted {
        object: name.to_string(),
        place,
        default: DEFAULT_WEIGHT,
        total: 100,
        takes_experiments: false,
        entries,
        wanted,
    };
    Ok((backends, weighted))
}
