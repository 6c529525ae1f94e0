//! What is read, what is refused, and what comes of judging.

//! Thresholds as they are written, and what they make of totals.

use proptest::prelude::*;

use super::*;
use crate::stats::{Shard, Symbol, TagSet};

fn parse(text: &str) -> Threshold {
    Threshold::parse_flag(text).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    Threshold::parse_flag(text).expect_err(text).to_string()
}

/// Totals of a custom trend in milliseconds, and of a counter; two seconds.
fn totals(values_ms: &[f64]) -> Totals {
    let mut shard = Shard::new(100);
    let (trend, counter) = (shard.symbol("wait"), shard.symbol("orders"));
    for value in values_ms {
        shard.custom(
            trend,
            MetricKind::Trend,
            Unit::Nanoseconds,
            TagSet::EMPTY,
            value * 1e6,
        );
        shard.custom(
            counter,
            MetricKind::Counter,
            Unit::Plain,
            TagSet::EMPTY,
            1.0,
        );
    }
    let mut totals = Totals::new(100);
    totals.absorb(0, shard.take());
    totals.close_interval(2_000_000_000);
    totals
}

fn outcome(text: &str, totals: &Totals) -> ThresholdOutcome {
    evaluate(&[parse(text)], totals)[0].outcome
}

/// A condition in a canonical form: `p(95) Less 200 Bare`.
fn understood(text: &str) -> String {
    let Condition {
        aggregation,
        comparison,
        limit,
        scale,
    } = parse(text).condition;
    format!("{aggregation} {comparison:?} {limit} {scale:?}")
}

#[test]
fn thresholds_are_read_as_k6_writes_them() {
    let table = [
        ("http_req_duration: p(95)<200", "p(95) Less 200 Bare"),
        (
            "http_req_duration: p(99.9)<=200",
            "p(99.9) LessOrEqual 200 Bare",
        ),
        ("http_req_duration: p(100)<200", "p(100) Less 200 Bare"),
        ("http_req_duration: avg>0.5", "avg Greater 0.5 Bare"),
        ("http_req_duration: med<200", "med Less 200 Bare"),
        ("http_req_duration: max<5000", "max Less 5000 Bare"),
        ("http_req_failed: rate<0.01", "rate Less 0.01 Bare"),
        ("http_reqs: count>1000", "count Greater 1000 Bare"),
        ("http_reqs: rate>=100", "rate GreaterOrEqual 100 Bare"),
        ("vus: value==10", "value Equal 10 Bare"),
        ("gen_cpu: max<0.8", "max Less 0.8 Bare"),
        ("checks: rate!=0", "rate NotEqual 0 Bare"),
        ("clock_skew: min>-5", "min Greater -5 Bare"),
    ];
    for (text, expected) in table {
        assert_eq!(understood(text), expected, "{text}");
    }
}

#[test]
fn units_may_be_written() {
    let table = [
        (
            "http_req_duration: avg<=1s",
            "avg LessOrEqual 1000000000 Nanoseconds",
        ),
        (
            "http_req_duration: med<1.5ms",
            "med Less 1500000 Nanoseconds",
        ),
        (
            "http_req_tare: p(50)<100µs",
            "p(50) Less 100000 Nanoseconds",
        ),
        (
            "iteration_duration: max<1m30s",
            "max Less 90000000000 Nanoseconds",
        ),
        ("http_req_failed: rate<1%", "rate Less 1 Percent"),
        ("data_received: count<1.5GiB", "count Less 1610612736 Bytes"),
        ("clock_skew: min>-5ms", "min Greater -5000000 Nanoseconds"),
        (
            "  http_req_tare :  p( 95 )  <  200  ms ",
            "p(95) Less 200000000 Nanoseconds",
        ),
    ];
    for (text, expected) in table {
        assert_eq!(understood(text), expected, "{text}");
    }
}

#[test]
fn tags_may_hold_slashes_braces_and_colons() {
    let table = [
        (
            "one tag",
            "http_reqs{name:login}: count>1",
            vec![("name", "login")],
        ),
        (
            "a route template",
            "http_reqs{name:/orders/{id}}: count>1",
            vec![("name", "/orders/{id}")],
        ),
        (
            "a URL",
            "http_reqs{name:http://a:80/x}: count>1",
            vec![("name", "http://a:80/x")],
        ),
        (
            "two tags",
            "http_reqs{ name : login , status:200 }: count>1",
            vec![("name", "login"), ("status", "200")],
        ),
        (
            "a comma within braces",
            "http_reqs{name:/{a,b}/c,status:200}: count>1",
            vec![("name", "/{a,b}/c"), ("status", "200")],
        ),
        (
            "a check with blanks",
            "check_cpu{check:catalog valid}: p(95)<2ms",
            vec![("check", "catalog valid")],
        ),
        ("none", "http_reqs: count>1", vec![]),
    ];
    for (sentence, text, tags) in table {
        let expected = tags
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        assert_eq!(parse(text).tags, expected, "{sentence}");
    }
}

/// Nonsense is refused before the run: one sentence, with the place and something that would be right.
#[test]
fn case_032_nonsense_is_refused_with_its_place_and_an_example() {
    let table = [
        "http_req_duration: p(150)<200",
        "http_req_duration: p(-1)<200",
        "http_req_duration: p(NaN)<200",
        "http_req_duration: p(95<200",
        "http_req_duration: p95<200",
        "http_req_duration: p(95)<NaN",
        "http_req_duration: p(95)<inf",
        "http_req_duration: p(95)<",
        "http_req_duration: p(95)=200",
        "http_req_duration: p(95)",
        "http_req_duration: <200",
        "http_req_duration: p(95)<200 parsecs",
        "http_req_duration: p(95)<200MB",
        "http_req_duration: p(95)<200%",
        "http_req_duration: p(95)<-1",
        "http_req_duration: p(95)<1.2.3",
        "http_req_duration: rate<0.1",
        "http_req_failed: p(95)<200",
        "http_req_failed: rate<5",
        "http_reqs: value>3",
        "vus: count>3",
        "http_req_duratoin: p(95)<200",
        "http_req_duration p(95)<200",
        ": p(95)<200",
        "http_req_duration{name}: p(95)<200",
        "http_req_duration{name:}: p(95)<200",
        "http_req_duration{}: p(95)<200",
        "http_req_duration{name:a,name:b}: p(95)<200",
        "http_req_waiting{status:200}: p(95)<200",
        "vus{scenario:a}: max<10",
        "http_req_duration{name:a: p(95)<200",
        "http_req_duration{name:a},group:{b}: p(95)<200",
        "http_req_duration{name:/{a,b}: p(95)<200",
        "",
    ];
    let refusals: Vec<String> = table.into_iter().map(refused).collect();
    insta::assert_snapshot!(refusals.join("\n"));
}

/// No samples are neither good nor bad, and fail unless that is allowed.
#[test]
fn case_030_no_samples_are_an_outcome_of_their_own() {
    let totals = totals(&[]);
    let mut threshold = parse("http_req_duration: p(95)<200");
    let judged = &evaluate(std::slice::from_ref(&threshold), &totals)[0];
    assert_eq!(
        (judged.value, judged.outcome),
        (None, ThresholdOutcome::NoData)
    );
    assert!(judged.is_failure());
    threshold.allow_no_data = true;
    assert!(!evaluate(&[threshold], &totals)[0].is_failure());
}

/// That nothing was dropped is known, and no want of samples.
#[test]
fn nothing_dropped_is_a_count_of_zero() {
    let mut shard = Shard::new(10);
    let scenario = shard.symbol("s");
    shard.iteration_started(scenario);
    let mut totals = Totals::new(10);
    totals.absorb(0, shard.take());
    assert_eq!(
        outcome("dropped_iterations: count<1", &totals),
        ThresholdOutcome::Pass
    );
}

#[test]
fn bare_numbers_of_times_are_milliseconds() {
    let totals = totals(&[100.0, 200.0, 300.0]);
    let table = [
        ("wait: max<=300", ThresholdOutcome::Pass),
        ("wait: max<300", ThresholdOutcome::Fail),
        ("wait: max<=0.3s", ThresholdOutcome::Pass),
        ("wait: avg==200", ThresholdOutcome::Pass),
        ("wait: min>=100ms", ThresholdOutcome::Pass),
        ("orders: count==3", ThresholdOutcome::Pass),
        ("orders: rate==1.5", ThresholdOutcome::Pass),
    ];
    for (text, expected) in table {
        assert_eq!(outcome(text, &totals), expected, "{text}");
    }
}

/// What a scenario's own metric is becomes known in the run only. A condition that turns out not to be about it is not passed.
#[test]
fn a_condition_that_does_not_fit_a_custom_metric_has_nothing_to_judge() {
    let totals = totals(&[100.0]);
    for text in [
        "wait: count>0",
        "orders: p(95)<1",
        "orders: count<1s",
        "wait: max<1MB",
    ] {
        assert_eq!(outcome(text, &totals), ThresholdOutcome::NoData, "{text}");
    }
}

#[test]
fn a_threshold_is_written_down_and_read_back() {
    let mut threshold = parse("http_req_duration{name:/orders/{id}}: p(95)<200");
    (threshold.abort_on_fail, threshold.delay_abort_eval_ns) = (true, 10_000_000_000);
    let written = serde_json::to_string(&threshold).expect("it has a JSON form");
    assert_eq!(
        serde_json::from_str::<Threshold>(&written).expect("it was just written"),
        threshold
    );
    let broken = written.replace("p(95)", "p(195)");
    assert!(serde_json::from_str::<Threshold>(&broken).is_err());
    assert_eq!(threshold.selector(), "http_req_duration{name:/orders/{id}}");
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        parse_any(&text);
    }

    #[test]
    fn any_text_of_the_right_letters_is_read_or_refused(text in "[a-z_{}:<>=!().,0-9 %µ-]{0,40}") {
        parse_any(&text);
        parse_any(&format!("http_req_duration: {text}"));
        parse_any(&format!("http_req_duration{{{text}}}: p(95)<200"));
    }

    #[test]
    fn judging_is_total(values in prop::collection::vec(-1e9..1e9f64, 0..20), n in 0.0..=100.0f64, limit in -1e9..1e9f64) {
        let totals = totals(&values);
        for aggregation in [format!("p({n})"), "avg".into(), "med".into(), "min".into(), "max".into()] {
            let judged = &evaluate(&[parse(&format!("wait: {aggregation}<{limit}"))], &totals)[0];
            prop_assert_eq!(judged.value.is_none(), values.is_empty());
            prop_assert_eq!(judged.outcome == ThresholdOutcome::NoData, values.is_empty());
            if let Some(value) = judged.value {
                prop_assert_eq!(judged.outcome == ThresholdOutcome::Pass, value < limit * 1e6);
            }
        }
    }
}

/// What can be read can be written and read again.
fn parse_any(text: &str) {
    if let Ok(threshold) = Threshold::parse_flag(text) {
        let again = Threshold::parse(&threshold.selector(), &threshold.expression);
        assert_eq!(again.as_ref(), Ok(&threshold), "{text:?}");
        evaluate(&[threshold], &Totals::new(1));
    }
}

#[test]
fn a_symbol_of_nothing_is_no_tag() {
    let mut shard = Shard::new(10);
    shard.group(Symbol::NONE, Symbol::NONE, TagSet::EMPTY, 5);
    let mut totals = Totals::new(10);
    totals.absorb(0, shard.take());
    assert!(totals.views()[0].tags().is_empty());
}
