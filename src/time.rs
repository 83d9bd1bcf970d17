//! Simulated time: integer nanoseconds, two types.
//!
//! An instant and a length of time are different things: `SimTime - SimTime = SimDuration`. Integers make
//! equal times exactly equal, so that ties are broken by sequence and never by rounding.

mod seconds;

use std::borrow::Cow;
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::unfit::Unfit;

const NANOS_PER_SEC: u64 = 1_000_000_000;

/// A moment of simulated time: nanoseconds since the simulation began (the warm-up included).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SimTime(u64);

/// A length of simulated time in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SimDuration(u64);

impl SimTime {
    /// The beginning of the simulation.
    pub const ZERO: Self = Self(0);
    /// Later than anything that happens, and small enough that adding a [`SimDuration`] can't overflow.
    pub const NEVER: Self = Self(u64::MAX / 2);

    /// The moment `nanos` nanoseconds after the beginning.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the beginning.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the beginning.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// The time that has passed since `earlier`.
    ///
    /// # Panics
    /// If `earlier` is later.
    pub fn since(self, earlier: Self) -> SimDuration {
        assert!(earlier.0 <= self.0, "time ran back from {earlier:?} to {self:?}");
        SimDuration(self.0 - earlier.0)
    }
}

impl SimDuration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest duration that a draw may give (146 years); longer draws are cut to it.
    pub const MAX: Self = Self(u64::MAX / 4);

    /// `nanos` nanoseconds.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// `secs` seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * NANOS_PER_SEC)
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// The nearest whole number of nanoseconds, within `ZERO..=MAX`.
    pub fn from_nanos_f64(nanos: f64) -> Self {
        // A cast from a float saturates, and takes NaN to 0; to a signed integer, as `MAX` is, it is cheaper.
        Self((((nanos + 0.5) as i64).max(0) as u64).min(Self::MAX.0))
    }

    /// Whole nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }

    /// Half of it, rounded down: the one-way share of a round trip.
    pub const fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// `factor` times as long, to the nearest nanosecond and at most [`Self::MAX`].
    pub fn scaled(self, factor: f64) -> Self {
        if factor == 1.0 { self } else { Self::from_nanos_f64(self.0 as f64 * factor) }
    }

    /// Whether it is no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }
}

impl Add<SimDuration> for SimTime {
    type Output = Self;
    fn add(self, length: SimDuration) -> Self {
        Self(self.0 + length.0)
    }
}

impl AddAssign<SimDuration> for SimTime {
    fn add_assign(&mut self, length: SimDuration) {
        *self = *self + length;
    }
}

impl Sub<SimDuration> for SimTime {
    type Output = Self;
    fn sub(self, length: SimDuration) -> Self {
        Self(self.0 - length.0)
    }
}

impl Sub for SimTime {
    type Output = SimDuration;
    fn sub(self, earlier: Self) -> SimDuration {
        self.since(earlier)
    }
}

impl Add for SimDuration {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl Sub for SimDuration {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl Mul<u64> for SimDuration {
    type Output = Self;
    fn mul(self, times: u64) -> Self {
        Self(self.0 * times)
    }
}

/// The units that a duration may carry, longest first, with their length in nanoseconds.
const UNITS: [(&str, u64); 8] = [
    ("d", 86_400 * NANOS_PER_SEC),
    ("h", 3_600 * NANOS_PER_SEC),
    ("m", 60 * NANOS_PER_SEC),
    ("s", NANOS_PER_SEC),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("µs", 1_000),
    ("ns", 1),
];

/// Writes the shortest exact form: `5s`, `1.5ms`, `90m`.
impl fmt::Display for SimDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let whole = UNITS.iter().find(|(name, nanos)| *name != "µs" && self.0.is_multiple_of(*nanos));
        let is_tenths = |nanos: u64| (u128::from(self.0) * 10).is_multiple_of(u128::from(nanos));
        let tenths = UNITS.iter().find(|(_, nanos)| self.0 >= *nanos && is_tenths(*nanos));
        match (whole, tenths) {
            (_, Some((name, nanos)))
                if *nanos <= NANOS_PER_SEC && self.0 < nanos * 10 && !self.0.is_multiple_of(*nanos) =>
            {
                write!(f, "{}.{}{name}", self.0 / nanos, self.0 % nanos * 10 / nanos)
            }
            (Some((name, nanos)), _) => write!(f, "{}{name}", self.0 / nanos),
            (None, _) => unreachable!("every duration is a whole number of nanoseconds"),
        }
    }
}

/// Reads a number with a unit (`"70us"`, `"1.5s"`), or several (`"1h30m"`). Exact to the nanosecond.
impl FromStr for SimDuration {
    type Err = Unfit;

    fn from_str(text: &str) -> Result<Self, Unfit> {
        let mut rest = text.trim();
        if rest.starts_with('-') {
            return Err(unfit(text, NEGATIVE));
        }
        if rest.is_empty() {
            return Err(unfit(text, NOT_A_DURATION));
        }
        let mut nanos: u64 = 0;
        while !rest.is_empty() {
            let (part, tail) = parse_part(text, rest)?;
            nanos = nanos
                .checked_add(part)
                .filter(|sum| *sum <= Self::MAX.0)
                .ok_or_else(|| unfit(text, TOO_LONG))?;
            rest = tail.trim_start();
        }
        Ok(Self(nanos))
    }
}

const NEGATIVE: &str = "is negative; a duration is zero or more";
const TOO_LONG: &str = "is longer than a simulation can be; write at most \"1281023h\" (146 years)";
const NOT_A_DURATION: &str =
    "is not a duration; write a number and a unit, for example \"1.5s\" or \"1h30m\"";

fn unfit(text: &str, why: &str) -> Unfit {
    Unfit(format!("{text:?} {why}"))
}

/// Reads one number and its unit from the front of `rest`; gives nanoseconds and what is left.
fn parse_part<'a>(text: &str, rest: &'a str) -> Result<(u64, &'a str), Unfit> {
    let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, after) = rest.split_at(number_end);
    let after = after.trim_start();
    let unit_end = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
    let (unit, tail) = after.split_at(unit_end);
    if number.is_empty() || (unit.is_empty() && !tail.is_empty()) {
        return Err(unfit(text, NOT_A_DURATION));
    }
    if unit.is_empty() {
        return Err(Unfit(format!(
            "{text:?} has no unit; write for example \"{text}s\" (units: ns, us, ms, s, m, h, d)"
        )));
    }
    let Some((_, per_unit)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(Unfit(format!(
            "{unit:?} in {text:?} is not a unit of time; use ns, us, ms, s, m, h or d"
        )));
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 =
        if whole.is_empty() { Ok(0) } else { whole.parse() }.map_err(|_| unfit(text, NOT_A_DURATION))?;
    if fraction.contains('.') || (number == ".") {
        return Err(unfit(text, NOT_A_DURATION));
    }
    let mut nanos = u128::from(whole) * u128::from(*per_unit);
    let mut scale = u128::from(*per_unit);
    for digit in fraction.bytes() {
        nanos += u128::from(digit - b'0') * scale / 10;
        scale /= 10;
    }
    let nanos = u64::try_from(nanos).map_err(|_| unfit(text, TOO_LONG))?;
    Ok((nanos, tail))
}

impl JsonSchema for SimDuration {
    fn schema_name() -> Cow<'static, str> {
        "duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "x-type": "duration", "examples": ["10s"] })
    }
}

impl Serialize for SimDuration {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for SimDuration {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = SimDuration;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration with a unit, such as \"5s\" or \"70us\"")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<SimDuration, E> {
                text.parse().map_err(E::custom)
            }
        }
        deserializer.deserialize_any(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_durations() {
        for (text, nanos, shown) in [
            ("70us", 70_000, "70us"),
            ("70µs", 70_000, "70us"),
            ("5s", 5_000_000_000, "5s"),
            ("1.5ms", 1_500_000, "1.5ms"),
            ("0s", 0, "0s"),
            ("1h30m", 5_400_000_000_000, "90m"),
            ("90m", 5_400_000_000_000, "90m"),
            ("0.1ns", 0, "0s"),
            ("0.000001s", 1_000, "1us"),
            (" 2 d ", 172_800_000_000_000, "2d"),
            ("84m", 5_040_000_000_000, "84m"),
        ] {
            let duration: SimDuration = text.parse().unwrap();
            assert_eq!(duration.as_nanos(), nanos, "{text}");
            assert_eq!(duration.to_string(), shown, "{text}");
            assert_eq!(duration.to_string().parse(), Ok(duration), "{text} survives writing");
        }
    }

    #[test]
    fn refuses_what_is_no_duration() {
        for (text, part) in [
            ("5", "has no unit"),
            ("5 parsecs", "not a unit"),
            ("", "not a duration"),
            ("s", "not a duration"),
            ("1.2.3s", "not a duration"),
            ("-5s", "negative"),
            ("1000000d", "longer"),
            ("99999999999999999999s", "not a duration"),
            ("5s,", "not a duration"),
        ] {
            let error = text.parse::<SimDuration>().unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn draws_are_rounded_and_kept_in_range() {
        assert_eq!(SimDuration::from_nanos_f64(2.5).as_nanos(), 3);
        assert_eq!(SimDuration::from_nanos_f64(-1.0), SimDuration::ZERO);
        assert_eq!(SimDuration::from_nanos_f64(f64::NAN), SimDuration::ZERO);
        assert_eq!(SimDuration::from_nanos_f64(f64::INFINITY), SimDuration::MAX);
    }

    #[test]
    #[should_panic(expected = "time ran back")]
    fn time_never_runs_back() {
        let _ = SimTime::ZERO.since(SimTime::from_nanos(1));
    }
}
