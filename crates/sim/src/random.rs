//! Numbers that depend on nothing but a seed, so that any history can be made again.

/// A small deterministic generator.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// A generator for one purpose of one run: streams of different purposes do not disturb each other, so that one
    /// more draw here does not change everything there.
    pub fn new(seed: u64, purpose: &str) -> Self {
        let start = purpose.bytes().fold(seed ^ 0x9E37_79B9_7F4A_7C15, |sum, byte| {
            (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3).rotate_left(23)
        });
        let mut random = Self(start);
        random.bits();
        random
    }

    /// The next 64 bits (splitmix64).
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `limit`; 0 when there is none.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.bits() % limit.max(1)
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True so many times of a thousand.
    pub fn per_mille(&mut self, rate: u32) -> bool {
        self.below(1000) < u64::from(rate)
    }

    /// One of the things; none of nothing.
    pub fn pick<'a, T>(&mut self, things: &'a [T]) -> Option<&'a T> {
        let index = self.below(u64::try_from(things.len()).unwrap_or(u64::MAX));
        things.get(usize::try_from(index).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn seed_and_purpose_decide_the_numbers() {
        let numbers = |seed, purpose| {
            let mut random = Random::new(seed, purpose);
            [random.bits(), random.bits(), random.bits()]
        };
        assert_eq!(numbers(7, "a"), numbers(7, "a"));
        assert_ne!(numbers(7, "a"), numbers(8, "a"));
        assert_ne!(numbers(7, "a"), numbers(7, "b"));
    }

    #[test]
    fn draws_stay_within_their_limits() {
        let mut random = Random::new(1, "limits");
        for _ in 0..1000 {
            assert!(random.below(3) < 3 && (5..=6).contains(&random.between(5, 6)));
        }
        assert_eq!((random.below(0), random.pick::<u8>(&[])), (0, None));
        assert!(!random.per_mille(0) && random.per_mille(1000));
    }
}
