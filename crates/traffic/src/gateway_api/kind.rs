//! Kinds of routes.

use crate::router::{GATEWAY_API, Resource};

/// A kind of route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Http,
    Grpc,
    Tcp,
    Tls,
}

impl Kind {
    pub(super) const ALL: [Self; 4] = [Self::Http, Self::Grpc, Self::Tcp, Self::Tls];

    /// The field that names one route; `s` is appended for several, `Selector` for those with labels.
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Http => "httpRoute",
            Self::Grpc => "grpcRoute",
            Self::Tcp => "tcpRoute",
            Self::Tls => "tlsRoute",
        }
    }

    pub(super) fn resource(self) -> Resource {
        let (version, kind, plural) = match self {
            Self::Http => ("v1", "HTTPRoute", "httproutes"),
            Self::Grpc => ("v1", "GRPCRoute", "grpcroutes"),
            Self::Tcp => ("v1alpha2", "TCPRoute", "tcproutes"),
            Self::Tls => ("v1alpha2", "TLSRoute", "tlsroutes"),
        };
        Resource::new(GATEWAY_API, version, kind, plural)
    }

    /// The key of the ConfigMap that holds positions of rules; only requests with headers have them.
    pub(super) fn book_key(self) -> Option<&'static str> {
        match self {
            Self::Http => Some("httpManagedRoutes"),
            Self::Grpc => Some("grpcManagedRoutes"),
            Self::Tcp | Self::Tls => None,
        }
    }
}
