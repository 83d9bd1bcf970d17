//! What is measured while the world runs.
//!
//! Only connections that begin in the measured window count, and those are followed to their end. Levels are
//! integrated over the window, starting from the level that stands when it begins.

use prefetch_index::prefetch_index;

use super::flow::{Flow, Mark};
use super::outcome::{
    BackendOutcome, ByZone, FailureCause, Latency, Outcome, Responses, Timeline, Traffic, TrafficSample,
    ZoneSample,
};
use super::scenario::{Scenario, Timing};
use super::station::{Waiting, WorkDone};
use crate::ids::{BackendId, ClientId, Id, IdVec, PlaceId, ZoneId};
use crate::lb::Counters;
use crate::lb::policy::PlacementOutcome;
use crate::stats::{Histogram, Level};
use crate::time::{SimDuration, SimTime};

/// A pair of a client place and a backend zone.
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
    /// Adds the connect times of a sample to those of all.
    fn end_connect_sample(&mut self) {
        if self.sample_connect.count() > 0 {
            self.latency.connect.merge(&self.sample_connect);
            self.sample_connect.clear();
        }
    }
}

/// A mean of utilizations.
#[derive(Clone, Copy, Debug, Default)]
struct Busy {
    sum: f64,
    count: u32,
}

/// What every connection changes of a backend's record: a line of a processor's cache.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Load {
    traffic: Traffic,
    active: u64,
    peak_active: u64,
}

/// What one backend did so far.
#[derive(Debug, Default)]
struct BackendRecord {
    load: Load,
    /// Whether the load balancer holds it healthy; absent while it is not configured.
    held_healthy: Option<bool>,
    /// Since when that is so.
    held_since: SimTime,
    unhealthy: SimDuration,
    configured: SimDuration,
    /// The sum of the samples' utilizations, each times its length, in nanoseconds.
    busy_nanos: Option<f64>,
    peak_utilization: Option<f64>,
    waiting: Option<Waiting>,
}

impl BackendRecord {
    /// Adds the time that it was configured, and that it was held unhealthy, up to `now`.
    fn count_time(&mut self, timing: &Timing, now: SimTime) {
        let time = timing.measured_part(self.held_since, now);
        if self.held_healthy.is_some() {
            self.configured = self.configured + time;
        }
        if self.held_healthy == Some(false) {
            self.unhealthy = self.unhealthy + time;
        }
        self.held_since = now;
    }
}

/// The measurements of one run.
#[derive(Debug)]
pub(super) struct Recorder {
    timing: Timing,
    window_end: SimTime,
    backend_zones: IdVec<BackendId, ZoneId>,
    client_places: IdVec<ClientId, PlaceId>,
    /// Where the pairs of each client group's place begin.
    rows: IdVec<ClientId, usize>,
    zones: usize,
    /// Row by row: a client group's traffic to each zone, and to no backend.
    traffic: Vec<Traffic>,
    decisions: IdVec<ClientId, [u64; PlacementOutcome::ALL.len()]>,
    failures: [u64; FailureCause::ALL.len()],
    /// Row by row: a place's pairs with all zones.
    pairs: Vec<Pair>,
    backends: IdVec<BackendId, BackendRecord>,
    healthy: IdVec<ZoneId, Level>,
    /// The utilizations of each zone's backends in this sample.
    busy: IdVec<ZoneId, Busy>,
    nowhere: Traffic,
    unhealthy_connections: u64,
    diverted_connections: u64,
    timeline: Timeline,
    /// The responses of the current sample.
    responses: Responses,
    sample_start: SimTime,
    sample_end: SimTime,
    samples_done: usize,
    /// Measured connections that began, and those of them that completed.
    started: u64,
    completed: u64,
    opened: u64,
    /// What the load balancer had counted when the last sample ended.
    counters: Counters,
    /// The most tracking entries at one time up to then.
    peak_entries: u64,
}

impl Recorder {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let zones = scenario.zones.len();
        let pairs = std::iter::repeat_with(Pair::default).take(scenario.places.len() * zones).collect();
        let samples = scenario.timing.samples();
        let row = || scenario.places.iter().map(|_| ByZone::<TrafficSample>::new(zones)).collect();
        Self {
            timing: scenario.timing,
            window_end: scenario.timing.window_end(),
            backend_zones: scenario.backends.iter().map(|spec| spec.zone).collect(),
            client_places: scenario.clients.iter().map(|group| group.place).collect(),
            rows: scenario.clients.iter().map(|group| group.place.index() * zones).collect(),
            zones,
            traffic: vec![Traffic::default(); scenario.clients.len() * (zones + 1)],
            decisions: scenario.clients.iter().map(|_| [0; PlacementOutcome::ALL.len()]).collect(),
            failures: [0; FailureCause::ALL.len()],
            pairs,
            backends: scenario.backends.iter().map(|_| BackendRecord::default()).collect(),
            healthy: IdVec::from_fn(zones, |_| Level::default()),
            nowhere: Traffic::default(),
            unhealthy_connections: 0,
            diverted_connections: 0,
            timeline: Timeline {
                traffic: std::iter::repeat_with(row).take(samples).collect(),
                zones: vec![IdVec::from_fn(zones, |_| ZoneSample::default()); samples],
                failover_switches: vec![0; samples],
                responses: Vec::with_capacity(samples),
            },
            responses: Responses::default(),
            busy: IdVec::from_fn(zones, |_| Busy::default()),
            sample_start: scenario.timing.window_start(),
            sample_end: scenario.timing.sample_end(scenario.timing.window_start()),
            samples_done: 0,
            started: 0,
            completed: 0,
            opened: 0,
            counters: Counters::default(),
            peak_entries: 0,
        }
    }

    /// Asks the processor to fetch what a connection's end changes of its backend's record.
    #[inline]
    pub(super) fn prefetch(&self, backend: BackendId) {
        prefetch_index(self.backends.iter().as_slice(), backend.index());
    }

    /// A connection begins.
    #[inline]
    pub(super) fn opened(&mut self, flow: &Flow) {
        self.opened += 1;
        self.started += u64::from(flow.is_measured());
    }

    #[inline]
    fn pair(&mut self, client: ClientId, backend: BackendId) -> &mut Pair {
        &mut self.pairs[self.rows[client] + self.backend_zones[backend].index()]
    }

    /// A connection becomes active on `backend`.
    #[inline(always)]
    pub(super) fn activated(&mut self, now: SimTime, client: ClientId, backend: BackendId) {
        let record = &mut self.backends[backend].load;
        record.active += 1;
        if now < self.window_end {
            record.peak_active = record.peak_active.max(record.active);
        }
        self.pair(client, backend).active.up(now);
    }

    /// A connection's handshake ends.
    #[inline]
    pub(super) fn connected(&mut self, now: SimTime, flow: &Flow, backend: BackendId) {
        if flow.is_measured() {
            let pair = self.pair(flow.client, backend);
            let connect = now.since(flow.started).as_nanos();
            pair.sample_connect.record(connect);
            pair.latency.network_rtt.record(flow.trip.as_nanos());
        }
    }

    /// An active connection closes, or moves away from `backend`.
    #[inline]
    pub(super) fn closed(&mut self, now: SimTime, client: ClientId, backend: BackendId) {
        self.backends[backend].load.active -= 1;
        self.pair(client, backend).active.down(now);
    }

    /// A request is sent to `backend`.
    #[inline]
    pub(super) fn requested(&mut self, flow: &Flow, backend: BackendId, bytes: u64) {
        if flow.is_measured() {
            let traffic = Traffic { request_bytes: bytes, ..Traffic::default() };
            self.add(flow.client, Some(backend), &traffic);
        }
    }

    /// A response is complete.
    #[inline]
    pub(super) fn responded(&mut self, now: SimTime, flow: &Flow, backend: BackendId, bytes: u64) {
        let taken = now.since(flow.sent).as_nanos();
        self.responses.count += 1;
        self.responses.nanos += taken;
        if flow.is_measured() {
            let traffic = Traffic { requests: 1, response_bytes: bytes, ..Traffic::default() };
            self.add(flow.client, Some(backend), &traffic);
            let pair = self.pair(flow.client, backend);
            pair.latency.request.record(taken);
            pair.latency.network_rtt.record(flow.trip.as_nanos());
        }
    }

    /// A later packet of a connection was sent to another backend.
    pub(super) fn diverted(&mut self, flow: &Flow) {
        self.diverted_connections += u64::from(flow.is_measured());
    }

    /// A connection is over, for `failure` or complete.
    #[inline]
    pub(super) fn ended(&mut self, now: SimTime, flow: &Flow, failure: Option<FailureCause>) {
        let place = self.client_places[flow.client];
        let zone = flow.backend.map(|backend| self.backend_zones[backend]);
        // The timeline shows every failure of the window, also of connections that began before it.
        if failure.is_some() && self.timing.is_measured(now) {
            let sample = self.sample_of(now);
            self.timeline.traffic[sample][place].at(zone).failed += 1;
        }
        if !flow.is_measured() {
            return;
        }
        let failed = u64::from(failure.is_some());
        let traffic = Traffic { connections: 1, failed_connections: failed, ..Traffic::default() };
        self.add(flow.client, flow.backend, &traffic);
        self.decisions[flow.client][flow.outcome as usize] += 1;
        self.unhealthy_connections += u64::from(flow.marks.has(Mark::OnUnhealthy));
        match failure {
            Some(cause) => self.failures[cause as usize] += 1,
            None => self.completed += 1,
        }
        // Most connections end in the sample in which they began.
        match flow.backend {
            Some(backend) if flow.started >= self.sample_start && flow.started < self.sample_end => {
                self.pair(flow.client, backend).sample_connections += 1;
            }
            _ => {
                let sample = self.sample_of(flow.started);
                self.timeline.traffic[sample][place].at(zone).connections += 1;
            }
        }
    }

    /// The load balancer holds `backend` healthy or not from now on, or has it no more.
    pub(super) fn held(&mut self, now: SimTime, backend: BackendId, healthy: Option<bool>) {
        let record = &mut self.backends[backend];
        let level = &mut self.healthy[self.backend_zones[backend]];
        record.count_time(&self.timing, now);
        match (record.held_healthy == Some(true), healthy == Some(true)) {
            (false, true) => level.up(now),
            (true, false) => level.down(now),
            _ => {}
        }
        record.held_healthy = healthy;
    }

    /// The measured window begins.
    pub(super) fn window_starts(&mut self, now: SimTime) {
        self.pairs.iter_mut().for_each(|pair| pair.active.restart(now));
        self.healthy.iter_mut().for_each(|level| level.restart(now));
        self.responses = Responses::default();
        self.backends.iter_mut().for_each(|record| record.load.peak_active = record.load.active);
    }

    /// The workers of `backend` have worked so long in the sample that ends.
    pub(super) fn worked(&mut self, now: SimTime, backend: BackendId, work: WorkDone) {
        let length = now.since(self.sample_start).as_nanos() as f64;
        let utilization = work.nanos as f64 / (f64::from(work.workers) * length);
        let record = &mut self.backends[backend];
        *record.busy_nanos.get_or_insert(0.0) += utilization * length;
        record.peak_utilization = Some(record.peak_utilization.unwrap_or(0.0).max(utilization));
        if record.held_healthy.is_some() {
            let busy = &mut self.busy[self.backend_zones[backend]];
            busy.sum += utilization;
            busy.count += 1;
        }
    }

    /// How long requests waited at `backend` in the measured window.
    pub(super) fn waited(&mut self, backend: BackendId, waiting: Waiting) {
        self.backends[backend].waiting = Some(waiting);
    }

    /// A sample of the timeline ends, up to which the load balancer has counted this since the window began.
    pub(super) fn sample_ends(&mut self, now: SimTime, counters: Counters, peak_entries: u64) {
        let length = now.since(self.sample_start).as_nanos() as f64;
        let row = &mut self.timeline.traffic[self.samples_done];
        let samples = row.iter_mut().flat_map(|samples| samples.zones.iter_mut());
        for (sample, pair) in samples.zip(self.pairs.iter_mut()) {
            sample.connections += std::mem::take(&mut pair.sample_connections);
            sample.active = pair.active.area(now) as f64 / length;
            pair.active.restart(now);
            sample.connect_p99 = pair.sample_connect.quantile(990);
            pair.end_connect_sample();
        }
        for (zone, sample) in self.timeline.zones[self.samples_done].pairs_mut() {
            sample.healthy = self.healthy[zone].area(now) as f64 / length;
            self.healthy[zone].restart(now);
            let busy = std::mem::take(&mut self.busy[zone]);
            sample.utilization = (busy.count > 0).then(|| busy.sum / f64::from(busy.count));
        }
        self.timeline.failover_switches[self.samples_done] =
            counters.failover_switches - self.counters.failover_switches;
        (self.counters, self.peak_entries) = (counters, peak_entries);
        self.timeline.responses.push(std::mem::take(&mut self.responses));
        self.samples_done += 1;
        self.sample_start = now;
        self.sample_end = self.timing.sample_end(now);
    }

    /// The measurements, of a run that is over at `now` after so many events.
    pub(super) fn finish(mut self, now: SimTime, events: u64) -> Outcome {
        let duration = self.timing.duration.as_nanos() as f64;
        for record in self.backends.iter_mut() {
            record.count_time(&self.timing, now);
        }
        let places = self.pairs.len() / self.zones;
        // Some of the window's connections have connected after its end.
        self.pairs.iter_mut().for_each(Pair::end_connect_sample);
        let mut latencies = self.pairs.into_iter().map(|pair| pair.latency);
        let latency = (0..places).map(|_| latencies.by_ref().take(self.zones).collect()).collect();
        let outcome = Outcome {
            traffic: self.traffic.chunks(self.zones + 1).map(ByZone::of_row).collect(),
            decisions: self.decisions,
            failures: self.failures,
            latency,
            backends: self
                .backends
                .iter()
                .map(|record| BackendOutcome {
                    traffic: record.load.traffic,
                    utilization: record.busy_nanos.map(|nanos| nanos / duration),
                    peak_utilization: record.peak_utilization,
                    mean_queue_length: record.waiting.map(|waiting| waiting.mean_length),
                    mean_wait: record.waiting.and_then(|waiting| waiting.mean_nanos),
                    peak_active: record.load.peak_active,
                    configured_nanos: record.configured.as_nanos(),
                    unhealthy_nanos: record.unhealthy.as_nanos(),
                })
                .collect(),
            nowhere: self.nowhere,
            started: self.started,
            completed: self.completed,
            unhealthy_connections: self.unhealthy_connections,
            diverted_connections: self.diverted_connections,
            timeline: self.timeline,
            opened: self.opened,
            conntrack_lookups: self.counters.lookups,
            conntrack_hits: self.counters.hits,
            conntrack_peak_entries: self.peak_entries,
            health_transitions: self.counters.health_transitions,
            failover_switches: self.counters.failover_switches,
            events,
        };
        outcome.assert_conserved();
        outcome
    }

    /// Most parts of `traffic` are zeros known to the caller, which vanish where this is part of it.
    #[inline(always)]
    fn add(&mut self, client: ClientId, backend: Option<BackendId>, traffic: &Traffic) {
        match backend {
            Some(backend) => {
                self.backends[backend].load.traffic += traffic;
                let zone = self.backend_zones[backend].index();
                self.traffic[client.index() * (self.zones + 1) + zone] += traffic;
            }
            None => {
                self.nowhere += traffic;
                self.traffic[client.index() * (self.zones + 1) + self.zones] += traffic;
            }
        }
    }

    fn sample_of(&self, time: SimTime) -> usize {
        let since = time.since(self.timing.window_start()).as_nanos();
        (since / self.timing.sample_interval.as_nanos()) as usize
    }
}
