//! Numbers of seconds in decimals, as data files have them.

use super::{NEGATIVE, SimDuration, TOO_LONG, unfit};
use crate::unfit::Unfit;

/// The decimal places of a nanosecond.
const PLACES: i64 = 9;

impl SimDuration {
    /// Reads a number of seconds such as `12.5`, `7e-05` or `0.30000000000000004`, and gives the nearest nanosecond.
    /// Nothing is lost on the way, as it would be in floating point.
    ///
    /// # Errors
    /// If it is no number, below zero, or longer than a simulation can be.
    pub fn from_decimal_secs(text: &str) -> Result<Self, Unfit> {
        let text = text.trim();
        let not_seconds = || unfit(text, "is not a number of seconds; write for example 12.5");
        let magnitude = text.strip_prefix(['+', '-']).unwrap_or(text);
        let (digits, exponent) = magnitude.split_once(['e', 'E']).unwrap_or((magnitude, "0"));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let figures = || whole.bytes().chain(fraction.bytes());
        let exponent: i32 = exponent.parse().map_err(|_| not_seconds())?;
        if figures().next().is_none() || !figures().all(|figure| figure.is_ascii_digit()) {
            return Err(not_seconds());
        }
        if figures().all(|figure| figure == b'0') {
            return Ok(Self::ZERO);
        }
        if text.starts_with('-') {
            return Err(unfit(text, NEGATIVE));
        }
        // As many figures stand before the point of the number of nanoseconds; the next one rounds it.
        let before_point = whole.len() as i64 + i64::from(exponent) + PLACES;
        let mut nanos: Option<u64> = Some(0);
        let mut rest = figures();
        for _ in 0..before_point {
            let figure = rest.next().map_or(0, |figure| u64::from(figure - b'0'));
            nanos = nanos.and_then(|nanos| nanos.checked_mul(10)?.checked_add(figure));
            if nanos.is_none() {
                break;
            }
        }
        let rounded_up = before_point >= 0 && rest.next().is_some_and(|figure| figure >= b'5');
        let nanos = nanos
            .map(|nanos| nanos.saturating_add(u64::from(rounded_up)))
            .filter(|nanos| *nanos <= Self::MAX.0);
        nanos.map(Self).ok_or_else(|| unfit(text, TOO_LONG))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_exact_to_the_nanosecond() {
        for (text, nanos) in [
            ("0", 0),
            ("-0.0", 0),
            ("0e999999999", 0),
            ("12.5", 12_500_000_000),
            (" 1 ", 1_000_000_000),
            ("+1.", 1_000_000_000),
            (".5", 500_000_000),
            ("7e-05", 70_000),
            ("1.5E3", 1_500_000_000_000),
            ("0.30000000000000004", 300_000_000),
            ("0.7999999999999999", 800_000_000),
            ("0.0000000014999", 1),
            ("0.0000000015", 2),
            ("0.0000000004", 0),
            ("5e-10", 1),
            ("5e-11", 0),
            ("9e-999999999", 0),
            ("0000000000000000000000000001.000000001", 1_000_000_001),
            ("4503599627.370497123", 4_503_599_627_370_497_123),
        ] {
            assert_eq!(SimDuration::from_decimal_secs(text), Ok(SimDuration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn other_texts_are_refused() {
        for (text, part) in [
            ("", "not a number of seconds"),
            (".", "not a number of seconds"),
            ("+-1", "not a number of seconds"),
            ("1s", "not a number of seconds"),
            ("1 000", "not a number of seconds"),
            ("1e", "not a number of seconds"),
            ("1e5.5", "not a number of seconds"),
            ("1e99999999999", "not a number of seconds"),
            ("nan", "not a number of seconds"),
            ("inf", "not a number of seconds"),
            ("1,5", "not a number of seconds"),
            ("-0.1", "negative"),
            ("5e9", "longer"),
            ("1e999999999", "longer"),
            ("99999999999999999999999", "longer"),
        ] {
            let error = SimDuration::from_decimal_secs(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
