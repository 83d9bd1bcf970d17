//! Distributions of durations, byte counts and whole counts, as the experiment file writes them.
//!
//! A held [`Distribution`] is possible: its parameters were checked when it was made.

mod empirical;
mod law;
mod points;
mod quantity;
mod residual;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::marker::PhantomData;

use rand::Rng;
use rand_xoshiro::SplitMix64;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use law::{Law, OtherLaw, finite, positive};
use points::Points;
pub use quantity::{Bytes, Count, Quantity};

use crate::unfit::Unfit;

/// The forms that the experiment file may write, with their parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Form<V> {
    /// Always the same.
    Constant(V),
    /// Evenly from `low` to `high`.
    Uniform {
        /// The least value.
        low: V,
        /// The greatest value.
        high: V,
    },
    /// Without memory.
    Exponential {
        /// The mean, above zero.
        mean: V,
    },
    /// Its logarithm is normal.
    Lognormal {
        /// The median, above zero.
        median: V,
        /// The standard deviation of the logarithm.
        #[schemars(range(min = 0), example = 0.4)]
        sigma: f64,
    },
    /// A sum of `shape` exponential parts, if that is whole.
    Gamma {
        /// The mean, above zero.
        mean: V,
        /// The shape, above zero; at 1 it is exponential.
        #[schemars(extend("exclusiveMinimum" = 0), example = 2.0)]
        shape: f64,
    },
    /// A stretched exponential.
    Weibull {
        /// The scale, above zero: a share of 1 - 1/e is not greater.
        scale: V,
        /// The shape, above zero; at 1 it is exponential.
        #[schemars(extend("exclusiveMinimum" = 0), example = 2.0)]
        shape: f64,
    },
    /// A tail that falls as a power.
    Pareto {
        /// The least value, above zero.
        scale: V,
        /// How fast the tail falls, above zero.
        #[schemars(extend("exclusiveMinimum" = 0), example = 2.0)]
        shape: f64,
        /// The greatest value. Default: none.
        #[serde(skip_serializing_if = "Option::is_none")]
        max: Option<V>,
    },
    /// Whole counts, each as likely as the one before times the same.
    Geometric {
        /// The mean of whole counts of 1 or more.
        #[schemars(range(min = 1))]
        mean: f64,
    },
    /// Whoever reads an experiment file puts the text of `file` into `points`.
    #[schemars(extend("examples" = [{ "file": "data.csv" }]))]
    Empirical {
        /// A data file with a row for each point. Default: none, `points` stand in its place.
        #[schemars(example = &"data.csv")]
        #[serde(skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// Pairs of a value and the share of draws up to it. Default: none, `file` stands in its place.
        #[serde(skip_serializing_if = "Option::is_none")]
        points: Option<Points<V>>,
    },
}

/// A distribution of `Q`, with checked parameters.
#[derive(Clone, Debug, PartialEq)]
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
    pub fn exponential(mean: Q::Written) -> Result<Self, Unfit> {
        Self::new(Form::Exponential { mean })
    }

    /// The lognormal distribution of median `median` whose logarithm has standard deviation `sigma`.
    ///
    /// # Errors
    /// If the median is not above zero or sigma is negative.
    pub fn lognormal(median: Q::Written, sigma: f64) -> Result<Self, Unfit> {
        Self::new(Form::Lognormal { median, sigma })
    }

    /// The geometric distribution of counts of 1 or more with mean `mean`.
    ///
    /// # Errors
    /// If the mean is below one.
    pub fn geometric(mean: f64) -> Result<Self, Unfit> {
        Self::new(Form::Geometric { mean })
    }

    /// The mean, in nanoseconds, bytes or things.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Whether it has no memory: whatever has passed of an interval, what is left is as at its beginning.
    pub fn is_memoryless(&self) -> bool {
        matches!(self.law, Law::Exponential { .. })
    }

    /// What every draw gives, if they all give the same.
    #[inline]
    pub fn constant_value(&self) -> Option<Q> {
        match self.law {
            Law::Constant(value) => Some(Q::from_draw(value)),
            _ => None,
        }
    }

    /// A draw.
    #[inline]
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Q {
        Q::from_draw(self.law.draw(rng))
    }

    /// A draw with a generator of its own.
    // Apart from its callers, who have little else to keep while it works.
    #[inline(never)]
    pub fn sample_of(&self, mut rng: SplitMix64) -> Q {
        self.sample(&mut rng)
    }

    fn new(form: Form<Q::Written>) -> Result<Self, Unfit> {
        let (law, mean) = match &form {
            Form::Constant(value) => {
                let value = finite("constant", "value", Q::unit_value(*value))?;
                (Law::Constant(value), value)
            }
            Form::Uniform { low, high } => law::uniform(Q::unit_value(*low), Q::unit_value(*high))?,
            Form::Exponential { mean } => {
                let mean = positive("exponential", "mean", Q::unit_value(*mean))?;
                (Law::Exponential { mean }, mean)
            }
            Form::Lognormal { median, sigma } => law::lognormal(Q::unit_value(*median), *sigma)?,
            Form::Gamma { mean, shape } => law::gamma(Q::unit_value(*mean), *shape)?,
            Form::Weibull { scale, shape } => law::weibull(Q::unit_value(*scale), *shape)?,
            Form::Pareto { scale, shape, max } => {
                law::pareto(Q::unit_value(*scale), *shape, max.map(Q::unit_value))?
            }
            Form::Geometric { mean } => law::geometric(*mean)?,
            Form::Empirical { file, points: Some(points) } => {
                let (curve, mean) = points.curve::<Q>(file.as_deref())?;
                (Law::Other(OtherLaw::Empirical(curve)), mean)
            }
            Form::Empirical { file: Some(file), points: None } => {
                return Err(Unfit(format!("{file:?} was not read; write points = [[value, share], …]")));
            }
            Form::Empirical { file: None, points: None } => {
                let text = "empirical has no points; write points = [[value, share], …] or file = \"…\"";
                return Err(Unfit(text.to_owned()));
            }
        };
        if let Some(value) = form.values().into_iter().find(|value| Q::unit_value(*value) > Q::MOST) {
            return Err(Unfit(format!(
                "{value} is more than {} can be; write at most {}",
                Q::PLURAL,
                Q::MOST
            )));
        }
        if mean > Q::MOST && !Q::HAS_ANY_MEAN {
            let what = if mean.is_finite() { format!("of {mean}") } else { "without limit".to_owned() };
            let help = format!("lighten its tail, or give it a max; {} are at most {}", Q::PLURAL, Q::MOST);
            return Err(Unfit(format!("it has a mean {what}; {help}")));
        }
        Ok(Self { form, law, mean, quantity: PhantomData })
    }
}

impl<V: Copy> Form<V> {
    /// The values that are written, but for those of points and the mean of a geometric one.
    fn values(&self) -> Vec<V> {
        match *self {
            Self::Constant(value) => vec![value],
            Self::Uniform { low, high } => vec![low, high],
            Self::Exponential { mean } | Self::Gamma { mean, .. } => vec![mean],
            Self::Lognormal { median, .. } => vec![median],
            Self::Weibull { scale, .. } => vec![scale],
            Self::Pareto { scale, max, .. } => [scale].into_iter().chain(max).collect(),
            Self::Geometric { .. } | Self::Empirical { .. } => Vec::new(),
        }
    }
}

impl<Q: Quantity> JsonSchema for Distribution<Q> {
    fn schema_name() -> Cow<'static, str> {
        format!("distribution of {}", Q::PLURAL).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Form::<Q::Written>::json_schema(generator);
        schema.insert("x-type".to_owned(), Self::schema_name().into());
        schema
    }
}

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
