//! One difference: its size, its intervals, and whether it is shown.

use rand::Rng;

use super::FAMILY_ERROR;
use crate::random::{Purpose, RunSeed, below};
use crate::stats::{Estimate, Judged, Paired};

/// The seed of every bootstrap, so that the same results give the same answer.
pub const BOOTSTRAP_SEED: u64 = 1;

/// Draws for the bootstrap called `stream`: whole numbers below the argument, the same on every machine.
pub(crate) fn draws(stream: &str) -> impl FnMut(usize) -> usize {
    let mut rng = RunSeed::new(BOOTSTRAP_SEED, 0).stream(Purpose::Resampling, stream).generator();
    move |count| below(rng.next_u64(), count as u64) as usize
}

/// A difference between two cells, other minus baseline, in the metric's unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// Its size.
    pub difference: f64,
    /// Student's paired interval with 95 % confidence, as if nothing else were compared.
    pub ends: (f64, f64),
    /// The interval after Holm's correction: it excludes 0 if and only if the corrected t test rejects.
    pub corrected_ends: (f64, f64),
    /// The BCa bootstrap interval with 95 % confidence, where replications are few or differences skewed.
    pub bootstrap_ends: Option<(f64, f64)>,
    /// The paired t test's p-value.
    pub p: f64,
    /// The same after Holm's correction.
    pub corrected_p: f64,
    /// As many times more replications would have been needed without common random numbers; absent where the
    /// difference is the same in every replication.
    pub variance_ratio: Option<f64>,
    /// How many more replications would show the difference at the corrected confidence with 80 % probability, if it is
    /// as large as estimated. Absent where the t test shows it, and where no number would.
    pub more_replications: Option<u64>,
    rejected: bool,
    estimate: Estimate,
}

impl Effect {
    /// The uncorrected difference of a pair; a bootstrap draws from `stream`. `None` with fewer than two replications.
    pub(super) fn of(paired: &Paired, stream: &str) -> Option<Self> {
        let test = paired.test()?;
        let estimate = test.difference;
        let p = estimate.p_value(0.0)?;
        let ends = estimate.ends(FAMILY_ERROR)?;
        let bootstrap = || paired.bootstrap_interval(FAMILY_ERROR, draws(stream));
        Some(Self {
            difference: estimate.value,
            ends,
            corrected_ends: ends,
            bootstrap_ends: if test.needs_bootstrap() { bootstrap() } else { None },
            p,
            corrected_p: p,
            variance_ratio: test.variance_ratio,
            more_replications: None,
            rejected: false,
            estimate,
        })
    }

    /// Takes what the correction says.
    pub(super) fn correct(&mut self, judged: &Judged) {
        self.corrected_p = judged.p;
        self.rejected = judged.rejected;
        if let Some(ends) = self.estimate.ends(judged.error) {
            self.corrected_ends = ends;
        }
        if !self.rejected {
            let needed = self.estimate.replications_to_reach(0.0, judged.error);
            // At least one more, since those that there are do not show it.
            self.more_replications = needed.map(|needed| needed.saturating_sub(self.estimate.n).max(1));
        }
    }

    /// Whether the corrected t test rejects, and the bootstrap interval, where there is one, excludes 0 too.
    pub fn is_shown(&self) -> bool {
        self.rejected && self.bootstrap_ends.is_none_or(|(low, high)| low > 0.0 || high < 0.0)
    }
}
