//! Random values from the run's seed: the same seed gives the same values to the same virtual user and iteration.

use std::ops::Range;

use crate::host;

/// Any number.
pub fn number() -> u64 {
    host::random::number()
}

/// From 0 to 1, 1 excluded.
pub fn fraction() -> f64 {
    host::random::fraction()
}

/// A number of the range, each as likely as any other.
///
/// # Panics
///
/// When the range is empty.
pub fn range(range: Range<u64>) -> u64 {
    assert!(
        range.start < range.end,
        "nothing to choose from in an empty range"
    );
    let width = range.end - range.start;
    // Lemire's method: the upper half of a product is uniform once the few lower halves that would make some results
    // likelier are drawn again. A remainder would favour small numbers. (doi:10.1145/3230636)
    let reject_below = width.wrapping_neg() % width;
    loop {
        let product = u128::from(number()) * u128::from(width);
        if product as u64 >= reject_below {
            return range.start + (product >> 64) as u64;
        }
    }
}

/// One of these; none when there are none.
pub fn choose<T>(items: &[T]) -> Option<&T> {
    if items.is_empty() {
        None
    } else {
        items.get(range(0..items.len() as u64) as usize)
    }
}

/// That many random bytes.
pub fn bytes(length: u32) -> Vec<u8> {
    host::random::bytes(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Host;

    #[test]
    fn a_range_gives_all_its_numbers_and_no_other() {
        let (counts, _) = Host::new().run(|| {
            let mut counts = [0_u32; 5];
            for _ in 0..5000 {
                counts[(range(10..15) - 10) as usize] += 1;
            }
            counts
        });
        // Five standard deviations of a fair draw are 141.
        assert!(
            counts.iter().all(|count| count.abs_diff(1000) < 141),
            "{counts:?}"
        );
    }

    #[test]
    fn one_number_is_a_range_too() {
        let (value, _) = Host::new().run(|| range(7..8));
        assert_eq!(value, 7);
    }

    #[test]
    fn a_seed_gives_the_same_values_again() {
        let draw = || {
            Host::new()
                .seed(3)
                .run(|| (number(), bytes(5), range(0..1000)))
                .0
        };
        assert_eq!(draw(), draw());
        assert_ne!(
            draw(),
            Host::new()
                .seed(4)
                .run(|| (number(), bytes(5), range(0..1000)))
                .0
        );
    }

    #[test]
    fn nothing_can_be_chosen_from_nothing() {
        let (chosen, _) =
            Host::new().run(|| (choose::<u8>(&[]).copied(), choose(&["only"]).copied()));
        assert_eq!(chosen, (None, Some("only")));
    }
}
