//! A server certificate for this machine, and the authority that vouches for it.

use ring::digest::{SHA256, digest};

use crate::der::{bits, boolean, common_name, inside, integer, octets, oid, sequence, tagged, time};
use crate::{CertificateError, Key, pem};

const ECDSA_WITH_SHA256: [u8; 8] = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const SUBJECT_KEY: [u8; 3] = [0x55, 0x1d, 0x0e];
const KEY_USAGE: [u8; 3] = [0x55, 0x1d, 0x0f];
const ALTERNATIVE_NAMES: [u8; 3] = [0x55, 0x1d, 0x11];
const BASIC_CONSTRAINTS: [u8; 3] = [0x55, 0x1d, 0x13];
const AUTHORITY_KEY: [u8; 3] = [0x55, 0x1d, 0x23];
const EXTENDED_USAGE: [u8; 3] = [0x55, 0x1d, 0x25];
const SERVER: [u8; 8] = [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];

/// From long ago to long hence: the key is gone with the process, whatever the clocks of both sides say.
const BEGIN: &str = "200101000000Z";
const END: &str = "491231235959Z";

/// A certificate for `localhost`, `127.0.0.1` and `::1`.
#[derive(Debug)]
pub struct Loopback {
    authority: Vec<u8>,
    certificate: Vec<u8>,
    key: Key,
}

impl Loopback {
    /// Makes an authority and lets it sign. Its key is forgotten at once, so it never vouches for anything else.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn generate() -> Result<Self, CertificateError> {
        let (authority_key, key) = (Key::generate()?, Key::generate()?);
        // The same name for every authority would let a client that knows an older one try that.
        let mark: String = identifier(&authority_key).iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        let name = common_name(&format!("loopback authority {mark}"));
        let authority = certificate(&Contents {
            issuer: &name,
            subject: &name,
            subject_key: &authority_key,
            signer: &authority_key,
            extensions: vec![
                extension(&BASIC_CONSTRAINTS, true, &sequence(&[&boolean(true)])),
                // keyCertSign.
                extension(&KEY_USAGE, true, &bits(&[0x04], 2)),
            ],
        })?;
        let certificate = certificate(&Contents {
            issuer: &name,
            subject: &common_name("localhost"),
            subject_key: &key,
            signer: &authority_key,
            extensions: vec![
                extension(&BASIC_CONSTRAINTS, true, &sequence(&[])),
                // digitalSignature.
                extension(&KEY_USAGE, true, &bits(&[0x80], 7)),
                extension(&EXTENDED_USAGE, false, &sequence(&[&oid(&SERVER)])),
                extension(&ALTERNATIVE_NAMES, false, &names()),
            ],
        })?;
        Ok(Self { authority, certificate, key })
    }

    /// What a client must trust, as PEM.
    pub fn authority_pem(&self) -> String {
        pem("CERTIFICATE", &self.authority)
    }

    /// What the server shows, in DER.
    pub fn certificate_der(&self) -> &[u8] {
        &self.certificate
    }

    /// The key of the server, PKCS#8.
    pub fn key_der(&self) -> &[u8] {
        self.key.private_der()
    }
}

struct Contents<'a> {
    issuer: &'a [u8],
    subject: &'a [u8],
    subject_key: &'a Key,
    signer: &'a Key,
    extensions: Vec<Vec<u8>>,
}

fn certificate(contents: &Contents<'_>) -> Result<Vec<u8>, CertificateError> {
    let algorithm = sequence(&[&oid(&ECDSA_WITH_SHA256)]);
    let mut extensions = contents.extensions.concat();
    extensions.extend(extension(&SUBJECT_KEY, false, &octets(&identifier(contents.subject_key))));
    let authority = sequence(&[&tagged(0x80, &identifier(contents.signer))]);
    extensions.extend(extension(&AUTHORITY_KEY, false, &authority));
    let body = sequence(&[
        // Version 3.
        &inside(0, &integer(&[2])),
        &integer(&identifier(contents.subject_key)[..16]),
        &algorithm,
        contents.issuer,
        &sequence(&[&time(BEGIN), &time(END)]),
        contents.subject,
        &contents.subject_key.public_der(),
        &inside(3, &sequence(&[&extensions])),
    ]);
    let signature = contents.signer.sign(&body)?;
    Ok(sequence(&[&body, &algorithm, &bits(&signature, 0)]))
}

fn extension(name: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let flag = if critical { boolean(true) } else { Vec::new() };
    sequence(&[&oid(name), &flag, &octets(value)])
}

/// The alternative names: one by DNS, two addresses.
fn names() -> Vec<u8> {
    let (dns, address) = (0x82, 0x87);
    let six = std::net::Ipv6Addr::LOCALHOST.octets();
    sequence(&[&tagged(dns, b"localhost"), &tagged(address, &[127, 0, 0, 1]), &tagged(address, &six)])
}

/// What tells keys apart: 20 bytes of a digest.
fn identifier(key: &Key) -> Vec<u8> {
    digest(&SHA256, key.point()).as_ref().iter().take(20).copied().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use rustls::RootCertStore;
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::crypto::ring::default_provider;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
    use rustls::sign::CertifiedKey;

    use super::*;

    /// Whether whoever trusts the authority of `trusted` believes that `shown` is `host`.
    fn believes(trusted: &Loopback, shown: &Loopback, host: &str) -> bool {
        let provider = Arc::new(default_provider());
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(trusted.authority_pem().as_bytes()).unwrap()).unwrap();
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
        let certificate = CertificateDer::from(shown.certificate_der().to_vec());
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_800_000_000));
        let host = ServerName::try_from(host.to_owned()).unwrap();
        verifier.verify_server_cert(&certificate, &[], &host, &[], now).is_ok()
    }

    #[test]
    fn who_trusts_the_authority_believes_the_server_on_loopback_and_nowhere_else() {
        let made = Loopback::generate().unwrap();
        for host in ["localhost", "127.0.0.1", "::1"] {
            assert!(believes(&made, &made, host), "{host}");
        }
        for host in ["example.com", "127.0.0.2"] {
            assert!(!believes(&made, &made, host), "{host}");
        }
    }

    #[test]
    fn an_authority_vouches_for_its_own_server_only() {
        let (one, other) = (Loopback::generate().unwrap(), Loopback::generate().unwrap());
        assert!(!believes(&one, &other, "localhost"));
    }

    #[test]
    fn the_key_fits_the_certificate() {
        let made = Loopback::generate().unwrap();
        let chain = vec![CertificateDer::from(made.certificate_der().to_vec())];
        let key = PrivateKeyDer::try_from(made.key_der().to_vec()).unwrap();
        assert!(CertifiedKey::from_der(chain, key, &default_provider()).is_ok());
    }
}
