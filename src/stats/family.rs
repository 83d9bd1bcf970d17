//! Claims that one reader compares, and that are to be right together.

/// Claims of which all are right together, but for the error of their family, shared out equally (Bonferroni).
///
/// Intervals with the share of one claim hold together, whichever of them is looked at, and so does what follows from them: a
/// leader that the data chose among n is one of n (n - 1) / 2 pairs. A stepwise correction (Holm) would show a little more,
/// but its intervals do not hold together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Family {
    error: f64,
    claims: usize,
}

impl Family {
    /// A family of so many `claims` that together are wrong with probability `error` at most. None is treated as one.
    pub fn new(error: f64, claims: usize) -> Self {
        Self { error, claims: claims.max(1) }
    }

    /// That of the differences of every pair of so many `members`.
    pub fn of_pairs(error: f64, members: usize) -> Self {
        Self::of_pairs_in(error, members, 1)
    }

    /// The same in each of so many `respects`.
    pub fn of_pairs_in(error: f64, members: usize, respects: usize) -> Self {
        Self::new(error, members * members.saturating_sub(1) / 2 * respects)
    }

    /// How many claims there are.
    pub fn claims(&self) -> usize {
        self.claims
    }

    /// The error of one claim: of a two-sided interval, or of one bound where a claim is one-sided.
    pub fn each(&self) -> f64 {
        self.error / self.claims as f64
    }

    /// The p-value of one claim as that of the family: it is shown where this is at most the family's error.
    pub fn p(&self, p: f64) -> f64 {
        (p * self.claims as f64).min(1.0)
    }

    /// Whether a test with this p-value shows its claim.
    pub fn shows(&self, p: f64) -> bool {
        p <= self.each()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RunSeed, normal};
    use crate::stats::{Paired, Sample};

    #[test]
    fn claims_share_the_error() {
        let family = Family::of_pairs(0.05, 5);
        assert_eq!((family.claims(), family.each()), (10, 0.005));
        assert_eq!((family.p(0.004), family.p(0.4)), (0.04, 1.0));
        assert!(family.shows(0.004) && !family.shows(0.006));
        assert_eq!(Family::of_pairs(0.05, 1).each(), 0.05);
        assert_eq!(Family::new(0.05, 0).claims(), 1);
    }

    /// The leader is chosen by the data, and yet hardly ever told apart from its equals.
    #[test]
    fn equals_are_hardly_ever_told_apart_from_the_best_of_them() {
        let mut rng = RunSeed::new(9, 0).stream(Purpose::Connections, "equals").generator();
        const STUDIES: usize = 1000;
        for members in [2, 3, 8] {
            let family = Family::of_pairs(0.05, members);
            let mut wrong = 0;
            for _ in 0..STUDIES {
                let common: Vec<f64> = (0..10).map(|_| normal(&mut rng)).collect();
                let samples: Vec<Sample> = (0..members)
                    .map(|_| Sample::values(common.iter().map(|common| common + normal(&mut rng)).collect()))
                    .collect();
                let value = |sample: &Sample| sample.estimate().unwrap().value;
                let best = samples.iter().min_by(|a, b| value(a).total_cmp(&value(b))).unwrap();
                let is_told = |other: &Sample| {
                    let test = Paired::new(best.clone(), other.clone()).test(false).unwrap();
                    other != best && family.shows(test.p_value().unwrap())
                };
                wrong += usize::from(samples.iter().any(is_told));
            }
            // 5 % of 1 000 at most, and four standard errors of 7.
            assert!(wrong <= 78, "{wrong} of {STUDIES} with {members}");
        }
    }
}
