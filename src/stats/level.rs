//! A level over time, for its time-weighted mean.

use crate::time::SimTime;

/// A level that changes by steps (busy workers, open connections), integrated over time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Level {
    value: u64,
    /// The area so far less `value` times now, modulo 2^128: only steps of the level change it.
    moment: u128,
}

impl Level {
    /// Sets the level at time `now`.
    #[inline]
    pub fn set(&mut self, now: SimTime, value: u64) {
        let area = self.area(now);
        self.value = value;
        self.moment = area.wrapping_sub(self.value_times(now));
    }

    /// Raises the level by one.
    #[inline]
    pub fn up(&mut self, now: SimTime) {
        self.value += 1;
        self.moment = self.moment.wrapping_sub(u128::from(now.as_nanos()));
    }

    /// Lowers the level by one.
    #[inline]
    pub fn down(&mut self, now: SimTime) {
        self.value -= 1;
        self.moment = self.moment.wrapping_add(u128::from(now.as_nanos()));
    }

    /// The level that stands.
    pub fn value(&self) -> u64 {
        self.value
    }

    /// Level times nanoseconds since the last [`restart`](Self::restart).
    #[inline]
    pub fn area(&self, now: SimTime) -> u128 {
        self.moment.wrapping_add(self.value_times(now))
    }

    /// Forgets what was measured, but not the level that stands.
    pub fn restart(&mut self, now: SimTime) {
        self.moment = 0_u128.wrapping_sub(self.value_times(now));
    }

    #[inline]
    fn value_times(&self, now: SimTime) -> u128 {
        u128::from(self.value) * u128::from(now.as_nanos())
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
        level.restart(at(50));
        assert_eq!(level.value(), 1);
        assert_eq!(level.area(at(57)), 7);
        level.set(at(60), 5);
        level.set(at(70), 0);
        assert_eq!(level.area(at(100)), 10 + 5 * 10);
    }
}
