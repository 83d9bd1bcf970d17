//! Bootstrap intervals, where Student's t can't be trusted: few or skewed values (Efron and Tibshirani, An Introduction to
//! the Bootstrap, 1993).

use super::student::{normal_cdf, normal_quantile};

/// How many resamples an interval is made of.
pub const RESAMPLES: usize = 10_000;

/// `resamples` sorted estimates, each over `n` replications drawn with replacement. `draw` gives a random whole number below
/// its argument; `statistic` the estimate over the replications named. Resamples without an estimate are left out.
pub fn bootstrap(
    n: usize,
    resamples: usize,
    mut draw: impl FnMut(usize) -> usize,
    statistic: impl Fn(&[usize]) -> Option<f64>,
) -> Vec<f64> {
    let mut drawn = vec![0; n];
    let mut estimates = Vec::with_capacity(resamples);
    for _ in 0..resamples {
        drawn.iter_mut().for_each(|index| *index = draw(n));
        estimates.extend(statistic(&drawn));
    }
    estimates.sort_by(f64::total_cmp);
    estimates
}

/// The two-sided percentile interval that leaves `error / 2` of the `sorted` estimates on each side.
pub fn percentile_interval(sorted: &[f64], error: f64) -> Option<(f64, f64)> {
    Some((order_statistic(sorted, error / 2.0)?, order_statistic(sorted, 1.0 - error / 2.0)?))
}

/// The two-sided interval of `sorted` bootstrap estimates, corrected for bias and acceleration (BCa, chapter 14).
///
/// `estimate` is that over all replications, `left_out` those over all but one. Where there is no spread, the interval
/// is the estimate itself.
pub fn bca_interval(sorted: &[f64], estimate: f64, left_out: &[f64], error: f64) -> Option<(f64, f64)> {
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    if first == last {
        return Some((first, last));
    }
    let bias = bias_correction(sorted, estimate);
    let acceleration = acceleration(left_out);
    let end = |tail: f64| {
        let z = bias + normal_quantile(tail);
        order_statistic(sorted, normal_cdf(bias + z / (1.0 - acceleration * z)))
    };
    Some((end(error / 2.0)?, end(1.0 - error / 2.0)?))
}

/// The normal quantile of the share of estimates below `estimate`, bounded by what so many can tell; ties count half.
fn bias_correction(sorted: &[f64], estimate: f64) -> f64 {
    let below = sorted.partition_point(|value| *value < estimate) as f64;
    let up_to = sorted.partition_point(|value| *value <= estimate) as f64;
    let count = sorted.len() as f64;
    normal_quantile(((below + up_to) / 2.0).clamp(0.5, count - 0.5) / count)
}

/// One sixth of the skewness of the jackknife's influence values.
fn acceleration(left_out: &[f64]) -> f64 {
    let mean = left_out.iter().sum::<f64>() / left_out.len() as f64;
    let moment = |power: i32| left_out.iter().map(|value| (mean - value).powi(power)).sum::<f64>();
    let (squares, cubes) = (moment(2), moment(3));
    if squares > 0.0 { cubes / (6.0 * squares.powf(1.5)) } else { 0.0 }
}

/// The value that `share` of `sorted` does not exceed.
fn order_statistic(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.clamp(1, sorted.len().max(1)) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RunSeed};
    use rand::RngExt;

    fn mean_of<'a>(values: &'a [f64]) -> impl Fn(&[usize]) -> Option<f64> + 'a {
        |drawn| Some(drawn.iter().map(|index| values[*index]).sum::<f64>() / drawn.len() as f64)
    }

    /// Draws that go through all `n`^`n` samples, one after the other.
    fn every_sample(n: usize) -> impl FnMut(usize) -> usize {
        let mut drawn = 0_usize;
        move |below| {
            let (sample, position) = (drawn / n, drawn % n);
            drawn += 1;
            sample / n.pow(position as u32) % below
        }
    }

    #[test]
    fn all_resamples_of_three_values_by_hand() {
        // Of 0, 0, 3 the sum is binomial: mean 0 in 8 of 27, 1 in 12, 2 in 6, 3 in 1.
        let values = [0.0, 0.0, 3.0];
        let sorted = bootstrap(3, 27, every_sample(3), mean_of(&values));
        let count = |value: f64| sorted.iter().filter(|found| **found == value).count();
        assert_eq!([0.0, 1.0, 2.0, 3.0].map(count), [8, 12, 6, 1]);
        // 10 % on each side: ranks 3 and 25 of 27.
        assert_eq!(percentile_interval(&sorted, 0.2), Some((0.0, 2.0)));
        // Bias: 14 of 27 lie below 1 (ties half): z0 = 0.0464. Influence values 1, 1, -2 halved: acceleration -(-0.75)/...
        let left_out = [1.5, 1.5, 0.0];
        let expected = (2.0 * (-0.5_f64).powi(3) + 1.0) / (6.0 * 1.5_f64.powf(1.5));
        assert!((acceleration(&left_out) - expected).abs() < 1e-15);
        assert!((bias_correction(&sorted, 1.0) - 0.046_43).abs() < 1e-4);
    }

    /// Test A of spatial perception of 26 children, table 14.1 of the book, where the variance (divisor n) is 171.5, its
    /// acceleration 0.061, the percentile interval of 90 % 100.8 to 233.9, and BCa 115.8 to 259.6 (2 000 resamples).
    #[test]
    fn the_variance_of_the_textbook() {
        let values: [f64; 26] = [
            48.0, 36.0, 20.0, 29.0, 42.0, 42.0, 20.0, 42.0, 22.0, 41.0, 45.0, 14.0, 6.0, 0.0, 33.0, 28.0,
            34.0, 4.0, 32.0, 24.0, 47.0, 41.0, 24.0, 26.0, 30.0, 41.0,
        ];
        let variance = |drawn: &[usize]| {
            let mean = mean_of(&values)(drawn)?;
            Some(drawn.iter().map(|index| (values[*index] - mean).powi(2)).sum::<f64>() / drawn.len() as f64)
        };
        let all: Vec<usize> = (0..26).collect();
        let estimate = variance(&all).unwrap();
        assert!((estimate - 171.5).abs() < 0.05, "{estimate}");
        let without = |out: &usize| variance(&all.iter().copied().filter(|i| i != out).collect::<Vec<_>>());
        let left_out: Vec<f64> = all.iter().filter_map(without).collect();
        assert!((acceleration(&left_out) - 0.061).abs() < 0.000_5);
        let mut rng = RunSeed::new(1, 0).stream(Purpose::Resampling, "textbook").generator();
        let sorted = bootstrap(26, RESAMPLES, |below| rng.random_range(0..below), variance);
        // Ends of intervals from 2 000 resamples have standard errors of about 2, here and in the book.
        let (low, high) = percentile_interval(&sorted, 0.1).unwrap();
        assert!((low - 100.8).abs() < 8.0 && (high - 233.9).abs() < 8.0, "{low} {high}");
        let (low, high) = bca_interval(&sorted, estimate, &left_out, 0.1).unwrap();
        assert!((low - 115.8).abs() < 8.0 && (high - 259.6).abs() < 8.0, "{low} {high}");
    }

    #[test]
    fn values_without_spread_and_no_values() {
        assert_eq!(bca_interval(&[2.0; 9], 2.0, &[2.0; 3], 0.05), Some((2.0, 2.0)));
        assert_eq!(bca_interval(&[], 2.0, &[], 0.05), None);
        assert_eq!(percentile_interval(&[], 0.05), None);
    }
}
