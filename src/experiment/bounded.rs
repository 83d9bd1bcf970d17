//! Values with a range or a form of their own, so that one outside of it can't be held.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::time::SimDuration;

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Whole<const MIN: u32, const MAX: u32>(u32);

impl<const MIN: u32, const MAX: u32> Whole<MIN, MAX> {
    /// The number `value`, which is known where it is written.
    pub(super) const fn new(value: u32) -> Self {
        assert!(MIN <= value && value <= MAX, "a value in range");
        Self(value)
    }

    /// The number.
    pub(super) fn get(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32> JsonSchema for Whole<MIN, MAX> {
    fn schema_name() -> Cow<'static, str> {
        format!("whole number from {MIN} to {MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

impl<'de, const MIN: u32, const MAX: u32> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written<const MIN: u32, const MAX: u32>;
        impl<const MIN: u32, const MAX: u32> Visitor<'_> for Written<MIN, MAX> {
            type Value = Whole<MIN, MAX>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a whole number from {MIN} to {MAX}")
            }
            fn visit_i64<E: Error>(self, written: i64) -> Result<Self::Value, E> {
                let value = u32::try_from(written).ok().filter(|value| (MIN..=MAX).contains(value));
                value.map(Whole).ok_or_else(|| E::invalid_value(Unexpected::Signed(written), &self))
            }
        }
        deserializer.deserialize_any(Written)
    }
}

/// A duration above zero and of at most ten years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "SimDuration")]
#[schemars(extend("x-above" = "0s", "x-most" = Self::LONGEST))]
pub(super) struct Span(SimDuration);

/// A duration that spans nothing, or too much.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is out of range; write a duration above 0s and of at most {years} (ten years)", years = Span::LONGEST)]
pub(super) struct NotASpan(SimDuration);

impl Span {
    /// Ten years: sums of a few such durations are still within simulated time.
    pub(super) const LONGEST: SimDuration = SimDuration::from_secs(3650 * 86_400);

    /// `secs` seconds, known where they are written.
    pub(super) const fn from_secs(secs: u64) -> Self {
        assert!(secs > 0 && secs <= 3650 * 86_400, "a value in range");
        Self(SimDuration::from_secs(secs))
    }

    /// The duration.
    pub(super) fn get(self) -> SimDuration {
        self.0
    }
}

impl TryFrom<SimDuration> for Span {
    type Error = NotASpan;
    fn try_from(value: SimDuration) -> Result<Self, NotASpan> {
        if value.is_zero() || value > Self::LONGEST { Err(NotASpan(value)) } else { Ok(Self(value)) }
    }
}

/// The name of a group, a client group, an arm, a zone or a region.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("examples" = ["some-name"]))]
pub(super) struct Name(String);

/// A text that is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotAName {
    /// Nothing, or nothing that could be seen.
    #[error("the name is empty; write at least one character")]
    Empty,
    /// A character that separates names, or that can't be seen.
    #[error("{0:?} is not a name; leave out commas, control characters and spaces at the ends")]
    Character(String),
}

impl Name {
    /// The name.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = NotAName;
    fn try_from(name: String) -> Result<Self, NotAName> {
        if name.is_empty() {
            return Err(NotAName::Empty);
        }
        // Commands take lists of names with commas between them.
        if name.trim() != name || name.contains(|c: char| c == ',' || c.is_control()) {
            return Err(NotAName::Character(name));
        }
        Ok(Self(name))
    }
}

/// The name of a resource of the Compute API (TPA-6).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", "examples" = ["ig-a"]))]
pub(super) struct ResourceName(String);

/// A text that names no resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "Invalid value for field 'resource.name': '{0}'. Must be a match of regex '[a-z]([-a-z0-9]{{0,61}}[a-z0-9])?'; \
     write 1 to 63 lower-case letters, digits and -, a letter first and no - at the end"
)]
pub(super) struct NotAResourceName(String);

impl ResourceName {
    /// The most characters.
    pub(super) const LONGEST: usize = 63;

    /// The name.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl AsRef<str> for ResourceName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ResourceName {
    type Error = NotAResourceName;
    fn try_from(name: String) -> Result<Self, NotAResourceName> {
        let is_letter = |c: char| c.is_ascii_lowercase();
        let is_inner = |c: char| is_letter(c) || c.is_ascii_digit() || c == '-';
        let right = name.starts_with(is_letter) && name.chars().all(is_inner) && !name.ends_with('-');
        if right && name.len() <= Self::LONGEST { Ok(Self(name)) } else { Err(NotAResourceName(name)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tpa_6_names_of_resources() {
        let is_name = |name: &str| ResourceName::try_from(name.to_owned()).is_ok();
        let longest = "a".repeat(63);
        for name in ["a", "a1", "www-backup", "a--b", &longest] {
            assert!(is_name(name), "{name}");
        }
        let too_long = "a".repeat(64);
        for name in ["", "1a", "-a", "a-", "A", "a_b", "a.b", "ä", "a b", &too_long] {
            assert!(!is_name(name), "{name}");
        }
    }
}
