//! What bounds a mean of which few replications have any part: failures come in outages, which hit whole replications, so
//! that the number of connections says nothing.

use statrs::function::gamma::{gamma_lr, gamma_ur};

use crate::random::{Purpose, RunSeed, exponential};

/// From so many replications with any, an interval that follows the spread and skewness of what was seen holds.
const MANY: usize = 5;
/// How many draws a bound is made of.
const DRAWS: usize = 1000;
/// The digits to which a bound is found, in halvings.
const HALVINGS: u32 = 40;

/// Whether few of `n` replications have any: fewer than [`MANY`], and fewer than half.
pub(super) fn are_few(hit: usize, n: usize) -> bool {
    hit < MANY && 2 * hit < n
}

/// The share of all replications that may be as those `n` are not, if all of these are alike: more with probability `tail`.
pub(super) fn unseen(n: usize, tail: f64) -> f64 {
    -libm::expm1(libm::log(tail) / n as f64)
}

/// The upper bound of a mean of `n` shares, each between 0 and 1, all of which are 0 but those in `hit`, each above 0; it is
/// too low with probability `tail`, above 0 and below 1.
///
/// It is the bound of Gaffke (Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
/// variable, 2005; Learned-Miller and Thomas, A new confidence interval for the mean of a bounded random variable, 2019,
/// arXiv:1905.06208): the quantile of the mean of the shares and a 1, at random weights that are spacings of uniform draws.
/// If all are 0, it is [`unseen`]: so many of all replications may have any, and one that has may have all. Of zeros and
/// ones it is the bound of Clopper and Pearson. It needs nothing but that replications are independent.
pub(super) fn rare_bound(hit: &[f64], n: usize, tail: f64) -> f64 {
    let none = (n - hit.len()) as f64;
    // The same replications have the same bound, on every machine.
    let mut rng = RunSeed::new(1, 0).stream(Purpose::Resampling, "rare").generator();
    let draws = if hit.is_empty() { 1 } else { DRAWS };
    let weights: Vec<f64> = (0..draws * hit.len()).map(|_| exponential(&mut rng)).collect();
    let beyond = |bound: f64| {
        let draw = |draw: usize| {
            let own = weights[draw * hit.len()..][..hit.len()].iter().zip(hit);
            let pull: f64 = own.map(|(weight, share)| weight * (share - bound)).sum();
            exceeds(pull, bound, none)
        };
        (0..draws).map(draw).sum::<f64>() / draws as f64
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if beyond(middle) > tail { low = middle } else { high = middle }
    }
    high
}

/// The probability that the weighted mean exceeds `bound`, if those that are not 0 pull by `pull`, their weights times what
/// they are above it. The weights of the zeros, of which there are `none`, have a sum of the gamma law, and the weight of
/// the 1 the exponential one: both are integrated.
fn exceeds(pull: f64, bound: f64, none: f64) -> f64 {
    let (odds, all_zeros) = (1.0 - bound, libm::pow(1.0 - bound, none));
    if pull <= 0.0 {
        return libm::exp(pull / odds) * all_zeros;
    }
    let reach = pull / bound;
    // Beyond the reach the 1 must make up for the rest.
    let rest = libm::exp(pull / odds) * all_zeros * gamma_ur(none, reach / odds);
    gamma_lr(none, reach) + if rest.is_finite() { rest } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_and_ones_have_the_bounds_of_clopper_and_pearson() {
        // None of 10: 1 - 0.05^(1/10). One of 10 and two of 10 from their tables, one-sided.
        let none = rare_bound(&[], 10, 0.05);
        assert!((none - 0.258_866).abs() < 1e-6 && (none - unseen(10, 0.05)).abs() < 1e-9, "{none}");
        for (hit, n, expected) in [(1, 10, 0.394_2), (2, 10, 0.506_9), (1, 100, 0.046_6)] {
            let found = rare_bound(&vec![1.0; hit], n, 0.05);
            assert!((found / expected - 1.0).abs() < 0.03, "{hit} of {n}: {found}");
        }
        // One of 10 at an error of a millionth: the root of (1 - p)^10 + 10 p (1 - p)^9 = 1e-6.
        let far = rare_bound(&[1.0], 10, 1e-6);
        assert!((far - 0.833).abs() < 0.01, "{far}");
    }

    #[test]
    fn small_losses_that_are_seen_add_less_than_large_ones() {
        let bounds = [0.01, 0.5, 1.0].map(|share| rare_bound(&[share; 2], 10, 0.05));
        assert!(
            rare_bound(&[], 10, 0.05) < bounds[0] && bounds[0] < bounds[1] && bounds[1] < bounds[2],
            "{bounds:?}"
        );
        assert!(are_few(4, 10) && !are_few(5, 10) && !are_few(5, 1000) && !are_few(2, 4) && are_few(0, 1));
    }

    #[test]
    fn a_thousand_replications_are_no_trouble() {
        let bound = rare_bound(&[1e-6, 0.3, 0.9, 1.0], 100_000, 1e-7);
        assert!((1e-5..1e-3).contains(&bound), "{bound}");
        assert!(rare_bound(&[0.5], 3, 1e-9) < 1.0);
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
            covered += usize::from(rare_bound(&hit, 10, 0.05) >= 0.0625);
        }
        assert!(covered >= 940, "{covered} of {STUDIES}");
    }
}
