//! Mean and variance of a stream of values, one at a time (Welford 1962).

/// Count, mean and spread of the values added so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    count: u64,
    mean: f64,
    squares: f64,
}

impl Moments {
    /// Adds one value.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        let before = value - self.mean;
        self.mean += before / self.count as f64;
        self.squares += before * (value - self.mean);
    }

    /// How many values were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean of the values; 0 if there are none.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// The sample standard deviation (divisor n - 1); 0 with fewer than two values.
    pub fn std_dev(&self) -> f64 {
        if self.count < 2 { 0.0 } else { (self.squares / (self.count - 1) as f64).max(0.0).sqrt() }
    }
}

impl FromIterator<f64> for Moments {
    fn from_iter<I: IntoIterator<Item = f64>>(values: I) -> Self {
        let mut moments = Self::default();
        values.into_iter().for_each(|value| moments.add(value));
        moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_deviation_of_known_values() {
        let moments: Moments = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0].into_iter().collect();
        assert_eq!(moments.count(), 8);
        assert_eq!(moments.mean(), 5.0);
        assert!((moments.std_dev() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
    }

    #[test]
    fn equal_values_have_no_spread() {
        let moments: Moments = std::iter::repeat_n(0.1, 1000).collect();
        assert!(moments.std_dev() < 1e-15);
        assert_eq!(Moments::default().std_dev(), 0.0);
    }
}
