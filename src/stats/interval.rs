//! Confidence intervals over replications.

use super::{Estimate, Nature, Sample};
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

/// Lengths that differ by a smaller share are the same.
const ROUNDING: f64 = 1e-9;

/// An estimate over `n` replications with its confidence interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// How many replications have a value.
    pub n: u64,
    /// How many of them have one other than 0.
    pub hit: u64,
    /// The estimate.
    pub mean: f64,
    /// Standard deviation over replications; absent with fewer than two.
    pub std_dev: Option<f64>,
    /// The lower and the upper end; absent with fewer than two replications. The upper one is infinite where nothing bounds
    /// it ([`Nature::ends`]).
    pub ends: Option<(f64, f64)>,
}

impl Interval {
    /// The interval of `sample`, of a metric of this `nature`, that covers the true mean with probability `confidence`.
    /// `None` where there is no mean.
    pub fn of(sample: &Sample, nature: Nature, confidence: Confidence) -> Option<Self> {
        let Estimate { n, value, std_dev } = sample.estimate()?;
        let (hit, error) = (sample.hit(), 1.0 - confidence.0);
        // Below nothing there is no end: all of the error is that of the upper one.
        let tail = if hit == 0 { error } else { error / 2.0 };
        Some(Self { n, hit: hit as u64, mean: value, std_dev, ends: nature.ends(sample, tail) })
    }

    /// Half its width, where it reaches as far below the mean as above.
    pub fn half_width(&self) -> Option<f64> {
        let (below, above) = self.reach()?;
        (above.is_finite() && (below - above).abs() <= ROUNDING * above.max(self.mean.abs())).then_some(above)
    }

    /// The farthest that an end is from the mean.
    pub fn farthest(&self) -> Option<f64> {
        self.reach().map(|(below, above)| below.max(above))
    }

    /// Whether the interval covers `value`, widened by a relative `slack` of rounding.
    pub fn covers(&self, value: f64, slack: f64) -> bool {
        let (low, high) = self.ends.unwrap_or((self.mean, self.mean));
        let slack = slack * value.abs();
        low - slack <= value && value <= high + slack
    }

    fn reach(&self) -> Option<(f64, f64)> {
        self.ends.map(|(low, high)| (self.mean - low, high - self.mean))
    }
}

/// The ratio of the means of `parts` and `wholes` with Student's interval by the delta method ([`Sample`]), whatever values it
/// may have. `None` if there is no whole at all.
///
/// # Panics
/// If the two slices differ in length.
pub fn ratio_interval(parts: &[f64], wholes: &[f64], confidence: Confidence) -> Option<Interval> {
    let sample = Sample::ratios(parts.to_vec(), wholes.to_vec());
    let estimate = sample.estimate()?;
    let Estimate { n, value, std_dev } = estimate;
    let ends = estimate.ends(1.0 - confidence.0);
    Some(Interval { n, hit: sample.hit() as u64, mean: value, std_dev, ends })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RunSeed, exponential, normal};

    fn mean_interval(values: &[f64]) -> Option<Interval> {
        Interval::of(&Sample::values(values.to_vec()), Nature::ANY, Confidence::P95)
    }

    #[test]
    fn student_interval_of_known_values() {
        // t(0.975, 4) = 2.776445; deviation of 1..5 is 1.581139.
        let interval = mean_interval(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(interval.mean, 3.0);
        let half = interval.half_width().unwrap();
        assert!((half - 2.776_445 * 1.581_139 / 5.0_f64.sqrt()).abs() < 1e-5, "{half}");
    }

    #[test]
    fn one_value_has_no_interval_and_none_has_no_mean() {
        let interval = mean_interval(&[7.0]).unwrap();
        assert_eq!((interval.mean, interval.std_dev, interval.ends), (7.0, None, None));
        assert_eq!(mean_interval(&[]), None);
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
            mean_covered += usize::from(mean_interval(&values).unwrap().covers(0.0, 0.0));
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
