//! `dashboard`: where it listens and whom it lets in.

use std::net::IpAddr;

use clap::{Args, ValueEnum};

/// Who may look, and as whom changes are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuthMode {
    /// Everybody who reaches it, with the rights of whoever started it.
    None,
    /// Whoever has a bearer token of the cluster, with its rights.
    Token,
    /// Whoever logs in at an OpenID Connect provider, in their own name.
    Oidc,
}

/// Serves the dashboard until it is ended.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  kubectl argo rollouts dashboard\n  kubectl argo rollouts dashboard --port 3200 --read-only\n  kubectl argo rollouts dashboard --address 0.0.0.0 --auth-mode token --tls-certificates /etc/dashboard-tls"
)]
pub(crate) struct Dashboard {
    /// Port to listen on
    #[arg(short, long, default_value_t = 3100)]
    pub(crate) port: u16,
    /// Path below which everything is served
    #[arg(long, value_name = "PATH", default_value = "rollouts")]
    pub(crate) root_path: String,
    /// Address to listen on: this machine alone, or, in a pod, all that it has
    #[arg(long, value_name = "IP")]
    pub(crate) address: Option<IpAddr>,
    /// Who may look, and as whom changes are made
    #[arg(long, value_enum, default_value = "none", value_name = "MODE")]
    pub(crate) auth_mode: AuthMode,
    /// Show, but change nothing
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Folder with tls.crt and tls.key to serve behind TLS; followed when they are renewed
    #[arg(long, value_name = "FOLDER")]
    pub(crate) tls_certificates: Option<String>,
    /// Further name under which it may be asked when it listens on this machine alone, may be repeated
    #[arg(long = "allowed-host", value_name = "NAME")]
    pub(crate) allowed_hosts: Vec<String>,
    #[command(flatten)]
    pub(crate) oidc: Oidc,
}

/// Where people log in with --auth-mode=oidc.
#[derive(Args)]
pub(crate) struct Oidc {
    /// Address of the provider, as it stands in its tokens
    #[arg(long, value_name = "URL")]
    pub(crate) oidc_issuer: Option<String>,
    /// Name of the dashboard at the provider
    #[arg(long, value_name = "ID")]
    pub(crate) oidc_client_id: Option<String>,
    /// File with the secret of the dashboard at the provider
    #[arg(long, value_name = "FILE")]
    pub(crate) oidc_client_secret_file: Option<String>,
    /// Where people come back to: https://HOST/ROOT-PATH/auth/callback
    #[arg(long, value_name = "URL")]
    pub(crate) oidc_redirect_url: Option<String>,
    /// What is asked for besides openid, may be repeated
    #[arg(long = "oidc-scope", value_name = "SCOPE", default_values = ["profile", "email", "groups"])]
    pub(crate) oidc_scopes: Vec<String>,
    /// Claim that names somebody
    #[arg(long, value_name = "CLAIM", default_value = "email")]
    pub(crate) oidc_username_claim: String,
    /// Put before the name, as the API server does
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) oidc_username_prefix: String,
    /// Claim that lists groups
    #[arg(long, value_name = "CLAIM", default_value = "groups")]
    pub(crate) oidc_groups_claim: String,
    /// Put before each group, as the API server does
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) oidc_groups_prefix: String,
}
