//! Distributions against their theory, as text, and impossible ones.

mod empirical;

use serde::de::IntoDeserializer;
use statrs::distribution::{ContinuousCDF, Exp, Gamma, LogNormal, Pareto, Uniform, Weibull};

use super::*;
use crate::random::testing::{KS_CRITICAL, ks_distance, ks_distance_with_atoms};
use crate::random::{Purpose, RunSeed};
use crate::stats::Moments;
use crate::time::SimDuration;

const DRAWS: usize = 400_000;

fn read<Q: Quantity>(text: &str) -> Result<Distribution<Q>, String> {
    let value: toml_edit::Value = text.parse().unwrap();
    Distribution::deserialize(value.into_deserializer()).map_err(|error| error.message().to_owned())
}

fn written<Q: Quantity>(law: &Distribution<Q>) -> String {
    law.serialize(toml_edit::ser::ValueSerializer::new()).unwrap().to_string()
}

/// Draws of `law`, from a stream that is called by its text.
fn draws<Q: Quantity>(text: &str, law: &Distribution<Q>, value: impl Fn(Q) -> f64) -> Vec<f64> {
    let mut rng = RunSeed::new(3, 0).stream(Purpose::Connections, text).generator();
    (0..DRAWS).map(|_| value(law.sample(&mut rng))).collect()
}

fn millis(duration: SimDuration) -> f64 {
    duration.as_nanos() as f64 / 1e6
}

/// Asserts that the mean of `draws` is `mean`, and their variance `variance` if that is given, within four of the
/// standard errors that the draws have themselves. The seeds are fixed.
#[track_caller]
fn check_moments(text: &str, draws: &[f64], mean: f64, variance: Option<f64>) {
    let check = |what: &str, samples: Moments, expected: f64| {
        let tolerance = 4.0 * samples.std_dev() / (draws.len() as f64).sqrt() + 1e-6 * expected;
        let found = samples.mean();
        assert!((found - expected).abs() <= tolerance, "{text}: {what} {found}, expected {expected}");
    };
    check("mean", draws.iter().copied().collect(), mean);
    if let Some(variance) = variance {
        check("variance", draws.iter().map(|draw| (draw - mean).powi(2)).collect(), variance);
    }
}

/// Its text, its mean, its variance where the fourth moment exists, and its distribution function, in milliseconds.
type Case = (&'static str, f64, Option<f64>, Cdf);

/// A distribution function, of milliseconds.
type Cdf = Box<dyn Fn(f64) -> f64>;

fn cdf(law: impl ContinuousCDF<f64, f64> + 'static) -> Cdf {
    Box::new(move |x| law.cdf(x))
}

/// A Pareto distribution of scale 1 that is cut at `max`.
fn truncated(shape: f64, max: f64) -> Cdf {
    let up_to = move |x: f64| 1.0 - x.powf(-shape);
    Box::new(move |x| up_to(x) / up_to(max))
}

#[test]
fn durations_follow_their_theory() {
    let gamma = |shape: f64, mean: f64| cdf(Gamma::new(shape, shape / mean).unwrap());
    // E = scale Γ(1 + 1/k), E2 = scale² Γ(1 + 2/k).
    let weibull = |power: f64| libm::tgamma(1.0 + power / 0.7) * 5.0_f64.powf(power);
    let lognormal_mean = 70e-3 * (0.16_f64 / 2.0).exp();
    let cases: [Case; 9] = [
        (
            r#"{ uniform = { low = "1ms", high = "3ms" } }"#,
            2.0,
            Some(4.0 / 12.0),
            cdf(Uniform::new(1.0, 3.0).unwrap()),
        ),
        (r#"{ exponential = { mean = "5ms" } }"#, 5.0, Some(25.0), cdf(Exp::new(0.2).unwrap())),
        (
            r#"{ lognormal = { median = "70us", sigma = 0.4 } }"#,
            lognormal_mean,
            Some(lognormal_mean.powi(2) * 0.16_f64.exp_m1()),
            cdf(LogNormal::new(70e-3_f64.ln(), 0.4).unwrap()),
        ),
        (r#"{ gamma = { mean = "5ms", shape = 0.5 } }"#, 5.0, Some(50.0), gamma(0.5, 5.0)),
        (r#"{ gamma = { mean = "5ms", shape = 3 } }"#, 5.0, Some(25.0 / 3.0), gamma(3.0, 5.0)),
        (
            r#"{ weibull = { scale = "5ms", shape = 0.7 } }"#,
            weibull(1.0),
            Some(weibull(2.0) - weibull(1.0).powi(2)),
            cdf(Weibull::new(0.7, 5.0).unwrap()),
        ),
        (r#"{ pareto = { scale = "1ms", shape = 3.0 } }"#, 1.5, None, cdf(Pareto::new(1.0, 3.0).unwrap())),
        (
            r#"{ pareto = { scale = "1ms", shape = 1.0, max = "1s" } }"#,
            1000.0_f64.ln() / 0.999,
            // E2 = ∫ x² dF = (max - 1) / F(max).
            Some(1000.0 - (1000.0_f64.ln() / 0.999).powi(2)),
            truncated(1.0, 1000.0),
        ),
        (
            r#"{ pareto = { scale = "1ms", shape = 1.2, max = "1s" } }"#,
            6.0 * (1.0 - 1000.0_f64.powf(-0.2)) / (1.0 - 1000.0_f64.powf(-1.2)),
            None,
            truncated(1.2, 1000.0),
        ),
    ];
    for (text, mean, variance, cdf) in cases {
        let law: Distribution<SimDuration> = read(text).unwrap();
        assert!((law.mean() / 1e6 - mean).abs() < 1e-9 * mean, "{text}: {} is not {mean}", law.mean());
        let draws = draws(text, &law, millis);
        check_moments(text, &draws, mean, variance);
        let distance = ks_distance(draws, cdf);
        assert!(distance < KS_CRITICAL, "{text}: {distance}");
    }
}

#[test]
fn what_is_left_of_an_interval_under_way_has_the_equilibrium_distribution() {
    // Its distribution function is the integral of the survival function over the mean.
    let step = |x: f64| if x < 1.0 { 0.0 } else { (0.5 + 0.5 * (x - 1.0)).min(1.0) };
    let cases: [(&str, Cdf); 11] = [
        (r#"{ constant = "2ms" }"#, Box::new(|x| if x < 2.0 { 0.0 } else { 1.0 })),
        (r#"{ uniform = { low = "1ms", high = "3ms" } }"#, cdf(Uniform::new(1.0, 3.0).unwrap())),
        (r#"{ exponential = { mean = "5ms" } }"#, cdf(Exp::new(0.2).unwrap())),
        (r#"{ lognormal = { median = "1ms", sigma = 0.8 } }"#, cdf(LogNormal::new(0.0, 0.8).unwrap())),
        (r#"{ gamma = { mean = "5ms", shape = 0.5 } }"#, cdf(Gamma::new(0.5, 0.1).unwrap())),
        (r#"{ weibull = { scale = "5ms", shape = 0.7 } }"#, cdf(Weibull::new(0.7, 5.0).unwrap())),
        (r#"{ pareto = { scale = "1ms", shape = 3.0 } }"#, cdf(Pareto::new(1.0, 3.0).unwrap())),
        (r#"{ pareto = { scale = "1ms", shape = 1.0, max = "1s" } }"#, truncated(1.0, 1000.0)),
        (r#"{ pareto = { scale = "1ms", shape = 1.2, max = "1s" } }"#, truncated(1.2, 1000.0)),
        (r#"{ empirical = { points = [["1ms", 0.5], ["2ms", 1.0]] } }"#, Box::new(step)),
        (r#"{ geometric = { mean = 1000000 } }"#, cdf(Exp::new(1.0).unwrap())),
    ];
    for (text, cdf) in cases {
        // Formulas may be of any number below the least value.
        let cdf = |x: f64| if x > 0.0 { cdf(x).clamp(0.0, 1.0) } else { 0.0 };
        let law: Distribution<SimDuration> = read(text).unwrap();
        let mut rng = RunSeed::new(3, 0).stream(Purpose::Failures, text).generator();
        let mut left: Vec<f64> = (0..DRAWS / 4).map(|_| millis(law.residual(&mut rng))).collect();
        left.sort_by(f64::total_cmp);
        let (mut integral, mut last, mut widest) = (0.0, 0.0, 0.0_f64);
        for (number, x) in left.iter().enumerate() {
            integral += (x - last) * (1.0 - (cdf(last) + cdf(*x)) / 2.0) / (law.mean() / 1e6);
            widest = widest.max((integral - number as f64 / left.len() as f64).abs());
            last = *x;
        }
        let distance = widest * (left.len() as f64).sqrt();
        assert!(distance < KS_CRITICAL, "{text}: {distance}");
    }
}

#[test]
fn constants_are_constant() {
    let text = r#"{ constant = "5ms" }"#;
    let law: Distribution<SimDuration> = read(text).unwrap();
    assert!(draws(text, &law, millis).iter().all(|draw| *draw == 5.0));
    assert_eq!(law.mean(), 5e6);
}

#[test]
fn counts_are_geometric() {
    for mean in [1.0, 1.3, 3.0, 50.0] {
        let text = format!("{{ geometric = {{ mean = {mean:?} }} }}");
        let law: Distribution<Count> = read(&text).unwrap();
        assert_eq!(law.mean(), mean);
        let draws = draws(&text, &law, |count| f64::from(count.0));
        check_moments(&text, &draws, mean, Some(mean * (mean - 1.0)));
        let up_to = |count: f64| 1.0 - (1.0 - 1.0 / mean).powf(count);
        let distance = ks_distance_with_atoms(draws, up_to, |count| up_to(count - 1.0));
        assert!(distance < KS_CRITICAL, "{text}: {distance}");
    }
}

#[test]
fn distributions_survive_writing() {
    for text in [
        r#"{ constant = "5ms" }"#,
        r#"{ lognormal = { median = "70us", sigma = 0.4 } }"#,
        r#"{ pareto = { scale = "1ms", shape = 1.2 } }"#,
        r#"{ pareto = { scale = "1ms", shape = 1.2, max = "1s" } }"#,
        r#"{ empirical = { points = [["1ms", 0.5], ["2ms", 1.0]] } }"#,
    ] {
        assert_eq!(written(&read::<SimDuration>(text).unwrap()), text);
    }
}

#[test]
fn impossible_parameters_are_refused() {
    for (text, part) in [
        (r#"{ exponential = { mean = "0s" } }"#, "needs mean above 0"),
        (r#"{ exponential = { mean = "-1s" } }"#, "negative"),
        (r#"{ exponential = { mean = 5 } }"#, "duration with a unit"),
        (r#"{ uniform = { low = "2s", high = "1s" } }"#, "low <= high"),
        (r#"{ lognormal = { median = "1s", sigma = -1.0 } }"#, "sigma"),
        (r#"{ lognormal = { median = "1s", sigma = inf } }"#, "sigma"),
        (r#"{ gamma = { mean = "1s", shape = 0 } }"#, "shape"),
        (r#"{ weibull = { scale = "1s", shape = nan } }"#, "shape"),
        (r#"{ pareto = { scale = "1s", shape = 0.0 } }"#, "needs shape above 0"),
        (r#"{ pareto = { scale = "1s", shape = 1.0, max = "1ms" } }"#, "scale <= max"),
        (r#"{ geometric = { mean = 0.5 } }"#, "1.0 or more"),
        (r#"{ exponental = { mean = "1s" } }"#, "unknown variant `exponental`"),
        (r#"{ exponential = { men = "1s" } }"#, "men, available keys: mean"),
    ] {
        let error = read::<SimDuration>(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn what_can_not_be_held_is_refused_and_not_cut() {
    let refused = |text: &str| [read::<Bytes>(text).err(), read::<Count>(text).err()];
    for text in [
        "{ constant = 1e20 }",
        "{ constant = 9e18 }",
        "{ uniform = { low = 0, high = 1e16 } }",
        "{ exponential = { mean = 1e16 } }",
        "{ lognormal = { median = 1e16, sigma = 0.1 } }",
        "{ gamma = { mean = 1e16, shape = 2.0 } }",
        "{ weibull = { scale = 1e16, shape = 1.0 } }",
        "{ pareto = { scale = 1, shape = 2.0, max = 1e16 } }",
        "{ pareto = { scale = 1e16, shape = 2.0 } }",
        "{ empirical = { points = [[1, 0.5], [1e16, 1.0]] } }",
        // Their tails are cut so often that their means are others.
        "{ lognormal = { median = 1000, sigma = 9.0 } }",
        "{ pareto = { scale = 1000, shape = 1.0 } }",
        "{ weibull = { scale = 1000, shape = 0.05 } }",
        "{ geometric = { mean = 1e16 } }",
    ] {
        for error in refused(text) {
            let error = error.unwrap_or_else(|| panic!("{text} is taken"));
            assert!(error.contains("bytes") || error.contains("counts"), "{text}: {error}");
            assert!(error.contains("at most"), "{text}: {error}");
        }
    }
    assert_eq!(refused("{ constant = 4294967295 }"), [None, None]);
    assert_eq!(read::<Bytes>("{ constant = 1125899906842624 }").unwrap().constant_value(), Some(Bytes::MAX));
    // Of durations a mean may have no end: what is longer than every run is as long as every run.
    assert!(read::<SimDuration>("{ pareto = { scale = \"1s\", shape = 0.5 } }").is_ok());
}
