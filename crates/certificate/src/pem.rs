//! PEM and base64.

/// Something in DER as PEM.
pub fn pem(label: &str, der: &[u8]) -> String {
    let text = base64(der);
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let (line, tail) = rest.split_at(rest.len().min(64));
        out.push_str(line);
        out.push('\n');
        rest = tail;
    }
    out.push_str(&format!("-----END {label}-----\n"));
    out
}

/// Standard base64 with padding.
pub fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for position in 0..4_usize {
            let index = (word >> (18 - 6 * position)) & 63;
            let letter = usize::try_from(index).ok().and_then(|index| ALPHABET.get(index)).copied().unwrap_or(b'=');
            out.push(if position <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_pads_as_the_standard_says() {
        for (plain, coded) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
    }

    #[test]
    fn lines_of_pem_have_at_most_64_letters() {
        let text = pem("X", &[7; 100]);
        assert!(text.starts_with("-----BEGIN X-----\n") && text.ends_with("-----END X-----\n"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 64), "{text}");
    }
}
