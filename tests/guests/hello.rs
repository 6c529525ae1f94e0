//! The three hellos, in Rust, C and WebAssembly text, are one guest to the host.

use nettare_core::sample::{ErrorKind, IterationOutcome};

use super::canned::{Answer, Seen, run};
use crate::support::guests::guest;

const HELLOS: [&str; 3] = ["hello", "hello-c", "hello-wat"];
const TARGET: (&str, &str) = ("TARGET", "http://shop.example");

/// Runs all three, and gives what they have in common: everything.
#[track_caller]
fn run_all(env: &[(&str, &str)], answer: Answer) -> Seen {
    let [rust, c, text] = HELLOS.map(|name| run(&guest(name), env, 3, answer));
    assert_eq!(rust, c, "the guest in C is another than the one in Rust");
    assert_eq!(
        rust, text,
        "the guest in text is another than the one in Rust"
    );
    rust
}

#[test]
fn the_hellos_send_one_request_and_make_one_check_each_time() {
    let seen = run_all(&[TARGET], |_| Ok((200, b"{}".to_vec())));
    assert_eq!(seen.scenarios, ["hello"]);
    assert_eq!(seen.outcomes, [IterationOutcome::Completed; 3]);
    let url = "http://shop.example/products?count=3";
    let request = (
        "GET".to_owned(),
        url.to_owned(),
        Some("/products".to_owned()),
    );
    assert_eq!(seen.requests, [(); 3].map(|()| request.clone()));
    let check = ("status is 200".to_owned(), String::new(), true);
    assert_eq!(seen.checks, [(); 3].map(|()| check.clone()));
    assert_eq!(seen.misuse, [""; 0]);
}

#[test]
fn an_unexpected_status_fails_the_check_and_not_the_iteration() {
    let seen = run_all(&[TARGET], |_| Ok((503, Vec::new())));
    assert_eq!(seen.outcomes, [IterationOutcome::Completed; 3]);
    assert!(seen.checks.iter().all(|(_, _, passed)| !passed));
}

#[test]
fn a_request_without_a_response_fails_the_iteration_and_is_not_checked() {
    let seen = run_all(&[TARGET], |_| Err(ErrorKind::Connect));
    assert_eq!(seen.outcomes, [IterationOutcome::Failed; 3]);
    assert_eq!(seen.whys, ["connect: as the test has it"; 3]);
    assert_eq!(seen.checks, []);
}

#[test]
fn a_missing_variable_is_named_with_its_flag() {
    let seen = run_all(&[], |_| Ok((200, Vec::new())));
    let why = "the variable TARGET is not set: give it with -e TARGET=VALUE";
    assert_eq!(seen.whys, [why; 3]);
    assert_eq!(seen.requests, []);
}
