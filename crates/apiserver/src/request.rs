//! What a request asks for, read from its method, path and query.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::Method;

use crate::encoding::percent_decode;
use crate::registry::{Registry, Resource};
use crate::status::StatusError;

/// What is done to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read many.
    List,
    /// Follow changes.
    Watch,
    /// Make an object (or act on a subresource by POST).
    Create,
    /// Replace an object.
    Update,
    /// Change an object.
    Patch,
    /// Remove an object.
    Delete,
    /// Remove many.
    DeleteCollection,
}

/// Query parameters; of repeated ones all values are kept.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(BTreeMap<String, Vec<String>>);

impl Query {
    pub(crate) fn parse(query: Option<&str>) -> Result<Self, StatusError> {
        let mut map: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in query.unwrap_or_default().split('&').filter(|p| !p.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decoded = percent_decode(key, true).zip(percent_decode(value, true));
            let (key, value) =
                decoded.ok_or_else(|| StatusError::bad_request(format!("invalid URL escape in query {pair:?}")))?;
            map.entry(key).or_default().push(value);
        }
        Ok(Self(map))
    }

    /// The first value, empty if there is none.
    pub(crate) fn get(&self, key: &str) -> &str {
        self.0.get(key).and_then(|v| v.first()).map_or("", String::as_str)
    }

    pub(crate) fn all(&self, key: &str) -> &[String] {
        self.0.get(key).map(Vec::as_slice).unwrap_or_default()
    }

    /// A flag: absent, empty-valued (`?watch`), `0`, `false`, anything else.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.0.get(key).and_then(|v| v.first()).is_some_and(|v| v != "0" && !v.eq_ignore_ascii_case("false"))
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub(crate) fn number(&self, key: &str) -> Result<Option<i64>, StatusError> {
        match self.get(key) {
            "" => Ok(None),
            text => text
                .parse()
                .map(Some)
                .map_err(|_| StatusError::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"))),
        }
    }
}

/// A request for a resource.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) verb: Verb,
    pub(crate) resource: Arc<Resource>,
    /// Empty for cluster-scoped resources and for requests across namespaces.
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
    pub(crate) query: Query,
}

impl Target {
    /// The namespace to look in, none for all.
    pub(crate) fn scope(&self) -> Option<&str> {
        if self.resource.namespaced && self.namespace.is_empty() { None } else { Some(&self.namespace) }
    }
}

/// Splits a path into decoded segments; tricks such as `..` or escaped slashes lead nowhere. Empty segments are kept:
/// nothing has an empty name.
pub(crate) fn segments(path: &str) -> Option<Vec<String>> {
    let inner = path.strip_prefix('/')?;
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    if inner.is_empty() {
        return Some(Vec::new());
    }
    inner
        .split('/')
        .map(|segment| {
            percent_decode(segment, false).filter(|s| s != "." && s != ".." && !s.contains('/') && !s.contains('\0'))
        })
        .collect()
}

/// Finds the resource that a path names.
pub(crate) fn target(
    registry: &Registry,
    method: &Method,
    segments: &[String],
    query: Query,
) -> Result<Target, StatusError> {
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Err(StatusError::page_not_found()),
    };
    let custom = registry.is_custom_group(group);
    // Paths of built-in groups are answered by a router that knows them all, others by whoever is behind them.
    let nothing = || match custom {
        Some(false) => StatusError::resource_not_found(),
        _ => StatusError::page_not_found(),
    };
    if !registry.has_group(group, Some(version)) {
        return Err(nothing());
    }
    // Behind a subresource of a custom resource anything may follow.
    let most = if custom == Some(true) && rest.first() == Some(&"namespaces") { 5 } else { rest.len() };
    let rest = rest.get(..most).unwrap_or(rest);
    let (namespace, plural, name, subresource) = place(rest).ok_or_else(nothing)?;
    let resource = registry.get(group, version, plural).ok_or_else(nothing)?;
    if resource.absent {
        return Err(crate::absent::refusal(&resource));
    }
    if resource.namespaced && namespace.is_empty() && !name.is_empty() || !resource.namespaced && !namespace.is_empty()
    {
        return Err(StatusError::resource_not_found());
    }
    if !subresource.is_empty() && !resource.has_subresource(subresource) {
        return Err(match resource.custom {
            Some(_) => StatusError::not_found(&resource.group, &resource.plural, name),
            None => StatusError::resource_not_found(),
        });
    }
    if resource.custom.is_some() {
        check_custom_verb(&resource, method, name, subresource)?;
    }
    let verb =
        verb(method, name, subresource, namespace.is_empty() && resource.namespaced, custom == Some(true), &query)?;
    Ok(Target {
        verb,
        resource,
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
        query,
    })
}

/// Custom resources have no routes by method, so their refusals have other words.
fn check_custom_verb(resource: &Resource, method: &Method, name: &str, subresource: &str) -> Result<(), StatusError> {
    let is = |methods: &[Method]| methods.contains(method);
    if name.is_empty() && is(&[Method::PUT, Method::PATCH]) {
        return Err(StatusError::bad_request("name must be provided"));
    }
    if !subresource.is_empty() && is(&[Method::POST, Method::DELETE]) {
        let verb = if *method == Method::POST { "create" } else { "delete" };
        return Err(StatusError::not_supported(&resource.group, &resource.plural, verb));
    }
    Ok(())
}

/// Namespace, plural, name and subresource.
fn place<'a>(rest: &[&'a str]) -> Option<(&'a str, &'a str, &'a str, &'a str)> {
    if rest.iter().any(|part| part.is_empty()) {
        return None;
    }
    Some(match rest {
        // Namespaces themselves, and their two subresources, look like a resource inside a namespace.
        ["namespaces", name, sub @ ("status" | "finalize")] => ("", "namespaces", name, sub),
        ["namespaces", name] => ("", "namespaces", name, ""),
        ["namespaces", namespace, plural] => (namespace, plural, "", ""),
        ["namespaces", namespace, plural, name] => (namespace, plural, name, ""),
        ["namespaces", namespace, plural, name, sub] => (namespace, plural, name, sub),
        [plural] => ("", plural, "", ""),
        [plural, name] => ("", plural, name, ""),
        [plural, name, sub] => ("", plural, name, sub),
        _ => return None,
    })
}

fn verb(
    method: &Method,
    name: &str,
    subresource: &str,
    across_namespaces: bool,
    custom: bool,
    query: &Query,
) -> Result<Verb, StatusError> {
    let verb = match (method.as_str(), name.is_empty()) {
        ("GET" | "HEAD", false) => Verb::Get,
        ("GET" | "HEAD", true) if query.flag("watch") => Verb::Watch,
        ("GET" | "HEAD", true) => Verb::List,
        ("POST", true) if !across_namespaces => Verb::Create,
        // Only custom resources get here with a name: it is not looked at.
        ("POST", false) if subresource.is_empty() && custom => Verb::Create,
        ("POST", false) if matches!(subresource, "binding" | "eviction") => Verb::Create,
        ("POST", false) if is_stream(subresource) => Verb::Create,
        ("PUT", false) => Verb::Update,
        ("PATCH", false) => Verb::Patch,
        ("DELETE", false) if subresource.is_empty() => Verb::Delete,
        ("DELETE", true) if !across_namespaces => Verb::DeleteCollection,
        _ => return Err(StatusError::method_not_allowed()),
    };
    if is_stream(subresource) && !matches!(verb, Verb::Create | Verb::Get) || subresource == "log" && verb != Verb::Get
    {
        return Err(StatusError::method_not_allowed());
    }
    let only_post = matches!(subresource, "binding" | "eviction");
    if only_post && verb != Verb::Create || subresource == "finalize" && verb != Verb::Update {
        return Err(StatusError::method_not_allowed());
    }
    Ok(verb)
}

/// Subresources that lead into a container.
pub(crate) fn is_stream(subresource: &str) -> bool {
    matches!(subresource, "attach" | "exec" | "portforward")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(method: &str, path: &str, query: &str) -> Result<Target, u16> {
        let registry = Registry::built_in();
        let Some(segments) = segments(path) else { return Err(404) };
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        target(&registry, &method, &segments, Query::parse(Some(query)).unwrap()).map_err(|e| e.code)
    }

    #[test]
    fn paths_of_core_and_group_resources_are_understood() {
        let found = read("GET", "/api/v1/namespaces/d/pods/p/status", "").unwrap();
        assert_eq!((found.verb, found.name.as_str(), found.subresource.as_str()), (Verb::Get, "p", "status"));
        let found = read("GET", "/apis/apps/v1/deployments", "watch=1").unwrap();
        assert_eq!((found.verb, found.scope()), (Verb::Watch, None));
        let found = read("DELETE", "/api/v1/namespaces/d", "").unwrap();
        assert_eq!(
            (found.verb, found.resource.plural.as_str(), found.name.as_str()),
            (Verb::Delete, "namespaces", "d")
        );
        assert_eq!(read("DELETE", "/api/v1/namespaces/d/pods", "").unwrap().verb, Verb::DeleteCollection);
    }

    #[test]
    fn path_tricks_lead_nowhere() {
        for path in [
            "/api/v1/../v1/pods",
            "/api/v1/namespaces/%2e%2e/pods",
            "/api//v1/pods",
            "/api/v1/namespaces/a%2Fb/pods",
            "/api/v1/pods/x",
            "/api/v1/namespaces/d/pods/p/nope",
            "/api/v1/namespaces/d/pods/p/status/more",
            "/apis/nope/v1/foos",
            "/api/v1/namespaces/%zz/pods",
        ] {
            assert_eq!(read("GET", path, "").unwrap_err(), 404, "{path}");
        }
        assert_eq!(read("PATCH", "/api/v1/pods", "").unwrap_err(), 405);
        assert_eq!(read("POST", "/api/v1/namespaces/d/pods/p", "").unwrap_err(), 405);
    }

    #[test]
    fn flags_follow_the_query_rules_of_kubernetes() {
        let query = Query::parse(Some("a&b=0&c=true&d=False&e=x%3Dy")).unwrap();
        assert!(query.flag("a") && query.flag("c") && !query.flag("b") && !query.flag("d") && !query.flag("zz"));
        assert_eq!(query.get("e"), "x=y");
        assert!(Query::parse(Some("a=%")).is_err());
    }
}
