//! Arrival processes: when a client group opens its connections.

mod closed;
mod diurnal;
mod modulated;
#[cfg(test)]
mod tests;
mod trace;

use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::random::{Stream, exponential};
use crate::time::{SimDuration, SimTime};
use crate::unfit::{Unfit, number};
pub use closed::{ClosedLoop, Population};
use diurnal::DiurnalArrivals;
pub use diurnal::{Diurnal, PeakToMean};
use modulated::ModulatedArrivals;
pub use modulated::Modulation;
pub use trace::{TraceError, TraceRow, TraceRows, TraceSource};

number! {
    /// Connections per second: above zero, and at most a thousand million.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000_000, "x-unit" = "connections/s", "examples" = [200.0]))]
    Rate: |value| value > 0.0 && value <= Self::MAX,
    "{value} is not a rate; write connections per second, above 0 and at most 1e9"
}

impl Rate {
    const MAX: f64 = 1e9;

    /// Connections per second.
    pub fn per_second(self) -> f64 {
        self.0
    }

    /// Nanoseconds from one connection to the next, on average.
    fn mean_gap(self) -> f64 {
        1e9 / self.0
    }
}

number! {
    /// How many times the traffic that is written there is: above zero, and at most a million.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1_000_000, "examples" = [1.5]))]
    Load: |value| value > 0.0 && value <= 1e6,
    "{value} is no load; write how many times the rates of all clients are meant, above 0.0 and at most 1000000.0"
}

/// The traffic as it is written.
impl Default for Load {
    fn default() -> Self {
        Self(1.0)
    }
}

impl Load {
    /// The number.
    pub fn factor(self) -> f64 {
        self.0
    }

    fn of(self, rate: Rate) -> Result<Rate, Unfit> {
        let scaled = rate.0 * self.0;
        let wrong = |_| {
            Unfit(format!(
                "makes {scaled} connections per second of {}; write a load that leads to at most 1e9",
                rate.0
            ))
        };
        Rate::try_from(scaled).map_err(wrong)
    }
}

/// An arrival process as configured. `T` is where the connections of a trace come from.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[schemars(extend("examples" = [{ "poisson": { "rate": 200.0 } }]))]
pub enum ArrivalSpec<T = TraceSource> {
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
    /// Poisson at a rate that jumps (a Markov-modulated Poisson process).
    Mmpp(Modulation),
    /// Poisson at a rate that swings.
    Diurnal(Diurnal),
    /// Connections that were recorded.
    Trace(T),
    /// Clients that wait for a connection's end, and think, before they open the next.
    Closed(ClosedLoop),
}

impl<T: Clone> ArrivalSpec<T> {
    /// The same process with `load` times its rates, or its clients if it is a closed loop.
    ///
    /// # Errors
    /// If that is no rate or no number of clients any more, or if it is a trace: its connections come when they came.
    pub fn at_load(&self, load: Load) -> Result<Self, Unfit> {
        Ok(match self {
            Self::Poisson { rate } => Self::Poisson { rate: load.of(*rate)? },
            Self::Deterministic { rate } => Self::Deterministic { rate: load.of(*rate)? },
            Self::Mmpp(modulation) if load != Load::default() => Self::Mmpp(modulation.at_load(load)?),
            Self::Diurnal(diurnal) => {
                Self::Diurnal(Diurnal { mean_rate: load.of(diurnal.mean_rate)?, ..*diurnal })
            }
            Self::Closed(closed) => {
                Self::Closed(ClosedLoop { population: closed.population.at_load(load)?, ..closed.clone() })
            }
            Self::Trace(_) if load != Load::default() => {
                let help = "write load = 1.0, or arrivals with a rate";
                return Err(Unfit(format!(
                    "can't multiply a trace, whose connections come when they were recorded; {help}"
                )));
            }
            Self::Mmpp(_) | Self::Trace(_) => self.clone(),
        })
    }
}

impl<T> ArrivalSpec<T> {
    /// The same process, with its trace from where `source` says.
    ///
    /// # Errors
    /// The error of `source`.
    pub fn with_trace<U, E>(&self, source: impl FnOnce(&T) -> Result<U, E>) -> Result<ArrivalSpec<U>, E> {
        Ok(match self {
            Self::Poisson { rate } => ArrivalSpec::Poisson { rate: *rate },
            Self::Deterministic { rate } => ArrivalSpec::Deterministic { rate: *rate },
            Self::Mmpp(modulation) => ArrivalSpec::Mmpp(modulation.clone()),
            Self::Diurnal(diurnal) => ArrivalSpec::Diurnal(*diurnal),
            Self::Trace(trace) => ArrivalSpec::Trace(source(trace)?),
            Self::Closed(closed) => ArrivalSpec::Closed(closed.clone()),
        })
    }
}

impl ArrivalSpec {
    /// The long-run mean rate in connections per second; that of a trace from its beginning to its last connection.
    /// Unknown of a closed loop, where it depends on how fast connections end.
    pub fn mean_rate(&self) -> Option<f64> {
        match self {
            Self::Poisson { rate } | Self::Deterministic { rate } => Some(rate.per_second()),
            Self::Mmpp(modulation) => Some(modulation.mean_rate()),
            Self::Diurnal(diurnal) => Some(diurnal.mean_rate.per_second()),
            Self::Trace(trace) => trace.mean_rate(),
            Self::Closed(_) => None,
        }
    }

    /// How many connections are to be expected before `end`, of a trace by its mean rate.
    pub fn expected_before(&self, end: SimTime) -> Option<f64> {
        match self {
            Self::Diurnal(diurnal) => Some(diurnal.expected_before(end)),
            Self::Trace(trace) => Some(trace.expected_before(end)),
            _ => self.mean_rate().map(|rate| rate * end.as_secs_f64()),
        }
    }

    /// The process, drawing from `stream`.
    pub fn start(&self, mut stream: Stream) -> Arrivals {
        let process = match self {
            Self::Poisson { rate } => Process::Poisson { mean_gap: rate.mean_gap(), last: SimTime::ZERO },
            Self::Deterministic { rate } => Process::Deterministic { gap: rate.mean_gap(), count: 0 },
            Self::Mmpp(modulation) => Process::Modulated(ModulatedArrivals::new(modulation, &mut stream)),
            Self::Diurnal(diurnal) => Process::Diurnal(DiurnalArrivals::new(*diurnal)),
            Self::Trace(trace) => Process::Trace(trace.open()),
            Self::Closed(_) => Process::Closed,
        };
        Arrivals { process, stream }
    }
}

/// A connection that begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When; never earlier than the one before.
    pub at: SimTime,
    /// What was recorded of it, if it was.
    pub trace: Option<TraceRow>,
}

/// A running arrival process. It is the iterator of its connections, which may end; a trace may break off with an error.
pub struct Arrivals {
    process: Process,
    stream: Stream,
}

enum Process {
    Poisson { mean_gap: f64, last: SimTime },
    Deterministic { gap: f64, count: u64 },
    Modulated(ModulatedArrivals),
    Diurnal(DiurnalArrivals),
    Trace(TraceRows),
    Closed,
}

impl Iterator for Arrivals {
    type Item = Result<Arrival, TraceError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let at = match &mut self.process {
            Process::Poisson { mean_gap, last } => {
                *last = later(*last, *mean_gap * exponential(&mut self.stream));
                *last
            }
            // From the count, not from the last time, so that rounding does not add up.
            Process::Deterministic { gap, count } => {
                *count += 1;
                SimTime::ZERO + SimDuration::from_nanos_f64(*count as f64 * *gap)
            }
            Process::Modulated(arrivals) => arrivals.next_time(&mut self.stream),
            Process::Diurnal(arrivals) => arrivals.next_time(&mut self.stream),
            Process::Trace(rows) => {
                return rows.next().map(|row| row.map(|(at, row)| Arrival { at, trace: Some(row) }));
            }
            // They begin when others have ended: that is for whoever sees them end.
            Process::Closed => return None,
        };
        (at < SimTime::NEVER).then_some(Ok(Arrival { at, trace: None }))
    }
}

/// `at` and `gap` nanoseconds; no later than never, so that sums stay in range.
#[inline]
fn later(at: SimTime, gap: f64) -> SimTime {
    (at + SimDuration::from_nanos_f64(gap)).min(SimTime::NEVER)
}

impl fmt::Debug for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Arrivals")
    }
}
