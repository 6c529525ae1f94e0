//! Numbers that look random and are the same each time.

/// SplitMix64, by Guy Steele and others (2014): one addition and two multiplications a number.
pub(crate) struct Seeded(u64);

impl Seeded {
    /// The numbers that follow from a seed.
    pub(crate) fn new(seed: u64) -> Seeded {
        Seeded(seed)
    }

    /// The next number of a range; its spread is even enough for choosing moments.
    pub(crate) fn within(&mut self, range: std::ops::Range<u64>) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        range.start + (mixed ^ (mixed >> 31)) % (range.end - range.start)
    }
}
