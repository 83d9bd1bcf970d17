//! Two alternatives under common random numbers: their difference, replication by replication.

#[cfg(doc)]
use super::Estimate;
use super::{Moments, Nature, Range, Sample, SkewedEstimate};

/// Two samples whose values of the same position belong to the same replication.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    baseline: Sample,
    other: Sample,
}

/// The difference of two alternatives, other minus baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedTest {
    /// The difference with the spread and the skewness of the differences of the pairs.
    pub difference: SkewedEstimate,
    /// Variance of a difference of independent runs over that of these pairs: as many times more replications would have
    /// been needed without common random numbers. Absent without spread.
    pub variance_ratio: Option<f64>,
    /// The p-value of differences that are all alike by chance, and not 0.
    alike: Option<f64>,
}

impl PairedTest {
    /// The two-sided p-value of the test that there is no difference. Where all differences are alike by chance, spread says
    /// nothing, and it is that of the sign test: of n, 2^(1 - n).
    pub fn p_value(&self) -> Option<f64> {
        self.alike.or_else(|| self.difference.p_value(0.0))
    }

    /// The interval that misses the true difference with probability `error`: it holds 0 just if the p-value is above that.
    pub fn ends(&self, error: f64) -> Option<(f64, f64)> {
        let value = self.difference.estimate.value;
        if self.alike.is_some_and(|p| p > error) {
            return Some((value - value.abs(), value + value.abs()));
        }
        self.difference.ends(error / 2.0)
    }

    /// How many replications in all would show that there is a difference with this two-sided `error`, as
    /// [`Estimate::replications_to_reach`] has it; of differences that are all alike those that the sign test takes.
    pub fn replications_to_show(&self, error: f64) -> Option<u64> {
        match self.alike {
            Some(_) => Some((1.0 - libm::log2(error)).ceil() as u64),
            None => self.difference.estimate.replications_to_reach(0.0, error),
        }
    }
}

impl Paired {
    /// Pairs two samples.
    ///
    /// # Panics
    /// If they differ in length.
    pub fn new(baseline: Sample, other: Sample) -> Self {
        assert_eq!(baseline.len(), other.len(), "one of each for every replication");
        Self { baseline, other }
    }

    /// How many pairs.
    pub fn len(&self) -> usize {
        self.baseline.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.baseline.is_empty()
    }

    /// The estimates of the baseline and of the other.
    pub fn estimates(&self) -> (Option<f64>, Option<f64>) {
        let all = 0..self.len();
        (self.baseline.over(all.clone()), self.other.over(all))
    }

    /// Whether differences that are all alike, of a metric of these natures in the baseline and in the other, are so by rule:
    /// where nothing differs between replications, and for times and sizes that all replications have.
    pub fn is_ruled(&self, natures: [Nature; 2]) -> bool {
        let is_exact = |sample: &Sample, nature: Nature| {
            nature.is_ruled || nature.range == Range::Amount && sample.hit() == sample.len()
        };
        is_exact(&self.baseline, natures[0]) && is_exact(&self.other, natures[1])
    }

    /// The paired t test; of ratios of means with the spread of the delta method. `is_ruled` says whether differences that
    /// are all alike are so by rule, and not by chance ([`is_ruled`](Self::is_ruled)). `None` where one of the two has no
    /// estimate.
    pub fn test(&self, is_ruled: bool) -> Option<PairedTest> {
        let (baseline, other) = (self.baseline.spread()?, self.other.spread()?);
        let differences: Vec<f64> = other.iter().zip(&baseline).map(|(other, base)| other - base).collect();
        let moments: Moments = differences.iter().copied().collect();
        let value = self.over(0..self.baseline.len())?;
        let variance = |values: Vec<f64>| values.into_iter().collect::<Moments>().std_dev().powi(2);
        let paired = moments.std_dev().powi(2);
        let alike = !is_ruled && paired == 0.0 && value != 0.0 && differences.len() > 1;
        Some(PairedTest {
            difference: SkewedEstimate::new(value, &differences),
            alike: alike.then(|| libm::exp2(1.0 - differences.len() as f64)),
            variance_ratio: (paired > 0.0).then(|| (variance(baseline) + variance(other)) / paired),
        })
    }

    fn over(&self, replications: impl Iterator<Item = usize> + Clone) -> Option<f64> {
        Some(self.other.over(replications.clone())? - self.baseline.over(replications)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RunSeed, exponential, normal};

    #[test]
    fn the_paired_t_test_of_the_first_textbook() {
        // Student's sleep data (1908): ten patients, two drugs; t = 4.0621, p = 0.002833, 0.7001 to 2.4599.
        let first = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0];
        let second = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4];
        let paired = Paired::new(Sample::values(first.to_vec()), Sample::values(second.to_vec()));
        let test = paired.test(false).unwrap();
        assert!((test.difference.estimate.value - 1.58).abs() < 1e-12);
        assert!((test.p_value().unwrap() - 0.002_833).abs() < 1e-6);
        let (low, high) = test.difference.estimate.ends(0.05).unwrap();
        assert!((low - 0.700_1).abs() < 1e-4 && (high - 2.459_9).abs() < 1e-4, "{low} {high}");
        // Variances 3.200556 and 4.009, of the differences 1.512889.
        assert!((test.variance_ratio.unwrap() - 7.209_556 / 1.512_889).abs() < 1e-5);
    }

    #[test]
    fn ratios_are_compared_by_their_means() {
        // 2 of 12 against 4 of 12: the mean of the ratios would differ by 0.3.
        let baseline = Sample::ratios(vec![1.0, 1.0], vec![2.0, 10.0]);
        let other = Sample::ratios(vec![2.0, 2.0], vec![2.0, 10.0]);
        let test = Paired::new(baseline, other).test(false).unwrap();
        assert!((test.difference.estimate.value - 1.0 / 6.0).abs() < 1e-15);
        // Residuals of the difference: (2 - 2/6) - (1 - 1/6 * 2), over 6 each: the second minus the first is (1 - 1/3) / 6.
        assert!(
            (test.difference.estimate.std_dev.unwrap() - 2.0_f64.sqrt() * (1.0 - 1.0 / 3.0) / 6.0).abs()
                < 1e-15
        );
    }

    #[test]
    fn equal_samples_have_no_difference_and_no_ratio_of_variances() {
        let sample = Sample::values(vec![1.0, 2.0, 4.0]);
        let test = Paired::new(sample.clone(), sample).test(false).unwrap();
        assert_eq!((test.difference.estimate.value, test.difference.estimate.std_dev), (0.0, Some(0.0)));
        assert_eq!(test.variance_ratio, None);
    }

    #[test]
    fn differences_that_are_alike_by_chance_are_as_sure_as_their_signs() {
        let of = |count: usize| {
            let sample = |value: f64| Sample::values(vec![value; count]);
            Paired::new(sample(4.0), sample(6.0))
        };
        let three = of(3).test(false).unwrap();
        assert_eq!(
            (three.p_value(), three.ends(0.05), three.replications_to_show(0.05)),
            (Some(0.25), Some((0.0, 4.0)), Some(6))
        );
        let six = of(6).test(false).unwrap();
        assert_eq!((six.p_value(), six.ends(0.05)), (Some(0.031_25), Some((2.0, 2.0))));
        let nature = |range| [Nature { range, is_ruled: false }; 2];
        assert!(of(3).is_ruled(nature(Range::Amount)) && !of(3).is_ruled(nature(Range::Count)));
        let ruled = of(3).test(true).unwrap();
        assert_eq!((ruled.p_value(), ruled.ends(0.05)), (Some(0.0), Some((2.0, 2.0))));
    }

    #[test]
    fn common_noise_cancels_and_intervals_cover() {
        let mut rng = RunSeed::new(3, 0).stream(Purpose::Connections, "paired").generator();
        let mut covered = 0;
        const TRIALS: usize = 1000;
        for _ in 0..TRIALS {
            let wholes: Vec<f64> = (0..20).map(|_| 10.0 + exponential(&mut rng)).collect();
            let common: Vec<f64> = (0..20).map(|_| normal(&mut rng)).collect();
            let mut parts = |share: f64| -> Vec<f64> {
                let of = |(whole, common): (&f64, &f64)| share * whole + common + 0.1 * normal(&mut rng);
                wholes.iter().zip(&common).map(of).collect()
            };
            let baseline = Sample::ratios(parts(0.5), wholes.clone());
            let paired = Paired::new(baseline, Sample::ratios(parts(0.6), wholes.clone()));
            let test = paired.test(false).unwrap();
            assert!(test.variance_ratio.unwrap() > 10.0);
            let covers = |(low, high): (f64, f64)| usize::from(low <= 0.1 && 0.1 <= high);
            covered += covers(test.ends(0.05).unwrap());
        }
        // 95 % of 1 000, give or take four standard errors of 7.
        assert!((922..=978).contains(&covered), "{covered}");
    }
}
