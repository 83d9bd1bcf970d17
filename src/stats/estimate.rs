//! An estimate over replications: its error, its test against a value, and how many replications would decide.

use super::Moments;
use super::student::{normal_quantile, t_beyond, t_two_sided};

/// The probability with which the replications that [`Estimate::replications_to_reach`] asks for decide, if the
/// estimate is right.
pub const POWER: f64 = 0.8;
/// More than anybody runs.
const MOST_REPLICATIONS: u64 = 1_000_000_000;

/// A mean over independent replications, or what is linear enough to be treated as one (a ratio of means, by the delta
/// method), with its spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// How many replications.
    pub n: u64,
    /// The estimate, in the metric's unit.
    pub value: f64,
    /// Standard deviation over replications, in the same unit; absent with fewer than two.
    pub std_dev: Option<f64>,
}

impl Estimate {
    /// The mean of values with these moments, of which there is at least one.
    pub fn of_mean(moments: &Moments) -> Self {
        let n = moments.count();
        Self { n, value: moments.mean(), std_dev: (n > 1).then(|| moments.std_dev()) }
    }

    /// Standard deviation of the estimate itself.
    pub fn std_error(&self) -> Option<f64> {
        self.std_dev.map(|deviation| deviation / (self.n as f64).sqrt())
    }

    /// Half the width of Student's two-sided interval that misses the true value with probability `error`.
    pub fn half_width(&self, error: f64) -> Option<f64> {
        let t = |deviation: f64| t_beyond(error / 2.0, self.n - 1) * deviation / (self.n as f64).sqrt();
        self.std_dev.map(t)
    }

    /// The ends of Student's two-sided interval that misses the true value with probability `error`.
    pub fn ends(&self, error: f64) -> Option<(f64, f64)> {
        self.half_width(error).map(|half| (self.value - half, self.value + half))
    }

    /// The two-sided p-value of Student's test that the true value is `null`.
    pub fn p_value(&self, null: f64) -> Option<f64> {
        let gap = self.value - null;
        let std_error = self.std_error()?;
        Some(if gap == 0.0 { 1.0 } else { t_two_sided(gap / std_error, self.n - 1) })
    }

    /// How many replications in all would place `limit` outside the two-sided interval with error `error`, with
    /// probability [`POWER`], if estimate and spread stay what they are.
    ///
    /// The usual formula n = ((t + z) s / gap)², with t of the n that it gives (Law, Simulation Modeling and Analysis,
    /// section 10.2). `None` where no number would: the estimate is `limit` itself, or has no spread to go by.
    pub fn replications_to_reach(&self, limit: f64, error: f64) -> Option<u64> {
        let gap = (self.value - limit).abs();
        let spread = self.std_dev?;
        if gap == 0.0 || spread == 0.0 {
            return None;
        }
        let needed =
            |n: u64| ((t_beyond(error / 2.0, n - 1) + normal_quantile(POWER)) * spread / gap).powi(2);
        // Of any number that could be wanted, so that the search below has an end; not a number is none either.
        let is_found = needed(MOST_REPLICATIONS) <= MOST_REPLICATIONS as f64;
        if !is_found {
            return None;
        }
        // More degrees of freedom need fewer: the first n that suffices is found by halving.
        let (mut low, mut high) = (2, MOST_REPLICATIONS);
        while low < high {
            let middle = low.midpoint(high);
            if needed(middle) <= middle as f64 { high = middle } else { low = middle + 1 }
        }
        Some(high)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[f64]) -> Estimate {
        Estimate::of_mean(&values.iter().copied().collect())
    }

    #[test]
    fn interval_and_test_of_known_values() {
        // Mean 3, deviation 1.581139, standard error 0.707107; t = 4.242641 with 4 degrees of freedom.
        let estimate = of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        let (low, high) = estimate.ends(0.05).unwrap();
        assert!((low - 1.036_757).abs() < 1e-5 && (high - 4.963_243).abs() < 1e-5, "{low} {high}");
        let p = estimate.p_value(0.0).unwrap();
        assert!((p - 0.013_236).abs() < 1e-5, "{p}");
        assert_eq!(estimate.p_value(3.0), Some(1.0));
    }

    #[test]
    fn an_interval_ends_at_zero_where_its_error_is_the_p_value() {
        let estimate = of(&[0.3, 1.4, 0.2, 0.9, 1.1, -0.4]);
        let (low, _) = estimate.ends(estimate.p_value(0.0).unwrap()).unwrap();
        assert!(low.abs() < 1e-9, "{low}");
    }

    #[test]
    fn values_without_spread_are_certain() {
        let estimate = of(&[2.0, 2.0, 2.0]);
        assert_eq!((estimate.ends(0.05), estimate.p_value(1.0)), (Some((2.0, 2.0)), Some(0.0)));
        assert_eq!(estimate.replications_to_reach(1.0, 0.05), None);
        let single = of(&[2.0]);
        assert_eq!((single.ends(0.05), single.p_value(1.0)), (None, None));
    }

    #[test]
    fn replications_needed_are_those_of_the_textbooks() {
        // A paired t test of half a deviation with power 80 % at 5 % takes 34 pairs, of a whole one 10 (Cohen 1988,
        // rounded to the exact law; this formula gives the same within one).
        for (gap, expected) in [(0.5, 34), (1.0, 10), (0.1, 787)] {
            let estimate = Estimate { n: 10, value: gap, std_dev: Some(1.0) };
            let found = estimate.replications_to_reach(0.0, 0.05).unwrap();
            assert!(found.abs_diff(expected) <= 1, "{gap}: {found}");
        }
        let nothing = Estimate { n: 10, value: 0.0, std_dev: Some(1.0) };
        assert_eq!(nothing.replications_to_reach(0.0, 0.05), None);
        let hopeless = Estimate { n: 10, value: 1e-9, std_dev: Some(1.0) };
        assert_eq!(hopeless.replications_to_reach(0.0, 0.05), None);
    }

    proptest! {
        #[test]
        fn the_number_of_replications_is_found_for_any_gap(
            digits in -30.0..30.0_f64, n in 2_u64..10_000, tail in 1.0..12.0_f64
        ) {
            let estimate = Estimate { n, value: 10.0_f64.powf(digits), std_dev: Some(1.0) };
            let error = 10.0_f64.powf(-tail);
            if let Some(found) = estimate.replications_to_reach(0.0, error) {
                let t = |n: u64| t_beyond(error / 2.0, n - 1) + normal_quantile(POWER);
                let suffices = |n: u64| (t(n) / estimate.value).powi(2) <= n as f64;
                prop_assert!(suffices(found) && (found == 2 || !suffices(found - 1)), "{}", found);
            } else {
                prop_assert!(digits < -3.0);
            }
        }
    }

    #[test]
    fn what_is_no_number_needs_none() {
        for (value, deviation) in
            [(1.0, f64::NAN), (f64::NAN, 1.0), (1.0, f64::INFINITY), (f64::INFINITY, 1.0)]
        {
            let estimate = Estimate { n: 5, value, std_dev: Some(deviation) };
            let found = estimate.replications_to_reach(0.0, 0.05);
            assert!(found.is_none_or(|n| n == 2), "{value} ± {deviation}: {found:?}");
        }
    }
}
