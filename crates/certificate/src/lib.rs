//! Keys and certificates made on the spot: a server on loopback that speaks TLS, an authority that vouches for it and is
//! forgotten at once, and the PEM text of both.
//!
//! ```text
//! der.rs      the few shapes of DER that a certificate needs
//! loopback.rs an authority and a server certificate for 127.0.0.1 and localhost
//! pem.rs      PEM and base64
//! p256.rs     a key pair on P-256 and the DER of its public half
//! ```
//!
//! This crate must never write a key to a file, keep the key of an authority, or read a clock: its keys live as long as
//! the process, and its certificates are valid for all that time.

mod der;
mod loopback;
mod p256;
mod pem;

pub use loopback::Loopback;
pub use p256::Key;
pub use pem::{base64, pem};

/// Why there is no key or certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// The system gave no random bytes, or the library refused them.
    #[error("no key could be made: {0}")]
    Key(&'static str),
}

impl From<CertificateError> for std::io::Error {
    fn from(error: CertificateError) -> Self {
        Self::other(error)
    }
}
