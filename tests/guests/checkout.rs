//! The checkout scenario.

use std::collections::BTreeSet;

use nettare_core::sample::IterationOutcome;
use nettare_vm::HttpRequest;

use super::canned::{Seen, run};
use super::shop;
use crate::support::guests::guest;

const TARGET: (&str, &str) = ("TARGET", "http://shop.example");

fn failed_checks(seen: &Seen) -> Vec<&str> {
    let failed = seen.checks.iter().filter(|(_, _, passed)| !passed);
    failed.map(|(check, _, _)| check.as_str()).collect()
}

#[test]
fn a_customer_goes_from_the_catalogue_to_a_paid_order() {
    let seen = run(&guest("checkout"), &[TARGET], 2, shop::answer);
    assert_eq!(
        seen.outcomes,
        [IterationOutcome::Completed; 2],
        "{:?}",
        seen.whys
    );
    let routes: Vec<_> = seen
        .requests
        .iter()
        .map(|(_, _, name)| name.as_deref().unwrap_or_default())
        .collect();
    assert_eq!(
        routes,
        ["/products", "/login", "/cart", "/checkout", "/orders/{id}"].repeat(2)
    );
    assert_eq!(failed_checks(&seen), [""; 0]);
    let groups: BTreeSet<_> = seen
        .checks
        .iter()
        .map(|(_, group, _)| group.as_str())
        .collect();
    assert_eq!(groups, BTreeSet::from(["browse", "log in", "buy"]));
    let orders = seen
        .values
        .iter()
        .filter(|value| **value == ("orders".to_owned(), 1.0));
    assert_eq!(orders.count(), 2);
    assert_eq!(seen.misuse, [""; 0]);
}

#[test]
fn a_check_that_fails_says_so_and_the_customer_goes_on() {
    let without_ids = |request: &HttpRequest| {
        let (status, body) = shop::answer(request)?;
        let text = String::from_utf8(body).expect("the shop speaks UTF-8");
        Ok((
            status,
            text.replace("\"tags\":[\"garden\",\"new\"]", "\"tags\":[]")
                .into_bytes(),
        ))
    };
    let seen = run(&guest("checkout"), &[TARGET], 1, without_ids);
    assert_eq!(
        seen.outcomes,
        [IterationOutcome::Completed],
        "{:?}",
        seen.whys
    );
    assert_eq!(failed_checks(&seen), ["catalog is whole"]);
}

#[test]
fn a_server_error_fails_the_iteration_with_its_place() {
    let seen = run(&guest("checkout"), &[TARGET], 1, |_| Ok((500, Vec::new())));
    assert_eq!(seen.outcomes, [IterationOutcome::Failed]);
    assert_eq!(
        seen.whys,
        ["protocol: http://shop.example/products?count=2000 answered 500"]
    );
}
