//! Stratified sampling: replications are drawn from two strata in turn, and weighted by how much of all each stratum is.

use super::Observation;

/// Two strata, of which even and odd replications are drawn in turn. Two in a row are one observation: each weighted by the
/// share of all that its stratum is, they have the mean of all (Cochran, Sampling Techniques, 1977, chapter 5), and such
/// observations are independent and alike, as replications are that come of no strata.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Strata([f64; 2]);

impl Strata {
    /// How many replications make one observation.
    pub const ROUND: usize = 2;

    /// Strata of which the first is this share of all, from 0 to 1.
    pub fn new(first: f64) -> Self {
        Self([first, 1.0 - first])
    }

    /// The share of all that the stratum of this replication is.
    pub fn weight(self, replication: usize) -> f64 {
        self.0[replication % Self::ROUND]
    }

    /// The observations of all of what these replications say, in their order; numbered from 0. Those without their
    /// neighbour are left out.
    pub fn joined(
        self,
        found: impl IntoIterator<Item = (usize, Option<Observation>)>,
    ) -> Vec<(usize, Option<Observation>)> {
        let mut joined = Vec::new();
        let mut first = None;
        for (replication, observation) in found {
            let round = replication / Self::ROUND;
            match first {
                Some((other, before)) if other == round => {
                    let strata = [(self.0[0], before), (self.0[1], observation)];
                    joined.push((round, join(strata)));
                    first = None;
                }
                _ => first = (replication % Self::ROUND == 0).then_some((round, observation)),
            }
        }
        joined
    }
}

/// What both say of all. The mean of values that only some of all have is a ratio: of the sum of values to how much of all
/// has one.
fn join(strata: [(f64, Option<Observation>); 2]) -> Option<Observation> {
    let (mut sums, mut is_value, mut present) = ((0.0, 0.0), true, 0.0);
    for (weight, observation) in strata {
        let (part, whole) = match observation {
            None => continue,
            Some(Observation::Value(value)) => (value, 1.0),
            Some(Observation::Ratio { part, whole }) => {
                is_value = false;
                (part, whole)
            }
        };
        sums = (sums.0 + weight * part, sums.1 + weight * whole);
        present += 1.0;
    }
    match present {
        0.0 => None,
        2.0 if is_value => Some(Observation::Value(sums.0)),
        _ => Some(Observation::Ratio { part: sums.0, whole: sums.1 }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Sample;

    #[test]
    fn two_in_a_row_are_weighted_to_one() {
        let strata = Strata::new(0.25);
        assert_eq!((strata.weight(0), strata.weight(1), strata.weight(6)), (0.25, 0.75, 0.25));
        let value = |value| Some(Observation::Value(value));
        let ratio = |part, whole| Some(Observation::Ratio { part, whole });
        let found = [value(8.0), value(4.0), value(8.0), None, None, None, value(1.0)];
        let joined = strata.joined(found.into_iter().enumerate());
        assert_eq!(joined, [(0, value(5.0)), (1, ratio(2.0, 0.25)), (2, None)], "the last has no neighbour");
        let joined = strata.joined([(0, ratio(4.0, 8.0)), (1, ratio(0.0, 16.0))]);
        assert_eq!(joined, [(0, ratio(1.0, 14.0))]);
        // Whatever is missing in between, neighbours are neighbours.
        let gaps = [(1, value(1.0)), (2, value(1.0)), (4, value(4.0)), (5, value(8.0))];
        assert_eq!(strata.joined(gaps), [(2, value(7.0))]);
    }

    #[test]
    fn what_only_one_stratum_has_keeps_its_mean() {
        // Times to detect an outage, in windows that have one: 2, 4 and 6 s.
        let strata = Strata::new(0.01);
        let found = [Some(2.0), None, Some(4.0), None, Some(6.0), None];
        let found = found.into_iter().map(|it| it.map(Observation::Value)).enumerate();
        let sample: Sample = strata.joined(found).into_iter().filter_map(|(_, found)| found).collect();
        let estimate = sample.estimate().unwrap();
        assert!((estimate.value - 4.0).abs() < 1e-12 && estimate.n == 3, "{estimate:?}");
    }
}
