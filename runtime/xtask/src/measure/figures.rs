//! Medians, ratios, and figures as people read them.

/// The median: the middle value, or the mean of the two middle ones. None without values.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.into_iter().collect();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Three significant digits, and no more decimals than two: 12345 -> "12345", 45.67 -> "45.7", 1.2345 -> "1.23".
pub(crate) fn short(value: f64) -> String {
    match value.abs() {
        large if large >= 99.95 => format!("{value:.0}"),
        middling if middling >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A whole number with its thousands apart: 1234567 -> "1,234,567".
pub(crate) fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Nanoseconds as milliseconds.
pub(crate) fn milliseconds(nanoseconds: f64) -> f64 {
    nanoseconds / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_the_sorted_values() {
        let rows: [(&str, &[f64], Option<f64>); 4] = [
            ("of nothing there is none", &[], None),
            ("of one it is that", &[3.0], Some(3.0)),
            ("an outlier does not move it", &[2.0, 900.0, 1.0], Some(2.0)),
            (
                "of an even number it lies between",
                &[4.0, 1.0, 2.0, 3.0],
                Some(2.5),
            ),
        ];
        for (sentence, values, expected) in rows {
            assert_eq!(median(values.iter().copied()), expected, "{sentence}");
        }
    }

    #[test]
    fn figures_keep_three_digits() {
        let rows = [
            (0.0, "0.00"),
            (1.2345, "1.23"),
            (9.999, "10.0"),
            (45.67, "45.7"),
            (99.96, "100"),
            (12_345.6, "12346"),
        ];
        for (value, text) in rows {
            assert_eq!(short(value), text);
        }
        let rows = [
            (0.0, "0"),
            (999.0, "999"),
            (1000.4, "1,000"),
            (1_234_567.0, "1,234,567"),
        ];
        for (value, text) in rows {
            assert_eq!(grouped(value), text);
        }
    }
}
