//! The bodies of the fuzz targets, with random bytes and with damaged copies of good ones.

use proptest::prelude::*;

use crate::{fixtures, json};

#[expect(unreachable_pub, reason = "it is the library of a crate of its own")]
#[path = "../../../fuzz/src/lib.rs"]
mod bodies;

/// Good input for each target.
fn good() -> [Vec<u8>; 4] {
    let report = fixtures::small();
    let mut histogram = nettare_core::stats::Histogram::new();
    (0..50).for_each(|n| histogram.record_n(n * n * 1_000, n));
    [
        serde_json::to_vec(&report.run.plan).expect("a plan has a JSON form"),
        b"http_req_duration{name:/orders/{id},status:200}: p(99.9) <= 1.5 s".to_vec(),
        json::encode(&report).expect("a report has a JSON form"),
        histogram.encode(),
    ]
}

const TARGETS: [fn(&[u8]); 4] = [
    bodies::plan,
    bodies::threshold,
    bodies::report,
    bodies::histogram,
];

#[test]
fn good_input_is_read() {
    for (target, bytes) in TARGETS.iter().zip(good()) {
        target(&bytes);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        TARGETS.iter().for_each(|target| target(&bytes));
    }

    #[test]
    fn damaged_input_is_read_or_refused(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        for (target, mut bytes) in TARGETS.iter().zip(good()) {
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            let end = cut.map_or(bytes.len(), |cut| cut.index(bytes.len()));
            target(&bytes[..end]);
        }
    }
}
