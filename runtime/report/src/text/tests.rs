//! The summary as it looks, and what must be so whatever it tells.

//! The summary, on terminals of several widths and without one.

use super::*;
use crate::fixtures;

fn plain(width: usize) -> TextOptions {
    TextOptions {
        width,
        ..TextOptions::default()
    }
}

#[test]
fn summaries_look_like_this() {
    for (name, report) in fixtures::all() {
        insta::assert_snapshot!(format!("summary_{name}"), summary(&report, &plain(100)));
    }
}

#[test]
fn a_narrow_summary_looks_like_this() {
    insta::assert_snapshot!(summary(&fixtures::usual(), &plain(80)));
}

#[test]
fn a_summary_with_bars_and_files_looks_like_this() {
    let options = TextOptions {
        histogram: true,
        files: vec!["results/run.json".to_owned()],
        ..TextOptions::default()
    };
    insta::assert_snapshot!(summary(&fixtures::usual(), &options));
}

/// Colour repeats what words say: without it, the text is the same.
#[test]
fn colour_adds_nothing_but_colour() {
    for (name, report) in fixtures::all() {
        let coloured = summary(
            &report,
            &TextOptions {
                colour: true,
                ..TextOptions::default()
            },
        );
        assert!(coloured.contains("\x1b["), "{name} has colour");
        assert_eq!(
            without_colour(&coloured),
            summary(&report, &TextOptions::default()),
            "{name}"
        );
    }
}

fn without_colour(text: &str) -> String {
    let mut plain = String::new();
    let mut parts = text.split("\x1b[");
    plain.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (_, rest) = part.split_once('m').expect("an SGR sequence ends with m");
        plain.push_str(rest);
    }
    plain
}

#[test]
fn no_line_is_wider_than_the_page() {
    for (name, report) in fixtures::all() {
        for width in [80, 100, 120] {
            let options = TextOptions {
                histogram: true,
                ..plain(width)
            };
            for line in summary(&report, &options).lines() {
                assert!(line.chars().count() <= width, "{name} at {width}: {line}");
            }
        }
    }
}

/// Six samples have a p99, which is one of them, and the count beside it; nothing is NaN.
#[test]
fn case_019_few_samples_are_reported_with_their_number() {
    let text = summary(&fixtures::small(), &plain(80));
    let net = text
        .lines()
        .find(|line| line.trim_start().starts_with("net "))
        .expect("there is a row for net");
    assert_eq!(net.split_whitespace().collect::<Vec<_>>()[1], "6");
    assert!(net.ends_with("6 ms"), "{net}");
    for (name, report) in fixtures::all() {
        let text = summary(&report, &plain(100));
        assert!(!text.contains("NaN") && !text.contains("inf"), "{name}");
    }
}

/// A target that answers nothing has an attempt rate and no throughput, no latency, and a run that is INVALID.
#[test]
fn case_045_a_run_without_an_answer_has_no_throughput() {
    let report = fixtures::all_failed();
    let text = summary(&report, &plain(100));
    assert!(text.contains("7,000 attempted (7,000/s)"), "{text}");
    assert!(text.contains("0 answered (0.00/s)"), "{text}");
    assert!(
        text.contains("INVALID") && text.contains("nothing-answered"),
        "{text}"
    );
    assert!(
        report.trend("http_req_duration").is_none(),
        "nothing was answered, so nothing took any time"
    );
    assert!(
        !text
            .lines()
            .any(|line| line.trim_start().starts_with("net ")),
        "{text}"
    );
}

/// A submetric is printed with the metric it belongs to and its tags.
#[test]
fn case_035_submetrics_are_printed_under_their_own_metric() {
    let text = summary(&fixtures::usual(), &plain(100));
    let line = text
        .lines()
        .find(|line| line.contains("/orders/{id}"))
        .expect("the threshold is printed");
    assert!(
        line.trim_start()
            .starts_with("http_req_duration{name:/orders/{id}}: p(99)<=5ms"),
        "{line}"
    );
}

#[test]
fn phases_are_withheld_when_stamps_are_mostly_bounds() {
    let text = summary(&fixtures::many_statuses(), &plain(100));
    assert!(
        text.contains("withheld: 100 % of the stamps are bounds"),
        "{text}"
    );
    assert!(!text.contains("waiting"), "{text}");
    let text = summary(&fixtures::usual(), &plain(100));
    assert!(
        text.contains("timestamps: exact 97.5 %, bound 2.5 %, user 0 %"),
        "{text}"
    );
}
