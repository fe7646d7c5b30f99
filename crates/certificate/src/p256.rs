//! Key pairs on the curve P-256.

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};

use crate::CertificateError;

/// The beginning of every DER-encoded public key on the curve P-256; the point follows.
const PUBLIC_PREFIX: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce,
    0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// A key pair that was just made.
pub struct Key {
    private: Vec<u8>,
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Key").finish_non_exhaustive()
    }
}

impl Key {
    /// A new one.
    ///
    /// # Errors
    /// When the system gives no random bytes.
    pub fn generate() -> Result<Self, CertificateError> {
        let random = SystemRandom::new();
        let algorithm = &ECDSA_P256_SHA256_ASN1_SIGNING;
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random)
            .map_err(|_| CertificateError::Key("the system gave no random bytes"))?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random)
            .map_err(|_| CertificateError::Key("the new key cannot be read"))?;
        Ok(Self { private: document.as_ref().to_vec(), pair, random })
    }

    /// PKCS#8.
    pub fn private_der(&self) -> &[u8] {
        &self.private
    }

    /// The public half as `SubjectPublicKeyInfo`.
    pub fn public_der(&self) -> Vec<u8> {
        let mut public = PUBLIC_PREFIX.to_vec();
        public.extend_from_slice(self.pair.public_key().as_ref());
        public
    }

    /// The bare point of the public half.
    pub(crate) fn point(&self) -> &[u8] {
        self.pair.public_key().as_ref()
    }

    /// An ECDSA signature with SHA-256, in DER.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, CertificateError> {
        let signed = self.pair.sign(&self.random, message);
        signed.map(|signature| signature.as_ref().to_vec()).map_err(|_| CertificateError::Key("nothing can be signed"))
    }
}
