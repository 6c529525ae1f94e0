//! What a misspelt word was meant to be.

/// The candidate that `word` most nearly is, when it is near one at all: about one slip in three letters.
pub(crate) fn nearest<'a>(word: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase().replace('_', "-");
    let slips_allowed = word.chars().count().div_ceil(3).min(3);
    let near = candidates
        .iter()
        .map(|candidate| (distance(&word, candidate), *candidate));
    near.filter(|(slips, _)| *slips <= slips_allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Joins words as a sentence lists them: `a`, `a or b`, `a, b or c`.
pub(crate) fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// Letters to insert, delete or replace, or neighbours to swap, to make one word of the other (optimal string alignment).
///
/// ```text
///   row i, column j:  slips between the first i letters of one and the first j of the other
/// ```
///
/// Three rows are enough, because a swap looks two rows back.
pub(crate) fn distance(from: &str, to: &str) -> usize {
    let (from, to): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut before_last = vec![0; to.len() + 1];
    let mut last: Vec<usize> = (0..=to.len()).collect();
    for i in 1..=from.len() {
        let mut row = vec![i; to.len() + 1];
        for j in 1..=to.len() {
            let replaced = last[j - 1] + usize::from(from[i - 1] != to[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_other_words_are_not() {
        let known = [
            "vus",
            "max-vus",
            "duration",
            "iterations",
            "rate",
            "executor",
        ];
        let table = [
            ("vuss", Some("vus"), "a letter too many"),
            ("max_vus", Some("max-vus"), "an underscore"),
            ("Duration", Some("duration"), "a capital"),
            ("duratoin", Some("duration"), "two letters swapped"),
            ("iteration", Some("iterations"), "a letter too few"),
            ("sleep", None, "another word"),
            ("", None, "no word"),
        ];
        for (word, expected, why) in table {
            assert_eq!(nearest(word, &known), expected, "{why}: {word}");
        }
    }

    #[test]
    fn a_swap_is_one_slip() {
        assert_eq!(
            [
                distance("ab", "ba"),
                distance("abc", "cab"),
                distance("", "abc")
            ],
            [1, 2, 3]
        );
    }

    #[test]
    fn words_are_listed_as_a_sentence_does() {
        assert_eq!(
            [
                either(&["a"]),
                either(&["a", "b"]),
                either(&["a", "b", "c"])
            ],
            ["a", "a or b", "a, b or c"]
        );
    }
}
