//! What a dashboard is told at its start.

use std::net::{IpAddr, Ipv4Addr};

use kube::Client;
use tidegate_runtime::certificates::Certificates;

use crate::auth::oidc::Provider;

/// Who may look, and as whom changes are made.
#[derive(Clone, Default)]
pub enum Auth {
    /// Everybody who reaches the dashboard, with the rights of the dashboard itself.
    #[default]
    Nobody,
    /// Whoever has a bearer token of the cluster, with its rights. The client sends no credentials of its own.
    Token(Client),
    /// Whoever logs in at a provider; changes are made in their name.
    Oidc(Box<Provider>),
}

impl Auth {
    /// The name of the mode, as it is typed.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Nobody => "none",
            Self::Token(_) => "token",
            Self::Oidc(_) => "oidc",
        }
    }
}

/// What a dashboard is told at its start.
#[derive(Clone)]
pub struct Options {
    /// Where it listens.
    pub address: IpAddr,
    /// The port; 0 is any that is free.
    pub port: u16,
    /// Everything is served below this path; slashes around it do not matter.
    pub root_path: String,
    /// Who may look.
    pub auth: Auth,
    /// Whether changes are refused.
    pub is_read_only: bool,
    /// The namespace to begin with.
    pub namespace: String,
    /// The version that is shown.
    pub version: String,
    /// A note for everybody, at the top of every page.
    pub banner: Option<String>,
    /// Certificates to serve behind TLS.
    pub certificates: Option<Certificates>,
    /// Further names under which a dashboard on loopback may be asked.
    pub hosts: Vec<String>,
}

impl Options {
    /// On loopback, port 3100, below `rollouts`, for everybody on this machine.
    pub fn new(namespace: &str, version: &str) -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 3100,
            root_path: "rollouts".to_owned(),
            auth: Auth::Nobody,
            is_read_only: false,
            namespace: namespace.to_owned(),
            version: version.to_owned(),
            banner: None,
            certificates: None,
            hosts: Vec::new(),
        }
    }
}
