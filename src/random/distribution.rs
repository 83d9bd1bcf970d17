//! Distributions of durations, byte counts and whole counts, as the experiment file writes them.
//!
//! A held [`Distribution`] is possible: its parameters were checked when it was made.

use std::marker::PhantomData;

use rand::Rng;
use rand_distr::Distribution as _;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::portable::Portable;
use super::ziggurat::{exponential, open_unit};
use crate::time::SimDuration;

/// What a distribution is of.
pub trait Quantity: Copy {
    /// How the experiment file writes one value of it.
    type Written: DeserializeOwned + Serialize + Copy + std::fmt::Debug + PartialEq;
    /// A written value in the unit of the draws.
    fn unit_value(written: Self::Written) -> f64;
    /// The quantity nearest to a draw.
    fn from_draw(draw: f64) -> Self;
}

impl Quantity for SimDuration {
    type Written = Self;
    fn unit_value(written: Self) -> f64 {
        written.as_nanos() as f64
    }
    fn from_draw(draw: f64) -> Self {
        Self::from_nanos_f64(draw)
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl Quantity for Bytes {
    type Written = f64;
    fn unit_value(written: f64) -> f64 {
        written
    }
    fn from_draw(draw: f64) -> Self {
        // A petabyte bounds one draw, so that sums of a run fit 64 bits.
        Self(((draw + 0.5) as u64).min(1 << 50))
    }
}

/// A whole number of things, at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Count(pub u32);

impl Quantity for Count {
    type Written = f64;
    fn unit_value(written: f64) -> f64 {
        written
    }
    fn from_draw(draw: f64) -> Self {
        Self(((draw + 0.5) as u32).max(1))
    }
}

/// The forms that the experiment file may write, with their parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Form<V> {
    Constant(V),
    Uniform {
        low: V,
        high: V,
    },
    Exponential {
        mean: V,
    },
    Lognormal {
        median: V,
        sigma: f64,
    },
    Gamma {
        mean: V,
        shape: f64,
    },
    Weibull {
        scale: V,
        shape: f64,
    },
    Pareto {
        scale: V,
        shape: f64,
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<V>,
    },
    Geometric {
        mean: f64,
    },
}

/// Why parameters make no distribution.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DistributionError {
    /// A parameter that must be above zero is not.
    #[error("{form} needs {parameter} above 0, but it is {value}; write a {parameter} above 0")]
    NotPositive {
        /// The form of the distribution.
        form: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What it is.
        value: f64,
    },
    /// A parameter is below zero, infinite or not a number.
    #[error(
        "{form} needs a finite {parameter} of 0 or more, but it is {value}; write a {parameter} of 0 or more"
    )]
    Negative {
        /// The form of the distribution.
        form: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// What it is.
        value: f64,
    },
    /// The ends of a range are swapped.
    #[error("{form} needs {low} <= {high}; swap them")]
    Swapped {
        /// The form of the distribution.
        form: &'static str,
        /// The lower end.
        low: &'static str,
        /// The upper end.
        high: &'static str,
    },
    /// A geometric count with a mean below one.
    #[error("geometric counts are 1 or more, so its mean can't be {0}; write 1.0 or more")]
    GeometricMean(f64),
}

/// How a value is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Law {
    Constant(f64),
    Uniform {
        low: f64,
        width: f64,
    },
    Exponential {
        mean: f64,
    },
    Lognormal(rand_distr::LogNormal<Portable>),
    Gamma(rand_distr::Gamma<Portable>),
    Weibull(rand_distr::Weibull<Portable>),
    Pareto {
        scale: f64,
        inverse_shape: f64,
        reach: f64,
    },
    /// One more than the whole part of an exponential draw of this mean.
    Geometric {
        exponential_mean: f64,
    },
}

/// A distribution of `Q`, with checked parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distribution<Q: Quantity> {
    form: Form<Q::Written>,
    law: Law,
    mean: f64,
    quantity: PhantomData<fn() -> Q>,
}

impl<Q: Quantity> Distribution<Q> {
    /// The distribution that always gives `value`.
    pub fn constant(value: Q::Written) -> Self {
        let mean = Q::unit_value(value);
        Self { form: Form::Constant(value), law: Law::Constant(mean), mean, quantity: PhantomData }
    }

    /// The exponential distribution of mean `mean`.
    ///
    /// # Errors
    /// If the mean is not above zero.
    pub fn exponential(mean: Q::Written) -> Result<Self, DistributionError> {
        Self::new(Form::Exponential { mean })
    }

    /// The lognormal distribution of median `median` whose logarithm has standard deviation `sigma`.
    ///
    /// # Errors
    /// If the median is not above zero or sigma is negative.
    pub fn lognormal(median: Q::Written, sigma: f64) -> Result<Self, DistributionError> {
        Self::new(Form::Lognormal { median, sigma })
    }

    /// The geometric distribution of counts of 1 or more with mean `mean`.
    ///
    /// # Errors
    /// If the mean is below one.
    pub fn geometric(mean: f64) -> Result<Self, DistributionError> {
        Self::new(Form::Geometric { mean })
    }

    /// The mean, in nanoseconds, bytes or things.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// A draw.
    #[inline]
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Q {
        Q::from_draw(match &self.law {
            Law::Constant(value) => *value,
            Law::Uniform { low, width } => low + width * open_unit(rng.next_u64()),
            Law::Exponential { mean } => mean * exponential(rng),
            Law::Lognormal(law) => law.sample(rng).0,
            Law::Gamma(law) => law.sample(rng).0,
            Law::Weibull(law) => law.sample(rng).0,
            // The inverse of the distribution function cut at `max`, where `reach` = F(max), 1 if uncut.
            Law::Pareto { scale, inverse_shape, reach } => {
                scale * libm::pow(1.0 - reach * open_unit(rng.next_u64()), -inverse_shape)
            }
            Law::Geometric { exponential_mean } => 1.0 + (exponential_mean * exponential(rng)).floor(),
        })
    }

    fn new(form: Form<Q::Written>) -> Result<Self, DistributionError> {
        let (law, mean) = match form {
            Form::Constant(value) => {
                let value = finite("constant", "value", Q::unit_value(value))?;
                (Law::Constant(value), value)
            }
            Form::Uniform { low, high } => uniform(Q::unit_value(low), Q::unit_value(high))?,
            Form::Exponential { mean } => {
                let mean = positive("exponential", "mean", Q::unit_value(mean))?;
                (Law::Exponential { mean }, mean)
            }
            Form::Lognormal { median, sigma } => lognormal(Q::unit_value(median), sigma)?,
            Form::Gamma { mean, shape } => gamma(Q::unit_value(mean), shape)?,
            Form::Weibull { scale, shape } => weibull(Q::unit_value(scale), shape)?,
            Form::Pareto { scale, shape, max } => {
                pareto(Q::unit_value(scale), shape, max.map(Q::unit_value))?
            }
            Form::Geometric { mean } => geometric(mean)?,
        };
        Ok(Self { form, law, mean, quantity: PhantomData })
    }
}

/// Writes it as the experiment file does.
impl<Q: Quantity> Serialize for Distribution<Q> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.form.serialize(serializer)
    }
}

impl<'de, Q: Quantity> Deserialize<'de> for Distribution<Q> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let form = Form::<Q::Written>::deserialize(deserializer)?;
        Self::new(form).map_err(serde::de::Error::custom)
    }
}

fn positive(form: &'static str, parameter: &'static str, value: f64) -> Result<f64, DistributionError> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(DistributionError::NotPositive { form, parameter, value })
    }
}

fn finite(form: &'static str, parameter: &'static str, value: f64) -> Result<f64, DistributionError> {
    if value >= 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(DistributionError::Negative { form, parameter, value })
    }
}

fn uniform(low: f64, high: f64) -> Result<(Law, f64), DistributionError> {
    let low = finite("uniform", "low", low)?;
    let high = finite("uniform", "high", high)?;
    if low > high {
        return Err(DistributionError::Swapped { form: "uniform", low: "low", high: "high" });
    }
    Ok((Law::Uniform { low, width: high - low }, (low + high) / 2.0))
}

fn lognormal(median: f64, sigma: f64) -> Result<(Law, f64), DistributionError> {
    let mu = libm::log(positive("lognormal", "median", median)?);
    let sigma = finite("lognormal", "sigma", sigma)?;
    let law = rand_distr::LogNormal::new(Portable(mu), Portable(sigma)).expect("sigma is finite");
    Ok((Law::Lognormal(law), libm::exp(mu + sigma * sigma / 2.0)))
}

fn gamma(mean: f64, shape: f64) -> Result<(Law, f64), DistributionError> {
    let mean = positive("gamma", "mean", mean)?;
    let shape = positive("gamma", "shape", shape)?;
    let law = rand_distr::Gamma::new(Portable(shape), Portable(mean / shape)).expect("both are above zero");
    Ok((Law::Gamma(law), mean))
}

fn weibull(scale: f64, shape: f64) -> Result<(Law, f64), DistributionError> {
    let scale = positive("weibull", "scale", scale)?;
    let shape = positive("weibull", "shape", shape)?;
    let law = rand_distr::Weibull::new(Portable(scale), Portable(shape)).expect("both are above zero");
    Ok((Law::Weibull(law), scale * libm::tgamma(1.0 + 1.0 / shape)))
}

fn pareto(scale: f64, shape: f64, max: Option<f64>) -> Result<(Law, f64), DistributionError> {
    let scale = positive("pareto", "scale", scale)?;
    let shape = positive("pareto", "shape", shape)?;
    let Some(max) = max else {
        let mean = if shape > 1.0 { shape * scale / (shape - 1.0) } else { f64::INFINITY };
        return Ok((Law::Pareto { scale, inverse_shape: 1.0 / shape, reach: 1.0 }, mean));
    };
    let max = positive("pareto", "max", max)?;
    if max < scale {
        return Err(DistributionError::Swapped { form: "pareto", low: "scale", high: "max" });
    }
    let reach = 1.0 - libm::pow(scale / max, shape);
    Ok((Law::Pareto { scale, inverse_shape: 1.0 / shape, reach }, truncated_pareto_mean(scale, shape, max)))
}

fn truncated_pareto_mean(scale: f64, shape: f64, max: f64) -> f64 {
    if max == scale {
        return scale;
    }
    let tail = libm::pow(scale / max, shape);
    if shape == 1.0 {
        return scale * libm::log(max / scale) / (1.0 - tail);
    }
    shape / (shape - 1.0) * (scale - max * tail) / (1.0 - tail)
}

fn geometric(mean: f64) -> Result<(Law, f64), DistributionError> {
    if !(mean >= 1.0 && mean.is_finite()) {
        return Err(DistributionError::GeometricMean(mean));
    }
    if mean == 1.0 {
        return Ok((Law::Constant(1.0), 1.0));
    }
    // P(count > k) = (1 - p)^k with p = 1 / mean, which is P(exponential draw >= k).
    Ok((Law::Geometric { exponential_mean: -1.0 / libm::log1p(-1.0 / mean) }, mean))
}

#[cfg(test)]
mod tests {
    use serde::de::IntoDeserializer;

    use super::*;
    use crate::random::{Purpose, RunSeed};
    use crate::stats::Moments;

    fn read<Q: Quantity>(text: &str) -> Result<Distribution<Q>, String> {
        let value: toml_edit::Value = text.parse().unwrap();
        Distribution::deserialize(value.into_deserializer()).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn means_are_those_of_the_draws() {
        for text in [
            r#"{ constant = "5ms" }"#,
            r#"{ uniform = { low = "1ms", high = "3ms" } }"#,
            r#"{ exponential = { mean = "5ms" } }"#,
            r#"{ lognormal = { median = "70us", sigma = 0.4 } }"#,
            r#"{ gamma = { mean = "5ms", shape = 0.5 } }"#,
            r#"{ gamma = { mean = "5ms", shape = 3 } }"#,
            r#"{ weibull = { scale = "5ms", shape = 0.7 } }"#,
            r#"{ pareto = { scale = "1ms", shape = 3.0 } }"#,
            r#"{ pareto = { scale = "1ms", shape = 1.0, max = "1s" } }"#,
            r#"{ pareto = { scale = "1ms", shape = 1.2, max = "1s" } }"#,
        ] {
            let law: Distribution<SimDuration> = read(text).unwrap();
            check_mean(text, &law, |duration| duration.as_nanos() as f64);
        }
        for mean in ["1.0", "1.3", "3.0", "50"] {
            let law: Distribution<Count> = read(&format!("{{ geometric = {{ mean = {mean} }} }}")).unwrap();
            check_mean(mean, &law, |count| f64::from(count.0));
        }
    }

    fn check_mean<Q: Quantity>(text: &str, law: &Distribution<Q>, value: impl Fn(Q) -> f64) {
        let mut rng = RunSeed::new(3, 0).stream(Purpose::Connections, text).generator();
        let mut moments = Moments::default();
        for _ in 0..400_000 {
            moments.add(value(law.sample(&mut rng)));
        }
        // Four standard errors; the seeds are fixed.
        let tolerance = 4.0 * moments.std_dev() / 400_000_f64.sqrt() + 1e-6 * law.mean();
        assert!(
            (moments.mean() - law.mean()).abs() <= tolerance,
            "{text}: {} is not {}",
            moments.mean(),
            law.mean()
        );
    }

    #[test]
    fn distributions_survive_writing() {
        for text in [
            r#"{ constant = "5ms" }"#,
            r#"{ lognormal = { median = "70us", sigma = 0.4 } }"#,
            r#"{ pareto = { scale = "1ms", shape = 1.2 } }"#,
            r#"{ pareto = { scale = "1ms", shape = 1.2, max = "1s" } }"#,
        ] {
            let law: Distribution<SimDuration> = read(text).unwrap();
            let written = law.serialize(toml_edit::ser::ValueSerializer::new()).unwrap().to_string();
            assert_eq!(written, text);
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
}
