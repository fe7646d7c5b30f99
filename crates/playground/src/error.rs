//! Why a playground does not start.

use std::io;
use std::path::PathBuf;

/// Why a playground does not start.
#[derive(Debug, thiserror::Error)]
pub enum PlaygroundError {
    /// No port is left.
    #[error("no free port from {from} to {to} for {what}: choose another with {flag} ({source})")]
    Port {
        /// What should listen.
        what: &'static str,
        /// The flag that names the first.
        flag: &'static str,
        /// The first that was tried.
        from: u16,
        /// The last.
        to: u16,
        /// What the last one said.
        source: io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What was kept cannot be used.
    #[error("cannot go on from {}: {why}; name another folder with --dir, or delete it", path.display())]
    Kept {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The embedded cluster refuses what it should take.
    #[error("the embedded cluster refused {what}: {source}")]
    Refused {
        /// The object.
        what: String,
        /// Why.
        source: Box<kube::Error>,
    },
    /// The manifests of the demo cannot be read.
    #[error("{0}")]
    Manifest(String),
    /// The system has no random numbers to give.
    #[error("the system gives no random numbers for the token of the API")]
    Random,
    /// TLS for metrics cannot be set up.
    #[error("cannot set up TLS for metrics: {0}")]
    Tls(String),
}
