//! The timeline of a cell: means over its replications.

use super::Field;
use crate::ids::{IdVec, PlaceId, ZoneId};
use crate::sim::outcome::{ByZone, Timeline, TrafficSample, ZoneSample};
use crate::sim::scenario::Scenario;
use crate::time::SimTime;

results_file! {
    TimelineRow in "timeline.csv" each time_s, client_zone, backend_zone: "One sample of a cell between two zones, the mean over its replications.";
    of (world: &'a Scenario, place: PlaceId, zone: Option<ZoneId>, sum: &SampleSum, sample: &MeanSample<'_>)
    number time_s ["s"] "simulated time at the beginning of the sample" = Some(sample.start.as_secs_f64());
    text client_zone "the zone of the clients" = &world.places[place].name;
    text backend_zone "the zone of the backends; empty where no backend was reached"
        = zone.map_or("", |zone| &world.zones[zone]);
    number connections_per_s ["connections/s"] "connections begun per second"
        = Some(sum.connections / sample.seconds);
    number failed_per_s ["connections/s"] "connections failed per second"
        = Some(sum.failed / sample.seconds);
    number connect_p99_ms ["ms"] "the 99 % quantile of the time to connect"
        = sum.connect_p99.value().map(|nanos| nanos / 1e6);
    number healthy_backends ["backends"] "backends of the zone that the load balancer holds healthy"
        = zone.map(|zone| sample.zones[zone].healthy / sample.replications);
    number active_connections ["connections"] "connections under way"
        = zone.map(|_| sum.active / sample.replications);
    number utilization ["1"] "the mean share of busy workers of the zone's backends"
        = zone.and_then(|zone| sample.zones[zone].utilization.value());
    number failover_switches ["switches"] "changes of the role that serves, in all zones"
        = Some(sample.switches / sample.replications);
}

/// How many numbers a row has beside its time.
pub const TIMELINE_NUMBERS: usize = 7;

impl TimelineRow {
    /// Its numbers beside the time.
    pub fn numbers(&self) -> [Option<f64>; TIMELINE_NUMBERS] {
        [
            self.connections_per_s,
            self.failed_per_s,
            self.connect_p99_ms,
            self.healthy_backends,
            self.active_connections,
            self.utilization,
            self.failover_switches,
        ]
    }

    /// The row of several samples in a row, the first of which begins at `time` seconds, between a pair of zones. Of each
    /// number it has the mean of those samples that have one, of `sums` and their counts; of switches, which are counted, the
    /// sum.
    pub fn of_sums(
        cell: usize,
        time: f64,
        (client_zone, backend_zone): (String, String),
        sums: [(f64, u32); TIMELINE_NUMBERS],
    ) -> Self {
        let mean = |(sum, count): (f64, u32)| (count > 0).then(|| sum / f64::from(count));
        let [
            connections_per_s,
            failed_per_s,
            connect_p99_ms,
            healthy_backends,
            active_connections,
            utilization,
            _,
        ] = sums.map(mean);
        let [.., (switches, samples)] = sums;
        let failover_switches = (samples > 0).then_some(switches);
        Self {
            cell,
            time_s: Some(time),
            client_zone,
            backend_zone,
            connections_per_s,
            failed_per_s,
            connect_p99_ms,
            healthy_backends,
            active_connections,
            utilization,
            failover_switches,
        }
    }
}

/// One sample, summed over the replications.
struct MeanSample<'s> {
    start: SimTime,
    /// Its length, over all replications.
    seconds: f64,
    replications: f64,
    zones: &'s IdVec<ZoneId, ZoneSum>,
    switches: f64,
}

/// Sums over the replications so far.
#[derive(Debug, Default)]
pub struct MeanTimeline {
    /// How many there are, each by its weight.
    replications: f64,
    samples: Vec<IdVec<PlaceId, ByZone<SampleSum>>>,
    zones: Vec<IdVec<ZoneId, ZoneSum>>,
    switches: Vec<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SampleSum {
    connections: f64,
    failed: f64,
    active: f64,
    connect_p99: Mean,
}

#[derive(Clone, Copy, Debug, Default)]
struct ZoneSum {
    healthy: f64,
    utilization: Mean,
}

/// The mean of what not every replication has.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, value: Option<f64>, weight: f64) {
        if let Some(value) = value {
            self.sum += weight * value;
            self.count += weight;
        }
    }

    fn value(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

impl ZoneSum {
    fn add(&mut self, sample: &ZoneSample, weight: f64) {
        self.healthy += weight * sample.healthy;
        self.utilization.add(sample.utilization, weight);
    }
}

impl SampleSum {
    fn add(&mut self, sample: &TrafficSample, weight: f64) {
        self.connections += weight * sample.connections as f64;
        self.failed += weight * sample.failed as f64;
        self.active += weight * sample.active;
        self.connect_p99.add(sample.connect_p99.map(|nanos| nanos as f64), weight);
    }
}

impl MeanTimeline {
    /// Adds one replication, which counts for as many as its weight says: one, or how much of all its stratum is.
    pub fn add(&mut self, timeline: &Timeline, scenario: &Scenario, weight: f64) {
        if self.samples.is_empty() {
            let zones = scenario.zones.len();
            let row = || scenario.places.iter().map(|_| ByZone::new(zones)).collect();
            self.samples = timeline.traffic.iter().map(|_| row()).collect();
            let row = || scenario.zones.iter().map(|_| ZoneSum::default()).collect();
            self.zones = timeline.zones.iter().map(|_| row()).collect();
            self.switches = vec![0.0; timeline.failover_switches.len()];
        }
        self.replications += weight;
        for (sums, samples) in self.samples.iter_mut().zip(&timeline.traffic) {
            let samples = samples.iter().flat_map(|row| row.pairs().map(|(_, sample)| sample));
            let sums = sums.iter_mut().flat_map(ByZone::iter_mut);
            sums.zip(samples).for_each(|(sum, sample)| sum.add(sample, weight));
        }
        for (sums, samples) in self.zones.iter_mut().zip(&timeline.zones) {
            sums.iter_mut().zip(samples).for_each(|(sum, sample)| sum.add(sample, weight));
        }
        let switches = self.switches.iter_mut().zip(&timeline.failover_switches);
        switches.for_each(|(sum, count)| *sum += weight * *count as f64);
    }

    /// The fields of every row after cell, arm and axes. A client place of which connections reached no backend has rows
    /// without a backend zone for them.
    pub fn rows<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = Vec<Field<'a>>> {
        let timing = scenario.timing;
        let replications = self.replications;
        let lost: IdVec<PlaceId, bool> = scenario
            .places
            .ids()
            .map(|place| self.samples.iter().any(|row| row[place].nowhere.connections > 0.0))
            .collect();
        let starts = (0..).map(move |index| timing.window_start() + timing.sample_interval * index);
        let samples = starts.zip(self.samples.iter().zip(self.zones.iter().zip(&self.switches)));
        samples.flat_map(move |(start, (sums, (zones, switches)))| {
            let end = (start + timing.sample_interval).min(timing.window_end());
            let seconds = (end - start).as_secs_f64() * replications;
            let sample = MeanSample { start, seconds, replications, zones, switches: *switches };
            let pairs = sums.pairs().flat_map(|(place, row)| row.pairs().map(move |pair| (place, pair)));
            let shown = pairs.filter(|(place, (zone, _))| zone.is_some() || lost[*place]);
            shown
                .map(|(place, (zone, sum))| TimelineRow::fields(scenario, place, zone, sum, &sample))
                .collect::<Vec<_>>()
        })
    }
}
