//! What a misspelt metric was meant to be.

use crate::spelling::distance;
use crate::stats::BUILTINS;

/// The built-in metric that `name` nearly is; none when it is one, or is like none of them and so may be a scenario's own.
pub(super) fn near_miss(name: &str) -> Option<&'static str> {
    let plain = plain(name);
    if BUILTINS.iter().any(|b| b.name == name) {
        return None;
    }
    let close = |candidate: &&str| distance(&plain, candidate) <= tolerance(&plain);
    BUILTINS
        .iter()
        .map(|b| b.name)
        .filter(close)
        .min_by_key(|candidate| distance(&plain, candidate))
}

/// The built-in metrics' names are in lower case, with underscores.
fn plain(name: &str) -> String {
    let spell = |c: char| {
        if matches!(c, '-' | '.' | ' ') {
            '_'
        } else {
            c.to_ascii_lowercase()
        }
    };
    name.chars().map(spell).collect()
}

/// Slips allowed in a name of that length. Short names are one slip from too many others' own metrics.
fn tolerance(name: &str) -> usize {
    match name.len() {
        0..=4 => 0,
        5..=8 => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspelt_metrics_are_recognised_and_others_left_alone() {
        let table = [
            ("a right name is no miss", "http_req_duration", None),
            (
                "a letter too many",
                "http_req_durations",
                Some("http_req_duration"),
            ),
            (
                "two letters swapped",
                "http_req_druation",
                Some("http_req_duration"),
            ),
            (
                "dashes for underscores",
                "http-req-duration",
                Some("http_req_duration"),
            ),
            ("capitals", "Checks", Some("checks")),
            ("the singular", "iteration", Some("iterations")),
            (
                "a short word of the scenario's own, though close to vus",
                "bus",
                None,
            ),
            ("a word of the scenario's own", "orders_placed", None),
            ("half of a name is not a slip", "duration", None),
        ];
        for (sentence, name, expected) in table {
            assert_eq!(near_miss(name), expected, "{sentence}");
        }
    }
}
