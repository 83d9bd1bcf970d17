//! Whether two samples come from one law.

/// How many times the two samples are mixed: p-values down to 1 in so many.
const MIXES: u32 = 200_000;

/// The p-value of the permutation test that both samples come from one law, by the difference of their means (Pitman
/// 1937): how often as many values as `one` has, drawn from all values without replacement, have a mean that far from
/// that of the rest. It needs no law of the values, which may be counts that are mostly 0. `draw` gives one of so many
/// numbers from 0 on. 1 if a sample is empty.
pub fn mean_difference(one: &[f64], other: &[f64], mut draw: impl FnMut(u64) -> u64) -> f64 {
    let mut all: Vec<f64> = one.iter().chain(other).copied().collect();
    if one.is_empty() || other.is_empty() {
        return 1.0;
    }
    let drawn = one.len() as f64;
    // Of a given total, the means of both parts are as far apart as one of them is from the mean of all.
    let expected = all.iter().sum::<f64>() / all.len() as f64 * drawn;
    let gap = (one.iter().sum::<f64>() - expected).abs();
    // What rounding makes of equal sums is equal.
    let limit = gap - 1e-9 * all.iter().map(|value| value.abs()).sum::<f64>();
    let mut as_far = 0;
    for _ in 0..MIXES {
        for position in 0..one.len() {
            let rest = (all.len() - position) as u64;
            all.swap(position, position + draw(rest) as usize);
        }
        let sum: f64 = all[..one.len()].iter().sum();
        as_far += u32::from((sum - expected).abs() >= limit);
    }
    f64::from(as_far + 1) / f64::from(MIXES + 1)
}

/// The p-value of the two-sample test of Kolmogorov and Smirnov, by its asymptotic law with the correction of Stephens
/// (1970): an upper bound of it if each value of a sample may lie as far as `slack` from one of the other's law. 1 if a
/// sample is empty.
pub fn kolmogorov_smirnov(one: &[f64], other: &[f64], slack: f64) -> f64 {
    let (first, second) = (one.len() as f64, other.len() as f64);
    let effective = (first * second / (first + second)).sqrt();
    if one.is_empty() || other.is_empty() {
        return 1.0;
    }
    let lambda = (effective + 0.12 + 0.11 / effective) * distance(one, other, slack);
    if lambda < 0.2 {
        // The series converges slowly there, to 1 within rounding.
        return 1.0;
    }
    let term = |round: i32| {
        let sign = if round % 2 == 1 { 2.0 } else { -2.0 };
        sign * libm::exp(-2.0 * f64::from(round * round) * lambda * lambda)
    };
    (1..=100).map(term).sum::<f64>().clamp(0.0, 1.0)
}

/// The greatest distance between two empirical distribution functions, where each is moved toward the other by `slack`.
fn distance(one: &[f64], other: &[f64], slack: f64) -> f64 {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        values
    };
    let (one, other) = (sorted(one), sorted(other));
    let below =
        |values: &[f64], limit: f64| values.partition_point(|it| *it <= limit) as f64 / values.len() as f64;
    // Neither grows but at its own values.
    let beyond = |first: &[f64], second: &[f64]| {
        let gap = |limit: &f64| below(first, *limit) - below(second, limit + slack);
        first.iter().map(gap).fold(0.0, f64::max)
    };
    beyond(&one, &other).max(beyond(&other, &one))
}

/// The range that one more value of the law of `values` leaves with the probability that is given beside it, half of it on
/// either side, whatever law that is: between the values of this `rank` from both ends.
pub fn prediction_range(values: &[f64], rank: usize) -> Option<((f64, f64), f64)> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let low = *sorted.get(rank.checked_sub(1)?)?;
    let high = *sorted.get(sorted.len().checked_sub(rank)?)?;
    (low <= high).then(|| ((low, high), 2.0 * rank as f64 / (sorted.len() + 1) as f64))
}

/// The probability of at least `successes` in `trials` of which each succeeds with this `probability`.
pub fn binomial_tail(successes: u64, trials: u64, probability: f64) -> f64 {
    let fewer = |count: u64| {
        let ways: f64 = (0..count).map(|it| (trials - it) as f64 / (it + 1) as f64).product();
        ways * libm::pow(probability, count as f64) * libm::pow(1.0 - probability, (trials - count) as f64)
    };
    // From the far end: small tails keep their digits.
    (successes..=trials).map(fewer).sum::<f64>().min(1.0)
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;
    use crate::random::{Purpose, RunSeed, below};

    #[test]
    fn means_by_hand() {
        let mut stream = RunSeed::new(1, 0).stream(Purpose::Resampling, "means").generator();
        let mut p =
            |one: &[f64], other: &[f64]| mean_difference(one, other, |count| below(stream.next_u64(), count));
        // Of the 10 ways to draw 2 of 5, those with the two least or the two greatest are as far: 1 + 2 and 4 + 5.
        assert!((p(&[1.0, 2.0], &[3.0, 4.0, 5.0]) - 0.2).abs() < 0.01);
        // One rare event in 3 of 303 runs, and it is there: 1 %.
        let mut rare = vec![0.0; 300];
        assert!((p(&[1.0, 0.0, 0.0], &rare) - 0.01).abs() < 0.002);
        assert_eq!(p(&[0.0; 3], &rare), 1.0);
        assert_eq!(p(&[], &rare), 1.0);
        rare.iter_mut().enumerate().for_each(|(number, value)| *value = number as f64 / 300.0);
        assert!(p(&[0.98; 8], &rare) < 1e-4);
    }

    #[test]
    fn distributions_that_differ_are_told_apart() {
        let even = |from: f64| (0..200).map(|it| from + f64::from(it) / 200.0).collect::<Vec<f64>>();
        assert!(kolmogorov_smirnov(&even(2.0), &even(2.01), 0.0) > 0.99);
        assert!(kolmogorov_smirnov(&even(2.0), &even(2.3), 0.0) < 1e-6);
        assert_eq!(kolmogorov_smirnov(&[], &even(0.0), 0.0), 1.0);
        // The law's own table: D = 1.358 / sqrt(n m / (n + m)) is exceeded once in 20 times.
        let shift = 1.358 / 10.0;
        let p = kolmogorov_smirnov(&even(0.0), &even(shift), 0.0);
        assert!((0.03..0.06).contains(&p), "{p}");
        // What is forgiven is as if it were not there, either way.
        for (from, to) in [(2.0, 2.3), (2.3, 2.0)] {
            assert!(kolmogorov_smirnov(&even(from), &even(to), 0.301) > 0.99);
            assert!((kolmogorov_smirnov(&even(from), &even(to), 0.3 - shift) - p).abs() < 0.01);
        }
        let (timeouts, later) = ([5.0; 50], [5.001; 50]);
        assert!(kolmogorov_smirnov(&timeouts, &later, 0.0) < 1e-6);
        assert_eq!(kolmogorov_smirnov(&timeouts, &later, 0.03), 1.0);
    }

    #[test]
    fn tails_and_ranges() {
        assert!((binomial_tail(2, 8, 0.02) - 0.010_337).abs() < 1e-4, "{}", binomial_tail(2, 8, 0.02));
        assert!((binomial_tail(0, 8, 0.02) - 1.0).abs() < 1e-12);
        let values: Vec<f64> = (1..=299).map(f64::from).collect();
        assert_eq!(prediction_range(&values, 3), Some(((3.0, 297.0), 0.02)));
        assert_eq!(prediction_range(&[1.0], 2), None);
    }
}
