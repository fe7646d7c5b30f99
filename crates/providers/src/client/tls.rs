//! Which certificates are believed.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};

/// The authorities that are believed.
#[derive(Clone, Debug)]
pub enum Roots {
    /// Those of the system, and of `SSL_CERT_FILE` and `SSL_CERT_DIR`.
    System,
    /// Exactly those in this PEM text.
    Pem(String),
}

/// TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A certificate cannot be read.
    #[error("cannot read a certificate authority: {0}")]
    Root(String),
    /// The library refuses.
    #[error("cannot set up TLS: {0}")]
    Library(#[from] rustls::Error),
}

/// Both ways to connect: careful and careless.
#[derive(Debug)]
pub(super) struct Tls {
    careful: Arc<ClientConfig>,
    careless: Arc<ClientConfig>,
}

impl Tls {
    pub(super) fn new(roots: Roots) -> Result<Self, TlsError> {
        let mut store = RootCertStore::empty();
        match roots {
            Roots::System => {
                // A system without certificates, or with a broken one, can still measure over plain HTTP.
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            }
            Roots::Pem(text) => {
                for certificate in CertificateDer::pem_slice_iter(text.as_bytes()) {
                    let certificate = certificate.map_err(|error| TlsError::Root(format!("{error:?}")))?;
                    store.add(certificate)?;
                }
            }
        }
        let provider = Arc::new(ring::default_provider());
        let builder =
            || ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let careful = builder()?.with_root_certificates(store).with_no_client_auth();
        let believer = Arc::new(BelievesAll(Arc::clone(&provider)));
        let careless = builder()?.dangerous().with_custom_certificate_verifier(believer).with_no_client_auth();
        Ok(Self { careful: Arc::new(careful), careless: Arc::new(careless) })
    }

    pub(super) fn config(&self, insecure: bool) -> Arc<ClientConfig> {
        Arc::clone(if insecure { &self.careless } else { &self.careful })
    }
}

/// Believes every certificate, which is what `insecure: true` asks for; handshakes are still checked.
#[derive(Debug)]
struct BelievesAll(Arc<CryptoProvider>);

impl ServerCertVerifier for BelievesAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
