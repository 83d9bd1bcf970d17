//! Student's t where values are skewed.

use super::student::{t_beyond, t_two_sided};
use super::{Estimate, Moments};

/// Values more skewed than this make Student's t miss to one side.
const SKEWED: f64 = 1.0;

/// An estimate with the skewness of what it comes from.
///
/// The distance of a mean from the truth in standard errors, T, is skewed where the values are, so that Student's interval
/// ends too early where the long tail is. Hall's transformation of T (On the removal of skewness by transformation, 1992,
/// doi:10.1111/j.2517-6161.1992.tb01876.x) takes the skewness out: T + a T²/3 + a² T³/27 + s/(6√n), a = s/√n, has Student's law
/// to a higher order. It holds up to its point of inflection, T = -3/a, where intervals end. Of values whose skewness is above 1 both count: their interval reaches from the lower one of the two
/// lower ends to the upper one of the upper ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkewedEstimate {
    /// The estimate.
    pub estimate: Estimate,
    /// The skewness of the values (m3 over the deviation of all cubed); absent without spread.
    skewness: Option<f64>,
    /// Whether the values are so skewed that it counts.
    is_skewed: bool,
}

impl SkewedEstimate {
    /// The estimate of `value` that comes from `values`, of which there is at least one: values, or residuals that are as
    /// good as values.
    pub fn new(value: f64, values: &[f64]) -> Self {
        let moments: Moments = values.iter().copied().collect();
        let estimate = Estimate { value, ..Estimate::of_mean(&moments) };
        let (n, mean) = (values.len() as f64, moments.mean());
        let sum = |power: i32| values.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
        let deviation = sum(2).sqrt();
        let skewness = (deviation > 0.0).then(|| sum(3) / deviation.powi(3));
        // The adjusted coefficient of Fisher and Pearson (G1, as spreadsheets compute it).
        let adjusted = |skewness: f64| skewness * (n * (n - 1.0)).sqrt() / (n - 2.0);
        let is_skewed = values.len() > 2 && skewness.is_some_and(|found| adjusted(found).abs() > SKEWED);
        Self { estimate, skewness, is_skewed }
    }

    /// Whether the values are so skewed that Student's interval would end too early.
    pub fn is_skewed(&self) -> bool {
        self.is_skewed
    }

    /// The ends beyond each of which the true value lies with probability `tail`; absent with fewer than two replications.
    pub fn ends(&self, tail: f64) -> Option<(f64, f64)> {
        if self.is_skewed { self.ends_if_skewed(tail) } else { self.estimate.ends(2.0 * tail) }
    }

    /// The same where no skewness is too small to count: ten values show little of the tail that they come from.
    pub fn ends_if_skewed(&self, tail: f64) -> Option<(f64, f64)> {
        let (low, high) = self.estimate.ends(2.0 * tail)?;
        let Some(transformation) = self.transformation() else { return Some((low, high)) };
        let t = t_beyond(tail, self.estimate.n - 1);
        let end = |t: f64| self.estimate.value - transformation.inverse(t) * transformation.std_error;
        Some((low.min(end(t)), high.max(end(-t))))
    }

    /// The two-sided p-value of the test that the true value is `null`: the interval with this error ends there.
    pub fn p_value(&self, null: f64) -> Option<f64> {
        let student = self.estimate.p_value(null)?;
        let Some(transformation) = self.transformation().filter(|_| self.is_skewed) else {
            return Some(student);
        };
        let t = transformation.of((self.estimate.value - null) / transformation.std_error);
        Some(student.max(t_two_sided(t, self.estimate.n - 1)))
    }

    fn transformation(&self) -> Option<Transformation> {
        let root = (self.estimate.n as f64).sqrt();
        let skewness = self.skewness.filter(|skewness| *skewness != 0.0)?;
        Some(Transformation {
            slope: skewness / root,
            shift: skewness / (6.0 * root),
            std_error: self.estimate.std_error()?,
        })
    }
}

/// What rounding makes of 0.
const ROUNDING: f64 = 1e-9;

/// Hall's transformation with its two numbers.
#[derive(Clone, Copy, Debug)]
struct Transformation {
    slope: f64,
    shift: f64,
    std_error: f64,
}

impl Transformation {
    /// The transform of `t`; infinite beyond the inflection.
    fn of(&self, t: f64) -> f64 {
        let root = 1.0 + self.slope * t / 3.0;
        if root < -ROUNDING { f64::INFINITY } else { (root.powi(3) - 1.0) / self.slope + self.shift }
    }

    fn inverse(&self, transformed: f64) -> f64 {
        let cube = 1.0 + self.slope * (transformed - self.shift);
        3.0 / self.slope * (libm::cbrt(cube.max(0.0)) - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::{Purpose, RunSeed, exponential};

    fn of(values: &[f64]) -> SkewedEstimate {
        SkewedEstimate::new(values.iter().sum::<f64>() / values.len() as f64, values)
    }

    #[test]
    fn even_values_have_students_interval() {
        let found = of(&[1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(!found.is_skewed());
        assert_eq!(
            (found.ends(0.025), found.p_value(0.0)),
            (found.estimate.ends(0.05), found.estimate.p_value(0.0))
        );
        assert_eq!(of(&[7.0]).ends(0.025), None);
        assert_eq!(of(&[2.0, 2.0, 2.0]).ends(0.025), Some((2.0, 2.0)));
    }

    #[test]
    fn the_transformation_by_hand() {
        // Of 0, 0, 0, 0, 5: mean 1, deviation of all 2, m3 12, skewness 1.5; standard error 1, T of 0 is 1.
        let found = of(&[0.0, 0.0, 0.0, 0.0, 5.0]);
        assert!(found.is_skewed() && (found.skewness.unwrap() - 1.5).abs() < 1e-12);
        let a = 1.5 / 5.0_f64.sqrt();
        let t = 1.0 + a / 3.0 + a * a / 27.0 + a / 6.0;
        let p = t_two_sided(t, 4).max(t_two_sided(1.0, 4));
        assert!((found.p_value(0.0).unwrap() - p).abs() < 1e-12);
        let (low, high) = found.ends(0.025).unwrap();
        assert!(high - 1.0 > 1.5 * (1.0 - low), "the long tail is above: {low} {high}");
    }

    proptest! {
        #[test]
        fn the_interval_ends_where_its_error_is_the_p_value(
            values in prop::collection::vec(0.0..1.0_f64, 3..30), power in 1..8, tail in 1e-6..0.2_f64
        ) {
            let values: Vec<f64> = values.into_iter().map(|value| value.powi(power)).collect();
            let found = of(&values);
            if let Some((low, high)) = found.ends(tail) {
                for end in [low, high] {
                    let p = found.p_value(end).unwrap();
                    prop_assert!((p / (2.0 * tail) - 1.0).abs() < 1e-3 || found.is_skewed() && p > 2.0 * tail, "{}", p);
                }
            }
        }
    }

    #[test]
    fn skewed_values_are_covered_where_student_misses() {
        let mut rng = RunSeed::new(7, 0).stream(Purpose::Connections, "skewed").generator();
        let (mut student, mut both) = (0, 0);
        const TRIALS: usize = 2000;
        for _ in 0..TRIALS {
            // Sums of outages: Poisson with mean 1.5, each exponential.
            let values: Vec<f64> = (0..10)
                .map(|_| {
                    let (mut clock, mut sum) = (exponential(&mut rng), 0.0);
                    while clock < 1.5 {
                        clock += exponential(&mut rng);
                        sum += exponential(&mut rng);
                    }
                    sum
                })
                .collect();
            let found = of(&values);
            let covers = |(low, high): (f64, f64)| usize::from(low <= 1.5 && 1.5 <= high);
            student += covers(found.estimate.ends(0.05).unwrap());
            both += covers(found.ends(0.025).unwrap());
        }
        // 95 % of 2 000, give or take four standard errors of 10; Student's alone misses more.
        assert!((1860..=1940).contains(&both) && student + 30 < both, "{student} {both}");
    }
}
