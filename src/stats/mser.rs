//! MSER-5: where a series that begins unlike the rest is to be cut (White 1997; White, Cobb and Spratt 2000).
//!
//! Of means over batches of five samples those are deleted without which the standard error of the mean of the rest is
//! the smallest, as if they were independent. Only the first half is looked at: a minimum beyond it, or at its end, has
//! too little behind it to be believed.

use super::Moments;

/// How many samples make a batch.
pub const MSER_BATCH: usize = 5;
/// The fewest batches that can be judged.
pub const MSER_BATCHES_MIN: usize = 10;

/// Where a series is to be cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// How many batches are to be deleted: at most half of them.
    pub deleted: usize,
    /// Whether that is all that may be deleted: perhaps more should be.
    pub is_at_limit: bool,
}

/// Where the series with these `batches` is to be cut.
pub fn mser(batches: &[f64]) -> Truncation {
    let limit = batches.len() / 2;
    let mut rest = Moments::default();
    let mut errors = vec![0.0; batches.len()];
    for (index, batch) in batches.iter().enumerate().rev() {
        rest.add(*batch);
        let (count, deviation) = (rest.count() as f64, rest.std_dev());
        // The sum of squares over the square of the count.
        errors[index] = deviation * deviation * (count - 1.0) / (count * count);
    }
    // The first of equal ones: nothing is deleted without need.
    let deleted = (0..=limit.min(batches.len().saturating_sub(1)))
        .min_by(|a, b| errors[*a].total_cmp(&errors[*b]))
        .unwrap_or(0);
    Truncation { deleted, is_at_limit: deleted > 0 && deleted == limit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RunSeed, normal};

    #[test]
    fn by_hand() {
        // Squares over n²: all 12.5/36... Deleting the first leaves no spread at all.
        assert_eq!(mser(&[5.0, 1.0, 1.0, 1.0, 1.0, 1.0]), Truncation { deleted: 1, is_at_limit: false });
        // 0 and 2 of eight: with both 6.5/64, without the 0 0.857/49, without both nothing.
        let two = [0.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        assert_eq!(mser(&two), Truncation { deleted: 2, is_at_limit: false });
        assert_eq!(mser(&[3.0; 12]), Truncation { deleted: 0, is_at_limit: false });
        assert_eq!(mser(&[]), Truncation { deleted: 0, is_at_limit: false });
    }

    #[test]
    fn a_series_that_goes_on_rising_has_no_end_of_its_beginning() {
        let rising: Vec<f64> = (0..40).map(f64::from).collect();
        assert_eq!(mser(&rising), Truncation { deleted: 20, is_at_limit: true });
    }

    #[test]
    fn a_transient_in_noise_is_cut_where_it_drowns_in_it() {
        let mut rng = RunSeed::new(2, 0).stream(Purpose::Connections, "mser").generator();
        for _ in 0..100 {
            // From 0 to 10 with a time constant of 3 batches, noise 0.3: below the noise after some 3 ln 33 batches.
            let series: Vec<f64> = (0..60)
                .map(|time| 10.0 * (1.0 - libm::exp(-f64::from(time) / 3.0)) + 0.3 * normal(&mut rng))
                .collect();
            let found = mser(&series);
            assert!((5..25).contains(&found.deleted) && !found.is_at_limit, "{found:?}");
        }
    }
}
