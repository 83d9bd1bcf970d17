//! Values with a range or a form of their own, so that one outside of it can't be held.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, IntoDeserializer, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::compute::{ApiError, NAME_LONGEST, Remedy, check_name, is_hidden};
use crate::time::SimDuration;

/// A whole number from `MIN` to `MAX`, and what it is by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Whole<const MIN: u32, const MAX: u32, const DEFAULT: u32 = MIN>(u32);

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> Whole<MIN, MAX, DEFAULT> {
    pub(super) fn get(self) -> u32 {
        self.0
    }
}

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> Default for Whole<MIN, MAX, DEFAULT> {
    fn default() -> Self {
        const { assert!(MIN <= DEFAULT && DEFAULT <= MAX, "a value in range") };
        Self(DEFAULT)
    }
}

impl<const MIN: u32, const MAX: u32, const DEFAULT: u32> JsonSchema for Whole<MIN, MAX, DEFAULT> {
    fn schema_name() -> Cow<'static, str> {
        format!("whole number from {MIN} to {MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": MIN, "maximum": MAX })
    }
}

impl<'de, const MIN: u32, const MAX: u32, const DEFAULT: u32> Deserialize<'de> for Whole<MIN, MAX, DEFAULT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = format!("a whole number from {MIN} to {MAX}");
        let written = scalar(deserializer, &expected)?;
        let value = if let Unexpected::Signed(value) = written { u32::try_from(value).ok() } else { None };
        let value = value.filter(|value| (MIN..=MAX).contains(value));
        value.map(Self).ok_or_else(|| Error::invalid_value(written, &expected.as_str()))
    }
}

/// The number or text that is written where something is `expected`.
pub(super) fn scalar<'de, D: Deserializer<'de>>(
    deserializer: D,
    expected: &str,
) -> Result<Unexpected<'de>, D::Error> {
    struct Written<'a>(&'a str);
    impl<'de> Visitor<'de> for Written<'_> {
        type Value = Unexpected<'de>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
        fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
            Ok(Unexpected::Signed(value))
        }
        fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
            Ok(Unexpected::Float(value))
        }
        fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
            Ok(Unexpected::Str(text))
        }
    }
    deserializer.deserialize_any(Written(expected))
}

/// One value, or a list of several.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(transparent, extend("x-or" = "a list of them"))]
pub(super) struct OneOrMore<T>(#[schemars(with = "T")] Vec<T>);

impl<T> OneOrMore<T> {
    pub(super) fn values(&self) -> &[T] {
        &self.0
    }

    /// Whether it is written as a list.
    pub(super) fn is_list(&self) -> bool {
        self.0.len() != 1
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMore<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Written<T> {
            type Value = OneOrMore<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name, or a list of names")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<Self::Value, E> {
                T::deserialize(name.into_deserializer()).map(|one| OneOrMore(vec![one]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = members.next_element()? {
                    values.push(value);
                }
                if values.is_empty() {
                    return Err(A::Error::invalid_length(0, &"one or more"));
                }
                Ok(OneOrMore(values))
            }
        }
        deserializer.deserialize_any(Written(std::marker::PhantomData))
    }
}

/// A duration above zero and of at most ten years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "SimDuration")]
#[schemars(extend("x-above" = "0s", "x-most" = Self::LONGEST))]
pub(super) struct Span(SimDuration);

impl Span {
    /// Ten years: sums of a few such durations are still within simulated time.
    pub(super) const LONGEST: SimDuration = SimDuration::from_secs(3650 * 86_400);

    pub(super) fn secs<const SECS: u64>() -> Self {
        Self::known(SimDuration::from_secs(SECS))
    }

    pub(super) fn known(length: SimDuration) -> Self {
        Self::try_from(length).expect("a value in range")
    }

    pub(super) fn get(self) -> SimDuration {
        self.0
    }
}

impl TryFrom<SimDuration> for Span {
    type Error = String;
    fn try_from(value: SimDuration) -> Result<Self, String> {
        if !value.is_zero() && value <= Self::LONGEST {
            return Ok(Self(value));
        }
        let most = Self::LONGEST;
        Err(format!("{value} is out of range; write a duration above 0s and of at most {most} (ten years)"))
    }
}

/// The name of a group, a client group, an arm, a zone or a region.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("examples" = ["some-name"]))]
pub(super) struct Name(String);

impl Name {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        if name.is_empty() {
            return Err("the name is empty; write at least one character".to_owned());
        }
        // Commands take lists of names with commas between them.
        if name.trim() != name || name.contains(|c: char| c == ',' || is_hidden(c)) {
            let help = "leave out commas, characters that are not seen, and spaces at the ends";
            return Err(format!("{name:?} is not a name; {help}"));
        }
        if is_run(&name) {
            return Err(format!(
                "{name:?} is not a name, for a spreadsheet would run it; begin with a letter"
            ));
        }
        Ok(Self(name))
    }
}

/// Whether a spreadsheet would run `text` in a field of a table. Numbers are none of these.
pub(super) fn is_run(text: &str) -> bool {
    text.starts_with(['=', '+', '@'])
}

/// The name of a resource of the Compute API (TPA-6).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", "examples" = ["ig-a"]))]
pub(super) struct ResourceName(String);

impl ResourceName {
    pub(super) const LONGEST: usize = NAME_LONGEST;

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ResourceName {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        match check_name(&name) {
            Ok(()) => Ok(Self(name)),
            Err(ApiError { what, help: Remedy::Words(help), .. }) => Err(format!("{what}; {help}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_seen_as_they_are_and_run_nowhere() {
        let is_name = |name: &str| Name::try_from(name.to_owned()).is_ok();
        for name in ["web", "web a", "é", "-x", "a=b", "a+b", "10.0", "日本"] {
            assert!(is_name(name), "{name}");
        }
        for name in [
            "",
            " a",
            "a,b",
            "a\u{1b}[31m",
            "a\u{202e}b",
            "a\u{200b}b",
            "\u{feff}a",
            "a\nb",
            "=1+1",
            "+1",
            "@x",
        ] {
            assert!(!is_name(name), "{name:?}");
        }
    }

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
