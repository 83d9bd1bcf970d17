//! Faults: when each strikes in a run, and whom, and what it does then.

use rand::Rng;

use super::calendar::Calendar;
use super::event::Event;
use super::front::FrontSide;
use super::machine::MachineState;
use super::machines::Machines;
use super::scenario::{
    BackendFault, BackendSpec, FailureMode, Fault, FaultEffect, FaultSchedule, InitialHealth, LinkFault,
    Occurrence, Renewals, Scenario, Timing, struck,
};
use crate::ids::{BackendId, IdVec, ZoneId};
use crate::lb::ratio::Ratio;
use crate::random::{Distribution, Purpose, RunSeed, Stream, StreamKey, open_unit, shuffle};
use crate::time::{SimDuration, SimTime};

#[derive(Clone, Debug, PartialEq)]
struct Strike {
    at: SimTime,
    end: Option<SimTime>,
    effect: StrikeEffect,
    /// Whether it began before time 0.
    is_under_way: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum StrikeEffect {
    Backends(Targets, BackendFault),
    Link([ZoneId; 2], LinkFault),
}

#[derive(Clone, Debug, PartialEq)]
struct Targets {
    /// In the order in which they are chosen, the same in every arm.
    candidates: Vec<BackendId>,
    /// The share of those that are there when it strikes.
    fraction: Ratio,
}

impl Targets {
    /// Their share of those that are there, to the nearest whole number but one at least unless 0; in order of ids.
    fn hit(&self, is_there: impl Fn(BackendId) -> bool) -> Vec<BackendId> {
        let present = self.candidates.iter().copied().filter(|backend| is_there(*backend));
        let mut hit: Vec<BackendId> = present.collect();
        hit.truncate(struck(self.fraction, hit.len()));
        hit.sort_unstable();
        hit
    }
}

#[derive(Debug)]
pub(super) struct Faults {
    strikes: Vec<Strike>,
    /// Whom each strike has hit.
    hit: Vec<Vec<BackendId>>,
    /// The members of autoscaled groups, which can be struck only while they are there.
    autoscaled: IdVec<BackendId, bool>,
}

impl Faults {
    pub(super) fn new(scenario: &Scenario, seed: RunSeed) -> Self {
        let faults = scenario.faults.iter().enumerate();
        let strikes: Vec<Strike> = faults
            .flat_map(|(number, fault)| {
                strikes_of(
                    fault,
                    scenario.initial_health,
                    (key(seed, number), seed.is_even()),
                    scenario.timing,
                )
            })
            .collect();
        let is_autoscaled = |spec: &BackendSpec| scenario.groups[spec.group].autoscaling.is_some();
        Self {
            hit: vec![Vec::new(); strikes.len()],
            strikes,
            autoscaled: scenario.backends.iter().map(is_autoscaled).collect(),
        }
    }

    /// The strikes that are under way at the beginning: of faults at random times that are in their long run.
    pub(super) fn under_way(&self) -> Vec<u32> {
        let under_way = (0..).zip(&self.strikes).filter(|(_, strike)| strike.is_under_way);
        under_way.map(|(number, _)| number).collect()
    }

    pub(super) fn plan(&self, calendar: &mut Calendar) {
        for (strike, Strike { at, end, is_under_way, .. }) in (0..).zip(&self.strikes) {
            if !is_under_way {
                calendar.plan(*at, Event::Fault { strike, begins: true });
            }
            if let Some(end) = *end {
                calendar.plan(end, Event::Fault { strike, begins: false });
            }
        }
    }

    pub(super) fn edges(&self) -> IdVec<BackendId, Vec<SimTime>> {
        let mut edges: IdVec<BackendId, Vec<SimTime>> = self.autoscaled.iter().map(|_| Vec::new()).collect();
        for strike in &self.strikes {
            if let StrikeEffect::Backends(targets, _) = &strike.effect {
                for &backend in &targets.candidates {
                    edges[backend].extend([Some(strike.at), strike.end].into_iter().flatten());
                }
            }
        }
        edges
    }

    /// A strike begins or ends; gives the backends that clients find down now and did not before.
    pub(super) fn strike(
        &mut self,
        now: SimTime,
        (strike, begins): (u32, bool),
        front: &mut FrontSide,
        machines: &mut Machines<'_>,
    ) -> Vec<BackendId> {
        let hit = &mut self.hit[strike as usize];
        match &self.strikes[strike as usize].effect {
            StrikeEffect::Link(between, fault) => {
                front.links.fault(*between, *fault, begins);
                Vec::new()
            }
            StrikeEffect::Backends(targets, fault) => {
                if begins {
                    let balancers = &front.balancers;
                    *hit = targets.hit(|backend| !self.autoscaled[backend] || balancers.have(backend));
                }
                let mut went_down = targets.candidates.clone();
                went_down.retain(|backend| {
                    let struck = hit.binary_search(backend).is_ok();
                    let machine = &mut machines.machines[*backend];
                    let went_down = machine.fault(now, struck.then_some(*fault), begins);
                    front.recorder.serves(now, *backend, machine.state() == MachineState::Up);
                    went_down
                });
                went_down
            }
        }
    }
}

/// The key of the draws of the fault with this number.
fn key(seed: RunSeed, number: usize) -> StreamKey {
    seed.stream(Purpose::FaultTargets, &format!("fault-{number}"))
}

/// The strikes of a fault in a run whose draws for it are of `key`, and whose replication `is_even`.
fn strikes_of(
    fault: &Fault,
    initial: InitialHealth,
    (key, is_even): (StreamKey, bool),
    timing: Timing,
) -> Vec<Strike> {
    let horizon = timing.window_end();
    let effect = match &fault.effect {
        FaultEffect::Backends { targets, fraction, kind } => {
            let targets = Targets { candidates: in_random_order(targets, key), fraction: *fraction };
            StrikeEffect::Backends(targets, *kind)
        }
        FaultEffect::Link { between, kind } => StrikeEffect::Link(*between, *kind),
    };
    let once = |at, end| Strike { at, end, effect: effect.clone(), is_under_way: false };
    match &fault.schedule {
        FaultSchedule::Once { .. } | FaultSchedule::Flapping { .. } => {
            let spans = fault.schedule.fixed_spans(horizon).into_iter();
            spans.map(|(at, end)| once(at, end)).collect()
        }
        FaultSchedule::Random { time_between, duration, occurrence } => {
            let renewals = Renewals { up: time_between, down: duration };
            let mut stream = key.child(0).generator();
            let spans = match (initial, occurrence) {
                (InitialHealth::AllUp, _) => renewed(renewals, SimTime::ZERO, horizon, &mut stream),
                (InitialHealth::Stationary, Occurrence::Free) => begun(renewals, horizon, &mut stream),
                (InitialHealth::Stationary, Occurrence::InTurn) if !is_even => {
                    before_the_window(renewals, timing.window_start(), &mut stream)
                }
                (InitialHealth::Stationary, Occurrence::Always | Occurrence::InTurn) => {
                    in_the_window(renewals, timing, &mut stream)
                }
            };
            let strike =
                |(start, end)| Strike { is_under_way: start == SimTime::ZERO, ..once(start, Some(end)) };
            spans.into_iter().map(strike).collect()
        }
        FaultSchedule::Rolling { at, batch, pause, grace, restart } => {
            let StrikeEffect::Backends(targets, _) = effect else { return Vec::new() };
            let backends = targets.hit(|_| true);
            let length = *grace + *restart + *pause;
            (0..)
                .zip(backends.chunks(batch.get() as usize))
                .flat_map(|(round, batch)| restart_of(batch, *at + length * round, *grace, *restart))
                .collect()
        }
    }
}

/// From when to when a fault is on.
type StrikeSpan = (SimTime, SimTime);

/// A draw of how long it lasts: at least a nanosecond, so that time goes on.
fn lasting(down: &Distribution<SimDuration>, stream: &mut Stream) -> SimDuration {
    down.sample(stream).max(SimDuration::from_nanos(1))
}

/// Beginnings before `horizon`, after an end at time `now`.
fn renewed(
    renewals: Renewals<'_>,
    mut now: SimTime,
    horizon: SimTime,
    stream: &mut Stream,
) -> Vec<StrikeSpan> {
    let mut spans = Vec::new();
    loop {
        now += renewals.up.sample(stream);
        if now >= horizon {
            return spans;
        }
        let end = now + lasting(renewals.down, stream);
        spans.push((now, end));
        now = end;
    }
}

/// The same in the long run from time 0 on.
fn begun(renewals: Renewals<'_>, horizon: SimTime, stream: &mut Stream) -> Vec<StrikeSpan> {
    let (free, left) = renewals.stationary(stream);
    let start = if free { SimTime::ZERO + left } else { SimTime::ZERO };
    if start >= horizon {
        return Vec::new();
    }
    let lasts = if free { lasting(renewals.down, stream) } else { left.max(SimDuration::from_nanos(1)) };
    let later = renewed(renewals, start + lasts, horizon, stream);
    [(start, start + lasts)].into_iter().chain(later).collect()
}

/// The same where the fault is on some time in the measured window, as it is with [`Renewals::chance_in`]. Exact: the state at the
/// window's beginning is drawn among those that lead there, and what was before it backwards, since times up have no memory and
/// the process in the long run is the same in both directions of time.
fn in_the_window(renewals: Renewals<'_>, timing: Timing, stream: &mut Stream) -> Vec<StrikeSpan> {
    let (window, horizon) = (timing.window_start(), timing.window_end());
    let Renewals { up, down } = renewals;
    let chance = open_unit(stream.next_u64()) * renewals.chance_in(timing.duration);
    let (first, free_since) = if chance < 1.0 - renewals.availability() {
        let (passed, left) = down.under_way(stream);
        let start = before(window, passed);
        let end = window + left.max(SimDuration::from_nanos(1));
        ((start.unwrap_or(SimTime::ZERO), end), start)
    } else {
        // An exponential time that is shorter than the window.
        let most = -libm::expm1(-(timing.duration.as_nanos() as f64) / up.mean());
        let wait = -up.mean() * libm::log1p(-most * open_unit(stream.next_u64()));
        let start =
            window + SimDuration::from_nanos_f64(wait).min(timing.duration - SimDuration::from_nanos(1));
        ((start, start + lasting(down, stream)), Some(window))
    };
    let mut spans = free_since.map(|since| before_the_window(renewals, since, stream)).unwrap_or_default();
    spans.push(first);
    spans.extend(renewed(renewals, first.1, horizon, stream));
    spans
}

/// What was before a moment since which the process is known to be free, backwards to time 0. If that is the beginning of the
/// measured window, these are all spans of a run in whose window there is none: what comes after the window is in no run.
fn before_the_window(renewals: Renewals<'_>, free_since: SimTime, stream: &mut Stream) -> Vec<StrikeSpan> {
    let mut spans = Vec::new();
    let mut free_since = Some(free_since);
    while let Some(end) = free_since.and_then(|since| before(since, renewals.up.sample(stream))) {
        let start = before(end, lasting(renewals.down, stream));
        spans.push((start.unwrap_or(SimTime::ZERO), end));
        free_since = start;
    }
    spans.reverse();
    spans
}

/// So long before a moment; nothing before time 0.
fn before(at: SimTime, length: SimDuration) -> Option<SimTime> {
    at.since(SimTime::ZERO).as_nanos().checked_sub(length.as_nanos()).map(SimTime::from_nanos)
}

fn restart_of(batch: &[BackendId], start: SimTime, grace: SimDuration, restart: SimDuration) -> [Strike; 2] {
    let strike = |at, end, fault| {
        let targets = Targets { candidates: batch.to_vec(), fraction: Ratio::ONE };
        let effect = StrikeEffect::Backends(targets, fault);
        Strike { at, end: Some(end), effect, is_under_way: false }
    };
    let down = start + grace;
    let refuses = BackendFault::Fails(FailureMode::Refuse);
    [strike(start, down, BackendFault::Drains), strike(down, down + restart, refuses)]
}

/// `targets` in a random order: a Fisher-Yates shuffle.
fn in_random_order(targets: &[BackendId], key: StreamKey) -> Vec<BackendId> {
    let mut targets = targets.to_vec();
    shuffle(&mut targets, &mut key.generator());
    targets
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::ids::Id;
    use crate::stats::Moments;

    fn at(seconds: u64) -> SimTime {
        SimTime::ZERO + SimDuration::from_secs(seconds)
    }

    fn fault(count: usize, fraction: f64, schedule: FaultSchedule) -> Fault {
        let targets = (0..count).map(BackendId::from_index).collect();
        let fraction = Ratio::new(fraction).unwrap();
        let kind = BackendFault::Fails(FailureMode::Silent);
        Fault { effect: FaultEffect::Backends { targets, fraction, kind }, schedule }
    }

    fn strikes(fault: &Fault, horizon: SimTime) -> Vec<Strike> {
        let timing =
            Timing { warmup: SimDuration::ZERO, duration: horizon.since(SimTime::ZERO), ..Timing::default() };
        strikes_of(fault, InitialHealth::AllUp, (key(RunSeed::new(1, 0), 0), true), timing)
    }

    fn spans(fault: &Fault) -> Vec<(u64, Option<u64>)> {
        let seconds = |time: SimTime| time.as_secs_f64() as u64;
        let strikes = strikes(fault, at(1000));
        strikes.iter().map(|strike| (seconds(strike.at), strike.end.map(seconds))).collect()
    }

    #[test]
    fn flapping_begins_anew_each_period_and_stops_at_its_end() {
        let secs = SimDuration::from_secs;
        let schedule =
            |duration| FaultSchedule::Flapping { at: at(10), duration, period: secs(20), active: secs(5) };
        let short = spans(&fault(1, 1.0, schedule(Some(secs(43)))));
        assert_eq!(short, [(10, Some(15)), (30, Some(35)), (50, Some(53))]);
        assert_eq!(spans(&fault(1, 1.0, schedule(None))).len(), 50);
    }

    #[test]
    fn a_rolling_restart_takes_one_batch_after_the_other() {
        let secs = SimDuration::from_secs;
        let schedule = FaultSchedule::Rolling {
            at: at(100),
            batch: NonZeroU32::new(2).unwrap(),
            pause: secs(10),
            grace: secs(5),
            restart: secs(30),
        };
        let fault = fault(5, 1.0, schedule);
        let expected = [(100, 105), (105, 135), (145, 150), (150, 180), (190, 195), (195, 225)];
        assert_eq!(spans(&fault), expected.map(|(from, to)| (from, Some(to))));
        let strikes = strikes(&fault, at(1000));
        let sizes: Vec<usize> = strikes
            .iter()
            .map(|strike| match &strike.effect {
                StrikeEffect::Backends(targets, _) => targets.hit(|_| true).len(),
                StrikeEffect::Link(..) => 0,
            })
            .collect();
        assert_eq!(sizes, [2, 2, 2, 2, 1, 1]);
    }

    #[test]
    fn random_faults_have_their_rate() {
        let exponential = |secs| Distribution::exponential(SimDuration::from_secs(secs)).unwrap();
        let schedule = FaultSchedule::Random {
            time_between: exponential(90),
            duration: exponential(10),
            occurrence: Occurrence::Free,
        };
        let found = strikes(&fault(1, 1.0, schedule), at(1_000_000));
        // A renewal process with cycles of mean 100 s and deviation sqrt(90^2 + 10^2): 10 000 +- 91.
        assert!((found.len() as f64 - 10_000.0).abs() < 4.0 * 91.0, "{}", found.len());
        assert!(found.windows(2).all(|pair| pair[0].end.unwrap() <= pair[1].at));
    }

    #[test]
    fn a_fault_that_is_asked_to_happen_is_as_those_that_happen_by_themselves() {
        // Outages of ten minutes or so, one in twenty hours, in a window of half an hour after half an hour.
        let up = Distribution::exponential(SimDuration::from_secs(72_000)).unwrap();
        let down = Distribution::lognormal(SimDuration::from_secs(600), 1.0).unwrap();
        let renewals = Renewals { up: &up, down: &down };
        let length = SimDuration::from_secs(1800);
        let timing = Timing { warmup: length, duration: length, ..Timing::default() };
        let key = key(RunSeed::new(1, 0), 0);
        // Seconds within the window, and before it.
        let seconds = |spans: &[StrikeSpan]| -> [f64; 2] {
            let within = |from: SimTime, to: SimTime| {
                let on = spans.iter().map(|(start, end)| (*(start.max(&from)), *(end.min(&to))));
                on.map(|(start, end)| if start < end { end.since(start).as_secs_f64() } else { 0.0 }).sum()
            };
            [within(timing.window_start(), timing.window_end()), within(SimTime::ZERO, timing.window_start())]
        };
        let (mut by_itself, mut asked) =
            ([Moments::default(), Moments::default()], [Moments::default(), Moments::default()]);
        // Before windows without any.
        let (mut quiet, mut kept_quiet) = (Moments::default(), Moments::default());
        let tries = 60_000;
        for run in 0..tries {
            let spans = begun(renewals, timing.window_end(), &mut key.child(run).generator());
            let found = seconds(&spans);
            if found[0] > 0.0 {
                by_itself.iter_mut().zip(found).for_each(|(moments, value)| moments.add(value));
            } else {
                quiet.add(found[1]);
            }
            let mut stream = key.child(2 * tries + run).generator();
            let found = seconds(&before_the_window(renewals, timing.window_start(), &mut stream));
            assert_eq!(found[0], 0.0);
            kept_quiet.add(found[1]);
            let spans = in_the_window(renewals, timing, &mut key.child(tries + run).generator());
            assert!(
                spans.windows(2).all(|pair| pair[0].0 < pair[0].1 && pair[0].1 <= pair[1].0),
                "{spans:?}"
            );
            let found = seconds(&spans);
            assert!(found[0] > 0.0, "{spans:?}");
            asked.iter_mut().zip(found).for_each(|(moments, value)| moments.add(value));
        }
        let chance = renewals.chance_in(length);
        let (happened, expected) = (by_itself[0].count() as f64, tries as f64 * chance);
        assert!((happened - expected).abs() < 4.0 * expected.sqrt(), "{happened}, expected {expected}");
        for (by_itself, asked) in by_itself.iter().zip(&asked).chain([(&quiet, &kept_quiet)]) {
            let error = by_itself.std_dev() / (by_itself.count() as f64).sqrt();
            assert!(
                (by_itself.mean() - asked.mean()).abs() < 4.0 * error,
                "{} {} +- {error}",
                by_itself.mean(),
                asked.mean()
            );
        }
    }

    #[test]
    fn fractions_are_rounded_and_strike_at_least_one() {
        for (count, fraction, expected) in [(4, 0.5, 2), (4, 0.1, 1), (4, 0.0, 0), (3, 0.5, 2), (10, 1.0, 10)]
        {
            let schedule = FaultSchedule::Once { at: at(1), duration: None };
            let found = strikes(&fault(count, fraction, schedule), at(10));
            let StrikeEffect::Backends(targets, _) = &found[0].effect else { panic!("backends") };
            assert_eq!(targets.hit(|_| true).len(), expected, "{fraction} of {count}");
            assert_eq!(targets.hit(|_| false), []);
        }
    }
}
