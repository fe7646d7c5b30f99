//! What can go wrong with a testbed.

use std::path::PathBuf;

use crate::assets::AssetError;

/// Why a testbed could not be started or used.
#[derive(Debug, thiserror::Error)]
pub enum TestbedError {
    /// The programs are not there.
    #[error(transparent)]
    Assets(#[from] AssetError),
    /// A file could not be written or a process not started.
    #[error("{what}: {source}")]
    Setup {
        /// The file or process.
        what: String,
        /// What went wrong.
        source: std::io::Error,
    },
    /// A part of the control plane ended or did not become ready.
    #[error("{part} {reason}; the end of its log:\n{log}")]
    Part {
        /// Which part.
        part: &'static str,
        /// What it did.
        reason: String,
        /// Last lines of its log.
        log: String,
    },
    /// The node agent did not make its nodes.
    #[error("the node agent had no ready node after {seconds} s; its log:\n{log}")]
    NodeAgent {
        /// How long it was waited for.
        seconds: u64,
        /// Last lines of its log.
        log: String,
    },
    /// A kubeconfig file could not be read.
    #[error("kubeconfig {path}: {source}")]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: kube::config::KubeconfigError,
    },
    /// A client could not be made.
    #[error("client: {0}")]
    Client(#[source] kube::Error),
    /// A request failed.
    #[error("{what}: {source}")]
    Request {
        /// What was asked for.
        what: String,
        /// The answer.
        source: kube::Error,
    },
    /// A state file could not be used.
    #[error("testbed {name:?}: {problem}")]
    Registry {
        /// Name of the testbed.
        name: String,
        /// What is wrong and what to do.
        problem: String,
    },
}

impl TestbedError {
    /// Someone took a port between its choice and its use: worth another try.
    pub(crate) fn is_port_taken(&self) -> bool {
        matches!(self, Self::Part { log, .. } if log.contains("address already in use"))
    }
}
