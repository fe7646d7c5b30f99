//! The conditions of a route.

use std::collections::BTreeMap;

use regex::{Regex, RegexBuilder};

use super::hosts::HostPattern;
use super::parts::{Part, Read};

/// A compiled pattern may take this much memory, so that one object cannot take it all.
const PATTERN_LIMIT: usize = 1 << 20;

/// `exact`, `prefix` or `regex`.
#[derive(Clone, Debug)]
pub enum StringMatch {
    /// Any text, as long as there is one.
    Present,
    /// The very text.
    Exact(String),
    /// Its beginning.
    Prefix(String),
    /// All of it, as RE2 would.
    Regex(Regex),
}

impl PartialEq for StringMatch {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Present, Self::Present) => true,
            (Self::Exact(one), Self::Exact(other)) | (Self::Prefix(one), Self::Prefix(other)) => one == other,
            (Self::Regex(one), Self::Regex(other)) => one.as_str() == other.as_str(),
            _ => false,
        }
    }
}

impl StringMatch {
    fn read(part: &Part<'_>) -> Read<Self> {
        let (exact, prefix, regex) = (part.text("exact")?, part.text("prefix")?, part.text("regex")?);
        match (exact, prefix, regex) {
            (Some(text), None, None) => Ok(Self::Exact(text.to_owned())),
            (None, Some(text), None) => Ok(Self::Prefix(text.to_owned())),
            (None, None, Some(text)) => whole_pattern(text).map(Self::Regex).or_else(|why| part.wrong("regex", &why)),
            (None, None, None) => Ok(Self::Present),
            _ => part.wrong("exact", "only one of exact, prefix and regex can be set"),
        }
    }

    /// Whether it fits.
    pub fn fits(&self, text: &str) -> bool {
        match self {
            Self::Present => true,
            Self::Exact(wanted) => text == wanted,
            Self::Prefix(wanted) => text.starts_with(wanted.as_str()),
            Self::Regex(pattern) => pattern.is_match(text),
        }
    }

    /// Whether it fits regardless of upper and lower case; patterns say that themselves.
    pub fn fits_in_any_case(&self, text: &str) -> bool {
        let text_lower = text.to_lowercase();
        match self {
            Self::Present => true,
            Self::Exact(wanted) => text_lower == wanted.to_lowercase(),
            Self::Prefix(wanted) => text_lower.starts_with(&wanted.to_lowercase()),
            Self::Regex(pattern) => pattern.is_match(text),
        }
    }
}

/// A pattern that must fit all of a text.
pub(crate) fn whole_pattern(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(&format!("^(?:{text})$"))
        .size_limit(PATTERN_LIMIT)
        .dfa_size_limit(PATTERN_LIMIT)
        .build()
        .map_err(|_| format!("`{text}` is no regular expression that can be used here"))
}

/// The conditions istiod decides itself: they say which proxies and ports get a route at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Place {
    /// The port the client calls.
    pub port: Option<u16>,
    /// `mesh` or `namespace/name`; empty for those of the VirtualService.
    pub gateways: Vec<String>,
    /// Labels of the client.
    pub source_labels: BTreeMap<String, String>,
    /// Namespace of the client.
    pub source_namespace: Option<String>,
}

impl Place {
    pub(super) fn read(part: &Part<'_>, namespace: &str) -> Read<Self> {
        for unknown in ["destinationSubnets", "sourceSubnet"] {
            if part.get(unknown).is_some() {
                return part.wrong(unknown, "matching by address is not modelled");
            }
        }
        Ok(Self {
            port: part.port("port")?,
            gateways: gateway_names(&part.texts("gateways")?, namespace),
            source_labels: part.labels("sourceLabels")?,
            source_namespace: part.text("sourceNamespace")?.filter(|name| !name.is_empty()).map(str::to_owned),
        })
    }
}

/// Gateways in full: `mesh`, or with a namespace.
pub(super) fn gateway_names(names: &[String], namespace: &str) -> Vec<String> {
    let full = |name: &String| match name.as_str() {
        "mesh" => name.clone(),
        name if name.contains('/') => {
            name.replacen("./", &format!("{namespace}/"), usize::from(name.starts_with("./")))
        }
        name => format!("{namespace}/{name}"),
    };
    names.iter().map(full).collect()
}

/// One entry of `match` of an HTTP route; all that is set must hold.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HttpMatch {
    /// Where it applies.
    pub place: Place,
    /// The path without the query.
    pub uri: Option<StringMatch>,
    /// Compare `uri` in any case.
    pub ignore_uri_case: bool,
    /// `http` or `https`.
    pub scheme: Option<StringMatch>,
    /// The method.
    pub method: Option<StringMatch>,
    /// Host and port as the client sent them.
    pub authority: Option<StringMatch>,
    /// By name in lower case.
    pub headers: BTreeMap<String, StringMatch>,
    /// By name in lower case; none may fit.
    pub without_headers: BTreeMap<String, StringMatch>,
    /// By name.
    pub query_params: BTreeMap<String, StringMatch>,
}

impl HttpMatch {
    pub(super) fn read(part: &Part<'_>, namespace: &str) -> Read<Self> {
        let one = |field| part.part(field)?.map(|inner| StringMatch::read(&inner)).transpose();
        Ok(Self {
            place: Place::read(part, namespace)?,
            uri: one("uri")?,
            ignore_uri_case: part.flag("ignoreUriCase")?,
            scheme: one("scheme")?,
            method: one("method")?,
            authority: one("authority")?,
            headers: named(part, "headers", str::to_ascii_lowercase)?,
            without_headers: named(part, "withoutHeaders", str::to_ascii_lowercase)?,
            query_params: named(part, "queryParams", str::to_owned)?,
        })
    }

    /// Whether every request fits that gets here.
    pub fn takes_all(&self) -> bool {
        let any_path = match &self.uri {
            None => true,
            Some(StringMatch::Prefix(prefix)) => prefix == "/",
            Some(StringMatch::Regex(pattern)) => pattern.as_str() == "^(?:.*)$",
            Some(_) => false,
        };
        any_path
            && self.scheme.is_none()
            && self.method.is_none()
            && self.authority.is_none()
            && self.headers.is_empty()
            && self.without_headers.is_empty()
            && self.query_params.is_empty()
    }
}

/// A map from names to conditions.
fn named(part: &Part<'_>, field: &str, name: impl Fn(&str) -> String) -> Read<BTreeMap<String, StringMatch>> {
    let Some(inner) = part.part(field)? else { return Ok(BTreeMap::new()) };
    let one = |key: &String| {
        let condition = inner.part(key)?.map(|inner| StringMatch::read(&inner)).transpose()?;
        Ok((name(key), condition.unwrap_or(StringMatch::Present)))
    };
    inner.keys().map(one).collect()
}

/// One entry of `match` of a TLS route.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TlsMatch {
    pub(crate) place: Place,
    pub(crate) sni_hosts: Vec<HostPattern>,
}

impl TlsMatch {
    pub(super) fn read(part: &Part<'_>, namespace: &str) -> Read<Self> {
        let hosts = part.texts("sniHosts")?;
        if hosts.is_empty() {
            return part.wrong("sniHosts", "at least one is needed");
        }
        // SNI hosts are names on the wire: a short one is not completed.
        let pattern = |host: &String| match host.strip_prefix('*') {
            Some(suffix) => HostPattern::Suffix(suffix.to_ascii_lowercase()),
            None => HostPattern::Exact(host.to_ascii_lowercase()),
        };
        Ok(Self { place: Place::read(part, namespace)?, sni_hosts: hosts.iter().map(pattern).collect() })
    }
}
