//! Several tests at once, where no intervals stand beside them: Holm's correction (Holm 1979, A Simple Sequentially Rejective
//! Multiple Test Procedure). Where intervals do, see [`Family`](super::Family).

/// What Holm's procedure says of one of several tests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The adjusted p-value: the test is rejected at every family-wise error that is at least this.
    pub p: f64,
    /// Whether it is rejected.
    pub rejected: bool,
    /// The error left for this test alone: an interval with it excludes the null value just if the test is rejected.
    pub error: f64,
}

/// Judges tests with these p-values, so that the probability of rejecting any true one is at most `family_error`.
///
/// The smallest p-value is held against error / m, the next against error / (m - 1), and so on, up to the first that fails.
pub fn holm(p_values: &[f64], family_error: f64) -> Vec<Judged> {
    let tests = p_values.len();
    let mut order: Vec<usize> = (0..tests).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]).then(a.cmp(b)));
    let mut judged = vec![Judged { p: 1.0, rejected: false, error: family_error }; tests];
    let (mut adjusted, mut stopped_at) = (0.0_f64, None);
    for (rank, index) in order.into_iter().enumerate() {
        let remaining = (tests - rank) as f64;
        adjusted = adjusted.max((p_values[index] * remaining).min(1.0));
        // The comparison is made once, here, so that `rejected` and `error` can't part.
        if stopped_at.is_none() && p_values[index] > family_error / remaining {
            stopped_at = Some(family_error / remaining);
        }
        judged[index] = Judged {
            p: adjusted,
            rejected: stopped_at.is_none(),
            error: stopped_at.unwrap_or(family_error / remaining),
        };
    }
    judged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn by_hand() {
        // p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") in R gives 0.03 0.06 0.06 0.02.
        let judged = holm(&[0.01, 0.04, 0.03, 0.005], 0.05);
        for (found, expected) in judged.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found.p - expected).abs() < 1e-15, "{found:?}");
        }
        let rejected: Vec<bool> = judged.iter().map(|test| test.rejected).collect();
        assert_eq!(rejected, [true, false, false, true]);
        // The strictest step has 0.05 / 4, the next 0.05 / 3; the third fails at 0.05 / 2, and so it stays for the last.
        let errors: Vec<f64> = judged.iter().map(|test| test.error).collect();
        assert_eq!(errors, [0.05 / 3.0, 0.05 / 2.0, 0.05 / 2.0, 0.05 / 4.0]);
    }

    #[test]
    fn one_test_needs_no_correction_and_none_is_none() {
        assert_eq!(holm(&[0.04], 0.05), [Judged { p: 0.04, rejected: true, error: 0.05 }]);
        assert_eq!(holm(&[], 0.05), []);
        assert_eq!(holm(&[0.6, 0.7], 0.05)[1].p, 1.0, "no p-value is above 1");
    }

    proptest! {
        #[test]
        fn rejection_is_what_p_and_error_say(p_values in prop::collection::vec(0.0..1.0_f64, 1..20)) {
            for (raw, test) in p_values.iter().zip(holm(&p_values, 0.05)) {
                prop_assert!(test.p >= *raw);
                prop_assert_eq!(test.rejected, *raw <= test.error);
                prop_assert!(test.rejected == (test.p <= 0.05) || (test.p - 0.05).abs() < 1e-12);
            }
        }
    }
}
