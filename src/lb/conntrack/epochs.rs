//! How many entries of the table live.

use crate::time::{SimDuration, SimTime};

/// Epochs that the ring of counts holds: more than an entry can live through.
pub(super) const EPOCHS: usize = 512;

/// Counts live entries by the epoch of their last packet.
#[derive(Clone, Debug)]
pub(super) struct Epochs {
    /// Log2 of an epoch's nanoseconds.
    pub(super) shift: u32,
    /// Whole epochs that an entry outlives its last one by.
    lifetime: u64,
    current: u64,
    pub(super) next_end: SimTime,
    counts: Box<[u64; EPOCHS]>,
    pub(super) live: u64,
    pub(super) peak: u64,
}

impl Epochs {
    pub(super) fn new(timeout: SimDuration) -> Self {
        let shift = (timeout.as_nanos() / 128).max(1 << super::TICK_BITS).ilog2();
        let next_end = SimTime::from_nanos(1 << shift);
        let lifetime = timeout.as_nanos().div_ceil(1 << shift);
        Self { shift, lifetime, current: 0, next_end, counts: Box::new([0; EPOCHS]), live: 0, peak: 0 }
    }

    fn of(&self, time: SimTime) -> u64 {
        time.as_nanos() >> self.shift
    }

    #[inline]
    fn count(&mut self, epoch: u64) -> &mut u64 {
        &mut self.counts[epoch as usize % EPOCHS]
    }

    #[inline]
    pub(super) fn added(&mut self) {
        *self.count(self.current) += 1;
        self.live += 1;
        self.peak = self.peak.max(self.live);
    }

    /// The epoch of a moment `age` before `now`.
    #[inline]
    fn before(&self, age: SimDuration, now: SimTime) -> u64 {
        (now.as_nanos() - age.as_nanos()) >> self.shift
    }

    /// Whether an entry whose last packet was `age` ago is counted no more.
    #[inline]
    pub(super) fn is_over(&self, age: SimDuration, now: SimTime) -> bool {
        age > self.oldest(now)
    }

    /// The longest time since its last packet of an entry that is counted.
    #[inline]
    pub(super) fn oldest(&self, now: SimTime) -> SimDuration {
        let first_counted = self.current.saturating_sub(self.lifetime) << self.shift;
        SimDuration::from_nanos(now.as_nanos() - first_counted)
    }

    /// An entry whose last packet was `age` ago got a packet.
    #[inline]
    pub(super) fn moved(&mut self, now: SimTime, age: SimDuration) {
        let epoch = self.before(age, now);
        if epoch == self.current {
            return;
        }
        if self.is_over(age, now) {
            return self.added();
        }
        *self.count(epoch) -= 1;
        *self.count(self.current) += 1;
    }

    #[inline]
    pub(super) fn removed(&mut self, now: SimTime, age: SimDuration) {
        if !self.is_over(age, now) {
            *self.count(self.before(age, now)) -= 1;
            self.live -= 1;
        }
    }

    /// Ends every epoch before that of `now`; tells how many ended.
    pub(super) fn end(&mut self, now: SimTime) -> u64 {
        let ended = self.of(now) - self.current;
        for _ in 0..ended.min(EPOCHS as u64) {
            self.current += 1;
            if let Some(dead) = self.current.checked_sub(self.lifetime + 1) {
                self.live -= std::mem::take(self.count(dead));
            }
        }
        self.current = self.of(now);
        self.next_end = SimTime::from_nanos((self.current + 1) << self.shift);
        ended
    }
}
