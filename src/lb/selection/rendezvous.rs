//! Rendezvous hashing (Thaler and Ravishankar 1998): each backend scores each key, the highest score wins
//! (HASH-3, equal weights).
//!
//! Removing a backend moves only its own keys; adding one moves keys only to it.

use std::cmp::Reverse;

use crate::ids::BackendId;
use crate::random::{hash_bytes, mix};

/// The members of one set.
#[derive(Clone, Debug, Default)]
pub(super) struct Rendezvous {
    members: Vec<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Member {
    salt: u64,
    id: BackendId,
}

impl Rendezvous {
    /// Adds `id`, whose scores come from `name`.
    pub(super) fn add(&mut self, id: BackendId, name: &str) {
        self.members.push(Member { salt: hash_bytes(0, name.as_bytes()), id });
    }

    /// Removes `id`, if it is a member.
    pub(super) fn remove(&mut self, id: BackendId) {
        if let Some(position) = self.members.iter().position(|member| member.id == id) {
            self.members.swap_remove(position);
        }
    }

    /// The member with the highest score for `key`; ties go to the lowest id.
    #[inline]
    pub(super) fn pick(&self, key: u64) -> Option<BackendId> {
        self.members
            .iter()
            .max_by_key(|member| (mix(key ^ member.salt), Reverse(member.id)))
            .map(|member| member.id)
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
            .for_each(|index| rendezvous.add(BackendId::from_index(index), &format!("ig-{index}")));
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
                restored.add(removed, &format!("ig-{}", removed.index()));
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
}
