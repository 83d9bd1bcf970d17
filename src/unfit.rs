//! Values that an experiment can't have.

/// A value that is not possible: what is wrong with it, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfit(pub String);

/// Declares a number that has a range: its test, and the text of the error where that fails.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident: |$value:ident| $fits:expr, $wrong:literal) => {
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
        #[derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        $(#[$doc])*
        #[serde(try_from = "f64", into = "f64")]
        pub struct $name(f64);

        impl TryFrom<f64> for $name {
            type Error = $crate::unfit::Unfit;
            fn try_from($value: f64) -> Result<Self, Self::Error> {
                if $fits { Ok(Self($value)) } else { Err($crate::unfit::Unfit(format!($wrong))) }
            }
        }

        impl From<$name> for f64 {
            fn from(number: $name) -> Self {
                number.0
            }
        }
    };
}
pub(crate) use number;
