//! What a metric is, as far as an interval of its mean must know: which values it may have, and whether chance has a part in
//! those that are alike.

use super::rare::{are_few, rare_bound, unseen};
use super::{Sample, SkewedEstimate};

/// Which values a metric may have in a replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Range {
    /// From 0 to 1.
    Share,
    /// 0, 1, 2 and so on without an end.
    Count,
    /// From 0 on: times, bytes a second, money.
    Amount,
    /// Any.
    Any,
}

/// What an interval must know of a metric beside its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// Which values it may have.
    pub range: Range,
    /// Whether values that are alike in all replications are so by rule, and not by chance: nothing that differs between
    /// replications decides them.
    pub is_ruled: bool,
}

impl Nature {
    /// Any values, with chance in them.
    pub const ANY: Self = Self { range: Range::Any, is_ruled: false };

    /// The ends of the interval of the mean of `sample`, beyond each of which the true value lies with probability `tail`;
    /// absent with fewer than two replications. The upper end is infinite where nothing bounds it.
    ///
    /// They are Student's, widened where values are skewed ([`SkewedEstimate`]), and kept to what the
    /// metric may be. Where few replications have any, or all are alike by chance, spread says little: failures come in
    /// outages, which hit whole replications, so that the number of these bounds what else there may be. A count that is
    /// the same in all n is at least `tail`^(1/n) times that, and at most anything.
    pub fn ends(self, sample: &Sample, tail: f64) -> Option<(f64, f64)> {
        let skewed = sample.skewed()?;
        self.around(sample, &skewed, skewed.ends(tail)?, tail)
    }

    /// The ends that are held against limits, which together miss with probability `error`. Half of it is beyond each, all of
    /// it above where there is nothing below; and any skewness counts. Of ten values that are skewed by outages, a bound with
    /// all of the error on one side would be missed almost twice as often as it says.
    pub fn bounds(self, sample: &Sample, error: f64) -> Option<(f64, f64)> {
        let skewed = sample.skewed()?;
        let tail = if sample.hit() == 0 { error } else { error / 2.0 };
        self.around(sample, &skewed, skewed.ends_if_skewed(tail)?, tail)
    }

    /// The ends around those of the `spread`.
    fn around(
        self,
        sample: &Sample,
        skewed: &SkewedEstimate,
        spread: (f64, f64),
        tail: f64,
    ) -> Option<(f64, f64)> {
        let (low, high) = if self.is_ruled {
            spread
        } else {
            let is_alike = skewed.estimate.std_dev == Some(0.0);
            self.beyond(sample, (skewed.estimate.value, is_alike), tail, spread)?
        };
        Some(match self.range {
            Range::Share => (low.clamp(0.0, 1.0), high.clamp(0.0, 1.0)),
            Range::Count | Range::Amount => (low.max(0.0), high),
            Range::Any => (low, high),
        })
    }

    /// Whether the upper end comes of how few replications have any part, or none.
    pub fn is_bounded_by_count(self, sample: &Sample) -> bool {
        let counted = sample.relative().map_or(0, |values| values.len());
        !self.is_ruled && self.range != Range::Any && are_few(sample.hit(), counted)
    }

    /// The ends with what may be beyond those of the `spread`; the estimate is `value`.
    fn beyond(
        self,
        sample: &Sample,
        (value, is_alike): (f64, bool),
        tail: f64,
        (low, high): (f64, f64),
    ) -> Option<(f64, f64)> {
        let values = sample.relative()?;
        let least = || 1.0 - unseen(values.len(), tail);
        Some(match self.range {
            Range::Share if is_alike => (value * least(), 1.0 - (1.0 - value) * least()),
            Range::Share => {
                let above = few_of(&values, tail).unwrap_or(high);
                let below = few_of(&sample.lacking()?, tail).map_or(low, |lacking| 1.0 - lacking);
                (low.min(below), high.max(above))
            }
            Range::Count if is_alike => (value * least(), f64::INFINITY),
            Range::Amount if is_alike && value == 0.0 => (0.0, f64::INFINITY),
            Range::Count | Range::Amount => (low, high.max(few_times(&values, tail).unwrap_or(high))),
            Range::Any => (low, high),
        })
    }
}

/// The bound of shares of which few are not 0.
fn few_of(shares: &[f64], tail: f64) -> Option<f64> {
    let hit: Vec<f64> = shares.iter().filter(|share| **share > 0.0).map(|share| share.min(1.0)).collect();
    are_few(hit.len(), shares.len()).then(|| rare_bound(&hit, shares.len(), tail))
}

/// The bound of amounts of which few are not 0, if those are as large as these on average: so many more may be.
fn few_times(values: &[f64], tail: f64) -> Option<f64> {
    let hit: Vec<f64> = values.iter().copied().filter(|value| *value > 0.0).collect();
    let mean = hit.iter().sum::<f64>() / hit.len() as f64;
    let is_few = !hit.is_empty() && are_few(hit.len(), values.len());
    is_few.then(|| mean * rare_bound(&vec![1.0; hit.len()], values.len(), tail))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RunSeed, exponential, open_unit};

    fn of(range: Range) -> Nature {
        Nature { range, is_ruled: false }
    }

    fn shares(shares: &[f64]) -> Sample {
        Sample::ratios(shares.iter().map(|share| share * 1e6).collect(), vec![1e6; shares.len()])
    }

    #[test]
    fn what_is_alike_by_chance_has_a_width_and_what_is_by_rule_has_none() {
        let least = 0.05_f64.powf(0.1);
        for (range, sample, expected) in [
            (Range::Share, shares(&[0.0; 10]), (0.0, 1.0 - least)),
            (Range::Share, shares(&[1.0; 10]), (least, 1.0)),
            (Range::Share, shares(&[0.5; 10]), (0.5 * least, 1.0 - 0.5 * least)),
            (Range::Count, Sample::values(vec![0.0; 10]), (0.0, f64::INFINITY)),
            (Range::Count, Sample::values(vec![4.0; 10]), (4.0 * least, f64::INFINITY)),
            (Range::Amount, Sample::values(vec![0.0; 10]), (0.0, f64::INFINITY)),
            // A time that is the same is as exact as its histogram.
            (Range::Amount, Sample::values(vec![1.5; 10]), (1.5, 1.5)),
        ] {
            let (low, high) = of(range).ends(&sample, 0.05).unwrap();
            let is_close = |a: f64, b: f64| a == b || (a - b).abs() < 1e-9;
            assert!(is_close(low, expected.0) && is_close(high, expected.1), "{range:?}: {low} {high}");
            let value = sample.estimate().unwrap().value;
            let ruled = Nature { range, is_ruled: true }.ends(&sample, 0.05);
            assert_eq!(ruled, Some((value, value)), "{range:?}");
            assert_eq!(of(range).ends(&Sample::values(vec![3.0]), 0.05), None, "one replication");
        }
    }

    #[test]
    fn few_that_have_any_and_few_that_lack_any_are_bounded_alike() {
        let mut few = [0.0; 20];
        (few[3], few[11]) = (0.2, 0.4);
        let (low, high) = of(Range::Share).ends(&shares(&few), 0.025).unwrap();
        let (mirrored_low, mirrored_high) =
            of(Range::Share).ends(&shares(&few.map(|share| 1.0 - share)), 0.025).unwrap();
        assert!(low == 0.0 && mirrored_high == 1.0 && (mirrored_low - (1.0 - high)).abs() < 1e-9, "{high}");
        assert!(high > 0.15 && high < 0.35, "{high}");
        // Two of 20 with 3 each: between 1.2 and 31.7 % of replications (Clopper and Pearson) may have so many.
        let (low, high) = of(Range::Count)
            .ends(&Sample::values(few.map(f64::ceil).map(|any| 3.0 * any).to_vec()), 0.025)
            .unwrap();
        assert!(low == 0.0 && high > 0.93, "{high}");
    }

    #[test]
    fn an_interval_stays_where_values_can_be_and_covers() {
        let mut rng = RunSeed::new(3, 0).stream(Purpose::Connections, "nature").generator();
        const STUDIES: usize = 1000;
        // Outages come in one of ten replications, and in most of them; each fails an exponential share, 5 % on average.
        for rate in [0.1, 0.5, 1.0, 3.0] {
            let mut covered = 0;
            for _ in 0..STUDIES {
                let mut one = || {
                    let (mut clock, mut sum) = (-libm::log(open_unit(rand::Rng::next_u64(&mut rng))), 0.0);
                    while clock < rate {
                        clock += exponential(&mut rng);
                        sum += 0.05 * exponential(&mut rng);
                    }
                    sum
                };
                let sample = shares(&(0..10).map(|_| one()).collect::<Vec<f64>>());
                let (low, high) = of(Range::Share).ends(&sample, 0.025).unwrap();
                assert!((0.0..=1.0).contains(&low) && low <= high && high <= 1.0);
                covered += usize::from(low <= rate * 0.05 && rate * 0.05 <= high);
            }
            assert!(covered >= 930, "{covered} of {STUDIES} at {rate}");
        }
    }
}
