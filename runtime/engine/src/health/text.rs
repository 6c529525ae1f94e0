//! Small steps that the parsers have in common.

/// The number after `key` in a text of `key value` lines.
pub(super) fn number_after(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let rest = line.trim_start().strip_prefix(key)?;
        // The whole word: `MemFree` is not the begin of `MemFreeX`.
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        if !rest.starts_with(|c: char| c.is_ascii_whitespace()) {
            return None;
        }
        rest.split_ascii_whitespace().next()?.parse().ok()
    })
}

/// The number after `key` in a line of `key value key value ...`.
pub(super) fn field_after(line: &str, key: &str) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == key)?;
    words.next()?.parse().ok()
}

/// A counter of 32 bits that may have passed its end; one that went back otherwise was reset.
pub(super) fn growth_of_32_bits(before: u64, now: u64) -> u64 {
    const HALF: u64 = 1 << 31;
    if now >= before {
        return now - before;
    }
    let wrapped = (now + (1 << 32)).saturating_sub(before);
    if wrapped < HALF { wrapped } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_whole_words() {
        let text = "MemFreeX: 1\nMemFree:   2 kB\nnr_throttled 7\n";
        assert_eq!(number_after(text, "MemFree"), Some(2));
        assert_eq!(number_after(text, "nr_throttled"), Some(7));
        assert_eq!(number_after(text, "nr"), None);
        assert_eq!(field_after("TCP: inuse 5 orphan 0 tw 35", "tw"), Some(35));
        assert_eq!(field_after("TCP: inuse", "inuse"), None);
    }

    #[test]
    fn a_counter_may_pass_its_end() {
        assert_eq!(growth_of_32_bits(5, 9), 4);
        assert_eq!(growth_of_32_bits(0xffff_fffe, 3), 5);
        assert_eq!(growth_of_32_bits(100, 3), 0, "it was reset");
    }
}
