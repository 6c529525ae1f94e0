//! The tour: what the Rust SDK offers, as the host gets it.

use nettare_core::sample::{ErrorKind, IterationOutcome};
use nettare_vm::HttpRequest;

use super::canned::{Seen, run};
use crate::support::guests::guest;

const TARGET: (&str, &str) = ("TARGET", "http://shop.example");

fn site(request: &HttpRequest) -> Result<(u16, Vec<u8>), ErrorKind> {
    let body = if request.url.ends_with("/login") {
        r#"{"token":"t-1"}"#
    } else {
        "This is Nettare."
    };
    Ok((200, body.as_bytes().to_vec()))
}

fn visit_twice() -> Seen {
    run(&guest("tour"), &[TARGET], 2, site)
}

#[test]
fn a_guest_offers_several_scenarios_and_completes_its_first() {
    let seen = visit_twice();
    assert_eq!(seen.scenarios, ["tour", "glance"]);
    assert_eq!(
        seen.outcomes,
        [IterationOutcome::Completed; 2],
        "{:?}",
        seen.whys
    );
    assert_eq!(seen.misuse, [""; 0]);
}

#[test]
fn requests_leave_one_after_another_and_several_at_once() {
    let seen = visit_twice();
    let urls: Vec<_> = seen
        .requests
        .iter()
        .map(|(_, url, _)| url.trim_start_matches("http://shop.example"))
        .collect();
    let page = |count| format!("/products?count={count}");
    let pages = [page(1), page(2), page(3)];
    let visit: Vec<_> = std::iter::once("/")
        .chain(pages.iter().chain(&pages).map(String::as_str))
        .collect();
    assert_eq!(urls, visit.repeat(2));
}

#[test]
fn metrics_of_every_kind_reach_the_host() {
    let seen = visit_twice();
    let values = |metric: &str| -> Vec<f64> {
        seen.values
            .iter()
            .filter(|(name, _)| name == metric)
            .map(|(_, value)| *value)
            .collect()
    };
    assert_eq!(values("tour_step"), [1.0, 2.0, 3.0].repeat(2));
    assert_eq!(values("tour_found"), [1.0; 4]);
    assert_eq!(values("tour_page_size"), [16.0; 6]);
    assert_eq!(values("tour_pages"), [1.0; 8]);
    assert_eq!(values("tour_reading").len(), 2);
}

#[test]
fn what_one_visit_needs_of_the_set_up_reaches_every_visitor() {
    let seen = run(&guest("tour"), &[TARGET], 1, |request| {
        let is_known = request.url.ends_with("/")
            && request
                .headers
                .get("authorization")
                .is_none_or(|value| value != "Bearer t-1");
        if is_known {
            Ok((401, Vec::new()))
        } else {
            site(request)
        }
    });
    assert_eq!(
        seen.outcomes,
        [IterationOutcome::Completed],
        "{:?}",
        seen.whys
    );
    assert_eq!(
        seen.values
            .iter()
            .filter(|value| **value == ("tour_found".to_owned(), 1.0))
            .count(),
        2
    );
}
