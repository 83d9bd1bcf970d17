//! Weights that backends report with their health check replies (rules WGT-1 to WGT-3).

use crate::ids::{BackendId, IdVec};

/// What the load balancer knows of a backend's weight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WeightState {
    /// No reply has been processed yet, or the last probe timed out.
    #[default]
    Unavailable,
    /// The last reply had this weight: zero or more.
    Valid(f64),
    /// The last reply had a weight that is none.
    Invalid,
    /// The last reply had no weight.
    Missing,
}

/// The weight by which each backend is selected: its last valid one, or 1. All are equal as soon as one configured
/// backend reported an invalid weight or none.
pub fn effective_weights(
    states: &IdVec<BackendId, WeightState>,
    last_valid: &IdVec<BackendId, f64>,
    is_configured: impl Fn(BackendId) -> bool,
) -> IdVec<BackendId, f64> {
    let spoils = |state: &WeightState| matches!(state, WeightState::Invalid | WeightState::Missing);
    if states.pairs().any(|(id, state)| is_configured(id) && spoils(state)) {
        return states.iter().map(|_| 1.0).collect();
    }
    last_valid.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Id;

    #[test]
    fn wgt_1_one_bad_weight_makes_all_equal() {
        let last: IdVec<BackendId, f64> = [2.0, 3.0, 1.0].into_iter().collect();
        let weights = |states: [WeightState; 3], configured: [bool; 3]| -> Vec<f64> {
            let states = states.into_iter().collect();
            effective_weights(&states, &last, |id| configured[id.index()]).into_iter().collect()
        };
        use WeightState::{Invalid, Missing, Unavailable, Valid};
        let all = [true; 3];
        assert_eq!(weights([Valid(2.0), Valid(3.0), Unavailable], all), [2.0, 3.0, 1.0]);
        assert_eq!(weights([Valid(2.0), Unavailable, Unavailable], all), [2.0, 3.0, 1.0]);
        assert_eq!(weights([Valid(2.0), Valid(3.0), Invalid], all), [1.0; 3]);
        assert_eq!(weights([Valid(2.0), Missing, Valid(1.0)], all), [1.0; 3]);
        assert_eq!(weights([Valid(2.0), Valid(3.0), Missing], [true, true, false]), [2.0, 3.0, 1.0]);
    }
}
