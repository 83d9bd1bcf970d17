//! A ratio in [0, 1] and its comparison with a share of counts.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unfit::Unfit;

/// A configured ratio between 0 and 1, both included.
///
/// It is kept as the `f64` nearest to the decimal that was written. A share `part / whole` computed in `f64` is
/// correctly rounded too, so a share equal to the written decimal compares equal (ELIG-11).
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
#[schemars(extend("minimum" = 0, "maximum" = 1, "examples" = [0.5]))]
pub struct Ratio(f64);

impl Ratio {
    /// The whole.
    pub const ONE: Self = Self(1.0);

    /// The ratio 0.0.
    pub const ZERO: Self = Self(0.0);

    /// The ratio `value`.
    ///
    /// # Errors
    /// If `value` lies outside [0, 1] or is not a number.
    pub fn new(value: f64) -> Result<Self, Unfit> {
        // Adding zero turns -0.0 into 0.0.
        if (0.0..=1.0).contains(&value) {
            Ok(Self(value + 0.0))
        } else {
            Err(Unfit(format!("{value} is not a ratio; write a number from 0.0 to 1.0")))
        }
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }

    /// Whether it is 0.0, which the rules treat apart.
    pub fn is_zero(self) -> bool {
        self.0 == 0.0
    }

    /// Whether `part` of `whole` is at least this ratio. Equality counts.
    pub fn is_reached_by(self, part: usize, whole: usize) -> bool {
        debug_assert!(whole > 0, "a share of nothing");
        part as f64 / whole as f64 >= self.0
    }
}

impl TryFrom<f64> for Ratio {
    type Error = Unfit;
    fn try_from(value: f64) -> Result<Self, Unfit> {
        Self::new(value)
    }
}

impl From<Ratio> for f64 {
    fn from(ratio: Ratio) -> Self {
        ratio.0
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_equal_to_a_written_decimal_reach_it() {
        for digits in 1..=3_u32 {
            let scale = 10_usize.pow(digits);
            for thousandths in 0..=scale {
                let written = format!(
                    "{}.{:0width$}",
                    thousandths / scale,
                    thousandths % scale,
                    width = digits as usize
                );
                let ratio = Ratio::new(written.parse().unwrap()).unwrap();
                for times in [1, 3, 7] {
                    let (part, whole) = (thousandths * times, scale * times);
                    assert!(ratio.is_reached_by(part, whole), "{part}/{whole} reaches {written}");
                    assert!(part == 0 || !ratio.is_reached_by(part - 1, whole), "{}/{whole}", part - 1);
                }
            }
        }
    }

    #[test]
    fn only_numbers_between_zero_and_one_are_ratios() {
        for value in [-0.1, 1.000_000_1, f64::NAN, f64::INFINITY] {
            assert!(Ratio::new(value).is_err(), "{value}");
        }
        assert!(Ratio::new(-0.0).unwrap().value().is_sign_positive());
    }
}
