//! What replications gave for one metric: values, or parts of wholes.

use super::{Estimate, Moments, SkewedEstimate};

/// What one replication says of a metric: a value of its own, or a part of a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation {
    /// A value.
    Value(f64),
    /// A part of a whole, which may be nothing of nothing: that adds nothing to either sum.
    Ratio {
        /// The part.
        part: f64,
        /// The whole.
        whole: f64,
    },
}

/// One value, or one part and one whole, of each replication.
///
/// The estimate of parts and wholes is the ratio of their means: the mean of the ratios would be biased where the wholes
/// vary. Its spread is that of the delta method, the spread of `part - ratio * whole` over the mean whole (Law, Simulation
/// Modeling and Analysis, section 9.5).
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    parts: Vec<f64>,
    wholes: Option<Vec<f64>>,
}

impl Sample {
    /// Values of their own.
    pub fn values(values: Vec<f64>) -> Self {
        Self { parts: values, wholes: None }
    }

    /// Parts of wholes.
    ///
    /// # Panics
    /// If there is not one whole for every part.
    pub fn ratios(parts: Vec<f64>, wholes: Vec<f64>) -> Self {
        assert_eq!(parts.len(), wholes.len(), "one whole for every part");
        Self { parts, wholes: Some(wholes) }
    }

    /// How many replications.
    pub fn len(&self) -> usize {
        self.parts.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The mean, or the ratio of the means, with its spread.
    pub fn estimate(&self) -> Option<Estimate> {
        self.skewed().map(|skewed| skewed.estimate)
    }

    /// The values, or the residuals of the delta method. `None` without replications or wholes.
    pub(super) fn spread(&self) -> Option<Vec<f64>> {
        let ratio = self.over(0..self.len())?;
        let Some(wholes) = &self.wholes else { return Some(self.parts.clone()) };
        let mean_whole = mean(wholes.iter().copied())?;
        let residual = |(part, whole): (&f64, &f64)| (part - ratio * whole) / mean_whole;
        Some(self.parts.iter().zip(wholes).map(residual).collect())
    }

    /// The estimate with the skewness of what it comes from.
    pub fn skewed(&self) -> Option<SkewedEstimate> {
        Some(SkewedEstimate::new(self.over(0..self.len())?, &self.spread()?))
    }

    /// The values; of parts of wholes each part over the mean whole, for replications that have a whole.
    pub(super) fn relative(&self) -> Option<Vec<f64>> {
        let Some(wholes) = &self.wholes else { return Some(self.parts.clone()) };
        let mean_whole = mean(wholes.iter().copied().filter(|whole| *whole > 0.0))?;
        let counted = self.parts.iter().zip(wholes).filter(|(_, whole)| **whole > 0.0);
        Some(counted.map(|(part, _)| part / mean_whole).collect())
    }

    /// What is lacking of the wholes, relative to the mean one; of values what is lacking to 1.
    pub(super) fn lacking(&self) -> Option<Vec<f64>> {
        let rest = |(part, whole): (&f64, &f64)| whole - part;
        let parts = match &self.wholes {
            Some(wholes) => self.parts.iter().zip(wholes).map(rest).collect(),
            None => self.parts.iter().map(|part| 1.0 - part).collect(),
        };
        Self { parts, wholes: self.wholes.clone() }.relative()
    }

    /// How many replications have a value, or a part, other than 0.
    pub fn hit(&self) -> usize {
        self.parts.iter().filter(|part| **part != 0.0).count()
    }

    /// The estimate over these replications alone, each as often as it is named.
    pub fn over(&self, replications: impl Iterator<Item = usize> + Clone) -> Option<f64> {
        let part = mean(replications.clone().map(|index| self.parts[index]))?;
        match &self.wholes {
            None => Some(part),
            Some(wholes) => {
                let whole = mean(replications.map(|index| wholes[index]))?;
                (whole != 0.0).then(|| part / whole)
            }
        }
    }
}

impl FromIterator<Observation> for Sample {
    fn from_iter<I: IntoIterator<Item = Observation>>(observations: I) -> Self {
        let mut is_ratio = false;
        let (parts, wholes) = observations
            .into_iter()
            .map(|observation| match observation {
                Observation::Value(value) => (value, 1.0),
                Observation::Ratio { part, whole } => {
                    is_ratio = true;
                    (part, whole)
                }
            })
            .unzip();
        if is_ratio { Self::ratios(parts, wholes) } else { Self::values(parts) }
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let moments: Moments = values.collect();
    (moments.count() > 0).then(|| moments.mean())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_of_means_is_not_the_mean_of_ratios() {
        // 1 of 2 and 1 of 10: 2 of 12, where the mean of the ratios would be 0.3.
        let estimate = Sample::ratios(vec![1.0, 1.0], vec![2.0, 10.0]).estimate().unwrap();
        assert!((estimate.value - 1.0 / 6.0).abs() < 1e-15);
    }

    #[test]
    fn the_delta_method_by_hand() {
        // Ratio 30/60 = 0.5, mean whole 20; residuals 4 - 5, 10 - 10, 16 - 15 over 20: deviation 0.05.
        let estimate = Sample::ratios(vec![4.0, 10.0, 16.0], vec![10.0, 20.0, 30.0]).estimate().unwrap();
        assert_eq!((estimate.n, estimate.value), (3, 0.5));
        assert!((estimate.std_dev.unwrap() - 0.05).abs() < 1e-15);
    }

    #[test]
    fn equal_wholes_make_it_the_mean() {
        let (parts, wholes) = (vec![1.0, 4.0, 2.0], vec![8.0; 3]);
        let ratio = Sample::ratios(parts.clone(), wholes).estimate().unwrap();
        let mean = Sample::values(parts.iter().map(|part| part / 8.0).collect()).estimate().unwrap();
        assert!((ratio.value - mean.value).abs() < 1e-15);
        assert!((ratio.std_dev.unwrap() - mean.std_dev.unwrap()).abs() < 1e-15);
    }

    #[test]
    fn nothing_has_no_estimate() {
        assert_eq!(Sample::values(Vec::new()).estimate(), None);
        assert_eq!(Sample::ratios(vec![0.0; 2], vec![0.0; 2]).estimate(), None);
        let one = Sample::values(vec![3.0]).estimate().unwrap();
        assert_eq!((one.n, one.value, one.std_dev), (1, 3.0, None));
    }
}
