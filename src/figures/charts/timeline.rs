//! What happens over time: a column per cell, a row per quantity, a line per zone, faults shaded.

mod faults;

use std::collections::{BTreeMap, BTreeSet};

use super::axis::ValueAxis;
use super::zones::{self, Zones};
use super::{caption, cells, palette};
use crate::figures::mark::{DataPoint, Join, PanelMark, PointSeries, Spread};
use crate::figures::{Figure, Key, KeySample, Panel, PanelAxis};
use crate::metrics::tables::TimelineRow;
use crate::metrics::unit::Unit;
use crate::results::{ResultCell, Results};

const MOST_COLUMNS: usize = 5;
/// The most points of a line over the width of the figure. Beyond that, lines are hatching.
const MOST_POINTS: usize = 1000;

/// A row of panels.
struct Quantity {
    label: &'static str,
    value: fn(&TimelineRow) -> Option<f64>,
    /// The zone whose line a sample belongs to.
    zone: fn(&TimelineRow) -> &str,
    /// Whether each sample states the level of the whole zone, so that samples are not to be added.
    level: bool,
    unit: Unit,
    /// Whether it is shown only where it ever happens.
    rare: bool,
}

const QUANTITIES: [Quantity; 6] = [
    Quantity::flow("Connections/s", |row| row.connections_per_s, to),
    Quantity::flow("Failed/s", |row| row.failed_per_s, from),
    Quantity::level("Healthy backends", |row| row.healthy_backends, Unit::Number),
    Quantity::level("Utilization", |row| row.utilization, Unit::Percent),
    Quantity::flow("Active connections", |row| row.active_connections, to),
    Quantity {
        rare: true,
        ..Quantity::level("Failover switches", |row| row.failover_switches, Unit::Number)
    },
];

impl Quantity {
    const fn flow(
        label: &'static str,
        value: fn(&TimelineRow) -> Option<f64>,
        zone: fn(&TimelineRow) -> &str,
    ) -> Self {
        Self { label, value, zone, level: false, unit: Unit::Number, rare: false }
    }

    const fn level(label: &'static str, value: fn(&TimelineRow) -> Option<f64>, unit: Unit) -> Self {
        Self { label, value, zone: to, level: true, unit, rare: false }
    }

    /// Whether any sample has it.
    fn is_there(&self, shown: &[Vec<&TimelineRow>]) -> bool {
        let least = if self.rare { f64::MIN_POSITIVE } else { f64::NEG_INFINITY };
        shown.iter().flatten().any(|row| (self.value)(row).is_some_and(|value| value >= least))
    }
}

fn from(row: &TimelineRow) -> &str {
    &row.client_zone
}

fn to(row: &TimelineRow) -> &str {
    &row.backend_zone
}

/// The cells that are shown.
pub(super) fn shown(results: &Results) -> BTreeSet<usize> {
    cells::representatives(results, MOST_COLUMNS).cells.iter().map(|cell| cell.number).collect()
}

pub(super) fn figure(results: &Results) -> Option<Figure> {
    let selection = cells::representatives(results, MOST_COLUMNS);
    let shown: Vec<Vec<&TimelineRow>> = selection.cells.iter().map(|cell| samples(results, cell)).collect();
    let seen = shown.iter().flatten().flat_map(|row| [to(row), from(row)]);
    let zones = zones::of(results, seen);
    let clock = Clock::new(results, &shown)?;
    let mut panels = Vec::new();
    for quantity in QUANTITIES.iter().filter(|quantity| quantity.is_there(&shown)) {
        panels.extend(row(&shown, quantity, &zones, &clock));
    }
    let styles = palette::arms(&results.arms);
    for (panel, cell) in panels.iter_mut().zip(&selection.cells) {
        // The names of the faults stand above the data.
        panel.y.range.1 *= 1.2;
        panel.title = cells::name(results, cell);
        panel.badge = Some(styles[cell.arm]);
    }
    let columns = selection.cells.len();
    for (index, panel) in panels.iter_mut().enumerate() {
        let cell = selection.cells[index % columns].number;
        panel.spans = faults::spans(results, cell, &clock, index < columns);
    }
    let mut figure = Figure::new("Traffic, failures and health over time", panels, columns);
    figure.share_axes(true, true);
    figure.subtitle = caption::other(results, "mean (recorded without an interval) of");
    figure.legend = legend(results, &selection.cells, &zones, &clock);
    let first = selection.cells[0].number;
    figure.notes = notes(results, first, selection.notes, &clock);
    figure.notes.extend(zones.note);
    Some(figure)
}

/// The samples of `cell` between single zones; those over all zones only where there are no others.
fn samples<'a>(results: &'a Results, cell: &ResultCell) -> Vec<&'a TimelineRow> {
    let all: Vec<&TimelineRow> = results.timeline.iter().filter(|row| row.cell == cell.number).collect();
    let single: Vec<&TimelineRow> =
        all.iter().filter(|row| from(row) != "all" && to(row) != "all").copied().collect();
    if single.is_empty() { all } else { single }
}

/// When the longest window of the cells ends, in seconds, if that is known.
fn window_end(results: &Results) -> Option<f64> {
    let timing = results.description.timing.values().iter();
    let ends = timing.map(|timing| timing.warmup.map(|warmup| (warmup + timing.duration).as_secs_f64()));
    ends.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// The times of `samples` in seconds, each once, in order.
fn times<'a>(samples: impl Iterator<Item = &'a &'a TimelineRow>) -> Vec<f64> {
    let mut times: Vec<f64> = samples.filter_map(|row| row.time_s).collect();
    times.sort_by(f64::total_cmp);
    times.dedup();
    times
}

/// How time is written.
struct Clock {
    unit: &'static str,
    /// The length of the unit.
    seconds: f64,
    /// The first and the last moment that is shown, in the unit.
    range: (f64, f64),
    /// How many samples in a row are averaged into one point.
    bin: usize,
    /// How many of the timeline's own samples one of these is.
    width: usize,
}

impl Clock {
    /// The clock of what is `shown`; none without any sample.
    fn new(results: &Results, shown: &[Vec<&TimelineRow>]) -> Option<Self> {
        let all = times(shown.iter().flatten());
        let (start, last) = (*all.first()?, *all.last()?);
        let written =
            results.description.timing.values().first().map(|timing| timing.sample_interval.as_secs_f64());
        let apart = || all.windows(2).map(|pair| pair[1] - pair[0]).reduce(f64::min).unwrap_or(0.0);
        let width = results.samples_per_row.max(1);
        let end = last + written.unwrap_or_else(apart).max(1e-9) * width as f64;
        // The last samples of a thinned timeline may be fewer than the others.
        let end = if width > 1 { window_end(results).map_or(end, |whole| end.min(whole)) } else { end };
        let (unit, seconds) = match end {
            end if end >= 36_000.0 => ("h", 3600.0),
            end if end >= 300.0 => ("min", 60.0),
            _ => ("s", 1.0),
        };
        let most = shown.iter().map(|rows| times(rows.iter()).len()).max().unwrap_or(0);
        let bin = (most * shown.len()).div_ceil(MOST_POINTS).max(1);
        Some(Self { unit, seconds, range: (start / seconds, end / seconds), bin, width })
    }

    fn at(&self, seconds: f64) -> f64 {
        seconds / self.seconds
    }

    fn axis(&self) -> PanelAxis {
        PanelAxis::linear(format!("Time ({})", self.unit), Unit::Number, self.range)
    }
}

/// The panels of one quantity, which share their vertical axis.
fn row(shown: &[Vec<&TimelineRow>], quantity: &Quantity, zones: &Zones, clock: &Clock) -> Vec<Panel> {
    let lines: Vec<Vec<PointSeries>> = shown.iter().map(|rows| lines(rows, quantity, zones, clock)).collect();
    let points = lines.iter().flatten().flat_map(|line| line.points.iter().flatten());
    let axis = ValueAxis { label: quantity.label, unit: quantity.unit, base: 0.0, log: false };
    let y = axis.around(&points.map(|point| point.y).collect::<Vec<_>>());
    let marks = lines.into_iter().map(|lines| lines.into_iter().map(PanelMark::Series).collect());
    marks.map(|marks| Panel::new(clock.axis(), y.clone(), marks)).collect()
}

fn lines(rows: &[&TimelineRow], quantity: &Quantity, zones: &Zones, clock: &Clock) -> Vec<PointSeries> {
    let mut lines = Vec::new();
    for (position, zone) in zones.names.iter().enumerate() {
        // Times are not negative, so that their bits are in their order.
        let mut samples: BTreeMap<u64, Option<f64>> = BTreeMap::new();
        for row in rows.iter().filter(|row| (quantity.zone)(row) == zone) {
            let Some(time) = row.time_s else { continue };
            let sample = samples.entry(time.to_bits()).or_default();
            *sample = match (*sample, (quantity.value)(row)) {
                (Some(sum), Some(value)) if quantity.level => Some(sum.max(value)),
                (Some(sum), Some(value)) => Some(sum + value),
                (sum, value) => sum.or(value),
            };
        }
        if samples.values().all(Option::is_none) {
            continue;
        }
        let samples: Vec<(f64, Option<f64>)> =
            samples.into_iter().map(|(time, value)| (f64::from_bits(time), value)).collect();
        let point = |samples: &[(f64, Option<f64>)]| {
            let values: Vec<f64> = samples.iter().filter_map(|(_, value)| *value).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            (!values.is_empty()).then(|| DataPoint::new(clock.at(samples[0].0), mean))
        };
        // The steps of a level must stay where they are.
        let mut points: Vec<Option<DataPoint>> =
            samples.chunks(if quantity.level { 1 } else { clock.bin }).map(point).collect();
        if let (true, Some(Some(last))) = (quantity.level, points.last()) {
            // The last step reaches to the end of its sample.
            points.push(Some(DataPoint { x: clock.range.1.into(), ..last.clone() }));
        }
        let join = if quantity.level { Join::Step } else { Join::Straight };
        lines.push(PointSeries { style: palette::zone(position), points, join, spread: Spread::Band });
    }
    lines
}

fn legend(results: &Results, cells: &[&ResultCell], zones: &Zones, clock: &Clock) -> Vec<Key> {
    let zone = |(position, label): (usize, &String)| Key {
        name: if results.description.zones.contains(&zones.names[position]) {
            format!("zone {label}")
        } else {
            label.clone()
        },
        sample: KeySample::Line(palette::zone(position)),
    };
    zones.labels.iter().enumerate().map(zone).chain(faults::legend(results, cells, clock)).collect()
}

/// What has to be said beside `selected`, which is said of the cells.
fn notes(results: &Results, cell: usize, selected: Vec<String>, clock: &Clock) -> Vec<String> {
    let zones = "Failures are by zone of the clients, everything else by zone of the backends.";
    let switches = results.timeline.iter().any(|row| row.failover_switches > Some(0.0));
    let said = caption::said([
        (switches, "Failover switches are those in a sample, of the whole load balancer.".to_owned()),
        (
            clock.bin > 1,
            format!("Points are means of {} samples, except of levels in steps.", clock.bin * clock.width),
        ),
        (
            clock.width > 1,
            format!(
                "The timeline is long: levels are means of {} samples, switches their sums.",
                clock.width
            ),
        ),
    ]);
    let faults = faults::note(results, cell, clock);
    [zones.to_owned()].into_iter().chain(selected).chain(said).chain(faults).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::PerCell;
    use crate::results::sample::SampleFolder;

    fn series_of(panel: &Panel) -> Vec<&PointSeries> {
        panel.marks.iter().filter_map(PanelMark::as_series).collect()
    }

    #[test]
    fn a_column_per_cell_a_row_per_quantity_a_line_per_zone() {
        let figure = figure(&SampleFolder::default().results()).unwrap();
        assert_eq!((figure.panels.len(), figure.columns), (25, 5));
        for (index, quantity) in QUANTITIES.iter().filter(|quantity| !quantity.rare).enumerate() {
            let row = &figure.panels[index * 5..index * 5 + 5];
            assert!(row.iter().all(|panel| panel.y.range == row[0].y.range), "a row shares its axis");
            assert_eq!(row[0].y.label, quantity.label);
            assert!(row.iter().all(|panel| series_of(panel).len() == 3));
        }
        let highest = |panel: &Panel| {
            let points = series_of(panel).into_iter().flat_map(|series| series.points.iter().flatten());
            points.map(|point| point.y.value).fold(0.0, f64::max)
        };
        assert_eq!(highest(&figure.panels[10]), 4.0, "healthy backends are not added up over client zones");
        assert!((190.0..210.0).contains(&highest(&figure.panels[1])), "connections are");
    }

    #[test]
    fn faults_are_shaded_in_every_panel() {
        let figure = figure(&SampleFolder::default().results()).unwrap();
        for (index, panel) in figure.panels.iter().enumerate() {
            let spans = panel.spans.iter();
            let spans: Vec<_> = spans.map(|span| (span.from, span.to, span.label.clone())).collect();
            let named = |name: &str| if index < 5 { name.to_owned() } else { String::new() };
            assert_eq!(spans, [(10.0, 15.0, named("silent")), (22.0, 24.0, named("slow"))]);
            assert_eq!(panel.x.range, (2.0, 32.0), "the warm-up is not measured");
        }
        assert!(
            figure.notes.join(" ").contains("silent us-central1-a (50 %) 10–15 min"),
            "{:?}",
            figure.notes
        );
    }

    #[test]
    fn a_warm_up_is_shaded_where_it_is_in_view() {
        let mut results = SampleFolder::one_cell().results();
        for row in &mut results.timeline {
            row.time_s = row.time_s.map(|time| time - 60.0);
        }
        let figure = figure(&results).unwrap();
        let first = &figure.panels[0].spans[0];
        assert_eq!((first.from, first.to, first.color), (1.0, 2.0, faults::WARMUP));
        assert!(figure.legend.iter().any(|key| key.name == "warm-up"));
    }

    #[test]
    fn samples_over_all_zones_are_not_counted_twice() {
        let mut results = SampleFolder::no_axis().results();
        let before = figure(&results).unwrap();
        let mut all = results.timeline[0].clone();
        (all.client_zone, all.backend_zone) = ("all".to_owned(), "all".to_owned());
        results.timeline.push(all);
        assert_eq!(figure(&results).unwrap(), before);
        results.timeline.clear();
        assert_eq!(figure(&results), None);
    }

    #[test]
    fn long_lines_are_averaged_and_say_so() {
        let figure = figure(&SampleFolder::many_arms().results()).unwrap();
        assert_eq!(series_of(&figure.panels[0])[0].points.len(), 180);
        let mut results = SampleFolder::one_cell().results();
        let shifted = |shift: f64| {
            move |row: &TimelineRow| TimelineRow {
                time_s: row.time_s.map(|time| time + shift),
                ..row.clone()
            }
        };
        let more: Vec<_> = (1..10)
            .flat_map(|shift| results.timeline.iter().map(shifted(f64::from(shift))).collect::<Vec<_>>())
            .collect();
        results.timeline.extend(more);
        let figure = super::figure(&results).unwrap();
        assert_eq!(series_of(&figure.panels[0])[0].points.len(), 900);
        assert_eq!(
            series_of(&figure.panels[2])[0].points.len(),
            1801,
            "levels keep their steps, and end with one"
        );
        assert!(figure.notes.iter().any(|note| note.contains("means of 2 samples")), "{:?}", figure.notes);
    }

    #[test]
    fn the_last_sample_has_its_length_even_if_nothing_says_it() {
        let mut results = SampleFolder::one_cell().results();
        let written = figure(&results);
        results.description.timing = PerCell::default();
        assert_eq!(figure(&results), written);
    }

    #[test]
    fn missing_samples_are_gaps() {
        let mut results = SampleFolder::one_cell().results();
        for row in results.timeline.iter_mut().filter(|row| row.time_s == Some(600.0)) {
            row.connections_per_s = None;
        }
        let figure = figure(&results).unwrap();
        let line = series_of(&figure.panels[0])[0];
        assert_eq!(line.points.iter().filter(|point| point.is_none()).count(), 1);
    }
}
