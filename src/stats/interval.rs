//! Confidence intervals over replications.

use super::{Estimate, Moments, Sample};
use crate::unfit::number;

number! {
    /// The probability with which an interval covers the true value: strictly between 0 and 1.
    #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
    Confidence: |value| value > 0.0 && value < 1.0,
    "{value} is not a confidence; write a number strictly between 0 and 1, such as 0.95"
}

impl Confidence {
    /// 95 %.
    pub const P95: Self = Self(0.95);
}

/// An estimate over `n` replications with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// How many replications have a value.
    pub n: u64,
    /// The estimate.
    pub mean: f64,
    /// Standard deviation over replications; absent with fewer than two.
    pub std_dev: Option<f64>,
    /// Half the width of the interval; absent with fewer than two replications.
    pub half_width: Option<f64>,
    /// The upper end of a share that is rare, where it lies beyond that half ([`Sample::rare_bound`]).
    pub rare_bound: Option<f64>,
}

impl Interval {
    /// The lower and the upper end, if there is an interval.
    pub fn ends(&self) -> Option<(f64, f64)> {
        let (low, high) = self.half_width.map(|half| (self.mean - half, self.mean + half))?;
        // What has such a bound is a share.
        Some(self.rare_bound.map_or((low, high), |bound| (low.max(0.0), high.max(bound))))
    }

    /// Whether the interval covers `value`, widened by a relative `slack` of rounding.
    pub fn covers(&self, value: f64, slack: f64) -> bool {
        (value - self.mean).abs() <= self.half_width.unwrap_or(0.0) + slack * value.abs()
    }

    /// The interval of `estimate` that covers the true value with probability `confidence`.
    pub fn of(estimate: Estimate, confidence: Confidence) -> Self {
        let Estimate { n, value, std_dev } = estimate;
        Self {
            n,
            mean: value,
            std_dev,
            half_width: estimate.half_width(1.0 - confidence.0),
            rare_bound: None,
        }
    }

    /// The interval of a share that comes in outages, which hit whole replications.
    pub fn of_outages(sample: &Sample, confidence: Confidence) -> Option<Self> {
        let found = Self::of(sample.estimate()?, confidence);
        let error = 1.0 - confidence.0;
        // Below nothing there is no end: all of the error is that of the upper one.
        let bound = sample.rare_bound(if sample.is_nothing() { error } else { error / 2.0 });
        let high = found.half_width.map(|half| found.mean + half);
        Some(Self { rare_bound: bound.filter(|bound| high.is_some_and(|high| *bound > high)), ..found })
    }
}

/// The mean of `values` with Student's t interval (n - 1 degrees of freedom); `None` without values.
pub fn student_interval(values: &[f64], confidence: Confidence) -> Option<Interval> {
    let moments: Moments = values.iter().copied().collect();
    (moments.count() > 0).then(|| Interval::of(Estimate::of_mean(&moments), confidence))
}

/// The ratio of the means of `parts` and `wholes` with its interval by the delta method ([`Sample`]).
/// `None` if there is no whole at all.
///
/// # Panics
/// If the two slices differ in length.
pub fn ratio_interval(parts: &[f64], wholes: &[f64], confidence: Confidence) -> Option<Interval> {
    let sample = Sample::ratios(parts.to_vec(), wholes.to_vec());
    Some(Interval::of(sample.estimate()?, confidence))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RunSeed, exponential, normal};

    #[test]
    fn student_interval_of_known_values() {
        // t(0.975, 4) = 2.776445; deviation of 1..5 is 1.581139.
        let interval = student_interval(&[1.0, 2.0, 3.0, 4.0, 5.0], Confidence::P95).unwrap();
        assert_eq!(interval.mean, 3.0);
        let half = interval.half_width.unwrap();
        assert!((half - 2.776_445 * 1.581_139 / 5.0_f64.sqrt()).abs() < 1e-5, "{half}");
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        let interval = student_interval(&[7.0], Confidence::P95).unwrap();
        assert_eq!((interval.mean, interval.std_dev, interval.ends()), (7.0, None, None));
        assert_eq!(student_interval(&[], Confidence::P95), None);
        assert_eq!(ratio_interval(&[0.0, 0.0], &[0.0, 0.0], Confidence::P95), None);
    }

    #[test]
    fn confidence_lies_strictly_between_zero_and_one() {
        for value in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert!(Confidence::try_from(value).is_err());
        }
    }

    #[test]
    fn intervals_cover_as_often_as_they_say() {
        let mut rng = RunSeed::new(5, 0).stream(Purpose::Connections, "coverage").generator();
        let (mut mean_covered, mut ratio_covered) = (0, 0);
        const TRIALS: usize = 4000;
        for _ in 0..TRIALS {
            let values: Vec<f64> = (0..5).map(|_| normal(&mut rng)).collect();
            mean_covered += usize::from(student_interval(&values, Confidence::P95).unwrap().covers(0.0, 0.0));
            // Parts are half of the whole on average, and vary with it.
            let wholes: Vec<f64> = (0..20).map(|_| 10.0 + exponential(&mut rng)).collect();
            let parts: Vec<f64> = wholes.iter().map(|whole| 0.5 * whole + normal(&mut rng)).collect();
            let ratio = ratio_interval(&parts, &wholes, Confidence::P95).unwrap();
            ratio_covered += usize::from(ratio.covers(0.5, 0.0));
        }
        // 95 % of 4 000 trials, give or take four standard errors of 14 trials.
        for covered in [mean_covered, ratio_covered] {
            assert!((3740..=3860).contains(&covered), "{covered} of {TRIALS}");
        }
    }
}
