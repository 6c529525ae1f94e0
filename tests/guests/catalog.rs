//! The catalogue scenario, and the demo that is made of it.

use super::canned::run;
use super::shop;
use crate::support::guests::guest;

/// What `nettare demo` runs.
const DEMO: &[u8] = include_bytes!("../../runtime/cli/assets/demo.wasm");

/// What the binary may carry for the demo's sake.
const DEMO_LIMIT_BYTES: usize = 200 * 1024;

const TARGET: (&str, &str) = ("TARGET", "http://shop.example");

#[test]
fn the_demo_of_the_binary_is_the_catalogue_example() {
    assert!(
        DEMO.len() <= DEMO_LIMIT_BYTES,
        "the demo has {} bytes",
        DEMO.len()
    );
    let behaviour = |module: &[u8]| run(module, &[TARGET], 3, shop::answer);
    let seen = behaviour(DEMO);
    let passed = ("catalog valid".to_owned(), String::new(), true);
    assert_eq!(seen.checks, vec![passed; 3], "{:?}", seen.whys);
    assert_eq!(
        seen,
        behaviour(&guest("catalog")),
        "`cargo xtask guests --update-demo` checks in the present one"
    );
}
