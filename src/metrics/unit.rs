//! Numbers as people write them: 1.5k, 2M, 0.1 %.

/// What a number counts, and so how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A plain number; its unit, if any, stands in the axis label.
    Number,
    /// A ratio, written in percent.
    Percent,
    /// US dollars.
    Usd,
}

const PREFIXES: [(f64, &str); 4] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
/// Below this a number is written as a power of ten.
const TINY: f64 = 1e-4;

impl Unit {
    /// `value` with three significant digits.
    pub fn text(self, value: f64) -> String {
        self.text_of(value, 3)
    }

    /// `value` with so many significant digits.
    pub fn text_of(self, value: f64, digits: u8) -> String {
        let magnitude = self.scaled(value).abs();
        let power = if magnitude > 0.0 { magnitude.log10().floor() as i32 } else { 0 };
        self.written(value, i32::from(digits) - 1 - power)
    }

    /// The number at a tick, exact where the ticks are `step` apart.
    pub fn tick(self, value: f64, step: f64) -> String {
        // One digit more than the step has, for steps such as 0.25; trailing zeros go anyway.
        let decimals = 1 - self.scaled(step).abs().log10().floor() as i32;
        self.written(value, decimals)
    }

    fn scaled(self, value: f64) -> f64 {
        if self == Self::Percent { value * 100.0 } else { value }
    }

    /// `value` rounded to `decimals` digits after the point (or, if negative, before it), without trailing zeros.
    fn written(self, value: f64, decimals: i32) -> String {
        let value = self.scaled(value);
        let magnitude = value.abs();
        let number = if magnitude > 0.0 && magnitude < TINY {
            format!("{magnitude:.1e}").replace(".0e", "e")
        } else {
            let (factor, prefix) =
                PREFIXES.into_iter().find(|(factor, _)| magnitude >= *factor).unwrap_or((1.0, ""));
            let decimals = decimals + factor.log10().round() as i32;
            format!(
                "{}{prefix}",
                trimmed(format!("{:.*}", decimals.clamp(0, 9) as usize, magnitude / factor))
            )
        };
        let sign = if value < 0.0 && number != "0" { "−" } else { "" };
        match self {
            Self::Number => format!("{sign}{number}"),
            Self::Percent => format!("{sign}{number} %"),
            Self::Usd => format!("{sign}${number}"),
        }
    }
}

/// `value` with at least so many significant digits, without an exponent.
pub fn significant(value: f64, digits: i32) -> String {
    let magnitude = if value == 0.0 { 0 } else { libm::floor(libm::log10(value.abs())) as i32 };
    let decimals = (digits - 1 - magnitude).max(0) as usize;
    format!("{value:.decimals$}")
}

/// A decimal without zeros at its end.
pub fn trimmed(text: String) -> String {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_read_well() {
        for (unit, value, text) in [
            (Unit::Number, 0.0, "0"),
            (Unit::Number, 1.0, "1"),
            (Unit::Number, 0.123_456, "0.123"),
            (Unit::Number, 1234.0, "1.23k"),
            (Unit::Number, 123_456.0, "123k"),
            (Unit::Number, 2e6, "2M"),
            (Unit::Number, -1500.0, "−1.5k"),
            (Unit::Number, 2e-7, "2e-7"),
            (Unit::Percent, 0.001, "0.1 %"),
            (Unit::Percent, 1.0, "100 %"),
            (Unit::Percent, 0.333_33, "33.3 %"),
            (Unit::Usd, 1500.0, "$1.5k"),
        ] {
            assert_eq!(unit.text(value), text, "{value}");
        }
    }

    #[test]
    fn ticks_keep_the_digits_that_tell_them_apart() {
        for (unit, value, step, text) in [
            (Unit::Number, 0.3, 0.1, "0.3"),
            (Unit::Number, 0.1 + 0.2, 0.1, "0.3"),
            (Unit::Number, 0.75, 0.25, "0.75"),
            (Unit::Number, 1500.0, 500.0, "1.5k"),
            (Unit::Number, 1000.0, 500.0, "1k"),
            (Unit::Number, 1005.0, 1.0, "1.005k"),
            (Unit::Number, 20.0, 5.0, "20"),
            (Unit::Percent, 0.0, 0.2, "0 %"),
            (Unit::Percent, 0.005, 0.005, "0.5 %"),
        ] {
            assert_eq!(unit.tick(value, step), text, "{value}");
        }
    }
}
