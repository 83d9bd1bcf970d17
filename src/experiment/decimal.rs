//! Exact decimal numbers, so that the third step of 0.05 is 0.15 and not 0.15000000000000002.

/// The most decimal places, and the most digits before the point.
const DIGITS_MAX: usize = 15;

const ONE: i128 = 10_i128.pow(DIGITS_MAX as u32);

/// A number of at most 15 digits before the point and 15 after it, before it is summed up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal(i128);

impl From<i128> for Decimal {
    fn from(value: i128) -> Self {
        Self(value * ONE)
    }
}

impl Decimal {
    /// Reads digits with an optional sign and point; `None` if there are other characters, or too many digits.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        if whole.len() > DIGITS_MAX + 1 || fraction.len() > DIGITS_MAX {
            return None;
        }
        let scaled: i128 = format!("{whole}{fraction}").parse().ok()?;
        Some(Self(scaled * 10_i128.pow((DIGITS_MAX - fraction.len()) as u32)))
    }

    /// How many whole steps of `step` lead from `from` towards `to`, and not beyond it; `None` if they lead away.
    pub(super) fn steps(from: Self, to: Self, step: Self) -> Option<i128> {
        if from == to && !step.is_zero() {
            return Some(0);
        }
        (to.0 - from.0).checked_div(step.0).filter(|_| (to.0 > from.0) == (step.0 > 0))
    }

    pub(super) fn plus(self, step: Self, count: i128) -> Self {
        Self(self.0 + step.0 * count)
    }

    pub(super) fn is_zero(self) -> bool {
        self.0 == 0
    }

    pub(super) fn to_integer(self) -> i128 {
        self.0 / ONE
    }

    /// It without needless zeros, but with a point: `0.15`, `0.0`, `200.0`.
    pub(super) fn to_float_string(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (magnitude, one) = (self.0.unsigned_abs(), ONE.unsigned_abs());
        let fraction = format!("{:0DIGITS_MAX$}", magnitude % one);
        let fraction = fraction.trim_end_matches('0');
        format!("{sign}{}.{}", magnitude / one, if fraction.is_empty() { "0" } else { fraction })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(from: &str, to: &str, step: &str) -> Option<Vec<String>> {
        let read = |text| Decimal::parse(text).unwrap();
        let (from, to, step) = (read(from), read(to), read(step));
        let steps = Decimal::steps(from, to, step)?;
        Some((0..=steps).map(|index| from.plus(step, index).to_float_string()).collect())
    }

    #[test]
    fn ranges_are_exact() {
        let twentieths = range("0.0", "1.0", "0.05").unwrap();
        assert_eq!(twentieths.len(), 21);
        assert_eq!(twentieths[..4], ["0.0", "0.05", "0.1", "0.15"]);
        assert_eq!(twentieths[20], "1.0");
        assert_eq!(range("0", "1", "0.3").unwrap(), ["0.0", "0.3", "0.6", "0.9"]);
        assert_eq!(range("1.0", "0.8", "-0.1").unwrap(), ["1.0", "0.9", "0.8"]);
        assert_eq!(range("-0.1", "0.1", "0.1").unwrap(), ["-0.1", "0.0", "0.1"]);
        assert_eq!(range("2.5", "2.5", "1").unwrap(), ["2.5"]);
        assert_eq!(range("100", "300", "100").unwrap(), ["100.0", "200.0", "300.0"]);
        for (from, to, step) in [("0", "1", "0"), ("0", "1", "-0.1"), ("1", "0", "0.1"), ("1", "1", "0")] {
            assert_eq!(range(from, to, step), None, "{from} {to} {step}");
        }
    }

    #[test]
    fn what_is_no_short_decimal_is_refused() {
        for text in
            ["", ".", "-", "1e5", "inf", "NaN", "1.2.3", "0.1234567890123456", "12345678901234567", "1.-5"]
        {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
    }

    proptest! {
        /// The value at index i is the rational number from + i * step, in lowest terms of tens.
        #[test]
        fn values_are_those_of_rational_arithmetic(
            from in -10_000_i64..10_000, step in 1_i64..5_000, count in 0_i64..200, spare in 0_i64..5_000,
            places in 0_u32..6, negative in any::<bool>(),
        ) {
            let unit = 10_i64.pow(places);
            let text = |scaled: i64| {
                let sign = if scaled < 0 { "-" } else { "" };
                let (whole, part) = (scaled.abs() / unit, scaled.abs() % unit);
                if places == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part:0w$}", w = places as usize) }
            };
            let step = if negative { -step } else { step };
            let spare = spare % step.abs() * step.signum();
            let values = range(&text(from), &text(from + step * count + spare), &text(step)).unwrap();
            prop_assert_eq!(values.len() as i64, count + 1);
            for (index, value) in values.iter().enumerate() {
                // Correctly rounded: the nearest double to an exact quotient of integers below 2^53.
                let exact = (from + step * index as i64) as f64 / unit as f64;
                prop_assert_eq!(value.parse::<f64>().unwrap(), exact);
            }
        }
    }
}
