//! A log-linear histogram of whole numbers: quantiles within 0.4 % at a few nanoseconds a record.
//!
//! As in HdrHistogram, each power of two is cut into equal buckets (128 here), so the relative error of a
//! bucket's midpoint is at most 1/256. Values below 256 are exact.

use serde::{Deserialize, Serialize};

const SUB_BITS: u32 = 7;
const SUB_BUCKETS: u64 = 1 << SUB_BITS;

/// Counts of values, with exact count, sum, and largest value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Sparse", into = "Sparse")]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

#[derive(Serialize, Deserialize)]
struct Sparse {
    buckets: usize,
    filled: Vec<(usize, u64)>,
    sum: u128,
    max: u64,
}

impl From<Histogram> for Sparse {
    fn from(histogram: Histogram) -> Self {
        let counts = histogram.counts.iter().copied().enumerate();
        Self {
            buckets: histogram.counts.len(),
            filled: counts.filter(|(_, count)| *count > 0).collect(),
            sum: histogram.sum,
            max: histogram.max,
        }
    }
}

impl TryFrom<Sparse> for Histogram {
    type Error = &'static str;
    fn try_from(sparse: Sparse) -> Result<Self, Self::Error> {
        if sparse.buckets > bucket(u64::MAX) + 1 {
            return Err("a histogram has more buckets than there are");
        }
        let (mut counts, mut all) = (vec![0; sparse.buckets], 0_u64);
        for (index, count) in sparse.filled {
            *counts.get_mut(index).ok_or("a histogram has a bucket beyond its last one")? = count;
            all = all
                .checked_add(count)
                .filter(|all| *all <= 1 << 53)
                .ok_or("a histogram counts more than can be counted")?;
        }
        Ok(Self { count: all, counts, sum: sparse.sum, max: sparse.max })
    }
}

#[inline]
fn bucket(value: u64) -> usize {
    // The lowest two octaves are one, of buckets of width 1.
    let octave = (value | (2 * SUB_BUCKETS - 1)).ilog2() - SUB_BITS;
    ((u64::from(octave) * SUB_BUCKETS) + (value >> octave)) as usize
}

/// The midpoint of bucket `index`, rounded down.
fn midpoint(index: usize) -> u64 {
    let index = index as u64;
    if index < 2 * SUB_BUCKETS {
        return index;
    }
    let octave = index / SUB_BUCKETS - 1;
    let low = (index - octave * SUB_BUCKETS) << octave;
    low + ((1 << octave) - 1) / 2
}

impl Histogram {
    /// Adds one value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        let index = bucket(value);
        if index >= self.counts.len() {
            self.grow(index);
        }
        self.counts[index] += 1;
        self.count += 1;
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    #[cold]
    fn grow(&mut self, index: usize) {
        let octaves = index as u64 / SUB_BUCKETS + 1;
        self.counts.resize((octaves * SUB_BUCKETS) as usize, 0);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// Forgets every value, keeping the memory.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.count = 0;
        self.sum = 0;
        self.max = 0;
    }

    /// How many values were added.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// How many values lie above `limit`, those within 0.4 % of it on either side of it.
    pub fn count_above(&self, limit: u64) -> u64 {
        self.counts.iter().skip(bucket(limit) + 1).sum()
    }

    /// Every value within 0.4 %, in order, each with how often it was added.
    pub fn values(&self) -> impl Iterator<Item = (u64, u64)> {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(index, count)| (midpoint(index).min(self.max), *count))
    }

    /// The exact sum.
    pub fn sum(&self) -> f64 {
        self.sum as f64
    }

    /// The exact mean, if there are values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The exact largest value, if there are values.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The `per_mille`-th quantile (990 = p99) within 0.4 %: the smallest recorded bucket that this share of the values
    /// do not exceed. `None` if fewer than ten values lie beyond it, as that is noise: p99 needs 1000 values, p99.9
    /// needs 10000.
    pub fn quantile(&self, per_mille: u64) -> Option<u64> {
        let beyond = self.count * (1000 - per_mille);
        if beyond < 10 * 1000 {
            return None;
        }
        let rank = (self.count * per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        let index = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(midpoint(index).min(self.max))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn small_values_are_exact() {
        for value in 0..2 * SUB_BUCKETS {
            assert_eq!(midpoint(bucket(value)), value);
        }
    }

    #[test]
    fn values_come_back_in_order_with_their_counts() {
        let mut histogram = Histogram::default();
        [7, 1_000_000, 7, 0].into_iter().for_each(|value| histogram.record(value));
        let found: Vec<(u64, u64)> = histogram.values().collect();
        assert_eq!(found[..2], [(0, 1), (7, 2)]);
        assert!(found.len() == 3 && found[2].1 == 1 && found[2].0.abs_diff(1_000_000) < 4000, "{found:?}");
    }

    #[test]
    fn values_above_a_limit_are_counted() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.count_above(0), 0);
        [3, 5, 7, 1_000_000].into_iter().for_each(|value| histogram.record(value));
        let above = [0, 3, 5, 999_999_999].map(|limit| histogram.count_above(limit));
        assert_eq!(above, [4, 3, 2, 0]);
    }

    #[test]
    fn too_few_values_give_no_quantile() {
        let mut histogram = Histogram::default();
        (0..999).for_each(|value| histogram.record(value));
        assert_eq!(histogram.quantile(990), None);
        histogram.record(5000);
        assert!(histogram.quantile(990).is_some());
        assert_eq!(histogram.quantile(999), None);
        assert_eq!(histogram.max(), Some(5000));
    }

    proptest! {
        #[test]
        fn midpoints_lie_within_half_a_percent(value in any::<u64>()) {
            let found = midpoint(bucket(value));
            prop_assert!(found.abs_diff(value) as f64 <= value as f64 / 256.0);
        }

        #[test]
        fn buckets_are_in_order(a in any::<u64>(), b in any::<u64>()) {
            let (low, high) = (a.min(b), a.max(b));
            prop_assert!(bucket(low) <= bucket(high));
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_values(
            mut values in prop::collection::vec(0_u64..1 << 40, 2000..3000),
            per_mille in prop::sample::select(vec![500_u64, 900, 990]),
        ) {
            let mut histogram = Histogram::default();
            let (left, right) = values.split_at(values.len() / 3);
            left.iter().for_each(|value| histogram.record(*value));
            let mut other = Histogram::default();
            right.iter().for_each(|value| other.record(*value));
            histogram.merge(&other);
            values.sort_unstable();
            let rank = (values.len() as u64 * per_mille).div_ceil(1000) as usize;
            let exact = values[rank - 1];
            let found = histogram.quantile(per_mille).unwrap();
            prop_assert!(found.abs_diff(exact) as f64 <= exact as f64 / 256.0 + 1.0);
            prop_assert_eq!(histogram.count(), values.len() as u64);
        }
    }
}
