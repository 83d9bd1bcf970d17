//! How values are drawn. The function of each form gives its law, and the mean.
//!
//! Mathematics is `libm`'s: the last bit of the platform's library differs between processors and C libraries.

use rand::Rng;
use rand_distr::Distribution as _;

use super::empirical::Curve;
use crate::random::exp::exp;
use crate::random::portable::Portable;
use crate::random::ziggurat::{exponential, normal, open_unit};
use crate::unfit::Unfit;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Law {
    Constant(f64),
    Exponential { mean: f64 },
    Lognormal { mu: f64, sigma: f64 },
    Other(OtherLaw),
}

/// Rarer or slower laws. A geometric count is one more than the whole part of an exponential draw of this mean.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OtherLaw {
    Uniform { low: f64, width: f64 },
    Gamma(rand_distr::Gamma<Portable>),
    Weibull(rand_distr::Weibull<Portable>),
    Pareto { scale: f64, inverse_shape: f64, reach: f64 },
    Geometric { exponential_mean: f64 },
    Empirical(Curve),
}

impl Law {
    /// A draw. Of the commonest laws it takes a few nanoseconds, so it is made part of its caller.
    #[inline(always)]
    pub(super) fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Exponential { mean } => mean * exponential(rng),
            Self::Lognormal { mu, sigma } => exp(mu + sigma * normal(rng)),
            Self::Other(law) => law.draw(rng),
        }
    }
}

impl OtherLaw {
    #[inline(never)]
    fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        match self {
            Self::Uniform { low, width } => low + width * open_unit(rng.next_u64()),
            Self::Gamma(law) => law.sample(rng).0,
            Self::Weibull(law) => law.sample(rng).0,
            // The inverse of the distribution function cut at `max`, where `reach` = F(max), 1 if uncut.
            Self::Pareto { scale, inverse_shape, reach } => {
                scale * libm::pow(1.0 - reach * open_unit(rng.next_u64()), -inverse_shape)
            }
            Self::Geometric { exponential_mean } => 1.0 + (exponential_mean * exponential(rng)).floor(),
            Self::Empirical(curve) => curve.value(open_unit(rng.next_u64())),
        }
    }
}

pub(super) fn positive(form: &str, parameter: &str, value: f64) -> Result<f64, Unfit> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Unfit(format!("{form} needs {parameter} above 0, but it is {value}; write a {parameter} above 0")))
}

/// `value`, if it is zero or more.
pub(super) fn finite(form: &str, parameter: &str, value: f64) -> Result<f64, Unfit> {
    if value >= 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Unfit(format!(
        "{form} needs a finite {parameter} of 0 or more, but it is {value}; write a {parameter} of 0 or more"
    )))
}

pub(super) fn uniform(low: f64, high: f64) -> Result<(Law, f64), Unfit> {
    let low = finite("uniform", "low", low)?;
    let high = finite("uniform", "high", high)?;
    if low > high {
        return Err(Unfit("uniform needs low <= high; swap them".to_owned()));
    }
    Ok((Law::Other(OtherLaw::Uniform { low, width: high - low }), (low + high) / 2.0))
}

pub(super) fn lognormal(median: f64, sigma: f64) -> Result<(Law, f64), Unfit> {
    let mu = libm::log(positive("lognormal", "median", median)?);
    let sigma = finite("lognormal", "sigma", sigma)?;
    Ok((Law::Lognormal { mu, sigma }, libm::exp(mu + sigma * sigma / 2.0)))
}

pub(super) fn gamma(mean: f64, shape: f64) -> Result<(Law, f64), Unfit> {
    let mean = positive("gamma", "mean", mean)?;
    let shape = positive("gamma", "shape", shape)?;
    let law = rand_distr::Gamma::new(Portable(shape), Portable(mean / shape)).expect("both are above zero");
    Ok((Law::Other(OtherLaw::Gamma(law)), mean))
}

pub(super) fn weibull(scale: f64, shape: f64) -> Result<(Law, f64), Unfit> {
    let scale = positive("weibull", "scale", scale)?;
    let shape = positive("weibull", "shape", shape)?;
    let law = rand_distr::Weibull::new(Portable(scale), Portable(shape)).expect("both are above zero");
    Ok((Law::Other(OtherLaw::Weibull(law)), scale * libm::tgamma(1.0 + 1.0 / shape)))
}

pub(super) fn pareto(scale: f64, shape: f64, max: Option<f64>) -> Result<(Law, f64), Unfit> {
    let scale = positive("pareto", "scale", scale)?;
    let shape = positive("pareto", "shape", shape)?;
    let Some(max) = max else {
        let mean = if shape > 1.0 { shape * scale / (shape - 1.0) } else { f64::INFINITY };
        return Ok((Law::Other(OtherLaw::Pareto { scale, inverse_shape: 1.0 / shape, reach: 1.0 }), mean));
    };
    let max = positive("pareto", "max", max)?;
    if max < scale {
        return Err(Unfit("pareto needs scale <= max; swap them".to_owned()));
    }
    let reach = 1.0 - libm::pow(scale / max, shape);
    Ok((
        Law::Other(OtherLaw::Pareto { scale, inverse_shape: 1.0 / shape, reach }),
        truncated_pareto_mean(scale, shape, max),
    ))
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

pub(super) fn geometric(mean: f64) -> Result<(Law, f64), Unfit> {
    if !(mean >= 1.0 && mean.is_finite()) {
        return Err(Unfit(format!(
            "geometric counts are 1 or more, so its mean can't be {mean}; write 1.0 or more"
        )));
    }
    if mean == 1.0 {
        return Ok((Law::Constant(1.0), 1.0));
    }
    // P(count > k) = (1 - p)^k with p = 1 / mean, which is P(exponential draw >= k).
    Ok((Law::Other(OtherLaw::Geometric { exponential_mean: -1.0 / libm::log1p(-1.0 / mean) }), mean))
}
