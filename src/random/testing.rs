//! What tests of draws share.

/// At a level of 0.1 % the Kolmogorov-Smirnov statistic stays below it.
pub(crate) const KS_CRITICAL: f64 = 1.95;

/// The Kolmogorov-Smirnov distance of `draws` from the continuous distribution function `cdf`, times the root of their
/// number.
pub(crate) fn ks_distance(draws: Vec<f64>, cdf: impl Fn(f64) -> f64) -> f64 {
    ks_distance_with_atoms(draws, &cdf, &cdf)
}

/// The same where some values have probability: `cdf` is that of draws up to a value, `before` that of draws below it.
pub(crate) fn ks_distance_with_atoms(
    mut draws: Vec<f64>,
    cdf: impl Fn(f64) -> f64,
    before: impl Fn(f64) -> f64,
) -> f64 {
    draws.sort_by(f64::total_cmp);
    let n = draws.len() as f64;
    let mut below = 0;
    let mut widest = 0.0_f64;
    for equal in draws.chunk_by(|a, b| a == b) {
        let up_to = below + equal.len();
        widest = widest.max((before(equal[0]) - below as f64 / n).abs());
        widest = widest.max((cdf(equal[0]) - up_to as f64 / n).abs());
        below = up_to;
    }
    widest * n.sqrt()
}
