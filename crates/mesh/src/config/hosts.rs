//! Names of hosts: short ones, full ones and wildcards.

/// What every full name of a Service ends with.
const DOMAIN: &str = "svc.cluster.local";

/// The full name istiod gives to a host in an object of a namespace.
///
/// Only a name without any dot is completed; `name.namespace` is taken as it is, and then names no Service.
pub(crate) fn full_host(host: &str, namespace: &str) -> String {
    let host = host.to_ascii_lowercase();
    if host == "*" || host.contains('.') || host.is_empty() { host } else { service_host(&host, namespace) }
}

/// The full name of a Service.
pub(crate) fn service_host(name: &str, namespace: &str) -> String {
    format!("{name}.{namespace}.{DOMAIN}")
}

/// The full names that a client of a namespace may mean by what it calls: as DNS search domains would complete it.
pub(crate) fn service_names(host: &str, namespace: &str) -> Vec<String> {
    let host = bare_host(host);
    let host = host.strip_suffix('.').unwrap_or(&host);
    match host.split('.').count() {
        1 => vec![host.to_owned(), service_host(host, namespace)],
        2 => vec![host.to_owned(), format!("{host}.{DOMAIN}")],
        3 => vec![host.to_owned(), format!("{host}.cluster.local")],
        _ => vec![host.to_owned()],
    }
}

/// A host without its port, in lower case.
pub(crate) fn bare_host(host: &str) -> String {
    let host = match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    host.to_ascii_lowercase()
}

/// A host or a wildcard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HostPattern {
    Exact(String),
    /// What follows the asterisk; empty for `*`.
    Suffix(String),
}

impl HostPattern {
    /// Reads a host of an object of a namespace.
    pub(crate) fn new(host: &str, namespace: &str) -> Self {
        match host.strip_prefix('*') {
            Some(suffix) => Self::Suffix(suffix.to_ascii_lowercase()),
            None => Self::Exact(full_host(host, namespace)),
        }
    }

    /// How well it fits: none if not at all, more for longer patterns, most for the name itself.
    pub(crate) fn fit(&self, host: &str) -> Option<usize> {
        match self {
            Self::Exact(name) => (name == host).then_some(usize::MAX),
            Self::Suffix(suffix) => (suffix.is_empty()
                || (host.len() > suffix.len() && host.ends_with(suffix.as_str())))
            .then_some(suffix.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_name_without_a_dot_is_completed() {
        assert_eq!(full_host("web", "shop"), "web.shop.svc.cluster.local");
        assert_eq!(full_host("web.shop", "shop"), "web.shop");
        assert_eq!(full_host("*", "shop"), "*");
    }

    #[test]
    fn a_longer_pattern_fits_better() {
        let fit = |pattern: &str, host| HostPattern::new(pattern, "shop").fit(host);
        assert_eq!(fit("a.example.com", "a.example.com"), Some(usize::MAX));
        assert_eq!(fit("*.example.com", "a.example.com"), Some(12));
        assert_eq!(fit("*.example.com", "example.com"), None);
        assert_eq!(fit("*", "example.com"), Some(0));
        assert_eq!(fit("web", "web.shop.svc.cluster.local"), Some(usize::MAX));
    }

    #[test]
    fn a_client_may_leave_out_what_dns_would_add() {
        for called in ["web", "web.shop", "web.shop.svc", "web.shop.svc.cluster.local", "WEB:8080"] {
            assert!(service_names(called, "shop").contains(&"web.shop.svc.cluster.local".to_owned()), "{called}");
        }
        assert!(!service_names("web", "other").contains(&"web.shop.svc.cluster.local".to_owned()));
    }
}
