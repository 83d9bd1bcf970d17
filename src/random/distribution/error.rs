//! What can be wrong with a distribution.

use super::points::PointsError;

/// Why parameters make no distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// A parameter that must be above zero is not.
    #[error("{form} needs {parameter} above 0, but it is {value}; write a {parameter} above 0")]
    NotPositive {
        /// The form of the distribution.
        form: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What it is.
        value: f64,
    },
    /// A parameter is below zero, infinite or not a number.
    #[error(
        "{form} needs a finite {parameter} of 0 or more, but it is {value}; write a {parameter} of 0 or more"
    )]
    Negative {
        /// The form of the distribution.
        form: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What it is.
        value: f64,
    },
    /// The ends of a range are swapped.
    #[error("{form} needs {low} <= {high}; swap them")]
    Swapped {
        /// The form of the distribution.
        form: &'static str,
        /// The lower end.
        low: &'static str,
        /// The upper end.
        high: &'static str,
    },
    /// A geometric count with a mean below one.
    #[error("geometric counts are 1 or more, so its mean can't be {0}; write 1.0 or more")]
    GeometricMean(f64),
    /// Points that make no distribution function.
    #[error("{place}: {error}")]
    Points {
        /// Where they stand, and which of them is wrong.
        place: String,
        /// What is wrong.
        error: PointsError,
    },
    /// An empirical distribution that says nothing.
    #[error("empirical has no points; write points = [[value, share], …] or file = \"…\"")]
    NoPoints,
    /// An empirical distribution in a file, where no files are read.
    #[error("{0:?} was not read; write points = [[value, share], …]")]
    Unread(String),
}
