//! Two alternatives under common random numbers: their difference, replication by replication.

use super::bootstrap::{RESAMPLES, bca_interval, bootstrap};
use super::{Estimate, Moments, Sample};

/// Fewer replications than this are few: the interval is checked by a bootstrap.
const FEW: u64 = 10;
/// Differences more skewed than this are checked by a bootstrap.
const SKEWED: f64 = 1.0;

/// Two samples whose values of the same position belong to the same replication.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired {
    baseline: Sample,
    other: Sample,
}

/// The difference of two alternatives, other minus baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedTest {
    /// The difference with the spread of the differences of the pairs.
    pub difference: Estimate,
    /// Skewness of these differences; absent with fewer than three or without spread.
    pub skewness: Option<f64>,
    /// Variance of a difference of independent runs over that of these pairs: as many times more replications would have
    /// been needed without common random numbers. Absent without spread.
    pub variance_ratio: Option<f64>,
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

    /// One sample against nothing: its own value, with the same tests and intervals.
    pub fn alone(sample: Sample) -> Self {
        Self { baseline: Sample::values(vec![0.0; sample.len()]), other: sample }
    }

    /// Of a sample alone, [`Sample::bound_of_nothing`]. Differences have none.
    pub fn bound_of_nothing(&self, error: f64) -> Option<f64> {
        self.other.bound_of_nothing(error).filter(|_| self.baseline.is_value(0.0))
    }

    /// Of a sample alone, [`Sample::rare_bound`]. Differences have none.
    pub fn rare_bound(&self, error: f64) -> Option<f64> {
        self.other.rare_bound(error).filter(|_| self.baseline.is_value(0.0))
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

    /// The paired t test; of ratios of means with the spread of the delta method. `None` where one of the two has no
    /// estimate.
    pub fn test(&self) -> Option<PairedTest> {
        let (baseline, other) = (self.baseline.spread()?, self.other.spread()?);
        let differences: Vec<f64> = other.iter().zip(&baseline).map(|(other, base)| other - base).collect();
        let moments: Moments = differences.iter().copied().collect();
        let value = self.over(0..self.baseline.len())?;
        let variance = |values: Vec<f64>| values.into_iter().collect::<Moments>().std_dev().powi(2);
        let paired = moments.std_dev().powi(2);
        Some(PairedTest {
            difference: Estimate { value, ..Estimate::of_mean(&moments) },
            skewness: skewness(&differences),
            variance_ratio: (paired > 0.0).then(|| (variance(baseline) + variance(other)) / paired),
        })
    }

    /// The BCa bootstrap interval of the difference with this two-sided `error`, resampling replications. `draw` gives a
    /// random whole number below its argument.
    pub fn bootstrap_interval(&self, error: f64, draw: impl FnMut(usize) -> usize) -> Option<(f64, f64)> {
        let n = self.baseline.len();
        let estimate = self.over(0..n)?;
        let without = |out: usize| self.over((0..n).filter(move |index| *index != out));
        let left_out: Vec<f64> = (0..n).filter_map(without).collect();
        let sorted = bootstrap(n, RESAMPLES, draw, |drawn| self.over(drawn.iter().copied()));
        bca_interval(&sorted, estimate, &left_out, error)
    }

    fn over(&self, replications: impl Iterator<Item = usize> + Clone) -> Option<f64> {
        Some(self.other.over(replications.clone())? - self.baseline.over(replications)?)
    }
}

impl PairedTest {
    /// Whether Student's t needs a second opinion: few replications, or skewed differences.
    pub fn needs_bootstrap(&self) -> bool {
        self.difference.n < FEW || self.skewness.is_some_and(|skewness| skewness.abs() > SKEWED)
    }
}

/// The adjusted Fisher-Pearson coefficient of skewness (G1, as spreadsheets compute it).
fn skewness(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    let moments: Moments = values.iter().copied().collect();
    let deviation = moments.std_dev();
    if values.len() < 3 || deviation <= 0.0 {
        return None;
    }
    let cubes: f64 = values.iter().map(|value| ((value - moments.mean()) / deviation).powi(3)).sum();
    Some(n / ((n - 1.0) * (n - 2.0)) * cubes)
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
        let test = paired.test().unwrap();
        assert!((test.difference.value - 1.58).abs() < 1e-12);
        assert!((test.difference.p_value(0.0).unwrap() - 0.002_833).abs() < 1e-6);
        let (low, high) = test.difference.ends(0.05).unwrap();
        assert!((low - 0.700_1).abs() < 1e-4 && (high - 2.459_9).abs() < 1e-4, "{low} {high}");
        // Variances 3.200556 and 4.009, of the differences 1.512889.
        assert!((test.variance_ratio.unwrap() - 7.209_556 / 1.512_889).abs() < 1e-5);
    }

    #[test]
    fn ratios_are_compared_by_their_means() {
        // 2 of 12 against 4 of 12: the mean of the ratios would differ by 0.3.
        let baseline = Sample::ratios(vec![1.0, 1.0], vec![2.0, 10.0]);
        let other = Sample::ratios(vec![2.0, 2.0], vec![2.0, 10.0]);
        let test = Paired::new(baseline, other).test().unwrap();
        assert!((test.difference.value - 1.0 / 6.0).abs() < 1e-15);
        // Residuals of the difference: (2 - 2/6) - (1 - 1/6 * 2), over 6 each: the second minus the first is (1 - 1/3) / 6.
        assert!((test.difference.std_dev.unwrap() - 2.0_f64.sqrt() * (1.0 - 1.0 / 3.0) / 6.0).abs() < 1e-15);
    }

    #[test]
    fn equal_samples_have_no_difference_and_no_ratio_of_variances() {
        let sample = Sample::values(vec![1.0, 2.0, 4.0]);
        let test = Paired::new(sample.clone(), sample).test().unwrap();
        assert_eq!((test.difference.value, test.difference.std_dev), (0.0, Some(0.0)));
        assert_eq!((test.variance_ratio, test.skewness), (None, None));
    }

    #[test]
    fn skewness_by_hand() {
        // Deviations -1, -1, 2; sample deviation sqrt(3); G1 = 3 / 2 * (8 - 2) / 3^1.5.
        let expected = 1.5 * 6.0 / 3.0_f64.powf(1.5);
        assert!((skewness(&[0.0, 0.0, 3.0]).unwrap() - expected).abs() < 1e-12);
        assert_eq!(skewness(&[1.0, 1.0, 1.0]), None);
    }

    #[test]
    fn common_noise_cancels_and_intervals_cover() {
        let mut rng = RunSeed::new(3, 0).stream(Purpose::Connections, "paired").generator();
        let (mut covered, mut bootstrapped) = (0, 0);
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
            let test = paired.test().unwrap();
            assert!(test.variance_ratio.unwrap() > 10.0);
            let covers = |(low, high): (f64, f64)| usize::from(low <= 0.1 && 0.1 <= high);
            covered += covers(test.difference.ends(0.05).unwrap());
            if bootstrapped < 1 {
                let mut draws = RunSeed::new(4, 0).stream(Purpose::Resampling, "paired").generator();
                let draw = |below: usize| rand::RngExt::random_range(&mut draws, 0..below);
                let (low, high) = paired.bootstrap_interval(0.05, draw).unwrap();
                let (t_low, t_high) = test.difference.ends(0.05).unwrap();
                let width = t_high - t_low;
                assert!((low - t_low).abs() < 0.2 * width && (high - t_high).abs() < 0.2 * width);
                bootstrapped += 1;
            }
        }
        // 95 % of 1 000, give or take four standard errors of 7.
        assert!((922..=978).contains(&covered), "{covered}");
    }
}
