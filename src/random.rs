//! Randomness: one seed, named streams, portable draws.
//!
//! Every stream is keyed by (seed, replication, purpose, entity name), never by arm, thread or order of use: every arm
//! meets the same arrivals, failures, sizes and network noise (common random numbers), and a draw that is added in one
//! place shifts nothing elsewhere. Within a connection each draw has a key of its own ([`StreamKey::child`]), because
//! the order of a connection's events differs from arm to arm.
//!
//! Generators: xoshiro256++ (Blackman and Vigna 2021) for long streams, SplitMix64 (Steele, Lea and Flood 2014) for a
//! few draws.

mod distribution;
mod exp;
mod portable;
#[cfg(test)]
pub(crate) mod testing;
mod ziggurat;

use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus};

pub use distribution::{Bytes, Count, Distribution, Quantity};
pub use ziggurat::{exponential, normal, open_unit};

/// What a stream of random numbers is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Times between the connections of a client group.
    Arrivals,
    /// Which of its addresses a client group sends from.
    Addresses,
    /// What one connection does and meets: requests, think times, sizes, service times, round trips.
    Connections,
    /// When a backend fails and for how long.
    Failures,
    /// When a backend's probes start.
    ProbePhase,
    /// How long a backend's probes travel.
    ProbeTrips,
    /// Which backends a fault strikes.
    FaultTargets,
    /// Which member of its family of hash functions the load balancer selects backends with.
    Selection,
    /// Which replications a bootstrap draws.
    Resampling,
}

/// The root of all randomness of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunSeed {
    seed: u64,
    replication: u32,
}

impl RunSeed {
    /// The randomness of replication `replication` of an experiment with seed `seed`.
    pub fn new(seed: u64, replication: u32) -> Self {
        Self { seed, replication }
    }

    /// Whether the replication's number is even.
    pub fn is_even(self) -> bool {
        self.replication.is_multiple_of(2)
    }

    /// The key of the stream that serves `purpose` for the entity called `name`.
    pub fn stream(self, purpose: Purpose, name: &str) -> StreamKey {
        let root = mix(mix(self.seed) ^ u64::from(self.replication));
        StreamKey(hash_bytes(root ^ mix(purpose as u64 + 1), name.as_bytes()))
    }
}

/// The key of one stream of random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamKey(u64);

impl StreamKey {
    /// The key of the `number`-th stream below this one.
    #[inline]
    pub fn child(self, number: u64) -> Self {
        Self(mix(self.0 ^ mix(number)))
    }

    /// The key as a word, for what is drawn once.
    pub fn word(self) -> u64 {
        self.0
    }

    /// A generator for a long stream.
    pub fn generator(self) -> Stream {
        Xoshiro256PlusPlus::seed_from_u64(self.0)
    }

    /// A generator for a few draws, which costs nothing to make.
    #[inline]
    pub fn draws(self) -> SplitMix64 {
        SplitMix64::seed_from_u64(self.0)
    }

    /// The generator of the `number`-th event below this key, for a few draws.
    ///
    /// Its states are those of a SplitMix64 stream of another odd step, so that one multiplication keeps apart what
    /// [`child`](Self::child) would with two mixes: a connection asks this for every one of its draws.
    #[inline]
    pub fn draws_of(self, number: u64) -> SplitMix64 {
        /// The reciprocal of the plastic number, as an odd 64-bit fraction.
        const STEP: u64 = 0xC13F_A9A9_02A6_328F;
        SplitMix64::seed_from_u64(self.0.wrapping_add(number.wrapping_mul(STEP)))
    }
}

/// The generator of a long stream.
pub type Stream = Xoshiro256PlusPlus;

/// The finalizer of SplitMix64 (Stafford's variant 13): a bijection where each output bit depends on every input bit.
#[inline]
pub fn mix(word: u64) -> u64 {
    let word = word.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// A product's halves, each bit of `word` in both: a fast hash of what is random already, or counts up.
#[inline]
pub fn fold(word: u64) -> u64 {
    let product = u128::from(word) * 0x9E37_79B9_7F4A_7C15;
    (product >> 64) as u64 ^ product as u64
}

/// One of `count` numbers from 0 on, each as likely as any other if `word` is random.
#[inline]
pub fn below(word: u64, count: u64) -> u64 {
    ((u128::from(word) * u128::from(count)) >> 64) as u64
}

/// Brings `items` into a random order (Fisher and Yates).
pub fn shuffle<T>(items: &mut [T], stream: &mut Stream) {
    for position in 0..items.len() {
        let rest = (items.len() - position) as u64;
        items.swap(position, position + below(stream.next_u64(), rest) as usize);
    }
}

/// A 64-bit hash of `bytes`, the same on every machine.
pub fn hash_bytes(seed: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(mix(seed ^ bytes.len() as u64), |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        mix(hash ^ u64::from_le_bytes(word))
    })
}

/// The same, of bytes that come one after the other.
#[derive(Debug)]
pub struct BytesHash {
    hash: u64,
    /// The beginning of the next word, and how much of that there is.
    word: ([u8; 8], usize),
}

impl BytesHash {
    /// Of `length` bytes.
    pub fn new(seed: u64, length: usize) -> Self {
        Self { hash: mix(seed ^ length as u64), word: ([0; 8], 0) }
    }

    /// Of all bytes that have come.
    pub fn finish(mut self) -> u64 {
        if self.word.1 > 0 {
            self.word.0[self.word.1..].fill(0);
            self.end_word();
        }
        self.hash
    }

    fn end_word(&mut self) {
        self.hash = mix(self.hash ^ u64::from_le_bytes(self.word.0));
        self.word.1 = 0;
    }

    /// Adds the next bytes.
    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (word, filled) = &mut self.word;
            let taken = bytes.len().min(word.len() - *filled);
            word[*filled..*filled + taken].copy_from_slice(&bytes[..taken]);
            *filled += taken;
            bytes = &bytes[taken..];
            if *filled == word.len() {
                self.end_word();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::Rng;

    use super::*;

    #[test]
    fn bytes_have_one_hash_in_any_pieces() {
        let bytes: Vec<u8> = (0..100).collect();
        for length in 0..bytes.len() {
            for piece in [1, 3, 8, 11, 64] {
                let mut hash = BytesHash::new(5, length);
                bytes[..length].chunks(piece).for_each(|piece| hash.add(piece));
                assert_eq!(hash.finish(), hash_bytes(5, &bytes[..length]), "{length} in pieces of {piece}");
            }
        }
    }

    #[test]
    fn every_part_of_a_key_makes_another_stream() {
        let first = |seed, replication, purpose, name: &str| {
            RunSeed::new(seed, replication).stream(purpose, name).generator().next_u64()
        };
        let base = first(1, 0, Purpose::Arrivals, "web-a");
        assert_eq!(base, first(1, 0, Purpose::Arrivals, "web-a"));
        let others = [
            first(2, 0, Purpose::Arrivals, "web-a"),
            first(1, 1, Purpose::Arrivals, "web-a"),
            first(1, 0, Purpose::Addresses, "web-a"),
            first(1, 0, Purpose::Arrivals, "web-b"),
            first(0, 1, Purpose::Arrivals, "web-a"),
        ];
        let distinct: BTreeSet<u64> = others.iter().copied().chain([base]).collect();
        assert_eq!(distinct.len(), others.len() + 1);
    }

    #[test]
    fn hashes_depend_on_length_and_every_byte() {
        let texts = ["", "a", "a\0", "aaaaaaaa", "aaaaaaaaa", "baaaaaaaa", "aaaaaaaab"];
        let hashes: BTreeSet<u64> = texts.iter().map(|text| hash_bytes(7, text.as_bytes())).collect();
        assert_eq!(hashes.len(), texts.len());
    }

    #[test]
    fn draws_of_one_key_are_independent_of_each_other() {
        // The first words of numbered draws, and the second ones, as uniform numbers: neither they nor their products
        // with a neighbour's lean to any side.
        const COUNT: u64 = 100_000;
        let unit = |key: u64, number: u64, skip: usize| {
            let mut draws = StreamKey(mix(key)).draws_of(number);
            (0..skip).for_each(|_| _ = draws.next_u64());
            open_unit(draws.next_u64()) - 0.5
        };
        // A uniform number has variance 1/12, a product of two 1/144; five standard deviations.
        let limit = 5.0 * (COUNT as f64 / 144.0).sqrt();
        for (neighbour_key, neighbour_number, skip) in
            [(0, 1, 0), (0, 256, 0), (1, 0, 0), (0, 0, 1), (0, 1, 1)]
        {
            let covariance = |(key, number): (u64, u64)| {
                unit(key, number, 0) * unit(key + neighbour_key, number + neighbour_number, skip)
            };
            let many_numbers: f64 = (0..COUNT).map(|number| covariance((7, number))).sum();
            let many_keys: f64 = (0..COUNT).map(|key| covariance((key, 3))).sum();
            assert!(many_numbers.abs() < limit && many_keys.abs() < limit, "{many_numbers} {many_keys}");
        }
    }

    #[test]
    fn mix_matches_the_published_generator() {
        // The first output of SplitMix64 from state 0 is the mix of 0.
        assert_eq!(mix(0), StreamKey(0).draws().next_u64());
        assert_eq!(mix(0), 0xE220_A839_7B1D_CDAF);
    }
}
