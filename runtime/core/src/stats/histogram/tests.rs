//! The laws of histograms, and the crate `hdrhistogram` beside ours.

//! Histograms against their own laws, and against the crate `hdrhistogram`.

use proptest::prelude::*;

use super::*;

/// Values of every size: an exponent first, then what is below it.
pub(crate) fn value() -> impl Strategy<Value = u64> {
    (0u32..63).prop_flat_map(|bits| 0..=(1u64 << bits))
}

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

/// The crate `hdrhistogram`, with the same geometry.
fn reference(values: &[u64]) -> hdrhistogram::Histogram<u64> {
    let mut histogram =
        hdrhistogram::Histogram::new_with_bounds(1, Histogram::MAX_VALUE, 3).expect("valid bounds");
    values
        .iter()
        .for_each(|value| histogram.record(*value).expect("in range"));
    histogram
}

/// The sample of nearest rank.
fn exact(sorted: &[u64], quantile: f64) -> u64 {
    sorted[rank(quantile, sorted.len() as u64) as usize - 1]
}

proptest! {
    #[test]
    fn buckets_are_those_of_hdrhistogram(value in value()) {
        let reference = reference(&[]);
        let bucket = bucket_of(value);
        prop_assert_eq!(lowest_of(bucket), reference.lowest_equivalent(value));
        prop_assert_eq!(highest_of(bucket), reference.highest_equivalent(value));
    }

    #[test]
    fn quantiles_are_those_of_hdrhistogram(mut values in prop::collection::vec(value(), 1..200), quantile in 0.0..=1.0f64) {
        let (ours, theirs) = (of(&values), reference(&values));
        values.sort_unstable();
        let bucket = bucket_of(exact(&values, quantile));
        let ours = ours.quantile(quantile).unwrap_or(0);
        prop_assert_eq!(bucket_of(ours), bucket);
        prop_assert_eq!(bucket_of(theirs.value_at_quantile(quantile)), bucket);
    }

    #[test]
    fn merging_is_commutative(a in prop::collection::vec(value(), 0..50), b in prop::collection::vec(value(), 0..50)) {
        let (mut ab, mut ba) = (of(&a), of(&b));
        ab.merge(&of(&b));
        ba.merge(&of(&a));
        prop_assert_eq!(ab, ba);
    }

    #[test]
    fn merging_is_associative(
        a in prop::collection::vec(value(), 0..50),
        b in prop::collection::vec(value(), 0..50),
        c in prop::collection::vec(value(), 0..50),
    ) {
        let mut left = of(&a);
        left.merge(&of(&b));
        left.merge(&of(&c));
        let mut right = of(&b);
        right.merge(&of(&c));
        let mut all = of(&a);
        all.merge(&right);
        prop_assert_eq!(left, all);
    }

    #[test]
    fn an_empty_histogram_is_the_identity_of_merging(values in prop::collection::vec(value(), 0..50)) {
        let (mut left, mut right) = (of(&values), Histogram::new());
        left.merge(&Histogram::new());
        right.merge(&of(&values));
        prop_assert_eq!(&left, &of(&values));
        prop_assert_eq!(&right, &of(&values));
    }

    #[test]
    fn merging_is_recording_both(a in prop::collection::vec(value(), 0..50), b in prop::collection::vec(value(), 0..50)) {
        let mut merged = of(&a);
        merged.merge(&of(&b));
        let both: Vec<u64> = a.iter().chain(&b).copied().collect();
        prop_assert_eq!(&merged, &of(&both));
        prop_assert_eq!(merged.count(), both.len() as u64);
        prop_assert_eq!(merged.sum(), both.iter().map(|v| u128::from(*v)).sum::<u128>());
    }

    #[test]
    fn a_cleared_histogram_counts_anew_and_keeps_its_pages(
        before in prop::collection::vec(value(), 0..50),
        after in prop::collection::vec(value(), 0..50),
    ) {
        let mut histogram = of(&before);
        histogram.clear();
        prop_assert_eq!(&histogram, &Histogram::new());
        let held = histogram.heap_bytes();
        before.iter().for_each(|value| histogram.record(*value));
        prop_assert_eq!(histogram.heap_bytes(), held);
        histogram.clear();
        after.iter().for_each(|value| histogram.record(*value));
        prop_assert_eq!(histogram, of(&after));
    }

    #[test]
    fn recording_a_value_many_times_at_once_is_recording_it_often(value in value(), times in 0u64..300) {
        let mut at_once = Histogram::new();
        at_once.record_n(value, times);
        prop_assert_eq!(at_once, of(&vec![value; times as usize]));
    }

    /// Percentiles lie within minimum and maximum and never fall as N grows.
    #[test]
    fn case_013_percentiles_stay_within_min_and_max(
        values in prop::collection::vec(value(), 1..100),
        mut quantiles in prop::collection::vec(-0.5..1.5f64, 1..20),
    ) {
        let histogram = of(&values);
        let (min, max) = (histogram.min().unwrap_or(0), histogram.max().unwrap_or(0));
        prop_assert_eq!(Some(&min), values.iter().min());
        prop_assert_eq!(Some(&max), values.iter().max());
        quantiles.sort_by(f64::total_cmp);
        let shown: Vec<u64> = quantiles.iter().filter_map(|q| histogram.quantile(*q)).collect();
        prop_assert_eq!(shown.len(), quantiles.len());
        prop_assert!(shown.is_sorted());
        prop_assert!(shown.iter().all(|value| (min..=max).contains(value)));
    }

    /// From 1 µs to 1 h, a quantile is at most 0.1 % from the sample that a sort would give.
    #[test]
    fn case_018_quantiles_are_exact_to_three_digits(
        mut values in prop::collection::vec(1_000u64..=3_600_000_000_000, 1..300),
        quantile in 0.0..=1.0f64,
    ) {
        let shown = of(&values).quantile(quantile).unwrap_or(0);
        values.sort_unstable();
        let exact = exact(&values, quantile);
        prop_assert!(shown.abs_diff(exact) as f64 <= exact as f64 * 1e-3, "{} for {}", shown, exact);
    }

    /// Every bucket's ends are in it, and it begins where the one before ends.
    #[test]
    fn case_048_every_value_has_one_bucket(bucket in 0..BUCKETS) {
        let (low, high) = (lowest_of(bucket), highest_of(bucket));
        prop_assert_eq!(bucket_of(low), bucket);
        prop_assert_eq!(bucket_of(high), bucket);
        prop_assert!(bucket == 0 || highest_of(bucket - 1) + 1 == low);
        prop_assert!(high == Histogram::MAX_VALUE || bucket_of(high + 1) == bucket + 1);
        prop_assert!(high - low <= low / 1024);
    }
}

#[test]
fn the_last_bucket_ends_with_the_largest_value() {
    assert_eq!(highest_of(BUCKETS - 1), Histogram::MAX_VALUE);
    assert_eq!(
        of(&[u64::MAX]),
        of(&[Histogram::MAX_VALUE]),
        "what is larger counts as the largest"
    );
}

/// A run of 5 million fast requests in small: the count is exact, and the mean does not drift with the length of the run.
#[test]
fn case_007_no_sample_is_lost_however_many_there_are() {
    let mut histogram = Histogram::new();
    let period = [40_000u64, 50_000, 60_000, 250_000];
    for _ in 0..1_250_000 / 4 {
        period.iter().for_each(|value| histogram.record(*value));
    }
    assert_eq!(histogram.count(), 1_250_000);
    assert_eq!(histogram.mean(), Some(100_000.0));
    let held = histogram.heap_bytes();
    for _ in 0..1_250_000 / 4 {
        period.iter().for_each(|value| histogram.record(*value));
    }
    assert_eq!(
        (histogram.count(), histogram.mean()),
        (2_500_000, Some(100_000.0))
    );
    assert_eq!(
        histogram.heap_bytes(),
        held,
        "memory depends on the values, not on how many there are"
    );
}

/// One sample, or one sample in a short window, is a distribution like any other.
#[test]
fn case_014_a_window_of_any_size_has_percentiles() {
    assert_eq!(
        Histogram::new().quantile(0.95),
        None,
        "no samples have no percentile, and not 0 either"
    );
    let one = of(&[777_777]);
    for quantile in [0.0, 0.5, 0.95, 1.0] {
        assert_eq!(one.quantile(quantile), Some(777_777));
    }
    assert_eq!(of(&[100, 200]).quantile(0.5), Some(100));
    assert_eq!(of(&[100, 200]).quantile(0.51), Some(200));
}

#[test]
fn the_rank_of_a_quantile_is_not_thrown_off_by_binary_fractions() {
    let table = [
        (
            "7 % of 100 is the 7th, though 0.07 * 100 is a little more than 7",
            0.07,
            100,
            7,
        ),
        ("95 % of 20 is the 19th", 0.95, 20, 19),
        ("99.9 % of 1000 is the 999th", 0.999, 1000, 999),
        (
            "29 % of 100 is the 29th, though 0.29 * 100 is a little less than 29",
            0.29,
            100,
            29,
        ),
        ("half of 3 is the 2nd", 0.5, 3, 2),
        ("0 is the first", 0.0, 10, 1),
        ("1 is the last", 1.0, 10, 10),
        ("less than 0 is the first", -3.0, 10, 1),
        ("more than 1 is the last", 7.0, 10, 10),
    ];
    for (sentence, quantile, count, expected) in table {
        assert_eq!(rank(quantile, count), expected, "{sentence}");
    }
}

#[test]
fn a_count_that_passes_32_bits_is_carried() {
    let most = u64::from(u32::MAX);
    let mut histogram = Histogram::new();
    histogram.record_n(5_000, most);
    histogram.record(5_000);
    assert_eq!(
        histogram.buckets().collect::<Vec<_>>(),
        [(bucket_of(5_000), most + 1)],
        "by one more sample"
    );

    let mut doubled = histogram.clone();
    doubled.record_n(5_000, most);
    doubled.merge(&histogram);
    assert_eq!(
        doubled.buckets().collect::<Vec<_>>(),
        [(bucket_of(5_000), 3 * most + 2)],
        "and by merging"
    );
    assert_eq!(doubled.count(), 3 * most + 2);

    let mut wrapping = Histogram::new();
    wrapping.record_n(5_000, most);
    let mut other = Histogram::new();
    other.record_n(5_000, 10);
    wrapping.merge(&other);
    assert_eq!(
        wrapping.buckets().collect::<Vec<_>>(),
        [(bucket_of(5_000), most + 10)],
        "and when a sum wraps"
    );
    wrapping.clear();
    assert!(wrapping.is_empty() && wrapping.buckets().next().is_none());
}

#[test]
fn a_usual_series_takes_12_to_24_kilobytes() {
    let mut histogram = Histogram::new();
    for microseconds in 100..1_600 {
        histogram.record(microseconds * 1_000);
    }
    assert!(
        (12_288..=24_576).contains(&histogram.heap_bytes()),
        "{}",
        histogram.heap_bytes()
    );
}
