//! Health probes: they set out at fixed intervals, travel, and find a backend as it is when they arrive.

use rand::Rng;

use super::machine::MachineState;
use super::scenario::FailureMode;
use crate::lb::health::{HealthCheck, HealthState, Phase};
use crate::random::{Distribution, Purpose, RunSeed, Stream};
use crate::time::{SimDuration, SimTime};

/// The prober of one backend, with one probe under way at most (its timeout is no longer than the interval).
#[derive(Debug)]
pub(super) struct Prober {
    check: HealthCheck,
    state: HealthState,
    /// Round trips between prober and backend: those within the backend's zone.
    round_trips: Distribution<SimDuration>,
    trips: Stream,
    first_start: SimTime,
    probe_start: SimTime,
    probe_trip: SimDuration,
}

impl Prober {
    pub(super) fn new(
        check: HealthCheck,
        round_trips: Distribution<SimDuration>,
        seed: RunSeed,
        backend: &str,
    ) -> Self {
        let mut phase = seed.stream(Purpose::ProbePhase, backend).generator();
        let offset = match check.phase {
            Phase::At(offset) => offset,
            Phase::Random => {
                let interval = check.check_interval.as_nanos();
                SimDuration::from_nanos(((u128::from(phase.next_u64()) * u128::from(interval)) >> 64) as u64)
            }
        };
        Self {
            check,
            state: HealthState::new(check.initially_healthy),
            round_trips,
            trips: seed.stream(Purpose::ProbeTrips, backend).generator(),
            first_start: SimTime::ZERO + offset,
            probe_start: SimTime::ZERO,
            probe_trip: SimDuration::ZERO,
        }
    }

    /// When the first probe sets out.
    pub(super) fn first_start(&self) -> SimTime {
        self.first_start
    }

    /// A probe sets out; gives when it arrives, and when the next one sets out.
    pub(super) fn start(&mut self, now: SimTime) -> (SimTime, SimTime) {
        self.probe_start = now;
        self.probe_trip = self.round_trips.sample(&mut self.trips);
        (now + self.probe_trip.half(), now + self.check.check_interval)
    }

    /// The probe finds its backend in `state`; gives when the result is known, and whether it is a success
    /// (HCK-4): refusal is known after a round trip, silence after the timeout.
    pub(super) fn arrive(&self, state: MachineState) -> (SimTime, bool) {
        let answered =
            self.probe_trip <= self.check.timeout && state != MachineState::Down(FailureMode::Silent);
        let wait = if answered { self.probe_trip } else { self.check.timeout };
        (self.probe_start + wait, answered && state == MachineState::Up)
    }

    /// Counts a probe's result; gives the new state of health if it has changed.
    pub(super) fn end(&mut self, success: bool) -> Option<bool> {
        self.state.observe(success, self.check.thresholds).then(|| self.state.is_healthy())
    }
}
