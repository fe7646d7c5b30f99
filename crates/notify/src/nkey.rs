//! Keys of NATS: an Ed25519 key whose seed is written in base32, with a prefix that says whose it is and a checksum.
//!
//! Documentation: <https://docs.nats.io/running-a-nats-service/configuration/securing_nats/auth_intro/nkey_auth>,
//! <https://github.com/nats-io/nkeys#readme>.

use std::fmt;

use ring::signature::{Ed25519KeyPair, KeyPair};
use tidegate_expr::base64;

/// The first five bits of a seed, and of what belongs to a user: `S` and `U` in base32.
const SEED: u8 = 18 << 3;
const USER: u8 = 20 << 3;
/// Prefix, seed and checksum.
const LENGTH: usize = 2 + 32 + 2;
/// The letters of that many bytes.
const LETTERS: usize = (LENGTH * 8).div_ceil(5);
const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// The key of a user. Its `Debug` shows nothing of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Nkey {
    seed: [u8; 32],
}

impl fmt::Debug for Nkey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an nkey")
    }
}

impl Nkey {
    /// Reads the seed of a user; other lines may stand around it, as in files of credentials. The error goes on after the
    /// name of what holds it, and shows nothing of it.
    pub fn read(text: &str) -> Result<Self, &'static str> {
        let line = text.lines().map(str::trim).find(|line| line.starts_with("SU"));
        let line = line.ok_or("is no seed of a user, which begins with SU")?;
        let bytes = Some(line).filter(|line| line.len() == LETTERS).and_then(decoded);
        let bytes =
            bytes.filter(|bytes| bytes.len() == LENGTH).ok_or("is a seed with letters too many, too few or wrong")?;
        let (body, sum) = bytes.split_at(LENGTH - 2);
        if checksum(body).to_le_bytes() != *sum {
            return Err("is a seed whose checksum is wrong");
        }
        // `SU` holds ten of the sixteen bits.
        if body[0] != SEED | USER >> 5 || body[1] != USER << 3 {
            return Err("is no seed of a user");
        }
        body[2..].try_into().map(|seed| Self { seed }).map_err(|_| "is no seed of a user")
    }

    fn pair(&self) -> Result<Ed25519KeyPair, &'static str> {
        Ed25519KeyPair::from_seed_unchecked(&self.seed).map_err(|_| "the nkey cannot be used")
    }

    /// The public half as NATS writes it.
    pub fn public(&self) -> Result<String, &'static str> {
        let mut bytes = vec![USER];
        bytes.extend_from_slice(self.pair()?.public_key().as_ref());
        bytes.extend_from_slice(&checksum(&bytes).to_le_bytes());
        Ok(encoded(&bytes))
    }

    /// The signature of a server's nonce, as NATS writes it.
    pub fn sign(&self, nonce: &str) -> Result<String, &'static str> {
        let signature = base64::encode(self.pair()?.sign(nonce.as_bytes()).as_ref());
        Ok(signature.trim_end_matches('=').replace('+', "-").replace('/', "_"))
    }
}

/// CRC-16 as XMODEM has it.
fn checksum(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |sum, byte| {
        let sum = sum ^ u16::from(*byte) << 8;
        (0..8).fold(sum, |sum: u16, _| if sum & 0x8000 == 0 { sum << 1 } else { sum << 1 ^ 0x1021 })
    })
}

fn encoded(bytes: &[u8]) -> String {
    let (mut out, mut word, mut bits) = (String::new(), 0_u32, 0);
    for byte in bytes {
        word = word << 8 & 0xffff | u32::from(*byte);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            out.push(char::from(ALPHABET[(word >> bits & 31) as usize]));
        }
    }
    if bits > 0 {
        out.push(char::from(ALPHABET[(word << (5 - bits) & 31) as usize]));
    }
    out
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut word, mut bits) = (Vec::new(), 0_u32, 0);
    for sign in text.bytes() {
        let value = ALPHABET.iter().position(|known| *known == sign)?;
        word = word << 5 & 0xffff | value as u32;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_public_half_that_the_tool_of_nats_shows() {
        // Made with `nk -gen user -pubout`.
        let key = Nkey::read("SUAK2EUHHXSURZAU5T36IEYSR6WG755AWMH6GOANGPQL3K2M6Q6INQYJYI").unwrap();
        assert_eq!(key.public().as_deref(), Ok("UCNHJTGIN5IW6T3KPQ3JAZLBF6R24Z4GLGCESAKD3DDI53NDUTKJLGRY"));
        assert_eq!(format!("{key:?}"), "an nkey");
    }

    #[test]
    fn what_is_no_seed_of_a_user_is_refused_without_being_shown() {
        let seed = "SUAK2EUHHXSURZAU5T36IEYSR6WG755AWMH6GOANGPQL3K2M6Q6INQYJYI";
        let with_other_end = format!("{}A", &seed[..seed.len() - 1]);
        for (text, wanted) in [
            ("", "is no seed of a user, which begins with SU"),
            ("geheim", "is no seed of a user, which begins with SU"),
            (&seed[..50], "is a seed with letters too many, too few or wrong"),
            (&format!("{seed}A"), "is a seed with letters too many, too few or wrong"),
            (&seed.to_lowercase(), "is no seed of a user, which begins with SU"),
            (&seed.replace('A', "1"), "is a seed with letters too many, too few or wrong"),
            (&with_other_end, "is a seed whose checksum is wrong"),
        ] {
            assert_eq!(Nkey::read(text), Err(wanted), "{text}");
        }
        let file = format!("-----BEGIN USER NKEY SEED-----\n{seed}\n------END USER NKEY SEED------\n");
        assert_eq!(Nkey::read(&file), Nkey::read(seed));
    }
}
