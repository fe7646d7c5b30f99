//! Text in addresses and forms.

/// Text escaped for a query: blanks become `+`.
pub fn escape(text: &str) -> String {
    encode(text, true)
}

/// Text escaped strictly (RFC 3986), as signatures of AWS want it.
pub fn escape_strictly(text: &str) -> String {
    encode(text, false)
}

fn encode(text: &str, plus: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(byte as char),
            b' ' if plus => out.push('+'),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Pairs as a query or form, in the given order.
pub fn encoded<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let pairs = pairs.into_iter().map(|(name, value)| format!("{}={}", escape(name), escape(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Base64 with padding, for basic authentication.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_forms_and_signatures() {
        assert_eq!(encoded([("q", "a b&c=d"), ("x", "ü~")]), "q=a+b%26c%3Dd&x=%C3%BC~");
        assert_eq!(escape_strictly("a b/c"), "a%20b%2Fc");
        assert_eq!(base64(b"user:pass"), "dXNlcjpwYXNz");
        assert_eq!(base64(b"ab"), "YWI=");
    }
}
