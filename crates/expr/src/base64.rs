//! Bytes as text: standard base64 with padding.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The text of bytes.
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for position in 0..4 {
            let sign = ALPHABET[(word >> (18 - 6 * position) & 63) as usize] as char;
            out.push(if position <= chunk.len() { sign } else { '=' });
        }
    }
    out
}

/// The bytes of a text; none when it is no base64.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text);
    let mut bytes = Vec::with_capacity(body.len() * 3 / 4);
    let (mut word, mut bits) = (0_u32, 0);
    for sign in body.bytes() {
        let value = ALPHABET.iter().position(|known| *known == sign)?;
        word = word << 6 | value as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push((word >> bits) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_every_length_come_back() {
        assert_eq!(
            (encode(b"user:pass"), encode(b"ab"), encode(b"b")),
            ("dXNlcjpwYXNz".into(), "YWI=".into(), "Yg==".into())
        );
        for length in 0..70_u8 {
            let bytes: Vec<u8> = (0..length).map(|byte| byte.wrapping_mul(37)).collect();
            assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
        assert_eq!((decode("a b="), decode("abc")), (None, None));
    }
}
