//! The tables with rows for every run, column by column.

use super::WriteError;
use super::csv_file::{CsvFile, Field};
use crate::ids::{BackendId, ClientId, PlaceId, ZoneId};
use crate::lb::policy::PlacementOutcome;
use crate::metrics::{Run, load_multiples};
use crate::sim::outcome::{Latency, Traffic};
use crate::sim::scenario::Scenario;
use crate::stats::Histogram;

/// A column: its name, and its value in a row.
type Column<R> = (&'static str, for<'a> fn(&Run<'a>, &'a R) -> Field<'a>);

/// A kind of table: its file, its columns, and its rows for one run.
struct Kind<R: 'static> {
    name: &'static str,
    columns: &'static [Column<R>],
    rows: fn(&Run<'_>) -> Vec<R>,
}

/// The tables of all runs.
#[derive(Debug)]
pub(super) struct RunTables {
    traffic: CsvFile,
    latency: CsvFile,
    backends: CsvFile,
    decisions: CsvFile,
}

impl RunTables {
    /// Creates every file by `create`, which takes its name and columns.
    pub(super) fn create(
        create: impl Fn(&str, &[&str]) -> Result<CsvFile, WriteError>,
    ) -> Result<Self, WriteError> {
        Ok(Self {
            traffic: TRAFFIC.create(&create)?,
            latency: LATENCY.create(&create)?,
            backends: BACKENDS.create(&create)?,
            decisions: DECISIONS.create(&create)?,
        })
    }

    /// Adds the rows of one run, each beginning with `prefix`.
    pub(super) fn add(&mut self, run: &Run<'_>, prefix: &[Field<'_>]) -> Result<(), WriteError> {
        TRAFFIC.write(&mut self.traffic, run, prefix)?;
        LATENCY.write(&mut self.latency, run, prefix)?;
        BACKENDS.write(&mut self.backends, run, prefix)?;
        DECISIONS.write(&mut self.decisions, run, prefix)
    }

    pub(super) fn finish(&mut self) -> Result<(), WriteError> {
        let files = [&mut self.traffic, &mut self.latency, &mut self.backends, &mut self.decisions];
        files.into_iter().try_for_each(CsvFile::finish)
    }
}

impl<R> Kind<R> {
    fn create(
        &self,
        create: impl Fn(&str, &[&str]) -> Result<CsvFile, WriteError>,
    ) -> Result<CsvFile, WriteError> {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| *name).collect();
        create(self.name, &names)
    }

    fn write(&self, file: &mut CsvFile, run: &Run<'_>, prefix: &[Field<'_>]) -> Result<(), WriteError> {
        for row in (self.rows)(run) {
            let values = self.columns.iter().map(|(_, value)| value(run, &row));
            file.write(prefix.iter().cloned().chain(values))?;
        }
        Ok(())
    }
}

/// Client group × backend zone.
struct TrafficRow {
    client: ClientId,
    zone: Option<ZoneId>,
    traffic: Traffic,
}

const TRAFFIC: Kind<TrafficRow> = Kind {
    name: "traffic.csv",
    columns: &[
        ("client", |run, row| Field::Text(&run.scenario.clients[row.client].name)),
        ("client_zone", |run, row| Field::Text(client_zone(run.scenario, row.client))),
        ("backend_zone", |run, row| zone_name(run.scenario, row.zone)),
        ("connections", |_, row| Field::Count(row.traffic.connections)),
        ("failed_connections", |_, row| Field::Count(row.traffic.failed_connections)),
        ("requests", |_, row| Field::Count(row.traffic.requests)),
        ("request_bytes", |_, row| Field::Count(row.traffic.request_bytes)),
        ("response_bytes", |_, row| Field::Count(row.traffic.response_bytes)),
    ],
    rows: |run| {
        let rows = run.outcome.traffic.pairs().flat_map(|(client, by_zone)| {
            by_zone.pairs().map(move |(zone, traffic)| TrafficRow { client, zone, traffic: *traffic })
        });
        // Connections that reached no backend have a row of their own, where there are any.
        rows.filter(|row| row.zone.is_some() || row.traffic.connections > 0).collect()
    },
};

/// Client zone × backend zone × kind; a zone that is absent stands for all.
struct LatencyRow {
    place: Option<PlaceId>,
    zone: Option<ZoneId>,
    kind: &'static str,
    histogram: Histogram,
}

const LATENCY: Kind<LatencyRow> = Kind {
    name: "latency.csv",
    columns: &[
        ("client_zone", |run, row| {
            Field::Text(row.place.map_or("all", |place| &run.scenario.places[place].name))
        }),
        ("backend_zone", |run, row| Field::Text(row.zone.map_or("all", |zone| &run.scenario.zones[zone]))),
        ("kind", |_, row| Field::Text(row.kind)),
        ("count", |_, row| Field::Count(row.histogram.count())),
        ("mean_ms", |_, row| Field::Number(row.histogram.mean().map(|nanos| nanos / 1e6))),
        ("p50_ms", |_, row| quantile(row, 500)),
        ("p90_ms", |_, row| quantile(row, 900)),
        ("p99_ms", |_, row| quantile(row, 990)),
        ("p999_ms", |_, row| quantile(row, 999)),
        ("max_ms", |_, row| millis(row.histogram.max())),
    ],
    rows: |run| {
        let mut rows = Vec::new();
        for (place, by_zone) in run.outcome.latency.pairs() {
            let mut from_place = Latency::default();
            for (zone, latency) in by_zone.pairs() {
                from_place.merge(latency);
                push_kinds(&mut rows, Some(place), Some(zone), latency);
            }
            push_kinds(&mut rows, Some(place), None, &from_place);
        }
        push_kinds(&mut rows, None, None, run.latency);
        rows
    },
};

fn push_kinds(rows: &mut Vec<LatencyRow>, place: Option<PlaceId>, zone: Option<ZoneId>, latency: &Latency) {
    let measured = latency.kinds().into_iter().filter(|(_, histogram)| histogram.count() > 0);
    rows.extend(measured.map(|(kind, histogram)| LatencyRow {
        place,
        zone,
        kind,
        histogram: histogram.clone(),
    }));
}

/// One backend, or none for the connections that reached none.
struct BackendRow {
    backend: Option<BackendId>,
    traffic: Traffic,
    load_multiple: Option<f64>,
}

const BACKENDS: Kind<BackendRow> = Kind {
    name: "backends.csv",
    columns: &[
        ("backend", |run, row| {
            Field::Text(row.backend.map_or("", |backend| &run.scenario.backends[backend].name))
        }),
        ("group", |run, row| {
            let spec = row.backend.map(|backend| &run.scenario.backends[backend]);
            Field::Text(spec.map_or("", |spec| &run.scenario.groups[spec.group].name))
        }),
        ("zone", |run, row| {
            zone_name(run.scenario, row.backend.map(|backend| run.scenario.backends[backend].zone))
        }),
        ("connections", |_, row| Field::Count(row.traffic.connections)),
        ("requests", |_, row| Field::Count(row.traffic.requests)),
        ("load_multiple", |_, row| Field::Number(row.load_multiple)),
        ("utilization", |run, row| {
            Field::Number(row.backend.and_then(|backend| run.outcome.backends[backend].utilization))
        }),
        ("peak_active", |run, row| {
            Field::Number(row.backend.map(|backend| run.outcome.backends[backend].peak_active as f64))
        }),
        ("unhealthy_s", |run, row| {
            Field::Number(
                row.backend.map(|backend| run.outcome.backends[backend].unhealthy_nanos as f64 / 1e9),
            )
        }),
        ("failed_connections", |_, row| Field::Count(row.traffic.failed_connections)),
        ("mean_queue_length", |run, row| {
            Field::Number(row.backend.and_then(|backend| run.outcome.backends[backend].mean_queue_length))
        }),
        ("mean_wait_ms", |run, row| {
            let wait = row.backend.and_then(|backend| run.outcome.backends[backend].mean_wait);
            Field::Number(wait.map(|nanos| nanos / 1e6))
        }),
    ],
    rows: |run| {
        let multiples = load_multiples(run.scenario, run.outcome);
        let of_backends = run.outcome.backends.pairs().map(|(backend, outcome)| BackendRow {
            backend: Some(backend),
            traffic: outcome.traffic,
            load_multiple: multiples.as_ref().and_then(|multiples| multiples[backend]),
        });
        let nowhere = BackendRow { backend: None, traffic: run.outcome.nowhere, load_multiple: None };
        of_backends.chain((nowhere.traffic.connections > 0).then_some(nowhere)).collect()
    },
};

/// Client group × outcome of the placing decision.
struct DecisionRow {
    client: ClientId,
    outcome: PlacementOutcome,
    connections: u64,
}

const DECISIONS: Kind<DecisionRow> = Kind {
    name: "decisions.csv",
    columns: &[
        ("client", |run, row| Field::Text(&run.scenario.clients[row.client].name)),
        ("outcome", |_, row| Field::Text(row.outcome.name())),
        ("connections", |_, row| Field::Count(row.connections)),
    ],
    rows: |run| {
        let rows = run.outcome.decisions.pairs().flat_map(|(client, counts)| {
            let outcomes = PlacementOutcome::ALL.into_iter().zip(counts);
            outcomes.map(move |(outcome, count)| DecisionRow { client, outcome, connections: *count })
        });
        rows.filter(|row| row.connections > 0).collect()
    },
};

fn client_zone(scenario: &Scenario, client: ClientId) -> &str {
    &scenario.places[scenario.clients[client].place].name
}

fn zone_name(scenario: &Scenario, zone: Option<ZoneId>) -> Field<'_> {
    Field::Text(zone.map_or("", |zone| &scenario.zones[zone]))
}

fn quantile(row: &LatencyRow, per_mille: u64) -> Field<'static> {
    millis(row.histogram.quantile(per_mille))
}

fn millis(nanos: Option<u64>) -> Field<'static> {
    Field::Number(nanos.map(|nanos| nanos as f64 / 1e6))
}
