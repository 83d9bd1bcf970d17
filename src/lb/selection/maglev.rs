//! Maglev hashing (Eisenbud et al., NSDI 2016, section 3.4; HASH-4): a table of entries that backends claim in turns.
//!
//! Each backend walks the table in an order of its own, a permutation given by an offset and a skip, and claims the
//! next free entry when it is its turn. With equal weights shares differ by at most one entry. A key's backend is
//! that of entry `key mod size`. With weights a backend takes its turn as often as its weight says.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ids::BackendId;
use crate::random::hash_bytes;
use crate::unfit::Unfit;

/// The number of entries of a table: a prime, so that every skip walks through all entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "u32", into = "u32")]
#[schemars(extend("minimum" = 2, "maximum" = 10_000_000))]
pub struct TableSize(u32);

impl Default for TableSize {
    fn default() -> Self {
        Self(65_537)
    }
}

fn is_prime(number: u32) -> bool {
    number >= 2
        && (2..)
            .take_while(|divisor| divisor * divisor <= number)
            .all(|divisor| !number.is_multiple_of(divisor))
}

impl TryFrom<u32> for TableSize {
    type Error = Unfit;
    fn try_from(size: u32) -> Result<Self, Unfit> {
        if size > 10_000_000 {
            return Err(Unfit(format!(
                "{size} is larger than a Maglev table here may be; write a prime up to 10000000"
            )));
        }
        if is_prime(size) {
            return Ok(Self(size));
        }
        let next = (size..).find(|number| is_prime(*number)).expect("there are more primes");
        Err(Unfit(format!("{size} is not prime; write a prime, such as {next}")))
    }
}

impl From<TableSize> for u32 {
    fn from(size: TableSize) -> Self {
        size.0
    }
}

#[derive(Clone, Copy, Debug)]
struct Walk {
    offset: u32,
    skip: u32,
}

impl Walk {
    fn of(name: &str, size: TableSize) -> Self {
        let hash = |seed, range: u32| (hash_bytes(seed, name.as_bytes()) % u64::from(range)) as u32;
        Self { offset: hash(1, size.0), skip: hash(2, size.0 - 1) + 1 }
    }

    fn entry(self, steps: u32, size: TableSize) -> usize {
        ((u64::from(self.offset) + u64::from(steps) * u64::from(self.skip)) % u64::from(size.0)) as usize
    }
}

#[derive(Clone, Debug, Default)]
pub(super) struct Maglev {
    entries: Vec<BackendId>,
}

impl Maglev {
    /// The table of `candidates`, each with its name and its weight, which is above zero. It does not depend on their order.
    pub(super) fn new(size: TableSize, mut candidates: Vec<(BackendId, &str, f64)>) -> Self {
        candidates.sort_by_key(|(_, name, _)| *name);
        let walks: Vec<(Walk, f64)> =
            candidates.iter().map(|(_, name, weight)| (Walk::of(name, size), *weight)).collect();
        Self { entries: fill(size, &walks).into_iter().map(|position| candidates[position].0).collect() }
    }

    #[inline]
    pub(super) fn pick(&self, key: u64) -> Option<BackendId> {
        let size = u64::try_from(self.entries.len()).expect("a table is small");
        (size > 0).then(|| self.entries[(key % size) as usize])
    }
}

/// Fills a table: for each entry, the position of its walk.
fn fill(size: TableSize, walks: &[(Walk, f64)]) -> Vec<usize> {
    let heaviest = walks.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
    if walks.is_empty() {
        return Vec::new();
    }
    let mut owners: Vec<Option<usize>> = vec![None; size.0 as usize];
    let mut steps = vec![0; walks.len()];
    // A backend has its turn when its credit reaches one; the heaviest one in every round.
    let mut credits = vec![0.0; walks.len()];
    let mut free = owners.len();
    loop {
        for (position, (walk, weight)) in walks.iter().enumerate() {
            credits[position] += weight / heaviest;
            if credits[position] < 1.0 {
                continue;
            }
            credits[position] -= 1.0;
            loop {
                let entry = walk.entry(steps[position], size);
                steps[position] += 1;
                if owners[entry].is_none() {
                    owners[entry] = Some(position);
                    break;
                }
            }
            free -= 1;
            if free == 0 {
                return owners.into_iter().map(|owner| owner.expect("every entry is claimed")).collect();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::ids::Id;
    use crate::random::mix;

    fn walks(pairs: &[(u32, u32)]) -> Vec<(Walk, f64)> {
        pairs.iter().map(|(offset, skip)| (Walk { offset: *offset, skip: *skip }, 1.0)).collect()
    }

    #[test]
    fn hash_4_the_papers_example() {
        let seven = TableSize::try_from(7).unwrap();
        let permutation = |walk: Walk| (0..7).map(|step| walk.entry(step, seven)).collect::<Vec<_>>();
        let three = walks(&[(3, 4), (0, 2), (3, 1)]);
        assert_eq!(permutation(three[0].0), [3, 0, 4, 1, 5, 2, 6]);
        assert_eq!(permutation(three[1].0), [0, 2, 4, 6, 1, 3, 5]);
        assert_eq!(permutation(three[2].0), [3, 4, 5, 6, 0, 1, 2]);
        assert_eq!(fill(seven, &three), [1, 0, 1, 0, 2, 2, 0]);
        // Without B1, positions 0 and 1 stand for B0 and B2.
        assert_eq!(fill(seven, &walks(&[(3, 4), (3, 1)])), [0, 0, 0, 0, 1, 1, 1]);
    }

    /// A table of the backends with these numbers, whose names count on from `first`.
    fn table(first: usize, indices: impl IntoIterator<Item = usize>, size: u32) -> Maglev {
        let names: Vec<(usize, String)> =
            indices.into_iter().map(|index| (index, format!("vm-{}", first + index))).collect();
        let candidates =
            names.iter().map(|(index, name)| (BackendId::from_index(*index), name.as_str(), 1.0));
        Maglev::new(TableSize::try_from(size).unwrap(), candidates.collect())
    }

    /// Of all entries: those that change when `gone` backends of `count` go, and those of survivors that change.
    /// `first` is the number of the first one: other numbers are other names.
    fn disruption(first: usize, count: usize, size: u32, gone: &[usize]) -> (f64, f64) {
        let before = table(first, 0..count, size);
        let after = table(first, (0..count).filter(|index| !gone.contains(index)), size);
        let pairs = || before.entries.iter().zip(&after.entries);
        let changed = pairs().filter(|(old, new)| old != new).count();
        let stays = |id: &BackendId| !gone.contains(&id.index());
        let survived = pairs().filter(|(old, _)| stays(old)).count();
        let needless = pairs().filter(|(old, new)| old != new && stays(old)).count();
        (changed as f64 / f64::from(size), needless as f64 / survived as f64)
    }

    /// The published figures (share of all entries changed, share of surviving entries needlessly moved, in per
    /// cent) are means over 3 to 20 runs with other names; small tables vary most, so they get more runs here.
    #[test]
    fn hash_6_disruption() {
        for (count, size, removed, changed, needless) in [
            (3, 65_537, 1, 33.4, 0.04),
            (10, 65_537, 1, 10.2, 0.26),
            (100, 65_537, 1, 1.59, 0.60),
            (1000, 65_537, 10, 3.4, 2.4),
            (1000, 65_537, 50, 8.3, 3.4),
            (10, 1_009, 1, 12.1, 2.4),
            (10, 251, 1, 15.4, 6.0),
            (100, 655_373, 1, 1.15, 0.15),
        ] {
            let runs = if size < 2000 { 200 } else { 3 };
            let (mut all, mut moved) = (0.0, 0.0);
            for run in 0..runs {
                let gone: Vec<usize> = (0..removed).map(|index| (run + index * 7) % count).collect();
                let (found_all, found_moved) = disruption(run * 10_000, count, size, &gone);
                all += found_all * 100.0 / runs as f64;
                moved += found_moved * 100.0 / runs as f64;
            }
            let close = |found: f64, expected: f64| (found - expected).abs() <= (expected * 0.25).max(0.15);
            assert!(close(all, changed), "{count} of {size}: {all:.2} % changed, published {changed} %");
            assert!(close(moved, needless), "{count} of {size}: {moved:.2} % moved, published {needless} %");
        }
    }

    #[test]
    fn hash_5_tables_are_even() {
        // 1 000 backends: over-provisioning (largest share over mean) near zero at both sizes.
        for size in [65_537, 655_373] {
            let mut counts = vec![0_u32; 1000];
            table(0, 0..1000, size).entries.iter().for_each(|id| counts[id.index()] += 1);
            let largest = f64::from(*counts.iter().max().unwrap());
            assert!(largest / (f64::from(size) / 1000.0) < 1.01, "{largest} of {size}");
        }
    }

    proptest! {
        #[test]
        fn hash_4_shares_differ_by_one_entry_at_most(count in 1_usize..60, size in prop::sample::select(vec![251_u32, 1009, 5003])) {
            let mut counts = vec![0; count];
            table(0, 0..count, size).entries.iter().for_each(|id| counts[id.index()] += 1);
            prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1, "{:?}", counts);
            prop_assert_eq!(counts.iter().sum::<u32>(), size);
        }

        #[test]
        fn the_order_of_backends_does_not_matter(order in Just((0..9).collect::<Vec<_>>()).prop_shuffle()) {
            prop_assert_eq!(table(0, order, 251).entries, table(0, 0..9, 251).entries);
        }
    }

    #[test]
    fn weights_set_the_shares() {
        let names = ["light", "heavy", "heaviest"];
        let weights = [1.0, 2.0, 5.0];
        let candidates = (0..3).map(|index| (BackendId::from_index(index), names[index], weights[index]));
        let maglev = Maglev::new(TableSize::default(), candidates.collect());
        let mut counts = [0_u32; 3];
        (0..80_000).for_each(|key| counts[maglev.pick(mix(key)).unwrap().index()] += 1);
        for (count, weight) in counts.into_iter().zip(weights) {
            let expected = 80_000.0 * weight / 8.0;
            assert!(
                (f64::from(count) - expected).abs() < 5.0 * expected.sqrt() + 10.0,
                "{count} of {expected}"
            );
        }
    }

    #[test]
    fn sizes_are_primes() {
        for size in [0, 1, 4, 65_536, 655_371] {
            assert!(TableSize::try_from(size).is_err(), "{size}");
        }
        assert_eq!(
            TableSize::try_from(65_536).unwrap_err().to_string(),
            "65536 is not prime; write a prime, such as 65537"
        );
        assert_eq!(Maglev::new(TableSize::default(), Vec::new()).pick(1), None);
    }
}
