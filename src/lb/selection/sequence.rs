//! Consistent hashing at a cost that does not grow with the number of backends (DxHash, Dong and Wang 2021,
//! arXiv:2107.07930).
//!
//! Every backend that may ever be a member has a seat. A key tries seats in a pseudo-random order of its own, and goes
//! to the member in the first one that is taken: a backend that leaves moves only its own keys, and one that comes
//! takes keys from the others alone (HASH-1). If many tries fail, the members are few, and rendezvous hashing among
//! them decides; that moves no other keys either.

use super::rendezvous::Rendezvous;
use crate::ids::BackendId;
use crate::random::mix;

const SEATS_PER_WORD: u32 = 4;
const BITS: u32 = u64::BITS / SEATS_PER_WORD;
/// Words that a key tries.
const WORDS: u64 = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct Sequence {
    /// A power of two, no less than the backends that may ever be members; none before the first member.
    seats: Vec<Option<BackendId>>,
    members: Rendezvous,
}

impl Sequence {
    pub(super) fn add(&mut self, id: BackendId, (seat, seats): (usize, usize), name: &str, weight: f64) {
        if self.seats.is_empty() {
            assert!(seats <= 1 << BITS, "a word names {SEATS_PER_WORD} seats");
            self.seats.resize(seats.next_power_of_two(), None);
        }
        self.seats[seat] = Some(id);
        self.members.add(id, name, weight);
    }

    pub(super) fn remove(&mut self, id: BackendId, seat: usize) {
        self.seats[seat] = None;
        self.members.remove(id);
    }

    /// Among members of different weights all are scored.
    #[inline]
    pub(super) fn pick(&self, key: u64) -> Option<BackendId> {
        if self.members.is_weighted() {
            return self.members.pick(key);
        }
        let last = self.seats.len().checked_sub(1)?;
        for number in 0..WORDS {
            let word = mix(key ^ mix(number));
            for part in 0..SEATS_PER_WORD {
                if let Some(id) = self.seats[(word >> (part * BITS)) as usize & last] {
                    return Some(id);
                }
            }
        }
        self.members.pick(key)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::Id;

    const SEATS: usize = 1000;

    fn name(index: usize) -> String {
        format!("ig-{index}")
    }

    fn of(members: impl IntoIterator<Item = usize>) -> Sequence {
        let mut sequence = Sequence::default();
        for index in members {
            sequence.add(BackendId::from_index(index), (index, SEATS), &name(index), 1.0);
        }
        sequence
    }

    fn without(sequence: &Sequence, index: usize) -> Sequence {
        let mut reduced = sequence.clone();
        reduced.remove(BackendId::from_index(index), index);
        reduced
    }

    proptest! {
        #[test]
        fn hash_1_changes_move_only_the_changed_backends_keys(
            members in prop::collection::btree_set(0..SEATS, 2..1000),
            which in any::<prop::sample::Index>(),
            keys in prop::collection::vec(any::<u64>(), 50),
        ) {
            let members: Vec<usize> = members.into_iter().collect();
            let changed = members[which.index(members.len())];
            let whole = of(members.iter().copied());
            let reduced = without(&whole, changed);
            let changed = BackendId::from_index(changed);
            for key in keys {
                let (before, after) = (whole.pick(key).unwrap(), reduced.pick(key).unwrap());
                prop_assert!(after == before || before == changed);
                prop_assert_ne!(after, changed);
            }
        }

        #[test]
        fn only_who_is_a_member_matters(
            first in Just((0..40).collect::<Vec<usize>>()).prop_shuffle(), guests in 100_usize..200, key in any::<u64>(),
        ) {
            let mut sequence = of(first);
            for guest in 100..guests {
                sequence.add(BackendId::from_index(guest), (guest, SEATS), &name(guest), 1.0);
            }
            for guest in 100..guests {
                sequence = without(&sequence, guest);
            }
            prop_assert_eq!(sequence.pick(key), of(0..40).pick(key));
        }
    }

    #[test]
    fn hash_1_shares_are_equal_with_few_members_and_with_many() {
        const KEYS: u64 = 200_000;
        // Of three members nearly every key finds no seat; of a thousand nearly every key does.
        for count in [3, 30, 200, 1000] {
            let sequence = of((0..count).map(|index| index * SEATS / count));
            let mut counts = vec![0_u64; SEATS];
            (0..KEYS).for_each(|key| counts[sequence.pick(mix(key)).unwrap().index()] += 1);
            let mean = KEYS as f64 / count as f64;
            let chi_square: f64 = counts
                .iter()
                .filter(|found| **found > 0)
                .map(|found| (*found as f64 - mean).powi(2) / mean)
                .sum();
            let freedom = (count - 1) as f64;
            // Five standard deviations of chi-square.
            assert!((chi_square - freedom).abs() < 5.0 * (2.0 * freedom).sqrt(), "{count}: {chi_square}");
            assert_eq!(counts.iter().filter(|found| **found > 0).count(), count);
        }
    }

    #[test]
    fn weights_set_the_shares_here_too() {
        const KEYS: u64 = 20_000;
        let mut sequence = of([]);
        for (index, weight) in [(3, 1.0), (500, 3.0), (900, 0.0)] {
            sequence.add(BackendId::from_index(index), (index, SEATS), &name(index), weight);
        }
        let first =
            (0..KEYS).filter(|key| sequence.pick(mix(*key)) == Some(BackendId::from_index(3))).count();
        let tolerance = 5.0 * (KEYS as f64 * 0.25 * 0.75).sqrt();
        assert!((first as f64 - KEYS as f64 / 4.0).abs() < tolerance, "{first}");
    }

    #[test]
    fn nobody_is_picked_from_nobody() {
        assert_eq!(of([]).pick(1), None);
        assert_eq!(without(&of([7]), 7).pick(1), None);
    }
}
