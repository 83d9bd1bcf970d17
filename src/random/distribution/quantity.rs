//! What distributions are of: durations, bytes, counts.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::time::SimDuration;

/// What a distribution is of.
pub trait Quantity: Copy {
    /// How the experiment file writes one value of it.
    type Written: DeserializeOwned
        + Serialize
        + JsonSchema
        + Copy
        + std::fmt::Debug
        + std::fmt::Display
        + PartialEq;
    /// What several of them are called.
    const PLURAL: &str;
    /// The greatest value, in the unit of the draws. A rare draw beyond it is cut to it.
    const MOST: f64;
    /// Whether a mean beyond that is as good as any other: longer than every run is longer than every run.
    const HAS_ANY_MEAN: bool = false;
    /// A written value in the unit of the draws.
    fn unit_value(written: Self::Written) -> f64;
    /// The quantity nearest to a draw.
    fn from_draw(draw: f64) -> Self;
    /// Reads a value from a column of numbers.
    ///
    /// # Errors
    /// If it is none: what is wrong, and what to write.
    fn from_column(text: &str) -> Result<Self::Written, String>;
}

impl Quantity for SimDuration {
    type Written = Self;
    const PLURAL: &str = "durations";
    const MOST: f64 = Self::MAX.as_nanos() as f64;
    const HAS_ANY_MEAN: bool = true;
    fn unit_value(written: Self) -> f64 {
        written.as_nanos() as f64
    }
    fn from_draw(draw: f64) -> Self {
        Self::from_nanos_f64(draw)
    }
    fn from_column(text: &str) -> Result<Self, String> {
        let has_unit = text.ends_with(char::is_alphabetic);
        let read = if has_unit { text.parse() } else { Self::from_decimal_secs(text) };
        read.map_err(|error| error.to_string())
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl Bytes {
    /// A petabyte (2^50): the most of one request, or of one response.
    pub const MAX: Self = Self(1 << 50);
}

impl Quantity for Bytes {
    type Written = f64;
    const PLURAL: &str = "bytes";
    const MOST: f64 = Self::MAX.0 as f64;
    fn unit_value(written: f64) -> f64 {
        written
    }
    fn from_draw(draw: f64) -> Self {
        // The cast saturates; to a signed integer it is the cheaper one.
        Self(((draw + 0.5) as i64).clamp(0, Self::MAX.0 as i64) as u64)
    }
    fn from_column(text: &str) -> Result<f64, String> {
        number(text, "number of bytes")
    }
}

/// A whole number of things, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u32);

impl Quantity for Count {
    type Written = f64;
    const PLURAL: &str = "counts";
    const MOST: f64 = u32::MAX as f64;
    fn unit_value(written: f64) -> f64 {
        written
    }
    fn from_draw(draw: f64) -> Self {
        Self(((draw + 0.5) as u32).max(1))
    }
    fn from_column(text: &str) -> Result<f64, String> {
        number(text, "count")
    }
}

fn number(text: &str, what: &str) -> Result<f64, String> {
    text.parse().map_err(|_| match text.parse::<SimDuration>() {
        Ok(_) => format!("{text:?} is a duration, and a {what} is needed; write a number without a unit"),
        Err(_) => format!("{text:?} is not a number; write a {what}"),
    })
}
