//! How many replications are enough: a sequential rule for the width of an interval.
//!
//! It stops at the first look at which Student's interval is narrow enough and has been at each of the last
//! [`LOOK_AHEAD`] replications too, never before [`PILOT`] replications and these: a width that is small by chance does
//! not stay so (Hoad, Robinson and Davies, Automated selection of the number of replications for a discrete-event
//! simulation, 2010). An error γ relative to the true mean takes a half-width of at most γ/(1 + γ) of the estimate
//! (Law, Simulation Modeling and Analysis, section 9.4.1).

use super::{Confidence, Interval, Nature, Observation, Sample};

/// No width is believed before so many replications.
pub const PILOT: usize = 10;
/// The width must have been small enough for so many replications already.
pub const LOOK_AHEAD: usize = 5;
/// Batches have at least this part of the replications so far, so that there are few looks.
const BATCH_SHARE: usize = 50;

/// How far an estimate may be off.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// A share of the true value, strictly between 0 and 1.
    Relative(f64),
    /// In the metric's unit, above 0.
    Absolute(f64),
}

/// A rule that says when there are enough replications.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SequentialRule {
    /// How far the estimate may be off.
    pub tolerance: Tolerance,
    /// How sure that must be.
    pub confidence: Confidence,
}

/// What the rule says of the replications so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// They are enough.
    Enough,
    /// None of them has a value, and more would not have one either.
    Valueless,
    /// So many more are needed before the next look, at least one.
    More(usize),
}

/// The width of an interval beside the one that is wanted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Width {
    /// Half the width that it has: how far the farther end is from the estimate. Infinite where nothing bounds it.
    pub half: f64,
    /// Half the width that it may have.
    pub allowed: f64,
}

impl Width {
    /// Whether it is narrow enough. Replications that all say the same by rule leave no width, which is enough for every value.
    pub fn is_enough(self) -> bool {
        self.half <= self.allowed
    }

    /// How many times as many replications would make it narrow enough, if the spread stays what it is.
    fn factor(self) -> f64 {
        if self.is_enough() { 1.0 } else { (self.half / self.allowed).powi(2) }
    }
}

impl SequentialRule {
    /// How many replications there are before the first look.
    pub const FIRST: usize = PILOT + LOOK_AHEAD;

    /// The width of the interval over these replications of a metric of this `nature`; absent without one.
    pub fn width(&self, nature: Nature, observations: &[Option<Observation>]) -> Option<Width> {
        let sample: Sample = observations.iter().copied().flatten().collect();
        let interval = Interval::of(&sample, nature, self.confidence)?;
        let allowed = match self.tolerance {
            Tolerance::Absolute(most) => most,
            Tolerance::Relative(share) => share / (1.0 + share) * interval.mean.abs(),
        };
        Some(Width { half: interval.farthest()?, allowed })
    }

    /// Looks at the replications so far, of which there are at least [`FIRST`](Self::FIRST). Absent ones have no value.
    pub fn look(&self, nature: Nature, observations: &[Option<Observation>]) -> Look {
        if observations.iter().all(Option::is_none) {
            return Look::Valueless;
        }
        let count = observations.len();
        let holds =
            |length: &usize| self.width(nature, &observations[..*length]).is_some_and(Width::is_enough);
        let held = (PILOT..=count).rev().take(LOOK_AHEAD + 1).take_while(holds).count();
        if held > LOOK_AHEAD {
            return Look::Enough;
        }
        // Half of the way that the spread so far leads to expect: the rest is seen more exactly from there.
        let expected = self.expected(nature, observations);
        let half_way = expected.saturating_sub(count).div_ceil(2).min(count);
        Look::More(half_way.max(count / BATCH_SHARE).max(LOOK_AHEAD + 1 - held))
    }

    /// How many replications will be enough, if the spread stays what it is so far.
    pub fn expected(&self, nature: Nature, observations: &[Option<Observation>]) -> usize {
        let factor = self.width(nature, observations).map_or(2.0, Width::factor);
        // The cast saturates.
        (observations.len() as f64 * factor).ceil() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RunSeed, exponential, normal};

    const FIVE_PERCENT: SequentialRule =
        SequentialRule { tolerance: Tolerance::Relative(0.05), confidence: Confidence::P95 };

    fn values(values: impl IntoIterator<Item = f64>) -> Vec<Option<Observation>> {
        values.into_iter().map(|value| Some(Observation::Value(value))).collect()
    }

    /// As many of `draws` as `rule` takes.
    fn enough(rule: &SequentialRule, mut draw: impl FnMut() -> f64) -> Vec<Option<Observation>> {
        let mut drawn = values((0..SequentialRule::FIRST).map(|_| draw()));
        while let Look::More(count) = rule.look(Nature::ANY, &drawn) {
            drawn.extend(values((0..count).map(|_| draw())));
        }
        drawn
    }

    #[test]
    fn the_allowed_width_by_hand() {
        // Mean 3, deviation 1.581139 of five: half-width 1.963243. γ/(1+γ) of 3 is 1 at γ = 1/2.
        let five = values([1.0, 2.0, 3.0, 4.0, 5.0]);
        let rule = SequentialRule { tolerance: Tolerance::Relative(0.5), confidence: Confidence::P95 };
        let width = rule.width(Nature::ANY, &five).unwrap();
        assert!((width.half - 1.963_243).abs() < 1e-5 && (width.allowed - 1.0).abs() < 1e-12, "{width:?}");
        assert!(!width.is_enough());
        assert_eq!(rule.expected(Nature::ANY, &five), 20, "3.854 times five");
        let rule = SequentialRule { tolerance: Tolerance::Absolute(1.97), ..rule };
        assert!(rule.width(Nature::ANY, &five).unwrap().is_enough());
    }

    #[test]
    fn a_width_is_believed_once_it_has_held_for_five_more() {
        // Ten values that vary, and equal ones after them: narrow from some n on.
        let spread = (0..10).map(|number| 1.0 + 0.09 * f64::from(number % 2));
        let all = values(spread.chain(std::iter::repeat(1.045)).take(60));
        let first =
            (PILOT..60).find(|n| FIVE_PERCENT.width(Nature::ANY, &all[..*n]).unwrap().is_enough()).unwrap();
        assert_eq!(first, 10);
        assert_eq!(FIVE_PERCENT.look(Nature::ANY, &all[..15]), Look::Enough);
        // One wild value at the end: nothing holds, and six more at least are needed.
        let wild = [&all[..14], &values([9.0])].concat();
        assert!(matches!(FIVE_PERCENT.look(Nature::ANY, &wild), Look::More(more) if more >= 6));
        // It held for the last three: three more would do.
        let rule = SequentialRule { tolerance: Tolerance::Absolute(0.029), confidence: Confidence::P95 };
        let held: Vec<bool> =
            (10..=15).map(|n| rule.width(Nature::ANY, &all[..n]).unwrap().is_enough()).collect();
        assert_eq!(held, [false, false, true, true, true, true]);
        assert_eq!(rule.look(Nature::ANY, &all[..15]), Look::More(2));
        assert_eq!(rule.look(Nature::ANY, &all[..17]), Look::Enough);
    }

    #[test]
    fn equal_values_are_enough_and_no_values_end_it_too() {
        assert_eq!(FIVE_PERCENT.look(Nature::ANY, &values([0.0; 15])), Look::Enough, "zero without spread");
        assert_eq!(FIVE_PERCENT.look(Nature::ANY, &[None; 15]), Look::Valueless);
        let nothing = Some(Observation::Ratio { part: 0.0, whole: 0.0 });
        assert_eq!(
            FIVE_PERCENT.look(Nature::ANY, &[nothing; 15]),
            Look::More(8),
            "parts of nothing may yet become some"
        );
        // A mean of zero with a spread is never known to a share of itself, and each look asks for more.
        let balanced = values((0..40).map(|number| f64::from(number % 2) - 0.5));
        assert!(matches!(FIVE_PERCENT.look(Nature::ANY, &balanced), Look::More(40)));
        // One value in many is not enough, however few have one.
        let rare: Vec<_> = (0..15).map(|number| (number == 3).then_some(Observation::Value(1.0))).collect();
        assert!(matches!(FIVE_PERCENT.look(Nature::ANY, &rare), Look::More(_)));
    }

    #[test]
    fn ratios_are_judged_as_ratios_of_means() {
        let of = |part: f64, whole: f64| Some(Observation::Ratio { part, whole });
        // Parts are a tenth of their wholes, which vary much: the ratio does not.
        let exact: Vec<_> = (1..=15).map(|whole| of(0.1 * f64::from(whole), f64::from(whole))).collect();
        assert_eq!(FIVE_PERCENT.look(Nature::ANY, &exact), Look::Enough);
        let loose: Vec<_> = (1..=15).map(|part| of(f64::from(part), 8.0)).collect();
        assert!(matches!(FIVE_PERCENT.look(Nature::ANY, &loose), Look::More(_)));
    }

    #[test]
    fn it_stops_near_the_number_that_the_spread_takes_and_covers() {
        let rule = SequentialRule { tolerance: Tolerance::Relative(0.1), confidence: Confidence::P95 };
        let mut rng = RunSeed::new(8, 0).stream(Purpose::Connections, "sequential").generator();
        let (mut count, mut covered) = ([0, 0], [0, 0]);
        const TRIALS: usize = 1000;
        for _ in 0..TRIALS {
            let found =
                [enough(&rule, || 1.0 + 0.5 * normal(&mut rng)), enough(&rule, || exponential(&mut rng))];
            for (index, found) in found.iter().enumerate() {
                let estimate = found.iter().copied().flatten().collect::<Sample>().estimate().unwrap();
                let width = rule.width(Nature::ANY, found).unwrap();
                assert!(width.is_enough());
                count[index] += found.len();
                covered[index] += usize::from((estimate.value - 1.0).abs() <= width.half);
            }
        }
        // (1.96 × deviation × 11)², and the look-ahead; skewed values take some more.
        let mean = count.map(|count| count as f64 / TRIALS as f64);
        assert!((mean[0] - 116.0).abs() < 12.0 && (mean[1] - 530.0).abs() < 60.0, "{mean:?}");
        assert!(covered.iter().all(|covered| (920..=975).contains(covered)), "{covered:?}");
    }
}
