//! Whether a request fits a condition.

use super::request::Request;
use crate::config::{HttpMatch, Place, StringMatch};

/// What istiod decides before a proxy gets the route.
pub(super) fn place_fits(place: &Place, request: &Request, gateway: &str) -> bool {
    place.port.is_none_or(|port| port == request.port)
        && (place.gateways.is_empty() || place.gateways.iter().any(|name| name == gateway))
        && place.source_namespace.as_deref().is_none_or(|namespace| namespace == request.client_namespace())
        && place.source_labels.iter().all(|(key, value)| request.source_labels.get(key) == Some(value))
}

/// What the proxy decides for each request.
pub(super) fn http_fits(condition: &HttpMatch, request: &Request) -> bool {
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let uri_fits = condition
        .uri
        .as_ref()
        .is_none_or(|uri| if condition.ignore_uri_case { uri.fits_in_any_case(path) } else { uri.fits(path) });
    uri_fits
        && fits(condition.scheme.as_ref(), &request.scheme)
        && fits(condition.method.as_ref(), &request.method)
        && fits(condition.authority.as_ref(), &request.host)
        && condition.headers.iter().all(|(name, wanted)| header_fits(request, name, wanted))
        && !condition.without_headers.iter().any(|(name, unwanted)| header_fits(request, name, unwanted))
        && condition.query_params.iter().all(|(name, wanted)| query_fits(query, name, wanted))
}

fn fits(condition: Option<&StringMatch>, text: &str) -> bool {
    condition.is_none_or(|condition| condition.fits(text))
}

/// Several values of one header are compared as one, joined by commas, as Envoy does.
fn header_fits(request: &Request, name: &str, wanted: &StringMatch) -> bool {
    request.headers.get(name).is_some_and(|values| wanted.fits(&values.join(",")))
}

fn query_fits(query: &str, name: &str, wanted: &StringMatch) -> bool {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let mut pairs = pairs.map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.find(|(key, _)| *key == name).is_some_and(|(_, value)| wanted.fits(value))
}
