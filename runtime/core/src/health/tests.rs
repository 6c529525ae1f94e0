//! What seconds say when looked at together.

use super::*;

fn second(t: u64, length_ns: u64, gauges: &[(&str, f64)]) -> Interval {
    Interval {
        t_ns: t,
        length_ns,
        gauges: gauges.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect(),
        ..Interval::default()
    }
}

const SECOND: u64 = 1_000_000_000;

#[test]
fn a_mean_weighs_each_interval_by_its_length() {
    let health = Health::of(&[
        second(SECOND, SECOND, &[("gen_cpu", 0.25)]),
        second(4 * SECOND, 3 * SECOND, &[("gen_cpu", 0.75)]),
    ]);
    assert_eq!(health.mean("gen_cpu"), Some(0.625));
    assert_eq!(health.max("gen_cpu"), Some(0.75));
    assert_eq!(health.min("gen_cpu"), Some(0.25));
}

#[test]
fn one_tick_is_no_large_part_of_a_short_run() {
    let health = Health::of(&[second(20_000_000, 20_000_000, &[("gen_cpu_steal", 0.5)])]);
    assert_eq!(health.mean("gen_cpu_steal"), Some(0.01));
}

#[test]
fn other_gauges_are_no_health() {
    let health = Health::of(&[second(SECOND, SECOND, &[("vus", 8.0)])]);
    assert!(health.is_empty());
    assert_eq!(
        generator(&[second(SECOND, SECOND, &[("vus", 8.0)])], 2),
        None
    );
}

#[test]
fn the_peak_of_what_there_should_be_much_of_is_its_lowest() {
    let gauges = |available| {
        [
            ("gen_available", available),
            ("gen_descriptors", available * 10.0),
        ]
    };
    let generator = generator(
        &[
            second(SECOND, SECOND, &gauges(0.75)),
            second(2 * SECOND, SECOND, &gauges(0.5)),
        ],
        2,
    )
    .expect("something was watched");
    assert_eq!(generator.peak["gen_available"], Number(0.5));
    assert_eq!(generator.peak["gen_descriptors"], Number(7.5));
    assert_eq!(
        generator.series["gen_available"],
        [Number(0.75), Number(0.5)]
    );
}
