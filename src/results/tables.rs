//! The CSV files of a results folder.
//!
//! Header and values of each come from its table of columns. Runs come in order: cell by cell, and replication by
//! replication. What belongs to a whole cell is written when its last run has come.

mod csv_file;

use std::path::Path;

use super::error::WriteError;
use super::steadiness::{Doubt, Steadiness};
use crate::experiment::{AxisValue, Cell, Experiment};
use crate::metrics::tables::{
    Field, FileRow, MeanTimeline, MetricSummary, PacketRow, RULE, RUN_FILES, ResultsFile, STRATUM_WEIGHT,
    SummaryRow, TimelineRow, summarize,
};
use crate::metrics::{METRICS, MeasuredRun};
use crate::sim::packets::TracedPacket;
use crate::sim::scenario::Scenario;
use crate::stats::{Observation, Strata};
use csv_file::CsvFile;

/// A cell's metrics over its replications.
#[derive(Clone, Debug)]
pub struct CellSummary {
    /// The cell's number.
    pub cell: usize,
    /// How many replications it has.
    pub replications: usize,
    /// The beginning that its runs still show, if they do.
    pub doubt: Option<Doubt>,
    /// How many rows its runs lack in `events.csv`, because each run keeps so many at most.
    pub events_left_out: u64,
    /// Every metric, in the order of [`METRICS`].
    pub metrics: Vec<MetricSummary>,
}

/// Writes the CSV files of one results folder.
#[derive(Debug)]
pub struct Tables<'a> {
    experiment: &'a Experiment,
    runs: CsvFile,
    /// Those of [`RUN_FILES`], each with the place of a column that is left out of it.
    by_run: Vec<(CsvFile, Option<usize>)>,
    summary: CsvFile,
    timeline: CsvFile,
    /// By cell: the strata that replications are drawn from in turn, if those of any cell are.
    strata: Option<Vec<Strata>>,
    current: Option<CurrentCell<'a>>,
    summaries: Vec<CellSummary>,
}

/// The cell whose runs are coming.
#[derive(Debug)]
struct CurrentCell<'a> {
    cell: &'a Cell,
    scenario: Scenario,
    strata: Option<Strata>,
    /// What each replication said of each metric.
    observations: Vec<(usize, Vec<Option<Observation>>)>,
    timeline: MeanTimeline,
    steadiness: Steadiness,
    events_left_out: u64,
}

impl<'a> Tables<'a> {
    /// Creates every file in `folder`, so that a bad folder fails before anything is simulated.
    ///
    /// # Errors
    /// If a file can't be created.
    pub fn create(folder: &Path, experiment: &'a Experiment) -> Result<Self, WriteError> {
        let file = |name: &str, of_run: &[&str], columns: &[&str]| {
            create(&folder.join(name), experiment, of_run.iter().chain(columns).copied())
        };
        let metrics: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        let has_rules = experiment.has_several_rules();
        let by_run = RUN_FILES.iter().map(|(table, _)| {
            let mut columns = table.columns.to_vec();
            let left_out = columns.iter().position(|name| *name == RULE).filter(|_| !has_rules);
            left_out.map(|place| columns.remove(place));
            Ok((file(table.name, &["replication"], &columns)?, left_out))
        });
        let strata = experiment.strata();
        let of_run: &[&str] = match strata {
            Some(_) => &["replication", "seed", STRATUM_WEIGHT],
            None => &["replication", "seed"],
        };
        let by_cell = |table: ResultsFile| file(table.name, &[], table.columns);
        Ok(Self {
            experiment,
            runs: file("runs.csv", of_run, &metrics)?,
            by_run: by_run.collect::<Result<_, _>>()?,
            summary: by_cell(SummaryRow::FILE)?,
            timeline: by_cell(TimelineRow::FILE)?,
            strata,
            current: None,
            summaries: Vec::new(),
        })
    }

    /// Adds the rows of one run of `cell`.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn add(&mut self, cell: &'a Cell, replication: u32, run: &MeasuredRun<'_>) -> Result<(), WriteError> {
        if self.current.as_ref().is_none_or(|current| current.cell.index != cell.index) {
            self.end_cell()?;
            self.current = Some(CurrentCell {
                cell,
                scenario: run.scenario.clone(),
                strata: self.strata.as_ref().map(|strata| strata[cell.index]),
                observations: Vec::new(),
                timeline: MeanTimeline::default(),
                steadiness: Steadiness::new(run.scenario),
                events_left_out: 0,
            });
        }
        let current = self.current.as_mut().expect("it was made above");
        let observations = METRICS.iter().map(|metric| metric.observe(run)).collect();
        current.observations.push((replication as usize, observations));
        let weight = current.strata.map(|strata| strata.weight(replication as usize));
        current.timeline.add(&run.outcome.timeline, run.scenario, weight.unwrap_or(1.0));
        current.steadiness.add(&run.outcome.timeline);
        current.events_left_out += run.outcome.history.left_out;

        let mut prefix = cell_prefix(cell);
        prefix.push(Field::Count(u64::from(replication)));
        let values = METRICS.iter().map(|metric| Field::Number(metric.value(run)));
        let seed = Field::Count(self.experiment.seed());
        let weight = weight.map(|weight| Field::Number(Some(weight)));
        self.runs.write(prefix.iter().cloned().chain([seed]).chain(weight).chain(values))?;
        for ((file, left_out), (_, rows)) in self.by_run.iter_mut().zip(RUN_FILES) {
            rows(run).into_iter().try_for_each(|mut row| {
                left_out.map(|place| row.remove(place));
                file.write(prefix.iter().cloned().chain(row))
            })?;
        }
        Ok(())
    }

    /// Writes what is left, and gives each cell's summary.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn finish(mut self) -> Result<Vec<CellSummary>, WriteError> {
        self.end_cell()?;
        let Self { runs, by_run, summary, timeline, summaries, .. } = self;
        let by_run = by_run.into_iter().map(|(file, _)| file);
        [runs, summary, timeline].into_iter().chain(by_run).try_for_each(CsvFile::finish)?;
        Ok(summaries)
    }

    fn end_cell(&mut self) -> Result<(), WriteError> {
        let Some(ended) = self.current.take() else { return Ok(()) };
        let prefix = cell_prefix(ended.cell);
        let doubt = ended.steadiness.doubt(self.experiment.cells().len());
        let metrics = summarize(|metric| ended.found(metric), ended.scenario.health_varies());
        for metric in &metrics {
            self.summary.write(prefix.iter().cloned().chain(metric.fields()))?;
        }
        for row in ended.timeline.rows(&ended.scenario) {
            self.timeline.write(prefix.iter().cloned().chain(row))?;
        }
        let replications = ended.observations.len();
        self.summaries.push(CellSummary {
            cell: ended.cell.index,
            replications,
            doubt,
            events_left_out: ended.events_left_out,
            metrics,
        });
        Ok(())
    }
}

impl CurrentCell<'_> {
    /// The observations of the metric with this number.
    fn found(&self, metric: usize) -> Vec<Option<Observation>> {
        let found = self.observations.iter().map(|(replication, found)| (*replication, found[metric]));
        match self.strata {
            Some(strata) => strata.joined(found).into_iter().map(|(_, observation)| observation).collect(),
            None => found.map(|(_, observation)| observation).collect(),
        }
    }
}

/// Writes the file of connections packet by packet.
#[derive(Debug)]
pub struct PacketTable(CsvFile);

impl PacketTable {
    /// Creates the file in `folder`.
    ///
    /// # Errors
    /// If it can't be created.
    pub fn create(folder: &Path, experiment: &Experiment) -> Result<Self, WriteError> {
        let ResultsFile { name, columns } = PacketRow::FILE;
        let columns = ["replication"].into_iter().chain(columns.iter().copied());
        create(&folder.join(name), experiment, columns).map(Self)
    }

    /// Adds the packets of one run of `cell`, which is `scenario`.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn add(
        &mut self,
        cell: &Cell,
        replication: u32,
        scenario: &Scenario,
        packets: &[TracedPacket],
    ) -> Result<(), WriteError> {
        let mut prefix = cell_prefix(cell);
        prefix.push(Field::Count(u64::from(replication)));
        let mut rows = packets.iter().map(|packet| PacketRow::of(scenario, packet));
        rows.try_for_each(|row| self.0.write(prefix.iter().cloned().chain(row)))
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// If the file can't be written.
    pub fn finish(self) -> Result<(), WriteError> {
        self.0.finish()
    }
}

/// Creates a file of which every row begins with cell, arm and axes.
fn create<'a>(
    path: &Path,
    experiment: &'a Experiment,
    columns: impl Iterator<Item = &'a str>,
) -> Result<CsvFile, WriteError> {
    let axes = experiment.axes().iter().map(|axis| axis.column.as_str());
    CsvFile::create(path, ["cell", "arm"].into_iter().chain(axes).chain(columns))
}

fn cell_prefix(cell: &Cell) -> Vec<Field<'_>> {
    let values = cell.values.iter().map(|value| value.as_ref().map_or("", AxisValue::as_str));
    let texts = [cell.arm.as_str()].into_iter().chain(values).map(|text| Field::Text(text.into()));
    [Field::Count(cell.index as u64)].into_iter().chain(texts).collect()
}
