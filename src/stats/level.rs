//! A level over time: its time-weighted mean and its peak.

use crate::time::SimTime;

/// A level that changes by steps (busy workers, open connections), integrated over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    value: u64,
    peak: u64,
    since: SimTime,
    /// Level times nanoseconds up to `since`.
    area: u128,
}

impl Level {
    /// Sets the level at time `now`.
    #[inline]
    pub fn set(&mut self, now: SimTime, value: u64) {
        self.advance(now);
        self.value = value;
        self.peak = self.peak.max(value);
    }

    /// Raises the level by one.
    #[inline]
    pub fn up(&mut self, now: SimTime) {
        self.set(now, self.value + 1);
    }

    /// Lowers the level by one.
    #[inline]
    pub fn down(&mut self, now: SimTime) {
        self.set(now, self.value - 1);
    }

    /// The level that stands.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// The highest level since the last [`restart`](Self::restart).
    pub fn peak(&self) -> u64 {
        self.peak
    }

    /// Level times nanoseconds since the last [`restart`](Self::restart).
    pub fn area(&mut self, now: SimTime) -> u128 {
        self.advance(now);
        self.area
    }

    /// Forgets what was measured, but not the level that stands.
    pub fn restart(&mut self, now: SimTime) {
        self.since = now;
        self.area = 0;
        self.peak = self.value;
    }

    #[inline]
    fn advance(&mut self, now: SimTime) {
        self.area += u128::from(self.value) * u128::from(now.since(self.since).as_nanos());
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn area_is_the_integral_and_survives_a_restart() {
        let at = SimTime::from_nanos;
        let mut level = Level::default();
        level.up(at(10));
        level.up(at(20));
        level.down(at(40));
        assert_eq!(level.area(at(50)), 10 + 2 * 20 + 10);
        assert_eq!(level.peak(), 2);
        level.restart(at(50));
        assert_eq!((level.value(), level.peak()), (1, 1));
        assert_eq!(level.area(at(57)), 7);
    }
}
