//! What is left of an interval of a renewal process that has always run.
//!
//! Whoever looks at a moment is more likely to meet a long interval than a short one: its length has the density x f(x) over
//! the mean (length-biased), and the moment lies evenly in it (Ross, Stochastic Processes, 3.4; Cox, Renewal Theory, 5.4).

use rand::Rng;
use rand_distr::Distribution as _;

use super::law::{Law, OtherLaw};
use super::{Distribution, Form, Quantity};
use crate::random::exp::exp;
use crate::random::portable::Portable;
use crate::random::ziggurat::{normal, open_unit};

impl<Q: Quantity> Distribution<Q> {
    /// A draw of what is left of an interval of this distribution that is met under way. Exact, as far as floating point goes,
    /// where the mean is finite.
    pub fn residual<R: Rng + ?Sized>(&self, rng: &mut R) -> Q {
        self.under_way(rng).1
    }

    /// The same with what has passed of the interval: the two parts of it.
    pub fn under_way<R: Rng + ?Sized>(&self, rng: &mut R) -> (Q, Q) {
        let whole = self.length_biased(rng);
        let left = whole * open_unit(rng.next_u64());
        (Q::from_draw(whole - left), Q::from_draw(left))
    }

    /// A draw of the length of an interval that is met under way.
    fn length_biased<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let unit = |value| Q::unit_value(value);
        match (&self.form, &self.law) {
            (_, Law::Constant(value)) => *value,
            // A gamma distribution of shape 2, the sum of two of shape 1.
            (Form::Exponential { mean }, _) => gamma(2.0, unit(*mean), rng),
            (Form::Lognormal { median, sigma }, _) => {
                exp(libm::log(unit(*median)) + sigma * sigma + sigma * normal(rng))
            }
            (Form::Uniform { low, high }, _) => power_between(unit(*low), unit(*high), 1.0, rng),
            (Form::Gamma { mean, shape }, _) => gamma(shape + 1.0, unit(*mean) / shape, rng),
            (Form::Weibull { scale, shape }, _) => {
                unit(*scale) * libm::pow(gamma(1.0 + 1.0 / shape, 1.0, rng), 1.0 / shape)
            }
            (Form::Pareto { scale, shape, max }, _) => {
                power_between(unit(*scale), max.map_or(f64::INFINITY, unit), -shape, rng)
            }
            // Twice as many failures before a success, and one.
            (Form::Geometric { .. }, law) => law.draw(rng) + law.draw(rng) - 1.0,
            (_, Law::Other(OtherLaw::Empirical(curve))) => {
                let (low, high) = curve.piece_by_length(open_unit(rng.next_u64()));
                power_between(low, high, 1.0, rng)
            }
            (Form::Constant(_) | Form::Empirical { .. }, _) => unreachable!("each form has its law"),
        }
    }
}

fn gamma<R: Rng + ?Sized>(shape: f64, scale: f64, rng: &mut R) -> f64 {
    let law = rand_distr::Gamma::new(Portable(shape), Portable(scale)).expect("both are above zero");
    law.sample(rng).0
}

/// A draw from `low` to `high` with a density that goes as the power `power` of the value, by inversion.
fn power_between<R: Rng + ?Sized>(low: f64, high: f64, power: f64, rng: &mut R) -> f64 {
    let chance = open_unit(rng.next_u64());
    let exponent = power + 1.0;
    if exponent == 0.0 {
        return low * libm::pow(high / low, chance);
    }
    let (from, to) = (libm::pow(low, exponent), libm::pow(high, exponent));
    libm::pow(from + chance * (to - from), 1.0 / exponent)
}
