//! Decimal numbers without floating point.

/// `digits / 10^scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    pub(super) digits: u64,
    pub(super) scale: u32,
}

/// Digits after the point are at most so many: a day in nanoseconds has fewer.
const MAX_SCALE: u32 = 18;

impl Decimal {
    /// Splits `text` into the number it begins with and the rest. Errors say what is wrong with the number.
    pub(super) fn split_from(text: &str) -> Result<(Decimal, &str), &'static str> {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (number, rest) = text.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if whole.is_empty() || number.ends_with('.') || fraction.contains('.') {
            return Err("it does not begin with a number");
        }
        let fraction = fraction.trim_end_matches('0');
        let scale = u32::try_from(fraction.len()).unwrap_or(u32::MAX);
        if scale > MAX_SCALE {
            return Err("it has too many digits");
        }
        let digits = [whole, fraction]
            .concat()
            .parse()
            .map_err(|_| "it has too many digits")?;
        Ok((Decimal { digits, scale }, rest))
    }

    /// This many of a unit that is `unit` small ones, when that is a whole number of them.
    pub(super) fn times(self, unit: u64) -> Result<u128, &'static str> {
        let product = u128::from(self.digits) * u128::from(unit);
        let divisor = 10u128.pow(self.scale);
        if product.is_multiple_of(divisor) {
            Ok(product / divisor)
        } else {
            Err("it is too fine")
        }
    }
}

/// `value / unit` as a decimal, exact when `unit` is a power of ten.
pub(super) fn format(value: u64, unit: u64) -> String {
    let (whole, mut rest) = (value / unit, value % unit);
    let mut text = whole.to_string();
    if rest != 0 {
        text.push('.');
    }
    let mut place = unit / 10;
    while rest != 0 && place != 0 {
        text.push(char::from(b'0' + (rest / place % 10) as u8));
        rest %= place;
        place /= 10;
    }
    text
}
