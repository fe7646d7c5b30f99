//! Routes and where they lead.

use super::hosts::full_host;
use super::matches::{HttpMatch, Place, TlsMatch};
use super::parts::{Part, Read};

/// The largest weight istiod can read.
const MAX_WEIGHT: u32 = i32::MAX as u32;

/// A Service, or a subset of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The full name.
    pub host: String,
    /// A subset of the DestinationRule of this host.
    pub subset: Option<String>,
    /// A port of the Service; without it the only one, or the one that was called.
    pub port: Option<u16>,
}

impl Destination {
    fn read(part: &Part<'_>, namespace: &str) -> Read<Self> {
        let host = part.text("host")?.unwrap_or_default();
        if host.is_empty() {
            return part.wrong("host", "must name a host");
        }
        let port = part.part("port")?.map(|inner| inner.port("number")).transpose()?.flatten();
        let subset = part.text("subset")?.filter(|name| !name.is_empty()).map(str::to_owned);
        Ok(Self { host: full_host(host, namespace), subset, port: port.filter(|port| *port > 0) })
    }
}

/// A destination and its part of the requests.
#[derive(Clone, Debug, PartialEq)]
pub struct Weighted {
    /// Where to.
    pub destination: Destination,
    /// Compared with the sum over the route.
    pub weight: u32,
    /// Edits of headers on this way only.
    pub headers: Headers,
}

/// Reads `route`. A single destination gets all, whatever its weight says.
fn weighted(part: &Part<'_>, namespace: &str) -> Read<Vec<Weighted>> {
    let mut all = Vec::new();
    for entry in part.parts("route")? {
        let Some(destination) = entry.part("destination")? else {
            return entry.wrong("destination", "must be set");
        };
        all.push(Weighted {
            destination: Destination::read(&destination, namespace)?,
            weight: entry.whole("weight", MAX_WEIGHT)?.unwrap_or(0),
            headers: Headers::read(&entry)?,
        });
    }
    if let [only] = &mut all[..] {
        only.weight = 100;
    }
    if !all.is_empty() && all.iter().all(|one| one.weight == 0) {
        return part.wrong("route", "all weights are 0; raise one");
    }
    Ok(all)
}

/// Edits of headers, of requests and of responses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Headers {
    /// On the way to the pod.
    pub request: HeaderEdits,
    /// On the way back.
    pub response: HeaderEdits,
}

/// `remove`, then `set`, then `add`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderEdits {
    /// Names in lower case.
    pub remove: Vec<String>,
    /// Replaces what is there.
    pub set: Vec<(String, String)>,
    /// Joins what is there.
    pub add: Vec<(String, String)>,
}

impl Headers {
    fn read(part: &Part<'_>) -> Read<Self> {
        let Some(headers) = part.part("headers")? else { return Ok(Self::default()) };
        Ok(Self {
            request: HeaderEdits::read(&headers, "request")?,
            response: HeaderEdits::read(&headers, "response")?,
        })
    }
}

impl HeaderEdits {
    fn read(part: &Part<'_>, field: &str) -> Read<Self> {
        let Some(edits) = part.part(field)? else { return Ok(Self::default()) };
        let pairs = |field| -> Read<Vec<(String, String)>> {
            Ok(edits.labels(field)?.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect())
        };
        let remove = edits.texts("remove")?.iter().map(|name| name.to_ascii_lowercase()).collect();
        Ok(Self { remove, set: pairs("set")?, add: pairs("add")? })
    }
}

/// A copy of requests, whose answers nobody sees.
#[derive(Clone, Debug, PartialEq)]
pub struct Mirror {
    /// Where to.
    pub destination: Destination,
    /// From 0 to 100.
    pub percentage: f64,
}

impl Mirror {
    fn read(part: &Part<'_>, namespace: &str) -> Read<Vec<Self>> {
        let mut mirrors = Vec::new();
        if let Some(destination) = part.part("mirror")? {
            let old = part.whole("mirrorPercent", 100)?.map(f64::from);
            let percentage = percentage(part, "mirrorPercentage")?.or(old).unwrap_or(100.0);
            mirrors.push(Self { destination: Destination::read(&destination, namespace)?, percentage });
        }
        for entry in part.parts("mirrors")? {
            let Some(destination) = entry.part("destination")? else {
                return entry.wrong("destination", "must be set");
            };
            let percentage = percentage(&entry, "percentage")?.unwrap_or(100.0);
            mirrors.push(Self { destination: Destination::read(&destination, namespace)?, percentage });
        }
        Ok(mirrors)
    }
}

fn percentage(part: &Part<'_>, field: &str) -> Read<Option<f64>> {
    let Some(inner) = part.part(field)? else { return Ok(None) };
    let value = inner.get("value").map_or(Some(0.0), serde_json::Value::as_f64);
    match value.filter(|value| (0.0..=100.0).contains(value)) {
        Some(value) => Ok(Some(value)),
        None => inner.wrong("value", "must be a number from 0 to 100"),
    }
}

/// What a redirect answers with; what is absent stays as the client asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// 301 unless set.
    pub code: u16,
    /// The new path.
    pub uri: Option<String>,
    /// The new host.
    pub authority: Option<String>,
    /// The new scheme.
    pub scheme: Option<String>,
    /// The new port.
    pub port: Option<u16>,
}

/// What becomes of a request that a route takes.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// It is sent on; never empty, and some weight is more than 0.
    Send(Vec<Weighted>),
    /// The client is told to go elsewhere.
    Redirect(Redirect),
    /// The proxy answers itself.
    Direct(u16),
}

impl Action {
    fn read(part: &Part<'_>, namespace: &str) -> Read<Self> {
        let sent = weighted(part, namespace)?;
        let (redirect, direct) = (part.part("redirect")?, part.part("directResponse")?);
        if part.get("delegate").is_some() {
            return part.wrong("delegate", "is not modelled");
        }
        match (sent.is_empty(), redirect, direct) {
            (false, None, None) => Ok(Self::Send(sent)),
            (true, Some(redirect), None) => Ok(Self::Redirect(Redirect {
                code: code(&redirect, "redirectCode")?.unwrap_or(301),
                uri: redirect.text("uri")?.map(str::to_owned),
                authority: redirect.text("authority")?.map(str::to_owned),
                scheme: redirect.text("scheme")?.map(str::to_owned),
                port: redirect.port("port")?,
            })),
            (true, None, Some(direct)) => match code(&direct, "status")? {
                Some(status) => Ok(Self::Direct(status)),
                None => direct.wrong("status", "must be set"),
            },
            _ => part.wrong("route", "one of route, redirect and directResponse must be set"),
        }
    }
}

/// A status code.
fn code(part: &Part<'_>, field: &str) -> Read<Option<u16>> {
    match part.port(field)? {
        Some(code) if !(200..600).contains(&code) => part.wrong(field, "must be a status code from 200 to 599"),
        code => Ok(code.filter(|code| *code > 0)),
    }
}

/// An entry of `spec.http`.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpRoute {
    /// Its place in the list.
    pub index: usize,
    /// Its name, or nothing.
    pub name: String,
    /// One must hold; none takes all requests.
    pub matches: Vec<HttpMatch>,
    /// What becomes of the request.
    pub action: Action,
    /// Copies.
    pub mirrors: Vec<Mirror>,
    /// Edits of headers for all destinations.
    pub headers: Headers,
}

impl HttpRoute {
    pub(super) fn read(part: &Part<'_>, index: usize, namespace: &str) -> Read<Self> {
        let matches = part.parts("match")?;
        Ok(Self {
            index,
            name: part.text("name")?.unwrap_or_default().to_owned(),
            matches: matches.iter().map(|one| HttpMatch::read(one, namespace)).collect::<Read<_>>()?,
            action: Action::read(part, namespace)?,
            mirrors: Mirror::read(part, namespace)?,
            headers: Headers::read(part)?,
        })
    }
}

/// An entry of `spec.tls`.
#[derive(Clone, Debug, PartialEq)]
pub struct TlsRoute {
    /// Its place in the list.
    pub index: usize,
    pub(crate) matches: Vec<TlsMatch>,
    /// Where to.
    pub destinations: Vec<Weighted>,
}

impl TlsRoute {
    pub(super) fn read(part: &Part<'_>, index: usize, namespace: &str) -> Read<Self> {
        let matches = part.parts("match")?;
        if matches.is_empty() {
            return part.wrong("match", "a TLS route needs one with sniHosts");
        }
        Ok(Self {
            index,
            matches: matches.iter().map(|one| TlsMatch::read(one, namespace)).collect::<Read<_>>()?,
            destinations: some_destination(part, namespace)?,
        })
    }
}

/// An entry of `spec.tcp`.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpRoute {
    /// Its place in the list.
    pub index: usize,
    /// One must hold; none takes all connections.
    pub matches: Vec<Place>,
    /// Where to.
    pub destinations: Vec<Weighted>,
}

impl TcpRoute {
    pub(super) fn read(part: &Part<'_>, index: usize, namespace: &str) -> Read<Self> {
        let matches = part.parts("match")?;
        Ok(Self {
            index,
            matches: matches.iter().map(|one| Place::read(one, namespace)).collect::<Read<_>>()?,
            destinations: some_destination(part, namespace)?,
        })
    }
}

fn some_destination(part: &Part<'_>, namespace: &str) -> Read<Vec<Weighted>> {
    let destinations = weighted(part, namespace)?;
    if destinations.is_empty() { part.wrong("route", "must hold a destination") } else { Ok(destinations) }
}
