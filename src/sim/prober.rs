//! Health probes: they set out at fixed intervals, travel, and find a backend as it is when they arrive.

use rand::Rng;

use super::machine::MachineState;
use super::scenario::FailureMode;
use crate::lb::health::{HealthCheck, JointHealth, Phase};
use crate::random::{Distribution, Purpose, RunSeed, Stream, StreamKey};
use crate::time::{SimDuration, SimTime};

/// The probers of one backend. Each has one probe under way at most (its timeout is no longer than the interval).
#[derive(Debug)]
pub(super) struct Probers {
    check: HealthCheck,
    health: JointHealth,
    /// Round trips between prober and backend: those within the backend's zone.
    round_trips: Distribution<SimDuration>,
    probers: Vec<Prober>,
    /// Whether results count.
    checking: bool,
    /// Whether probes set out.
    probing: bool,
}

#[derive(Debug)]
struct Prober {
    trips: Stream,
    /// From the moment when probing begins to the first probe.
    offset: SimDuration,
    start: SimTime,
    trip: SimDuration,
}

impl Probers {
    /// The probers of the backend called `backend`. Results count only once [`check`](Self::check) is called.
    pub(super) fn new(
        check: HealthCheck,
        round_trips: Distribution<SimDuration>,
        seed: RunSeed,
        backend: &str,
    ) -> Self {
        let phases = seed.stream(Purpose::ProbePhase, backend);
        let trips = seed.stream(Purpose::ProbeTrips, backend);
        let count = u64::from(check.probers.count.get());
        // The first prober's draws are those that it has alone.
        let of = |key: StreamKey, number| if number == 0 { key } else { key.child(number) }.generator();
        let prober = |number: u64| Prober {
            trips: of(trips, number),
            offset: offset(&check, number, of(phases, number).next_u64()),
            start: SimTime::ZERO,
            trip: SimDuration::ZERO,
        };
        Self {
            check,
            health: JointHealth::new(check.probers, check.initially_healthy),
            round_trips,
            probers: (0..count).map(prober).collect(),
            checking: false,
            probing: false,
        }
    }

    /// Results count from `now` on, for a backend in its initial state of health. Gives the first start of each prober that
    /// is not probing already.
    pub(super) fn check(&mut self, now: SimTime) -> Vec<(u8, SimTime)> {
        self.health = JointHealth::new(self.check.probers, self.check.initially_healthy);
        self.checking = true;
        if std::mem::replace(&mut self.probing, true) {
            return Vec::new();
        }
        (0..).zip(&self.probers).map(|(number, prober)| (number, now + prober.offset)).collect()
    }

    /// Results do not count any more.
    pub(super) fn stop_checking(&mut self) {
        self.checking = false;
    }

    /// A probe sets out; gives when it arrives, and when the next one sets out. A probe whose answer can't come in time is
    /// not followed.
    pub(super) fn start(&mut self, now: SimTime, prober: u8) -> (Option<SimTime>, SimTime) {
        let prober = &mut self.probers[usize::from(prober)];
        prober.start = now;
        prober.trip = self.round_trips.sample(&mut prober.trips);
        let in_time = prober.trip <= self.check.timeout;
        (in_time.then(|| now + prober.trip.half()), now + self.check.check_interval)
    }

    /// A probe finds its backend in `state`; gives when the result is known, and whether it is a success (HCK-4): refusal
    /// is known after a round trip, silence after the timeout.
    pub(super) fn arrive(&self, prober: u8, state: MachineState) -> (SimTime, bool) {
        let Prober { start, trip, .. } = self.probers[usize::from(prober)];
        let answered = state != MachineState::Down(FailureMode::Silent);
        let wait = if answered { trip } else { self.check.timeout };
        (start + wait, answered && state == MachineState::Up)
    }

    /// Counts a probe's result; gives the new state of health if it has changed.
    pub(super) fn end(&mut self, prober: u8, success: bool) -> Option<bool> {
        self.health.observe(prober, success, self.check.thresholds).filter(|_| self.checking)
    }

    /// Whether results count.
    pub(super) fn is_checking(&self) -> bool {
        self.checking
    }
}

/// From the moment when probing begins to the first probe of prober `number`. Fixed phases of several probers are spread
/// evenly over the interval.
fn offset(check: &HealthCheck, number: u64, random: u64) -> SimDuration {
    let interval = check.check_interval.as_nanos();
    match check.probers.phase {
        Phase::At(offset) => {
            offset + SimDuration::from_nanos(interval * number / u64::from(check.probers.count.get()))
        }
        Phase::Random => SimDuration::from_nanos(((u128::from(random) * u128::from(interval)) >> 64) as u64),
    }
}
