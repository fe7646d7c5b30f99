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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_for_forms_and_signatures() {
        assert_eq!(encoded([("q", "a b&c=d"), ("x", "ü~")]), "q=a+b%26c%3Dd&x=%C3%BC~");
        assert_eq!(escape_strictly("a b/c"), "a%20b%2Fc");
    }
}
