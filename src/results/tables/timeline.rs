//! The timeline of a cell: means over its replications.

use super::csv_file::Field;
use crate::ids::{IdVec, PlaceId, ZoneId};
use crate::sim::outcome::{ByZone, Sample, Timeline, ZoneSample};
use crate::sim::scenario::Scenario;

/// The columns of `timeline.csv` after cell, arm and axes. `time_s` is the beginning of a sample.
pub(super) const TIMELINE_COLUMNS: [&str; 10] = [
    "time_s",
    "client_zone",
    "backend_zone",
    "connections_per_s",
    "failed_per_s",
    "connect_p99_ms",
    "healthy_backends",
    "active_connections",
    "utilization",
    "failover_switches",
];

/// Sums over the replications so far.
#[derive(Debug, Default)]
pub(super) struct MeanTimeline {
    replications: u32,
    samples: Vec<IdVec<PlaceId, ByZone<SampleSum>>>,
    zones: Vec<IdVec<ZoneId, ZoneSum>>,
    switches: Vec<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct SampleSum {
    connections: u64,
    failed: u64,
    active: f64,
    connect_p99: f64,
    with_p99: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct ZoneSum {
    healthy: f64,
    utilization: f64,
    with_utilization: u32,
}

impl ZoneSum {
    fn add(&mut self, sample: &ZoneSample) {
        self.healthy += sample.healthy;
        if let Some(utilization) = sample.utilization {
            self.utilization += utilization;
            self.with_utilization += 1;
        }
    }

    fn utilization(&self) -> Option<f64> {
        (self.with_utilization > 0).then(|| self.utilization / f64::from(self.with_utilization))
    }
}

impl SampleSum {
    fn add(&mut self, sample: &Sample) {
        self.connections += sample.connections;
        self.failed += sample.failed;
        self.active += sample.active;
        if let Some(nanos) = sample.connect_p99 {
            self.connect_p99 += nanos as f64;
            self.with_p99 += 1;
        }
    }
}

impl MeanTimeline {
    /// Adds one replication.
    pub(super) fn add(&mut self, timeline: &Timeline, scenario: &Scenario) {
        if self.replications == 0 {
            let zones = scenario.zones.len();
            let row = || scenario.places.iter().map(|_| ByZone::new(zones)).collect();
            self.samples = timeline.traffic.iter().map(|_| row()).collect();
            let row = || scenario.zones.iter().map(|_| ZoneSum::default()).collect();
            self.zones = timeline.zones.iter().map(|_| row()).collect();
            self.switches = vec![0; timeline.failover_switches.len()];
        }
        self.replications += 1;
        for (sums, samples) in self.samples.iter_mut().zip(&timeline.traffic) {
            let samples = samples.iter().flat_map(|row| row.pairs().map(|(_, sample)| sample));
            let sums = sums.iter_mut().flat_map(ByZone::iter_mut);
            sums.zip(samples).for_each(|(sum, sample)| sum.add(sample));
        }
        for (sums, samples) in self.zones.iter_mut().zip(&timeline.zones) {
            sums.iter_mut().zip(samples).for_each(|(sum, sample)| sum.add(sample));
        }
        let switches = self.switches.iter_mut().zip(&timeline.failover_switches);
        switches.for_each(|(sum, count)| *sum += count);
    }

    /// The fields of every row after cell, arm and axes. A client place of which connections reached no backend has rows
    /// without a backend zone for them.
    pub(super) fn rows<'a>(
        &'a self,
        scenario: &'a Scenario,
    ) -> impl Iterator<Item = [Field<'a>; TIMELINE_COLUMNS.len()]> {
        let timing = scenario.timing;
        let replications = f64::from(self.replications);
        let lost: IdVec<PlaceId, bool> = scenario
            .places
            .ids()
            .map(|place| self.samples.iter().any(|row| row[place].nowhere.connections > 0))
            .collect();
        let moments = (0..).map(move |index| timing.window_start() + timing.sample_interval * index);
        let samples = moments.zip(self.samples.iter().zip(self.zones.iter().zip(&self.switches)));
        samples.flat_map(move |(start, (places, (zones, switches)))| {
            let end = (start + timing.sample_interval).min(timing.window_end());
            let seconds = (end - start).as_secs_f64() * replications;
            let pairs = places.pairs().flat_map(|(place, row)| row.pairs().map(move |pair| (place, pair)));
            let shown = pairs.filter(|(place, (zone, _))| zone.is_some() || lost[*place]);
            let fields = shown.map(|(place, (zone, sum))| {
                let p99 = (sum.with_p99 > 0).then(|| sum.connect_p99 / f64::from(sum.with_p99) / 1e6);
                [
                    Field::Number(Some(start.as_secs_f64())),
                    Field::Text(&scenario.places[place].name),
                    Field::Text(zone.map_or("", |zone| &scenario.zones[zone])),
                    Field::Number(Some(sum.connections as f64 / seconds)),
                    Field::Number(Some(sum.failed as f64 / seconds)),
                    Field::Number(p99),
                    Field::Number(zone.map(|zone| zones[zone].healthy / replications)),
                    Field::Number(zone.map(|_| sum.active / replications)),
                    Field::Number(zone.and_then(|zone| zones[zone].utilization())),
                    Field::Number(Some(*switches as f64 / replications)),
                ]
            });
            fields.collect::<Vec<_>>()
        })
    }
}
