//! Laws of durations, as an experiment writes them and as theory knows them.

/// A law of durations in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct DurationLaw {
    pub(super) toml: String,
    /// Its mean, in seconds.
    pub(super) mean: f64,
    /// The mean of its square, in square seconds.
    pub(super) second_moment: f64,
}

/// A duration as an experiment writes it: whole microseconds.
fn micros(seconds: f64) -> String {
    format!("\"{:.0}us\"", seconds * 1e6)
}

impl DurationLaw {
    pub(super) fn constant(value: f64) -> Self {
        let toml = format!("{{ constant = {} }}", micros(value));
        Self { toml, mean: value, second_moment: value * value }
    }

    pub(super) fn uniform(low: f64, high: f64) -> Self {
        Self {
            toml: format!("{{ uniform = {{ low = {}, high = {} }} }}", micros(low), micros(high)),
            mean: (low + high) / 2.0,
            second_moment: (low * low + low * high + high * high) / 3.0,
        }
    }

    pub(super) fn exponential(mean: f64) -> Self {
        let toml = format!("{{ exponential = {{ mean = {} }} }}", micros(mean));
        Self { toml, mean, second_moment: 2.0 * mean * mean }
    }

    /// The moments of the k-th order are `median^k exp(k² sigma² / 2)`.
    pub(super) fn lognormal(median: f64, sigma: f64) -> Self {
        Self {
            toml: format!("{{ lognormal = {{ median = {}, sigma = {sigma:?} }} }}", micros(median)),
            mean: median * libm::exp(sigma * sigma / 2.0),
            second_moment: median * median * libm::exp(2.0 * sigma * sigma),
        }
    }

    /// The moments of the k-th order are `scale^k Γ(1 + k/shape)`.
    pub(super) fn weibull(scale: f64, shape: f64) -> Self {
        Self {
            toml: format!("{{ weibull = {{ scale = {}, shape = {shape:?} }} }}", micros(scale)),
            mean: scale * libm::tgamma(1.0 + 1.0 / shape),
            second_moment: scale * scale * libm::tgamma(1.0 + 2.0 / shape),
        }
    }

    /// Pareto, cut at `max`: the density is `shape scale^shape x^-(shape + 1)` over the share that is not cut off. The shape
    /// is neither 1 nor 2.
    pub(super) fn pareto(scale: f64, shape: f64, max: f64) -> Self {
        let kept = 1.0 - libm::pow(scale / max, shape);
        let moment = |order: f64| {
            let powers = libm::pow(scale, order - shape) - libm::pow(max, order - shape);
            shape * libm::pow(scale, shape) * powers / (shape - order) / kept
        };
        let (low, high) = (micros(scale), micros(max));
        Self {
            toml: format!("{{ pareto = {{ scale = {low}, shape = {shape:?}, max = {high} }} }}"),
            mean: moment(1.0),
            second_moment: moment(2.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Distribution, Purpose, RunSeed};
    use crate::time::SimDuration;

    #[derive(serde::Deserialize)]
    struct File {
        law: Distribution<SimDuration>,
    }

    #[test]
    fn laws_have_the_moments_of_what_the_experiment_draws() {
        for law in [
            DurationLaw::constant(0.01),
            DurationLaw::uniform(1.0, 3.0),
            DurationLaw::exponential(0.25),
            DurationLaw::lognormal(2.0, 0.5),
            DurationLaw::weibull(3.0, 1.5),
            DurationLaw::pareto(0.002, 1.5, 0.02),
        ] {
            let File { law: drawn } = toml_edit::de::from_str(&format!("law = {}", law.toml)).unwrap();
            assert!((drawn.mean() / 1e9 / law.mean - 1.0).abs() < 1e-9, "{law:?}");
            let mut rng = RunSeed::new(7, 0).stream(Purpose::Connections, "moments").generator();
            const DRAWS: u32 = 200_000;
            let squares: f64 = (0..DRAWS).map(|_| drawn.sample(&mut rng).as_secs_f64().powi(2)).sum();
            let ratio = squares / f64::from(DRAWS) / law.second_moment;
            assert!((ratio - 1.0).abs() < 0.03, "{law:?}: {ratio}");
        }
    }
}
