//! Rendezvous hashing (Thaler and Ravishankar 1998; HASH-3): each backend scores each key, the highest score wins.
//!
//! Removing a backend moves only its own keys; adding one moves keys only to it. With weights the score is
//! `weight / -ln(u)` of a uniform hash `u`, so that shares are proportional to weights.

use crate::ids::BackendId;
use crate::random::{fold, hash_bytes, mix};

/// The members of one set, in order of their ids.
#[derive(Clone, Debug, Default)]
pub(super) struct Rendezvous {
    ids: Vec<BackendId>,
    /// What each one's scores come from; apart from the ids, because every pick reads all of them.
    salts: Vec<u64>,
    weights: Vec<f64>,
    /// How many members weigh other than 1.
    weighted: usize,
}

impl Rendezvous {
    pub(super) fn add(&mut self, id: BackendId, name: &str, weight: f64) {
        let position = self.ids.partition_point(|other| *other < id);
        self.weighted += usize::from(weight != 1.0);
        self.ids.insert(position, id);
        self.salts.insert(position, hash_bytes(0, name.as_bytes()));
        self.weights.insert(position, weight);
    }

    pub(super) fn remove(&mut self, id: BackendId) {
        if let Ok(position) = self.ids.binary_search(&id) {
            self.ids.remove(position);
            self.salts.remove(position);
            self.weighted -= usize::from(self.weights.remove(position) != 1.0);
        }
    }

    pub(super) fn is_weighted(&self) -> bool {
        self.weighted > 0
    }

    /// The member with the highest score for `key`; ties go to the lowest id.
    #[inline]
    pub(super) fn pick(&self, key: u64) -> Option<BackendId> {
        if self.is_weighted() { self.pick_weighted(key) } else { self.pick_equal(key) }
    }

    #[inline]
    fn pick_equal(&self, key: u64) -> Option<BackendId> {
        let (first, others) = self.salts.split_first()?;
        let mut best = (score(key, *first), 0);
        for (salt, position) in others.iter().zip(1..) {
            let score = score(key, *salt);
            if score > best.0 {
                best = (score, position);
            }
        }
        Some(self.ids[best.1])
    }

    /// Where all weigh nothing, all weigh the same (WGT-2).
    #[cold]
    fn pick_weighted(&self, key: u64) -> Option<BackendId> {
        if self.weights.iter().all(|weight| *weight == 0.0) {
            return self.pick_equal(key);
        }
        let score = |position: &usize| weighted_score(key, self.salts[*position], self.weights[*position]);
        let best = (0..self.ids.len()).max_by(|a, b| score(a).total_cmp(&score(b)).then(b.cmp(a)));
        best.map(|position| self.ids[position])
    }
}

/// The score of a key among members of equal weight. Keys and salts are hashes themselves, so a product mixes enough.
#[inline]
fn score(key: u64, salt: u64) -> u64 {
    fold(key ^ salt)
}

/// The score of a key among members of different weights. A weight of 0 never wins against another.
fn weighted_score(key: u64, salt: u64, weight: f64) -> f64 {
    let unit = (mix(key ^ salt) as f64 + 0.5) / (u64::MAX as f64 + 1.0);
    // The hash is never all ones here: a unit of 1.0 would score infinitely.
    weight / -libm::log(unit.min(1.0 - f64::EPSILON / 2.0))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::Id;

    fn of(members: impl IntoIterator<Item = usize>) -> Rendezvous {
        let mut rendezvous = Rendezvous::default();
        members
            .into_iter()
            .for_each(|index| rendezvous.add(BackendId::from_index(index), &format!("ig-{index}"), 1.0));
        rendezvous
    }

    proptest! {
        #[test]
        fn hash_3_removal_moves_only_the_removed_backends_keys(
            size in 2_usize..20, removed in 0_usize..20, keys in prop::collection::vec(any::<u64>(), 50),
        ) {
            let removed = BackendId::from_index(removed % size);
            let whole = of(0..size);
            let mut reduced = whole.clone();
            reduced.remove(removed);
            for key in keys {
                let before = whole.pick(key).unwrap();
                let after = reduced.pick(key).unwrap();
                prop_assert!(after == before || before == removed);
                prop_assert_ne!(after, removed);
                // Seen the other way round: adding a backend moves keys only to it.
                let mut restored = reduced.clone();
                restored.add(removed, &format!("ig-{}", removed.index()), 1.0);
                prop_assert_eq!(restored.pick(key).unwrap(), before);
            }
        }

        #[test]
        fn order_of_members_does_not_matter(order in Just((0..9).collect::<Vec<_>>()).prop_shuffle(), key in any::<u64>()) {
            prop_assert_eq!(of(order).pick(key), of(0..9).pick(key));
        }
    }

    #[test]
    fn hash_1_shares_are_binomial_and_changes_move_one_nth() {
        const KEYS: u64 = 200_000;
        let ten = of(0..10);
        let nine = of(0..9);
        let mut counts = [0_u64; 10];
        let mut moved = 0_u64;
        for key in (0..KEYS).map(mix) {
            let backend = ten.pick(key).unwrap();
            counts[backend.index()] += 1;
            moved += u64::from(nine.pick(key) != Some(backend));
        }
        // Binomial with p = 1/10; five standard deviations for ten counts and the moved keys.
        let tolerance = 5.0 * (KEYS as f64 * 0.1 * 0.9).sqrt();
        for count in counts.into_iter().chain([moved]) {
            assert!((count as f64 - KEYS as f64 / 10.0).abs() < tolerance, "{count}");
        }
    }

    #[test]
    fn nobody_is_picked_from_nobody() {
        assert_eq!(of([]).pick(1), None);
    }

    #[test]
    fn hash_3_weights_set_the_shares_and_zero_gets_nothing() {
        const KEYS: u64 = 100_000;
        let with = |weights: &[f64]| {
            let mut rendezvous = Rendezvous::default();
            for (index, weight) in weights.iter().enumerate() {
                rendezvous.add(BackendId::from_index(index), &format!("ig-{index}"), *weight);
            }
            let mut counts = vec![0_u64; weights.len()];
            (0..KEYS).for_each(|key| counts[rendezvous.pick(mix(key)).unwrap().index()] += 1);
            counts
        };
        for weights in [[1.0, 2.0, 0.5, 0.0], [0.0, 0.0, 0.0, 0.0], [100.0, 300.0, 0.0, 0.0]] {
            let total: f64 = weights.iter().sum();
            for (count, weight) in with(&weights).into_iter().zip(weights) {
                let share = if total == 0.0 { 0.25 } else { weight / total };
                let tolerance = 5.0 * (KEYS as f64 * share * (1.0 - share)).sqrt();
                assert!(
                    (count as f64 - KEYS as f64 * share).abs() <= tolerance,
                    "{count} with {weight} of {weights:?}"
                );
            }
        }
    }

    #[test]
    fn hash_3_removal_with_weights_moves_only_the_removed_backends_keys() {
        let mut rendezvous = Rendezvous::default();
        (0..6).for_each(|index| {
            rendezvous.add(BackendId::from_index(index), &format!("ig-{index}"), 1.0 + index as f64);
        });
        let mut reduced = rendezvous.clone();
        reduced.remove(BackendId::from_index(4));
        for key in (0..2000).map(mix) {
            let before = rendezvous.pick(key).unwrap();
            assert!(before.index() == 4 || reduced.pick(key) == Some(before));
        }
    }
}
