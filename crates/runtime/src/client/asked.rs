//! What a request asks for, from its method and address.

use http::{Method, Uri};

/// For kinds with names made up for every object, and where no object is named.
const NO_NAME: &str = "N/A";
const UNKNOWN: &str = "Unknown";

/// A request in the words of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked<'a> {
    /// `List`, `Watch`, `Get`, `Create`, `Update`, `Patch`, `Delete` or `Unknown`.
    pub verb: &'static str,
    /// The plural of the kind.
    pub kind: &'a str,
    /// The namespace, empty for all.
    pub namespace: &'a str,
    /// The object.
    pub name: &'a str,
}

const NOTHING_KNOWN: Asked<'static> = Asked { verb: UNKNOWN, kind: UNKNOWN, namespace: UNKNOWN, name: UNKNOWN };

impl<'a> Asked<'a> {
    /// Reads the address.
    pub fn of(method: &Method, uri: &'a Uri) -> Self {
        let mut parts: Vec<&str> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
        let prefix = match parts.first() {
            Some(&"api") => 2,
            Some(&"apis") => 3,
            _ => return NOTHING_KNOWN,
        };
        if parts.len() <= prefix {
            return NOTHING_KNOWN;
        }
        parts.drain(..prefix);
        let mut namespace = "";
        if let ["namespaces", within, _, ..] = parts[..]
            && !matches!(parts[2], "status" | "finalize")
        {
            namespace = within;
            parts.drain(..2);
        }
        let Some(kind) = parts.first().copied() else { return NOTHING_KNOWN };
        let name = parts.get(1).copied();
        let Some(verb) = verb(method, name.is_some(), uri.query().unwrap_or_default()) else { return NOTHING_KNOWN };
        let name = if matches!(kind, "events" | "replicasets") { NO_NAME } else { name.unwrap_or(NO_NAME) };
        Self { verb, kind, namespace, name }
    }
}

fn verb(method: &Method, is_named: bool, query: &str) -> Option<&'static str> {
    Some(match *method {
        Method::GET if is_named => "Get",
        Method::GET if query.split('&').any(|part| part == "watch=true" || part == "watch=1") => "Watch",
        Method::GET => "List",
        Method::POST => "Create",
        Method::PUT => "Update",
        Method::PATCH => "Patch",
        Method::DELETE => "Delete",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_to_the_last_part() {
        let cases = [
            (Method::GET, "/apis/argoproj.io/v1alpha1/rollouts?limit=5", ["List", "rollouts", "", "N/A"]),
            (Method::GET, "/api/v1/services?labelSelector=a&watch=true", ["Watch", "services", "", "N/A"]),
            (
                Method::PATCH,
                "/apis/argoproj.io/v1alpha1/namespaces/a/rollouts/web/status",
                ["Patch", "rollouts", "a", "web"],
            ),
            (Method::GET, "/apis/apps/v1/namespaces/a/replicasets/web-1", ["Get", "replicasets", "a", "N/A"]),
            (Method::POST, "/api/v1/namespaces/a/events", ["Create", "events", "a", "N/A"]),
            (Method::POST, "/api/v1/namespaces/a/pods/web-1/eviction", ["Create", "pods", "a", "web-1"]),
            (Method::GET, "/api/v1/namespaces/a", ["Get", "namespaces", "", "a"]),
            (Method::PUT, "/api/v1/namespaces/a/finalize", ["Update", "namespaces", "", "a"]),
            (Method::OPTIONS, "/api/v1/namespaces/a/pods", ["Unknown"; 4]),
            (Method::GET, "/version", ["Unknown"; 4]),
            (Method::GET, "/apis/apps/v1", ["Unknown"; 4]),
        ];
        for (method, uri, wanted) in cases {
            let parsed: Uri = uri.parse().unwrap();
            let asked = Asked::of(&method, &parsed);
            assert_eq!([asked.verb, asked.kind, asked.namespace, asked.name], wanted, "{method} {uri}");
        }
    }
}
