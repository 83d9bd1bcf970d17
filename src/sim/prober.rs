//! Health probes: they set out at fixed intervals, travel, and find a backend as it is when they arrive.
//!
//! A probe is a TCP connection: a SYN that nobody answers goes again while the probe waits, as clients' do (RFC 6298).

use rand::Rng;

use super::event::ProberId;
use super::machine::ProbeMeets;
use super::retransmission::HANDSHAKE;
use super::scenario::Scenario;
use super::station::ProbeId;
use crate::ids::{BackendId, Id, IdVec, JudgeId, PlaceId};
use crate::lb::health::{HealthChecking, JointHealth, Phase};
use crate::random::{Distribution, Purpose, RunSeed, StreamKey, below, open_unit};
use crate::time::{SimDuration, SimTime};

/// The probers of every health check, for each backend that it has ever judged.
#[derive(Debug)]
pub(super) struct ProberSets {
    seed: RunSeed,
    sets: IdVec<JudgeId, IdVec<BackendId, Option<Box<ProberSet>>>>,
}

impl ProberSets {
    pub(super) fn new(scenario: &Scenario, seed: RunSeed) -> Self {
        let none = || scenario.backends.iter().map(|_| None).collect();
        Self { seed, sets: scenario.judges.iter().map(|_| none()).collect() }
    }

    /// The probers of `judge` for `backend`, new ones if it has never judged it.
    pub(super) fn establish(
        &mut self,
        (judge, backend): (JudgeId, BackendId),
        scenario: &Scenario,
    ) -> &mut ProberSet {
        let seed = self.seed;
        let new = || Box::new(ProberSet::new(scenario, (judge, backend), seed));
        self.sets[judge][backend].get_or_insert_with(new)
    }

    /// The health checks that judge `backend` now, or ever did.
    pub(super) fn of(&mut self, backend: BackendId) -> impl Iterator<Item = (JudgeId, &mut ProberSet)> {
        self.sets.pairs_mut().filter_map(move |(judge, sets)| Some((judge, sets[backend].as_deref_mut()?)))
    }

    /// Whether `judge` holds `backend` healthy now, if it judges it.
    pub(super) fn verdict(&self, judge: JudgeId, backend: BackendId) -> Option<bool> {
        let set = self.sets[judge][backend].as_deref()?;
        set.checking.then(|| set.health.is_healthy())
    }
}

impl std::ops::Index<(JudgeId, BackendId)> for ProberSets {
    type Output = ProberSet;
    fn index(&self, (judge, backend): (JudgeId, BackendId)) -> &ProberSet {
        self.sets[judge][backend].as_deref().expect("it has judged the backend")
    }
}

impl std::ops::IndexMut<(JudgeId, BackendId)> for ProberSets {
    fn index_mut(&mut self, (judge, backend): (JudgeId, BackendId)) -> &mut ProberSet {
        self.sets[judge][backend].as_deref_mut().expect("it has judged the backend")
    }
}

/// The probers of one health check for one backend. Each has one probe under way at most (its timeout is no longer than the
/// interval).
#[derive(Debug)]
pub(super) struct ProberSet {
    judge: JudgeId,
    check: HealthChecking,
    health: JointHealth,
    /// Round trips between prober and backend: those within the backend's zone.
    round_trips: Distribution<SimDuration>,
    probers: Vec<Prober>,
    /// Whether results count.
    pub(super) checking: bool,
    /// Whether probes set out.
    probing: bool,
}

#[derive(Debug)]
struct Prober {
    /// The key of what its probes meet, each by its number: whether one waits changes nothing for the next.
    trips: StreamKey,
    /// From the moment when probing begins to the first probe.
    offset: SimDuration,
    start: SimTime,
    /// When its latest SYN was sent, after how many others, and the round trip of that.
    sent: SimTime,
    resends: u8,
    trip: SimDuration,
    number: u64,
    /// Whether the latest probe has no result yet.
    awaiting: bool,
    /// Its probes in service, timed out or not, each with its end and the life of the machine in which it began.
    in_service: Vec<(ProbeId, SimTime, u32)>,
}

impl ProberSet {
    /// Results count only once [`check`](Self::check) is called.
    fn new(scenario: &Scenario, (judge, backend): (JudgeId, BackendId), seed: RunSeed) -> Self {
        let (of, spec) = (&scenario.judges[judge], &scenario.backends[backend]);
        let check = of.check;
        let name = if of.name.is_empty() { spec.name.clone() } else { format!("{}/{}", of.name, spec.name) };
        let phases = seed.stream(Purpose::ProbePhase, &name);
        let trips = seed.stream(Purpose::ProbeTrips, &name);
        let count = u64::from(check.probers.count.get());
        // The first prober's draws are those that it has alone.
        let of = |key: StreamKey, number| if number == 0 { key } else { key.child(number) };
        let prober = |number: u64| Prober {
            trips: of(trips, number),
            offset: offset(&check, number, of(phases, number).generator().next_u64()),
            start: SimTime::ZERO,
            sent: SimTime::ZERO,
            resends: 0,
            trip: SimDuration::ZERO,
            number: 0,
            awaiting: false,
            in_service: Vec::new(),
        };
        Self {
            judge,
            check,
            health: JointHealth::new(check.probers, check.initially_healthy),
            round_trips: scenario.round_trips[PlaceId::from_index(spec.zone.index())][spec.zone].clone(),
            probers: (0..count).map(prober).collect(),
            checking: false,
            probing: false,
        }
    }

    /// Results count from `now` on, and the backend is held `healthy` or not until then; gives the first start of each idle
    /// prober.
    pub(super) fn check(&mut self, now: SimTime, healthy: bool) -> Vec<(ProberId, SimTime)> {
        self.health = JointHealth::new(self.check.probers, healthy);
        self.checking = true;
        if std::mem::replace(&mut self.probing, true) {
            return Vec::new();
        }
        let judge = self.judge;
        let first = |(number, prober): (u8, &Prober)| (ProberId { judge, number }, now + prober.offset);
        (0..).zip(&self.probers).map(first).collect()
    }

    /// A probe sets out into a network that lets packets pass with probability `passes` and adds `delay` to a round trip;
    /// gives when it arrives, and when the next one sets out. A probe whose answer can't come in time is not followed.
    pub(super) fn start(
        &mut self,
        now: SimTime,
        prober: ProberId,
        delay: SimDuration,
        passes: f64,
    ) -> (Option<SimTime>, SimTime) {
        let this = &mut self.probers[usize::from(prober.number)];
        this.start = now;
        this.number += 1;
        this.resends = 0;
        this.awaiting = true;
        (self.send(now, prober, delay, passes), now + self.check.check_interval)
    }

    /// The probe under way sends a SYN, its first or another: as [`start`](Self::start).
    pub(super) fn send(
        &mut self,
        now: SimTime,
        prober: ProberId,
        delay: SimDuration,
        passes: f64,
    ) -> Option<SimTime> {
        let prober = &mut self.probers[usize::from(prober.number)];
        prober.sent = now;
        prober.trip = self.round_trips.sample(&mut prober.draws(ProbeDraw::Trip)) + delay;
        let lost = passes < 1.0 && open_unit(prober.draws(ProbeDraw::Loss).next_u64()) >= passes * passes;
        let in_time = !lost && now + prober.trip <= prober.start + self.check.timeout;
        in_time.then(|| now + prober.trip.half())
    }

    /// Nobody answers the latest SYN: gives when the probe sends another, if it does so before its timeout.
    pub(super) fn send_again(&mut self, prober: ProberId) -> Option<SimTime> {
        let timeout = self.timeout(prober);
        let prober = &mut self.probers[usize::from(prober.number)];
        let again = prober.sent + HANDSHAKE.wait(prober.resends);
        let sends = self.check.probe_retransmission && again < timeout;
        prober.resends += u8::from(sends);
        sends.then_some(again)
    }

    /// When the probe under way times out.
    pub(super) fn timeout(&self, prober: ProberId) -> SimTime {
        self.probers[usize::from(prober.number)].start + self.check.timeout
    }

    /// A probe meets an answer of its backend; gives when the result is known, a round trip after its SYN, and whether it is
    /// a success (HCK-4).
    pub(super) fn arrive(&self, prober: ProberId, meets: ProbeMeets) -> (SimTime, bool) {
        let Prober { sent, trip, .. } = self.probers[usize::from(prober.number)];
        (sent + trip, meets == ProbeMeets::Success)
    }

    pub(super) fn current(&self, prober: ProberId) -> ProbeId {
        ProbeId { prober, number: self.probers[usize::from(prober.number)].number as u16 }
    }

    pub(super) fn is_awaiting(&self, prober: ProberId) -> bool {
        self.probers[usize::from(prober.number)].awaiting
    }

    pub(super) fn awaits(&self, probe: ProbeId) -> bool {
        self.is_awaiting(probe.prober) && self.current(probe.prober) == probe
    }

    /// How long a worker takes for `probe`, if it is like a request.
    pub(super) fn work(&self, probe: ProbeId, service_time: &Distribution<SimDuration>) -> SimDuration {
        service_time.sample(&mut self.probers[usize::from(probe.prober.number)].draws(ProbeDraw::Work))
    }

    pub(super) fn serve(&mut self, probe: ProbeId, done: SimTime, life: u32) {
        self.probers[usize::from(probe.prober.number)].in_service.push((probe, done, life));
    }

    /// The probe of `prober` that a worker is busy with until `done`, and the life of the machine in which it began.
    pub(super) fn take_served(&mut self, done: SimTime, prober: ProberId) -> (ProbeId, u32) {
        let in_service = &mut self.probers[usize::from(prober.number)].in_service;
        let position = in_service.iter().position(|(_, end, _)| *end == done);
        let (probe, _, life) = in_service.remove(position.expect("it has begun"));
        (probe, life)
    }

    /// A backend answers `probe` at time `now`; gives when the answer is there, if that is in time.
    pub(super) fn answer(&self, now: SimTime, probe: ProbeId) -> Option<SimTime> {
        let Prober { start, trip, .. } = self.probers[usize::from(probe.prober.number)];
        let end = now + (trip - trip.half());
        (self.awaits(probe) && end < start + self.check.timeout).then_some(end)
    }

    pub(super) fn end(&mut self, prober: ProberId, success: bool) -> Option<bool> {
        self.probers[usize::from(prober.number)].awaiting = false;
        self.health.observe(prober.number, success, self.check.thresholds).filter(|_| self.checking)
    }
}

/// What keys of SYNs sent again have above their number, apart from those of other probers.
const SYN_AGAIN: u64 = 1 << 32;

#[derive(Clone, Copy, Debug)]
enum ProbeDraw {
    Trip,
    Loss,
    Work,
}

impl Prober {
    fn draws(&self, what: ProbeDraw) -> impl Rng + use<> {
        let key = match (what, self.resends) {
            (ProbeDraw::Loss, resends @ 1..) => self.trips.child(SYN_AGAIN | u64::from(resends)),
            _ => self.trips,
        };
        key.draws_of(self.number << 2 | what as u64)
    }
}

/// Fixed phases of several probers are spread evenly over the interval.
fn offset(check: &HealthChecking, number: u64, random: u64) -> SimDuration {
    let interval = check.check_interval.as_nanos();
    match check.probers.phase {
        Phase::At(offset) => {
            offset + SimDuration::from_nanos(interval * number / u64::from(check.probers.count.get()))
        }
        Phase::Random => SimDuration::from_nanos(below(random, interval)),
    }
}
