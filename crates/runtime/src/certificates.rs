//! A certificate and its key in a folder, as a Secret of type `kubernetes.io/tls` is mounted; followed when it is renewed.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

/// How often the files are looked at. The kubelet itself takes a minute to renew them.
const LOOK: Duration = Duration::from_secs(5);

/// Why there is no certificate.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file that cannot be read.
    #[error("{file}: {source}")]
    File {
        /// Which.
        file: PathBuf,
        /// Why.
        source: pem::Error,
    },
    /// Both can be read and do not fit.
    #[error("{folder}: {source}")]
    Pair {
        /// The folder of both.
        folder: PathBuf,
        /// Why.
        source: rustls::Error,
    },
}

/// The certificate that is shown now. Clones share it.
#[derive(Clone)]
pub struct Certificates {
    folder: PathBuf,
    shown: Arc<RwLock<Arc<CertifiedKey>>>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Certificates {
    /// Reads `tls.crt` and `tls.key`.
    ///
    /// # Errors
    /// When one of them is missing or they do not fit.
    pub fn read(folder: &Path) -> Result<Self, CertificateError> {
        let shown = Arc::new(RwLock::new(Arc::new(read(folder)?)));
        Ok(Self { folder: folder.to_owned(), shown })
    }

    /// Looks for new ones until it is dropped. While they cannot be read those before are shown.
    pub async fn follow(self) {
        let mut complained = None;
        loop {
            tokio::time::sleep(LOOK).await;
            match read(&self.folder) {
                Ok(found) if found.cert == self.now().cert => complained = None,
                Ok(found) => {
                    *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
                    complained = None;
                    tracing::info!("The certificate in {} was renewed", self.folder.display());
                }
                // Files are replaced one after the other, so the first time may be the wrong moment.
                Err(error) => {
                    let text = error.to_string();
                    if complained.as_ref() != Some(&text) {
                        tracing::warn!("The certificate stays what it was: {text}");
                        complained = Some(text);
                    }
                }
            }
        }
    }

    /// What a server behind TLS is set up with.
    ///
    /// # Errors
    /// When there is no protocol version to offer.
    pub fn acceptor(&self) -> Result<ServerConfig, rustls::Error> {
        self.clone().server_config()
    }

    pub(crate) fn server_config(self) -> Result<ServerConfig, rustls::Error> {
        let provider = Arc::new(ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(config.with_no_client_auth().with_cert_resolver(Arc::new(self)))
    }

    fn now(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.shown.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.now())
    }
}

fn read(folder: &Path) -> Result<CertifiedKey, CertificateError> {
    let in_file = |name: &str| {
        let file = folder.join(name);
        move |source| CertificateError::File { file: file.clone(), source }
    };
    let chain = CertificateDer::pem_file_iter(folder.join("tls.crt")).and_then(Iterator::collect);
    let chain: Vec<CertificateDer<'static>> = chain.map_err(in_file("tls.crt"))?;
    let key = PrivateKeyDer::from_pem_file(folder.join("tls.key")).map_err(in_file("tls.key"))?;
    CertifiedKey::from_der(chain, key, &ring::default_provider())
        .map_err(|source| CertificateError::Pair { folder: folder.to_owned(), source })
}
