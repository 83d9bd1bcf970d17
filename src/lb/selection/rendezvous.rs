//! Rendezvous hashing (Thaler and Ravishankar 1998): each backend scores each key, the highest score wins
//! (HASH-3).
//!
//! Removing a backend moves only its own keys; adding one moves keys only to it. With weights the score is
//! `weight / -ln(u)` of a uniform hash `u`, so that shares are proportional to weights.

use std::cmp::Reverse;

use crate::ids::BackendId;
use crate::random::{hash_bytes, mix};

/// The members of one set.
#[derive(Clone, Debug, Default)]
pub(super) struct Rendezvous {
    members: Vec<Member>,
    /// How many members weigh other than 1.
    weighted: usize,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    salt: u64,
    id: BackendId,
    weight: f64,
}

impl Member {
    /// The score of a key among members of different weights. A weight of 0 never wins against another.
    fn weighted_score(&self, key: u64) -> f64 {
        let unit = (mix(key ^ self.salt) as f64 + 0.5) / (u64::MAX as f64 + 1.0);
        // The hash is never all ones here: a unit of 1.0 would score infinitely.
        self.weight / -libm::log(unit.min(1.0 - f64::EPSILON / 2.0))
    }
}

impl Rendezvous {
    /// Adds `id`, whose scores come from `name`.
    pub(super) fn add(&mut self, id: BackendId, name: &str, weight: f64) {
        self.weighted += usize::from(weight != 1.0);
        self.members.push(Member { salt: hash_bytes(0, name.as_bytes()), id, weight });
    }

    /// Removes `id`, if it is a member.
    pub(super) fn remove(&mut self, id: BackendId) {
        if let Some(position) = self.members.iter().position(|member| member.id == id) {
            let member = self.members.swap_remove(position);
            self.weighted -= usize::from(member.weight != 1.0);
        }
    }

    /// The member with the highest score for `key`; ties go to the lowest id.
    #[inline]
    pub(super) fn pick(&self, key: u64) -> Option<BackendId> {
        if self.weighted > 0 { self.pick_weighted(key) } else { self.pick_equal(key) }
    }

    #[inline]
    fn pick_equal(&self, key: u64) -> Option<BackendId> {
        let score = |member: &&Member| (mix(key ^ member.salt), Reverse(member.id));
        self.members.iter().max_by_key(score).map(|member| member.id)
    }

    /// Where all weigh nothing, all weigh the same (WGT-2).
    #[cold]
    fn pick_weighted(&self, key: u64) -> Option<BackendId> {
        if self.members.iter().all(|member| member.weight == 0.0) {
            return self.pick_equal(key);
        }
        let score = |member: &Member| member.weighted_score(key);
        let best = self.members.iter().max_by(|a, b| score(a).total_cmp(&score(b)).then(b.id.cmp(&a.id)));
        best.map(|member| member.id)
    }
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
