//! Student's t and the normal law: tails and quantiles.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};
use statrs::function::beta::beta_reg;

/// From so many degrees of freedom on, quantiles come from the normal law's: the usual search for them need not end there.
const MANY: u64 = 10_000;

/// The `t` that Student's law with `freedom` degrees of freedom exceeds with probability `tail`, 0 < `tail` <= 0.5.
pub(super) fn t_beyond(tail: f64, freedom: u64) -> f64 {
    if freedom >= MANY {
        return t_of_normal(-normal_quantile(tail), freedom as f64);
    }
    let law = StudentsT::new(0.0, 1.0, freedom as f64).expect("at least one degree of freedom");
    // The lower tail: near 1 a quantile loses digits.
    -law.inverse_cdf(tail)
}

/// The quantile of Student's law where the normal law's is `z`, by the expansion in 1/`freedom` (Abramowitz and Stegun,
/// Handbook of Mathematical Functions, 26.7.5).
fn t_of_normal(z: f64, freedom: f64) -> f64 {
    let square = z * z;
    let first = (square + 1.0) / 4.0;
    let second = ((5.0 * square + 16.0) * square + 3.0) / 96.0;
    let third = (((3.0 * square + 19.0) * square + 17.0) * square - 15.0) / 384.0;
    z * (1.0 + (first + (second + third / freedom) / freedom) / freedom)
}

/// The probability that Student's law with `freedom` degrees of freedom lies at least as far from 0 as `t`.
pub(super) fn t_two_sided(t: f64, freedom: u64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    let freedom = freedom as f64;
    // P(|T| >= t) is the regularized incomplete beta function at freedom / (freedom + t²): exact far out too.
    beta_reg(0.5 * freedom, 0.5, freedom / (freedom + t * t))
}

pub(super) fn normal_quantile(probability: f64) -> f64 {
    standard_normal().inverse_cdf(probability)
}

fn standard_normal() -> Normal {
    Normal::new(0.0, 1.0).expect("a positive deviation")
}

#[cfg(test)]
mod tests {
    use std::f64::consts::PI;

    use super::*;

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (tail, freedom, expected) in [
            (0.025, 1, 12.706_205),
            (0.025, 4, 2.776_445),
            (0.025, 19, 2.093_024),
            (0.005, 9, 3.249_836),
            (0.000_5, 19, 3.883_406),
        ] {
            let found = t_beyond(tail, freedom);
            assert!((found - expected).abs() < 1e-5, "t({tail}, {freedom}) = {found}");
        }
        assert!((normal_quantile(0.975) - 1.959_964).abs() < 1e-5);
    }

    #[test]
    fn tails_are_those_of_the_closed_forms() {
        for t in [0.1_f64, 1.0, 3.0, 40.0] {
            // One degree of freedom is Cauchy's law, two have an algebraic one.
            let cauchy = 1.0 - 2.0 * t.atan() / PI;
            assert!((t_two_sided(t, 1) - cauchy).abs() < 1e-12);
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            assert!((t_two_sided(-t, 2) - two).abs() < 1e-12);
        }
        assert_eq!((t_two_sided(0.0, 5), t_two_sided(f64::INFINITY, 5)), (1.0, 0.0));
        assert!(t_two_sided(60.0, 19) > 0.0, "far out it is small, not zero");
    }

    #[test]
    fn quantiles_and_tails_belong_together() {
        for freedom in [1, 2, 5, 19, 200, 9_999, 100_000] {
            for tail in [0.4, 0.025, 1e-4, 1e-7] {
                let again = t_two_sided(t_beyond(tail, freedom), freedom) / 2.0;
                assert!((again / tail - 1.0).abs() < 1e-4, "{tail} with {freedom}: {again}");
            }
        }
    }

    #[test]
    fn quantiles_end_and_go_on_smoothly_for_any_number_of_degrees_of_freedom() {
        for tail in [0.4, 0.025, 1e-4, 1e-9, 1e-15] {
            let usual = t_beyond(tail, MANY - 1);
            assert!(
                (t_of_normal(-normal_quantile(tail), (MANY - 1) as f64) / usual - 1.0).abs() < 1e-9,
                "{tail}"
            );
            for freedom in [MANY, 1_000_000, 4_000_000_000, u64::MAX] {
                let (found, limit) = (t_beyond(tail, freedom), -normal_quantile(tail));
                assert!(limit <= found && found < usual, "{tail} with {freedom}: {found}");
            }
        }
    }
}
