//! What is measured while the world runs.
//!
//! Two accounts stand beside each other. By beginning: the connections that begin in the measured window, followed to
//! their end. By time: what happens in the window, of every connection that is open then, whenever it began. Levels are
//! integrated over the window.

use std::collections::BTreeMap;
use std::num::NonZeroU16;

use prefetch_index::prefetch_index;

use super::balancers::Balancers;
use super::flow::{Flow, Mark};
use super::history::Spans;
use super::outcome::{
    BackendOutcome, ByZone, FailureCause, HealthRecord, Latency, Outcome, Responses, Timeline, Traffic,
    TrafficSample, WorkerTime, ZoneSample,
};
use super::scenario::{Scenario, Timing};
use super::station::Station;
use crate::ids::{BackendId, BalancerId, ClientId, Id, IdVec, JudgeId, LaneId, PlaceId, ZoneId};
use crate::lb::Counters;
use crate::lb::policy::PlacementOutcome;
use crate::stats::{Histogram, Level};
use crate::time::SimTime;

#[derive(Debug, Default)]
struct Pair {
    latency: Latency,
    /// Connect times of the current sample, which are not among those of `latency` yet.
    sample_connect: Histogram,
    active: Level,
    /// Connections that began in the current sample, and are over.
    sample_connections: u64,
}

impl Pair {
    fn end_connect_sample(&mut self) {
        if self.sample_connect.count() > 0 {
            self.latency.connect.merge(&self.sample_connect);
            self.sample_connect.clear();
        }
    }
}

/// What every connection changes of a backend's record: a line of a processor's cache.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Load {
    traffic: Traffic,
    active: u64,
    peak_active: u64,
    /// Requests that were sent to it.
    asked: u64,
}

const _: () = assert!(size_of::<Load>() == 64);

#[derive(Debug)]
struct BackendRecord {
    load: Load,
    /// Whether it serves: it runs, and is not broken.
    serves: bool,
    /// 1 while it serves and is configured.
    available: Level,
    /// Whether all load balancers that have it hold it healthy; absent while none has it.
    held_healthy: Option<bool>,
    held_since: SimTime,
    known: BackendOutcome,
}

impl BackendRecord {
    fn new() -> Self {
        Self {
            load: Load::default(),
            serves: true,
            available: Level::default(),
            held_healthy: None,
            held_since: SimTime::ZERO,
            known: BackendOutcome::default(),
        }
    }

    fn count_availability(&mut self, now: SimTime) {
        self.available.set(now, u64::from(self.serves && self.held_healthy.is_some()));
    }

    /// Takes a sample's worker time: that on offer, and what of it was in use. Workers are on offer while the backend serves
    /// and is configured: what a removed one finishes is not counted. Nothing without a limit of workers, or where none
    /// was on offer.
    fn take_worker_time(&mut self, now: SimTime, station: &mut Station<'_>) -> Option<WorkerTime> {
        let nanos = self.available.area(now);
        self.available.restart(now);
        self.known.available_nanos += nanos as u64;
        let busy = station.take_busy(now)?;
        let offered = nanos * u128::from(station.workers()?);
        let time = WorkerTime { busy: busy.min(offered), offered };
        self.known.worker_time.get_or_insert_default().add(time);
        let peak = self.known.peak_utilization;
        self.known.peak_utilization = peak.into_iter().chain(time.utilization()).reduce(f64::max);
        (offered > 0).then_some(time)
    }

    fn count_time(&mut self, timing: &Timing, now: SimTime) {
        let nanos = timing.measured_part(self.held_since, now).as_nanos();
        if let Some(healthy) = self.held_healthy {
            self.known.configured_nanos += nanos;
            self.known.unhealthy_nanos += if healthy { 0 } else { nanos };
        }
        self.held_since = now;
    }
}

/// What is known of one backend in the eyes of one health check.
#[derive(Debug, Default)]
struct JudgedRecord {
    held: Option<bool>,
    since: SimTime,
    judged_nanos: u64,
    unhealthy_nanos: u64,
    changes: u64,
}

impl JudgedRecord {
    fn count_time(&mut self, timing: &Timing, now: SimTime) {
        let nanos = timing.measured_part(self.since, now).as_nanos();
        if let Some(healthy) = self.held {
            self.judged_nanos += nanos;
            self.unhealthy_nanos += if healthy { 0 } else { nanos };
        }
        self.since = now;
    }
}

/// The first lane of a client group, and how many destinations each has, where it has several.
type GroupLanes = (u32, Option<NonZeroU16>);

#[derive(Debug)]
pub(super) struct Recorder {
    timing: Timing,
    /// Whether the measured window has begun and not ended.
    is_measuring: bool,
    /// Connections that are over, whenever they began.
    over: u64,
    backend_zones: IdVec<BackendId, ZoneId>,
    client_places: IdVec<ClientId, PlaceId>,
    /// Where the pairs of each client group's place begin.
    rows: IdVec<ClientId, usize>,
    /// The lanes of each client group; none where every group has one.
    lanes: Option<Box<IdVec<ClientId, GroupLanes>>>,
    zones: usize,
    /// Row by row: a lane's traffic to each zone, and to no backend.
    traffic: Vec<Traffic>,
    /// Row by row: a place's pairs with all zones.
    pairs: Vec<Pair>,
    backends: IdVec<BackendId, BackendRecord>,
    /// Whether each load balancer holds each backend healthy; absent where it does not have it.
    held: IdVec<BalancerId, IdVec<BackendId, Option<bool>>>,
    /// What each health check holds of each backend that it judges, or has judged.
    judged: BTreeMap<(JudgeId, BackendId), JudgedRecord>,
    healthy: IdVec<ZoneId, Level>,
    responses: Responses,
    sample_start: SimTime,
    sample_end: SimTime,
    samples_done: usize,
    /// What the load balancer had counted when the last sample ended.
    counters: Counters,
    /// What is counted as it happens; the rest is filled in at the end.
    outcome: Outcome,
}

impl Recorder {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let zones = scenario.zones.len();
        let pairs = std::iter::repeat_with(Pair::default).take(scenario.places.len() * zones).collect();
        let samples = scenario.timing.samples();
        let lane_count = scenario.lanes().len();
        let row = || scenario.places.iter().map(|_| ByZone::<TrafficSample>::new(zones)).collect();
        Self {
            timing: scenario.timing,
            is_measuring: false,
            over: 0,
            backend_zones: scenario.backends.iter().map(|spec| spec.zone).collect(),
            client_places: scenario.clients.iter().map(|group| group.place).collect(),
            lanes: (lane_count > scenario.clients.len()).then(|| Box::new(lanes(scenario))),
            rows: scenario.clients.iter().map(|group| group.place.index() * zones).collect(),
            zones,
            traffic: vec![Traffic::default(); lane_count * (zones + 1)],
            pairs,
            backends: scenario.backends.iter().map(|_| BackendRecord::new()).collect(),
            held: scenario
                .balancers
                .iter()
                .map(|_| scenario.backends.iter().map(|_| None).collect())
                .collect(),
            judged: BTreeMap::new(),
            healthy: IdVec::from_fn(zones, |_| Level::default()),
            responses: Responses::default(),
            sample_start: scenario.timing.window_start(),
            sample_end: scenario.timing.sample_end(scenario.timing.window_start()),
            samples_done: 0,
            counters: Counters::default(),
            outcome: Outcome {
                decisions: IdVec::from_fn(lane_count, |_| [0; PlacementOutcome::ALL.len()]),
                timeline: Timeline {
                    traffic: std::iter::repeat_with(row).take(samples).collect(),
                    zones: vec![IdVec::from_fn(zones, |_| ZoneSample::default()); samples],
                    failover_switches: vec![0; samples],
                    responses: Vec::with_capacity(samples),
                },
                ..Outcome::default()
            },
        }
    }

    #[inline]
    pub(super) fn prefetch(&self, backend: BackendId) {
        prefetch_index(self.backends.iter().as_slice(), backend.index());
    }

    #[inline]
    pub(super) fn opened(&mut self, flow: &Flow) {
        self.outcome.opened += 1;
        self.outcome.started += u64::from(flow.is_measured());
    }

    #[inline]
    fn pair(&mut self, client: ClientId, backend: BackendId) -> &mut Pair {
        &mut self.pairs[self.rows[client] + self.backend_zones[backend].index()]
    }

    #[inline(always)]
    pub(super) fn activated(&mut self, now: SimTime, client: ClientId, backend: BackendId) {
        let record = &mut self.backends[backend].load;
        record.active += 1;
        if self.is_measuring {
            record.peak_active = record.peak_active.max(record.active);
        }
        self.pair(client, backend).active.up(now);
    }

    #[inline]
    pub(super) fn connected(&mut self, now: SimTime, flow: &Flow, backend: BackendId) {
        if self.is_measuring {
            let pair = self.pair(flow.client, backend);
            let connect = now.since(flow.started).as_nanos();
            pair.sample_connect.record(connect);
            pair.latency.network_rtt.record(flow.trip.as_nanos());
        }
    }

    #[inline]
    pub(super) fn closed(&mut self, now: SimTime, client: ClientId, backend: BackendId) {
        self.backends[backend].load.active -= 1;
        self.pair(client, backend).active.down(now);
    }

    #[inline]
    pub(super) fn requested(&mut self, flow: &Flow, backend: BackendId, bytes: u64) {
        if self.is_measuring {
            let traffic = Traffic { request_bytes: bytes, ..Traffic::default() };
            self.add(flow, Some(backend), &traffic);
            self.backends[backend].load.asked += 1;
        }
    }

    /// A request was carried to a backend that takes no notice of it.
    pub(super) fn carried(&mut self, flow: &Flow, backend: BackendId, bytes: u64) {
        if self.is_measuring {
            self.add(flow, Some(backend), &Traffic { request_bytes: bytes, ..Traffic::default() });
        }
    }

    #[inline]
    pub(super) fn responded(&mut self, now: SimTime, flow: &Flow, backend: BackendId, bytes: u64) {
        let taken = now.since(flow.sent).as_nanos();
        self.responses.count += 1;
        self.responses.nanos += u128::from(taken);
        if self.is_measuring {
            let traffic = Traffic { requests: 1, response_bytes: bytes, ..Traffic::default() };
            self.add(flow, Some(backend), &traffic);
            let pair = self.pair(flow.client, backend);
            pair.latency.request.record(taken);
            pair.latency.network_rtt.record(flow.trip.as_nanos());
        }
    }

    /// The first answer to a connection has met a machine of its own next hop: another than the connection did, if it
    /// `is_split`.
    pub(super) fn answered(&mut self, flow: &Flow, is_split: bool) {
        if flow.is_measured() {
            self.outcome.led_back_connections += 1;
            self.outcome.split_connections += u64::from(is_split);
        }
    }

    pub(super) fn diverted(&mut self) {
        self.outcome.diverted_connections += u64::from(self.is_measuring);
    }

    #[inline]
    pub(super) fn ended(&mut self, now: SimTime, flow: &Flow, failure: Option<FailureCause>) {
        self.over += 1;
        if self.is_measuring {
            self.outcome.ended += 1;
            if let Some(cause) = failure {
                self.broke(now, flow, cause);
            }
        }
        if !flow.is_measured() {
            return;
        }
        let place = self.client_places[flow.client];
        let zone = flow.backend.map(|backend| self.backend_zones[backend]);
        let failed = u64::from(failure.is_some());
        let traffic = Traffic { connections: 1, failed_connections: failed, ..Traffic::default() };
        self.add(flow, flow.backend, &traffic);
        let lane = LaneId::from_index(self.lane(flow));
        self.outcome.decisions[lane][flow.outcome as usize] += 1;
        self.outcome.unhealthy_connections += u64::from(flow.marks.has(Mark::OnUnhealthy));
        match failure {
            Some(cause) => {
                self.outcome.failures[cause as usize] += 1;
                let asked = if flow.marks.has(Mark::Opened) { flow.sent } else { flow.started };
                self.outcome.failed_after.record(now.since(asked).as_nanos());
            }
            None => self.outcome.completed += 1,
        }
        // Most connections end in the sample in which they began.
        match flow.backend {
            Some(backend) if flow.started >= self.sample_start && flow.started < self.sample_end => {
                self.pair(flow.client, backend).sample_connections += 1;
            }
            _ => {
                let sample = self.sample_of(flow.started);
                self.outcome.timeline.traffic[sample][place].at(zone).connections += 1;
            }
        }
    }

    /// A connection failed in the window, whenever it began.
    #[cold]
    fn broke(&mut self, now: SimTime, flow: &Flow, cause: FailureCause) {
        let place = self.client_places[flow.client];
        let zone = flow.backend.map(|backend| self.backend_zones[backend]);
        let sample = self.sample_of(now);
        self.outcome.timeline.traffic[sample][place].at(zone).failed += 1;
        self.outcome.broken[cause as usize] += 1;
        self.outcome.broken_open += u64::from(flow.marks.has(Mark::Opened));
    }

    /// A health check holds a backend healthy or not from now on, or does not judge it any more.
    pub(super) fn judged(
        &mut self,
        now: SimTime,
        (judge, backend): (JudgeId, BackendId),
        healthy: Option<bool>,
    ) {
        let record = self.judged.entry((judge, backend)).or_default();
        record.count_time(&self.timing, now);
        let has_changed = record.held.zip(healthy).is_some_and(|(before, after)| before != after);
        record.changes += u64::from(has_changed && self.is_measuring);
        record.held = healthy;
    }

    /// A load balancer holds a backend healthy or not from now on, or does not have it any more.
    pub(super) fn held(
        &mut self,
        now: SimTime,
        balancer: BalancerId,
        backend: BackendId,
        healthy: Option<bool>,
    ) {
        self.held[balancer][backend] = healthy;
        let healthy = self.held.iter().filter_map(|held| held[backend]).reduce(|all, one| all && one);
        let record = &mut self.backends[backend];
        let level = &mut self.healthy[self.backend_zones[backend]];
        record.count_time(&self.timing, now);
        match (record.held_healthy == Some(true), healthy == Some(true)) {
            (false, true) => level.up(now),
            (true, false) => level.down(now),
            _ => {}
        }
        record.held_healthy = healthy;
        record.count_availability(now);
    }

    /// A backend serves from now on, or does not: it has failed, or is broken.
    pub(super) fn serves(&mut self, now: SimTime, backend: BackendId, so: bool) {
        let record = &mut self.backends[backend];
        if record.serves != so {
            record.serves = so;
            record.count_availability(now);
        }
    }

    pub(super) fn window_starts(&mut self, now: SimTime) {
        self.is_measuring = true;
        self.outcome.under_way_at_start = self.outcome.opened - self.over;
        self.pairs.iter_mut().for_each(|pair| pair.active.restart(now));
        self.healthy.iter_mut().for_each(|level| level.restart(now));
        self.responses = Responses::default();
        for record in self.backends.iter_mut() {
            record.load.peak_active = record.load.active;
            record.available.restart(now);
        }
    }

    pub(super) fn window_ends(&mut self, now: SimTime, stations: &IdVec<BackendId, Station<'_>>) {
        self.is_measuring = false;
        self.outcome.under_way_at_end = self.outcome.opened - self.over;
        for (record, station) in self.backends.iter_mut().zip(stations) {
            record.known.mean_queue_length = station.mean_queue_length(now, self.timing.duration);
            record.known.mean_wait = station.mean_wait();
        }
    }

    pub(super) fn sample_ends(
        &mut self,
        now: SimTime,
        balancers: &Balancers,
        stations: &mut IdVec<BackendId, Station<'_>>,
    ) {
        let length = now.since(self.sample_start).as_nanos() as f64;
        let mut by_zone: IdVec<ZoneId, WorkerTime> =
            self.healthy.iter().map(|_| WorkerTime::default()).collect();
        for (backend, station) in stations.pairs_mut() {
            if let Some(time) = self.backends[backend].take_worker_time(now, station) {
                by_zone[self.backend_zones[backend]].add(time);
            }
        }
        let row = &mut self.outcome.timeline.traffic[self.samples_done];
        let samples = row.iter_mut().flat_map(|samples| samples.zones.iter_mut());
        for (sample, pair) in samples.zip(self.pairs.iter_mut()) {
            sample.connections += std::mem::take(&mut pair.sample_connections);
            let area = pair.active.area(now);
            self.outcome.open_nanos += area;
            sample.active = area as f64 / length;
            pair.active.restart(now);
            sample.connect_p99 = pair.sample_connect.quantile(990);
            pair.end_connect_sample();
        }
        for (zone, sample) in self.outcome.timeline.zones[self.samples_done].pairs_mut() {
            sample.healthy = self.healthy[zone].area(now) as f64 / length;
            self.healthy[zone].restart(now);
            sample.utilization = by_zone[zone].utilization();
        }
        self.outcome.timeline.failover_switches[self.samples_done] =
            balancers.counters().failover_switches - self.counters.failover_switches;
        self.counters = balancers.counters();
        self.outcome.conntrack_peak_entries = balancers.peak_entries();
        self.outcome.timeline.responses.push(std::mem::take(&mut self.responses));
        self.samples_done += 1;
        self.sample_start = now;
        self.sample_end = self.timing.sample_end(now);
    }

    pub(super) fn finish(mut self, now: SimTime, events: u64) -> Outcome {
        for record in self.backends.iter_mut() {
            record.count_time(&self.timing, now);
        }
        let places = self.pairs.len() / self.zones;
        let mut latencies = self.pairs.into_iter().map(|pair| pair.latency);
        let latency = (0..places).map(|_| latencies.by_ref().take(self.zones).collect()).collect();
        let backend = |record: &BackendRecord| BackendOutcome {
            traffic: record.load.traffic,
            asked: record.load.asked,
            peak_active: record.load.peak_active,
            ..record.known
        };
        let outcome = Outcome {
            traffic: self.traffic.chunks(self.zones + 1).map(ByZone::of_row).collect(),
            latency,
            backends: self.backends.iter().map(backend).collect(),
            health: judged(self.judged, &self.timing, now),
            conntrack_lookups: self.counters.lookups,
            conntrack_hits: self.counters.hits,
            health_transitions: self.counters.health_transitions,
            failover_switches: self.counters.failover_switches,
            events,
            ..self.outcome
        };
        outcome.assert_conserved();
        outcome
    }

    /// Most parts of `traffic` are zeros known to the caller, which vanish where this is part of it.
    #[inline(always)]
    fn add(&mut self, flow: &Flow, backend: Option<BackendId>, traffic: &Traffic) {
        let column = if let Some(backend) = backend {
            self.backends[backend].load.traffic += traffic;
            self.backend_zones[backend].index()
        } else {
            self.outcome.nowhere += traffic;
            self.zones
        };
        let row = self.lane(flow) * (self.zones + 1);
        self.traffic[row + column] += traffic;
    }

    /// The place of the flow's lane among all.
    #[inline(always)]
    fn lane(&self, flow: &Flow) -> usize {
        match &self.lanes {
            None => flow.client.index(),
            Some(lanes) => lane_of(lanes, flow),
        }
    }

    fn sample_of(&self, time: SimTime) -> usize {
        let since = time.since(self.timing.window_start()).as_nanos();
        (since / self.timing.sample_interval.as_nanos()) as usize
    }
}

#[cold]
fn lane_of(lanes: &IdVec<ClientId, GroupLanes>, flow: &Flow) -> usize {
    let (first, several) = lanes[flow.client];
    let lane = several.map_or(0, |destinations| flow.destination / destinations);
    first as usize + usize::from(lane)
}

fn lanes(scenario: &Scenario) -> IdVec<ClientId, GroupLanes> {
    let mut first = 0;
    let of_group = |group: &super::scenario::ClientGroup| {
        let lanes = (first, (group.lanes.count() > 1).then_some(group.destinations));
        first += group.lanes.count() as u32;
        lanes
    };
    scenario.clients.iter().map(of_group).collect()
}

fn judged(
    records: BTreeMap<(JudgeId, BackendId), JudgedRecord>,
    timing: &Timing,
    now: SimTime,
) -> Vec<HealthRecord> {
    let seen = records.into_iter().map(|((judge, backend), mut record)| {
        record.count_time(timing, now);
        HealthRecord {
            judge,
            backend,
            judged_nanos: record.judged_nanos,
            unhealthy_nanos: record.unhealthy_nanos,
            changes: record.changes,
            detections: Spans::default(),
        }
    });
    seen.filter(|seen| seen.judged_nanos > 0).collect()
}
