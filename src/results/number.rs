//! How results write numbers.

use crate::metrics::unit::{significant, trimmed};

/// Significant digits of a written number: more than any measurement here has.
const DIGITS: i32 = 9;

/// The shortest decimal that equals `value` to nine significant digits, without an exponent.
///
/// Whole numbers up to 2^53 are written in full, so that counts add up exactly.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() <= 9_007_199_254_740_992.0 {
        // Adding zero turns -0 into 0.
        return format!("{}", value + 0.0);
    }
    trimmed(significant(value, DIGITS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact_to_nine_digits() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (12.0, "12"),
            (1_234_567_890_123.0, "1234567890123"),
            (0.1, "0.1"),
            (2.0 / 3.0, "0.666666667"),
            (1.0 / 3.0 * 1000.0, "333.333333"),
            (1e-12, "0.000000000001"),
            (-0.000_123_456_789_012, "-0.000123456789"),
            (1e9 + 0.25, "1000000000"),
            (0.999_999_999_99, "1"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
