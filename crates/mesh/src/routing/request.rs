//! What is sent, by whom and over which way.

use std::collections::BTreeMap;

/// Header values by name in lower case.
pub type HeaderMap = BTreeMap<String, Vec<String>>;

/// What a connection carries, as far as proxies can see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    /// HTTP in the clear, or ended at the gateway.
    #[default]
    Http,
    /// TLS that is passed on; only the SNI host can be seen.
    Tls,
    /// Anything else.
    Tcp,
}

/// Which kind of proxy sends the request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Via {
    /// The sidecar of the client.
    #[default]
    Mesh,
    /// A gateway.
    Gateway {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// A request, or a connection.
///
/// ```
/// # use tidegate_mesh::Request;
/// let request = Request { path: "/cart?id=7".into(), ..Request::to("web.shop") };
/// assert_eq!(request.method, "GET");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// HTTP, TLS or TCP.
    pub protocol: Protocol,
    /// Sidecar or gateway.
    pub via: Via,
    /// `Host` or `:authority`; for TLS the SNI host; for TCP the Service that is called.
    pub host: String,
    /// The port that is called.
    pub port: u16,
    /// `http` or `https`.
    pub scheme: String,
    /// The method.
    pub method: String,
    /// The path with the query.
    pub path: String,
    /// The headers.
    pub headers: HeaderMap,
    /// Namespace of the client; a gateway's own counts for requests through it.
    pub source_namespace: String,
    /// Labels of the client, or of the gateway's pods.
    pub source_labels: BTreeMap<String, String>,
}

impl Request {
    /// `GET /` on port 80 from a sidecar of the namespace `default`.
    pub fn to(host: &str) -> Self {
        Self {
            protocol: Protocol::Http,
            via: Via::Mesh,
            host: host.to_owned(),
            port: 80,
            scheme: "http".to_owned(),
            method: "GET".to_owned(),
            path: "/".to_owned(),
            headers: HeaderMap::new(),
            source_namespace: "default".to_owned(),
            source_labels: BTreeMap::new(),
        }
    }

    /// The same with one more header.
    #[must_use]
    pub fn with_header(mut self, name: &str, value: &str) -> Self {
        self.headers.entry(name.to_ascii_lowercase()).or_default().push(value.to_owned());
        self
    }

    /// The same through a gateway.
    #[must_use]
    pub fn through(mut self, namespace: &str, name: &str) -> Self {
        self.via = Via::Gateway { namespace: namespace.to_owned(), name: name.to_owned() };
        self
    }

    /// The namespace of the proxy that routes it.
    pub(super) fn client_namespace(&self) -> &str {
        match &self.via {
            Via::Mesh => &self.source_namespace,
            Via::Gateway { namespace, .. } => namespace,
        }
    }

    /// The gateway as VirtualServices name it.
    pub(super) fn gateway(&self) -> String {
        match &self.via {
            Via::Mesh => "mesh".to_owned(),
            Via::Gateway { namespace, name } => format!("{namespace}/{name}"),
        }
    }
}
