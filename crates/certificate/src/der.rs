//! The shapes of DER that a certificate is made of: each function gives a whole value, tag and length included.

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;

/// A value with its tag and length.
pub(crate) fn tagged(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut out = vec![tag];
    match u8::try_from(content.len()) {
        Ok(short) if short < 0x80 => out.push(short),
        _ => {
            let bytes = content.len().to_be_bytes();
            let digits: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
            out.push(0x80 | u8::try_from(digits.len()).unwrap_or(0));
            out.extend_from_slice(&digits);
        }
    }
    out.extend_from_slice(content);
    out
}

pub(crate) fn sequence(parts: &[&[u8]]) -> Vec<u8> {
    tagged(SEQUENCE, &parts.concat())
}

/// A number of any size, without sign.
pub(crate) fn integer(bytes: &[u8]) -> Vec<u8> {
    let mut digits: Vec<u8> = bytes.iter().copied().skip_while(|byte| *byte == 0).collect();
    if digits.first().is_none_or(|first| first & 0x80 != 0) {
        digits.insert(0, 0);
    }
    tagged(0x02, &digits)
}

pub(crate) fn boolean(value: bool) -> Vec<u8> {
    tagged(0x01, &[if value { 0xff } else { 0 }])
}

/// An object identifier, already encoded.
pub(crate) fn oid(encoded: &[u8]) -> Vec<u8> {
    tagged(0x06, encoded)
}

pub(crate) fn octets(content: &[u8]) -> Vec<u8> {
    tagged(0x04, content)
}

/// Bits that fill whole bytes but for `unused` at the end.
pub(crate) fn bits(content: &[u8], unused: u8) -> Vec<u8> {
    tagged(0x03, &[&[unused], content].concat())
}

/// `YYMMDDhhmmssZ`.
pub(crate) fn time(text: &str) -> Vec<u8> {
    tagged(0x17, text.as_bytes())
}

/// A name that is nothing but a common name.
pub(crate) fn common_name(text: &str) -> Vec<u8> {
    const COMMON_NAME: [u8; 3] = [0x55, 0x04, 0x03];
    let attribute = sequence(&[&oid(&COMMON_NAME), &tagged(0x0c, text.as_bytes())]);
    sequence(&[&tagged(SET, &attribute)])
}

/// A value inside a context tag of its own.
pub(crate) fn inside(number: u8, content: &[u8]) -> Vec<u8> {
    tagged(0xa0 | number, content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        assert_eq!(tagged(4, &[1])[..2], [4, 1]);
        assert_eq!(tagged(4, &[0; 127])[..2], [4, 127]);
        assert_eq!(tagged(4, &[0; 128])[..3], [4, 0x81, 128]);
        assert_eq!(tagged(4, &[0; 300])[..4], [4, 0x82, 1, 44]);
    }

    #[test]
    fn numbers_never_look_negative() {
        assert_eq!(integer(&[0, 0, 5]), [2, 1, 5]);
        assert_eq!(integer(&[0x80]), [2, 2, 0, 0x80]);
        assert_eq!(integer(&[]), [2, 1, 0]);
    }
}
