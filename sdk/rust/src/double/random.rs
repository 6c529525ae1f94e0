//! Interface `random`: the numbers of a seed.

use super::with;

pub(crate) fn number() -> u64 {
    with(|world| {
        // SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): the shortest generator that passes the usual tests.
        world.random = world.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = world.random;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}

pub(crate) fn fraction() -> f64 {
    (number() >> 11) as f64 / (1_u64 << 53) as f64
}

pub(crate) fn bytes(length: u32) -> Vec<u8> {
    (0..length).map(|_| number() as u8).collect()
}
