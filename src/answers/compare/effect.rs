//! One difference: its size, its intervals, and whether it is shown.

use super::FAMILY_ERROR;
use crate::stats::{Family, PairedTest};

/// A difference between two cells, other minus baseline, in the metric's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its size.
    pub difference: f64,
    /// The paired interval with 95 % confidence, as if nothing else were compared.
    pub ends: (f64, f64),
    /// The interval that holds together with those of its family: it excludes 0 if and only if the difference is shown.
    pub corrected_ends: (f64, f64),
    /// The paired test's p-value.
    pub p: f64,
    /// The same as one of its family.
    pub corrected_p: f64,
    /// As many times more replications would have been needed without common random numbers; absent where the
    /// difference is the same in every replication.
    pub variance_ratio: Option<f64>,
    /// How many more replications would show the difference at the corrected confidence with 80 % probability, if it is
    /// as large as estimated. Absent where it is shown, and where no number would.
    pub more_replications: Option<u64>,
    /// Whether it is shown.
    pub is_shown: bool,
}

impl Effect {
    /// What `test` says as one of the claims of `family`, if each observation takes so many replications. `None` with fewer than
    /// two.
    pub(super) fn of(test: &PairedTest, family: Family, replications_each: u64) -> Option<Self> {
        let p = test.p_value()?;
        let is_shown = family.shows(p);
        let estimate = test.difference.estimate;
        // At least one more, since those that there are do not show it.
        let more = |needed: u64| needed.saturating_sub(estimate.n).max(1).saturating_mul(replications_each);
        Some(Self {
            difference: estimate.value,
            ends: test.ends(FAMILY_ERROR)?,
            corrected_ends: test.ends(family.each())?,
            p,
            corrected_p: family.p(p),
            variance_ratio: test.variance_ratio,
            more_replications: if is_shown {
                None
            } else {
                test.replications_to_show(family.each()).map(more)
            },
            is_shown,
        })
    }
}
