//! What can be wrong with a distribution.

/// The most points of one distribution.
pub(super) const POINTS_MAX: usize = 1_000_000;

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

/// What is wrong with points.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum PointsError {
    /// None at all.
    #[error("there are no points; write rows of a value and the share of draws up to it")]
    None,
    /// More than can be held.
    #[error("there are more than {POINTS_MAX} points; leave some out")]
    TooMany,
    /// A row of more or less than two columns.
    #[error("the row has {0} column(s); write two: a value, and the share of draws up to it")]
    Columns(usize),
    /// A value that can't be read.
    #[error("{0}")]
    Unreadable(String),
    /// A value below zero or beyond all bounds.
    #[error("the value {0} is impossible; write a finite value of 0 or more")]
    Value(String),
    /// A share that is none.
    #[error("{0} is not a share; write a number from 0 to 1, or from 0 to 100")]
    Share(String),
    /// Values out of order.
    #[error("the value {value} comes after {before}; sort the points by their values")]
    ValueFalls {
        /// The value.
        value: String,
        /// The one before.
        before: String,
    },
    /// Shares out of order.
    #[error(
        "the share {share} comes after {before}; write the share of all draws up to the value, which never falls"
    )]
    ShareFalls {
        /// The share.
        share: f64,
        /// The one before.
        before: f64,
    },
    /// Not all draws have a value.
    #[error("the shares end at {0}; let the last one be 1, or 100 if shares are percentages")]
    End(f64),
}
