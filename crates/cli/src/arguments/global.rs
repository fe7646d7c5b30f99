//! Flags of every command: which cluster, as whom.

use std::time::Duration;

use clap::Args;

use super::value;

/// Which cluster, which namespace, as whom.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Global flags")]
pub(crate) struct Global {
    /// Namespace of the objects
    #[arg(short, long, global = true)]
    pub(crate) namespace: Option<String>,
    /// Context of the kubeconfig
    #[arg(long, global = true)]
    pub(crate) context: Option<String>,
    /// Cluster of the kubeconfig
    #[arg(long, global = true)]
    pub(crate) cluster: Option<String>,
    /// User of the kubeconfig
    #[arg(long, global = true)]
    pub(crate) user: Option<String>,
    /// The kubeconfig file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) kubeconfig: Option<String>,
    /// Address of the API server
    #[arg(short, long, global = true, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Bearer token
    #[arg(long, global = true)]
    pub(crate) token: Option<String>,
    /// Client certificate file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) client_certificate: Option<String>,
    /// Client key file
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) client_key: Option<String>,
    /// Certificate file of the authority that signed the server's certificate
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) certificate_authority: Option<String>,
    /// Name that the server's certificate must carry
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) tls_server_name: Option<String>,
    /// Do not check the server's certificate
    #[arg(long, global = true)]
    pub(crate) insecure_skip_tls_verify: bool,
    /// User to act as
    #[arg(long = "as", global = true, value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Group to act as, may be repeated
    #[arg(long = "as-group", global = true, value_name = "GROUP")]
    pub(crate) as_groups: Vec<String>,
    /// UID to act as
    #[arg(long, global = true, value_name = "UID")]
    pub(crate) as_uid: Option<String>,
    /// Time a request may take, such as 1s or 2m; 0 for no limit. One minute when left out
    #[arg(long, global = true, value_name = "TIME")]
    pub(crate) request_timeout: Option<String>,
    /// Folder of the discovery cache; nothing is cached, so it has no effect
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) cache_dir: Option<String>,
    /// Do not ask for compressed responses
    #[arg(long, global = true)]
    pub(crate) disable_compression: bool,
    /// Verbosity of the Kubernetes client library, which here writes no log: accepted, without effect
    #[arg(short = 'v', long = "kloglevel", global = true, value_name = "N", default_value = "0", value_parser = value::integer)]
    pub(crate) verbosity: i64,
    /// Log level: panic, fatal, error, warn, info, debug or trace
    #[arg(long, global = true, value_name = "LEVEL", default_value = "info")]
    pub(crate) loglevel: String,
}

/// How long a request may take unless something else was said.
const USUAL: Duration = Duration::from_secs(60);

impl Global {
    /// How long a request may take.
    pub(crate) fn timeout(&self) -> Result<Option<Duration>, String> {
        match &self.request_timeout {
            None => Ok(Some(USUAL)),
            Some(text) => Ok(Some(value::request_timeout(text)?).filter(|time| !time.is_zero())),
        }
    }

    /// Whether the log level is one.
    pub(crate) fn checked_level(&self) -> Result<(), String> {
        let levels = ["panic", "fatal", "error", "warn", "warning", "info", "debug", "trace"];
        if levels.contains(&self.loglevel.to_lowercase().as_str()) {
            Ok(())
        } else {
            Err(format!("not a valid logrus Level: {:?}", self.loglevel))
        }
    }
}
