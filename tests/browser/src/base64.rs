//! Bytes as text, as browsers and tokens have them.

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Without padding and with the letters of URLs.
pub fn url(bytes: &[u8]) -> String {
    text(bytes).trim_end_matches('=').replace('+', "-").replace('/', "_")
}

/// With padding.
pub fn text(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let shifted = |(place, byte): (usize, &u8)| u32::from(*byte) << (16 - 8 * place);
        let number = chunk.iter().enumerate().map(shifted).fold(0, |all, part| all | part);
        (0..=chunk.len()).for_each(|place| text.push(char::from(LETTERS[(number >> (18 - 6 * place)) as usize & 63])));
        text.extend(std::iter::repeat_n('=', 3 - chunk.len()));
    }
    text
}

/// What a text with the usual letters stands for.
pub fn bytes(text: &str) -> Vec<u8> {
    let (mut bytes, mut number, mut bits) = (Vec::new(), 0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = LETTERS.iter().position(|known| *known == letter).unwrap();
        number = number << 6 | u32::try_from(value).unwrap();
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(number >> bits & 0xff).unwrap());
        }
    }
    bytes
}
