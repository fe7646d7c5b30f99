//! The sum itself: FNV-1a over 32 bits, printed in an alphabet that cannot spell words.

const OFFSET_BASIS: u32 = 2_166_136_261;
const PRIME: u32 = 16_777_619;

/// No vowels and no digits that look like letters.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The hash of `text` and, when present, of the collision count that made a second name necessary.
pub(crate) fn safe_hash(text: &str, collision_count: Option<i32>) -> String {
    let mut sum = add(OFFSET_BASIS, text.as_bytes());
    if let Some(count) = collision_count {
        // The count fills the first half of an eight byte buffer.
        sum = add(sum, &count.to_le_bytes());
        sum = add(sum, &[0; 4]);
    }
    sum.to_string().bytes().map(|digit| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()])).collect()
}

fn add(sum: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(sum, |sum, byte| (sum ^ u32::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::{ALPHABET, OFFSET_BASIS, add, safe_hash};

    #[test]
    fn the_sum_is_fnv_1a() {
        assert_eq!(add(OFFSET_BASIS, b""), 0x811c_9dc5);
        assert_eq!(add(OFFSET_BASIS, b"a"), 0xe40c_292c);
        assert_eq!(add(OFFSET_BASIS, b"foobar"), 0xbf9c_f968);
    }

    #[test]
    fn each_digit_has_its_letter() {
        let mapped: String = ('0'..='9').map(|digit| char::from(ALPHABET[digit as usize % 27])).collect();
        assert_eq!(mapped, "456789bcdf");
    }

    #[test]
    fn the_text_null_has_its_known_hash() {
        assert_eq!(safe_hash("null", None), "5ffbfbbd64");
    }
}
