//! The laws, for whatever happens in whatever order.

use proptest::prelude::*;

use super::*;
use crate::verdict::IntervalCounts;

proptest! {
    #[test]
    fn totals_do_not_depend_on_who_recorded_and_when_it_was_collected(
        happenings in happenings(),
        workers in prop::collection::vec(0usize..3, 80),
    ) {
        let (as_it_was, _) = run(&happenings, 1_000);
        let elsewhere: Vec<_> = happenings
            .iter()
            .zip(workers)
            .filter(|((_, happening), _)| !matches!(happening, Happening::Collect))
            .map(|((_, happening), worker)| (worker, happening.clone()))
            .collect();
        let (moved, _) = run(&elsewhere, 1_000);
        prop_assert_eq!(dump(&as_it_was), dump(&moved));
        prop_assert_eq!(as_it_was.counts(), moved.counts());
    }

    #[test]
    fn a_limit_of_series_loses_no_sample(happenings in happenings(), max_series in 0u32..4) {
        let (all, _) = run(&happenings, 1_000);
        let (limited, intervals) = run(&happenings, max_series);
        prop_assert_eq!(all.counts(), limited.counts());
        prop_assert_eq!(IntervalCounts::of(&intervals).answered, all.counts().answered);
        for metric in ["http_reqs", "http_req_failed", "http_req_duration", "http_req_tare", "checks"] {
            prop_assert_eq!(all.query(metric, &no_tags()), limited.query(metric, &no_tags()), "{}", metric);
        }
        let names = limited.views().iter().filter(|v| v.metric == "http_reqs").count();
        prop_assert!(names <= max_series as usize + 2, "{} series", names);
    }

    /// Second by second, everything sums to the totals, exactly.
    #[test]
    fn case_041_intervals_sum_to_totals(happenings in happenings()) {
        let (totals, intervals) = run(&happenings, 1_000);
        let (counts, sums) = (totals.counts(), IntervalCounts::of(&intervals));
        prop_assert_eq!((counts.answered, counts.failed, counts.calls), (sums.answered, sums.failed, sums.calls));
        prop_assert_eq!((counts.iterations, counts.dropped, counts.checks), (sums.iterations, sums.dropped, sums.checks));
        let mut duration = Histogram::new();
        intervals.iter().for_each(|interval| duration.merge(&interval.duration.unpack()));
        let total = match totals.query("http_req_duration", &no_tags()) {
            Some((_, Figure::Trend(trend))) => trend.positive().clone(),
            _ => Histogram::new(),
        };
        prop_assert_eq!(duration, total);
        for series in intervals.iter().flat_map(|interval| &interval.declared) {
            let entries = intervals.iter().flat_map(|i| &i.counts).filter(|count| count.series == series.series);
            let (count, value) = entries.fold((0, 0.0), |(count, value), e| (count + e.count, value + e.value));
            match totals.query(&series.metric, &series.tags) {
                Some((_, Figure::Counter { value: sum, samples })) => prop_assert_eq!((count, value), (samples, sum)),
                Some((_, Figure::Rate { passes, fails })) => prop_assert_eq!((count, value), (passes + fails, passes as f64)),
                other => prop_assert!(false, "{:?} was counted and is {:?}", series, other),
            }
        }
    }

    /// A submetric is the figure of those samples that have the tags, whatever else they have.
    #[test]
    fn case_028_a_submetric_is_a_filter_of_the_samples(happenings in happenings()) {
        let (totals, _) = run(&happenings, 1_000);
        for wanted in 0u8..6 {
            let mut expected = Trend::new(Unit::Nanoseconds);
            for (_, happening) in &happenings {
                match *happening {
                    Happening::Exchange { name, net_ns, outcome: 2.., .. } if name == wanted => {
                        expected.record(net_ns as f64).expect("a time");
                    }
                    _ => {}
                }
            }
            let expected = (expected.count() > 0).then_some((Unit::Nanoseconds, Figure::Trend(expected)));
            prop_assert_eq!(totals.query("http_req_duration", &tag("name", &format!("/{wanted}"))), expected);
        }
    }

    #[test]
    fn an_interval_is_written_down_and_read_back(happenings in happenings()) {
        let (_, intervals) = run(&happenings, 1_000);
        for interval in intervals {
            let written = serde_json::to_string(&interval).expect("it has a JSON form");
            let read: Interval = serde_json::from_str(&written).expect("it was just written");
            prop_assert_eq!(read, interval);
        }
    }
}
