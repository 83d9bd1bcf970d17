//! Arrival processes: when a client group opens its connections.

use serde::Deserialize;

use crate::random::{Stream, exponential};
use crate::time::{SimDuration, SimTime};

/// Connections per second: above zero, and at most a thousand million.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Deserialize)]
#[serde(try_from = "f64")]
pub struct Rate(f64);

/// A number that is no rate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("{0} is not a rate; write connections per second, above 0 and at most 1e9")]
pub struct NotARate(f64);

impl TryFrom<f64> for Rate {
    type Error = NotARate;
    fn try_from(value: f64) -> Result<Self, NotARate> {
        if value > 0.0 && value <= 1e9 { Ok(Self(value)) } else { Err(NotARate(value)) }
    }
}

impl Rate {
    /// Connections per second.
    pub fn per_second(self) -> f64 {
        self.0
    }

    /// Nanoseconds from one connection to the next, on average.
    fn mean_gap(self) -> f64 {
        1e9 / self.0
    }
}

/// An arrival process as configured.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ArrivalSpec {
    /// Independent of each other: exponential gaps.
    Poisson {
        /// Mean rate.
        rate: Rate,
    },
    /// Evenly spaced, the first one gap after the beginning.
    Deterministic {
        /// Exact rate.
        rate: Rate,
    },
}

impl ArrivalSpec {
    /// The long-run mean rate in connections per second.
    pub fn mean_rate(&self) -> f64 {
        match self {
            Self::Poisson { rate } | Self::Deterministic { rate } => rate.per_second(),
        }
    }

    /// The process, drawing from `stream`.
    pub fn start(self, stream: Stream) -> Arrivals {
        Arrivals { spec: self, stream, count: 0, last: SimTime::ZERO }
    }
}

/// A running arrival process.
#[derive(Clone, Debug)]
pub struct Arrivals {
    spec: ArrivalSpec,
    stream: Stream,
    count: u64,
    last: SimTime,
}

impl Arrivals {
    /// The time of the next connection; never earlier than the one before.
    #[inline]
    pub fn next_time(&mut self) -> SimTime {
        self.count += 1;
        self.last = match self.spec {
            ArrivalSpec::Poisson { rate } => {
                self.last + SimDuration::from_nanos_f64(rate.mean_gap() * exponential(&mut self.stream))
            }
            // From the count, not from the last time, so that rounding does not add up.
            ArrivalSpec::Deterministic { rate } => {
                SimTime::ZERO + SimDuration::from_nanos_f64(self.count as f64 * rate.mean_gap())
            }
        };
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, RunSeed};

    fn start(spec: ArrivalSpec) -> Arrivals {
        spec.start(RunSeed::new(9, 0).stream(Purpose::Arrivals, "web").generator())
    }

    #[test]
    fn deterministic_arrivals_do_not_drift() {
        let mut arrivals = start(ArrivalSpec::Deterministic { rate: Rate(3.0) });
        let times: Vec<SimTime> = (0..3_000_000).map(|_| arrivals.next_time()).collect();
        assert_eq!(times[0], SimTime::from_nanos(333_333_333));
        assert_eq!(times[2_999_999], SimTime::from_nanos(1_000_000_000_000_000));
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_spread() {
        let mut arrivals = start(ArrivalSpec::Poisson { rate: Rate(1000.0) });
        // Counts per second over 2 000 s: mean and variance are both the rate.
        let mut counts = vec![0_u32; 2000];
        loop {
            let second = arrivals.next_time().as_secs_f64() as usize;
            match counts.get_mut(second) {
                Some(count) => *count += 1,
                None => break,
            }
        }
        let counts: crate::stats::Moments = counts.into_iter().map(f64::from).collect();
        let error = (1000.0_f64 / 2000.0).sqrt();
        assert!((counts.mean() - 1000.0).abs() < 4.0 * error, "{}", counts.mean());
        // The variance of a sample variance of n normal values is 2 sigma^4 / (n - 1).
        let variance = counts.std_dev().powi(2);
        assert!((variance - 1000.0).abs() < 4.0 * 1000.0 * (2.0_f64 / 1999.0).sqrt(), "{variance}");
    }
}
