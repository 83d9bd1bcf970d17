//! What bounds a share of which few replications have any: failures come in outages, which hit whole replications, so
//! that the number of connections says nothing.

use crate::random::{Purpose, RunSeed, exponential, normal};

/// From so many replications with any, Student's interval is believed.
const MANY: usize = 20;
/// How many draws a bound is made of.
const DRAWS: usize = 10_000;
/// From so many exponential draws on, their sum comes from one normal draw.
const LONG: usize = 32;

/// Whether few of `n` replications have any: fewer than [`MANY`], and fewer than half.
fn are_few(hit: usize, n: usize) -> bool {
    hit < MANY && 2 * hit < n
}

/// The upper bound of a mean of `n` shares, each between 0 and 1, of which few are not 0, namely `hit`; it is too low with
/// probability `error`. `None` where they are not few, or there are none at all.
///
/// If all are 0, it is 1 - error^(1/n): so many of all replications may have any, and one that has may have all. Else it is
/// the bound of Gaffke (Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
/// variable, 2005; Learned-Miller and Thomas, A new confidence interval for the mean of a bounded random variable, 2019,
/// arXiv:1905.06208): the quantile of the mean of the shares and a 1, at random weights that are spacings of uniform draws.
/// Of zeros and ones it is the bound of Clopper and Pearson. It needs nothing but that replications are independent.
pub(super) fn rare_bound(hit: &[f64], n: usize, error: f64) -> Option<f64> {
    if n == 0 || !are_few(hit.len(), n) {
        return None;
    }
    if hit.is_empty() {
        return Some(-libm::expm1(libm::log(error) / n as f64));
    }
    // The same replications have the same bound, on every machine.
    let mut rng = RunSeed::new(1, 0).stream(Purpose::Resampling, "rare").generator();
    let mut drawn: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let mut whole = exponential(&mut rng);
            let mut sum = whole;
            for share in hit {
                let weight = exponential(&mut rng);
                (sum, whole) = (sum + weight * share, whole + weight);
            }
            sum / (whole + sum_of_exponentials(n - hit.len(), &mut rng))
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let place = ((1.0 - error) * DRAWS as f64).ceil() as usize;
    Some(drawn[place.clamp(1, DRAWS) - 1])
}

/// The sum of `count` draws from the exponential law of mean 1; of many by the formula of Wilson and Hilferty (1931).
fn sum_of_exponentials(count: usize, rng: &mut impl rand::Rng) -> f64 {
    if count < LONG {
        return (0..count).map(|_| exponential(rng)).sum();
    }
    let mean = count as f64;
    mean * (1.0 - 1.0 / (9.0 * mean) + normal(rng) / (3.0 * mean.sqrt())).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_and_ones_have_the_bounds_of_clopper_and_pearson() {
        // None of 10: 1 - 0.05^(1/10). One of 10 and two of 10 from their tables, one-sided.
        let none = rare_bound(&[], 10, 0.05).unwrap();
        assert!((none - 0.258_866).abs() < 1e-6, "{none}");
        for (hit, n, expected) in [(1, 10, 0.394_2), (2, 10, 0.506_9), (1, 100, 0.046_6)] {
            let found = rare_bound(&vec![1.0; hit], n, 0.05).unwrap();
            assert!((found / expected - 1.0).abs() < 0.03, "{hit} of {n}: {found}");
        }
    }

    #[test]
    fn where_most_have_some_there_is_no_such_bound() {
        assert_eq!(rare_bound(&[0.1; 5], 10, 0.05), None);
        assert_eq!(rare_bound(&[0.1; 20], 1000, 0.05), None);
        assert_eq!(rare_bound(&[], 0, 0.05), None);
        // Small losses that are seen add less than large ones.
        let bounds = [0.01, 0.5, 1.0].map(|share| rare_bound(&[share; 2], 10, 0.05).unwrap());
        assert!(
            rare_bound(&[], 10, 0.05).unwrap() < bounds[0] && bounds[0] < bounds[1] && bounds[1] < bounds[2]
        );
    }

    #[test]
    fn rare_outages_are_below_their_bound_as_often_as_it_says() {
        let mut rng = RunSeed::new(6, 0).stream(Purpose::Connections, "outages").generator();
        let mut uniform = || crate::random::open_unit(rand::Rng::next_u64(&mut rng));
        // An outage in one of eight replications that fails a random share: 1/16 on average.
        const STUDIES: usize = 1000;
        let mut covered = 0;
        for _ in 0..STUDIES {
            let count = (0..10).filter(|_| uniform() < 0.125).count();
            let hit: Vec<f64> = (0..count).map(|_| uniform()).collect();
            covered += usize::from(rare_bound(&hit, 10, 0.05).is_none_or(|bound| bound >= 0.0625));
        }
        assert!(covered >= 940, "{covered} of {STUDIES}");
    }
}
