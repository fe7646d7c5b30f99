//! How VirtualServices and hosts are named.

pub use crate::services::Services;

/// A VirtualService by namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct VirtualServiceName {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl VirtualServiceName {
    /// Reads `name` or `name.namespace`, with or without `.svc` and `.cluster.local` at the end.
    pub fn parse(reference: &str, rollout_namespace: &str) -> Self {
        let short = reference
            .strip_suffix(".cluster.local")
            .map_or(reference, |rest| rest.strip_suffix(".svc").unwrap_or(rest));
        match short.rsplit_once('.') {
            Some((name, namespace)) => Self { namespace: namespace.to_owned(), name: name.to_owned() },
            None => Self { namespace: rollout_namespace.to_owned(), name: short.to_owned() },
        }
    }

    /// Where else to look when nothing is found: names may have dots themselves.
    pub fn dotted(reference: &str, rollout_namespace: &str) -> Option<Self> {
        let has_dot = reference.contains('.');
        has_dot.then(|| Self { namespace: rollout_namespace.to_owned(), name: reference.to_owned() })
    }
}

/// The Service a host stands for: the text before the first dot. Empty when there is none.
pub fn short_host(host: &str) -> &str {
    host.split('.').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_name_with_or_without_a_namespace() {
        let table = [
            ("shop", "default", "shop"),
            ("shop.edge", "edge", "shop"),
            ("shop.v2.edge", "edge", "shop.v2"),
            ("shop.edge.cluster.local", "edge", "shop"),
            ("shop.edge.svc.cluster.local", "edge", "shop"),
        ];
        for (reference, namespace, name) in table {
            let wanted = VirtualServiceName { namespace: namespace.to_owned(), name: name.to_owned() };
            assert_eq!(VirtualServiceName::parse(reference, "default"), wanted, "{reference}");
        }
    }

    #[test]
    fn a_name_with_dots_may_also_be_one_of_the_own_namespace() {
        let dotted = VirtualServiceName { namespace: "default".to_owned(), name: "shop.v2".to_owned() };
        assert_eq!(VirtualServiceName::dotted("shop.v2", "default"), Some(dotted));
        assert_eq!(VirtualServiceName::dotted("shop", "default"), None);
    }

    #[test]
    fn a_host_stands_for_the_service_before_its_first_dot() {
        let table =
            [("shop", "shop"), ("shop.prod", "shop"), ("shop.prod.svc.cluster.local", "shop"), ("", ""), (".x", "")];
        for (host, service) in table {
            assert_eq!(short_host(host), service, "{host}");
        }
    }
}
