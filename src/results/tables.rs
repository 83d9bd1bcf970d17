//! The CSV files of a results folder.
//!
//! Each table is a list of columns, so that header and values can't part. Runs come in order: cell by cell, and
//! replication by replication. What belongs to a whole cell is written when its last run has come.

mod csv_file;
mod run_tables;
mod summary;
mod timeline;

use std::io;
use std::path::{Path, PathBuf};

use super::steadiness::Steadiness;
use crate::experiment::{Cell, Experiment};
use crate::metrics::{METRICS, Run};
use crate::sim::scenario::Scenario;
use csv_file::{CsvFile, Field};
use run_tables::RunTables;
pub use summary::{CellSummary, MetricSummary};
use summary::{Observations, SUMMARY_COLUMNS};
use timeline::{MeanTimeline, TIMELINE_COLUMNS};

/// A results file that can't be written.
#[derive(Debug, thiserror::Error)]
#[error("can't write {}", path.display())]
pub struct WriteError {
    /// Which file.
    pub path: PathBuf,
    /// Why.
    pub source: io::Error,
}

/// Writes the CSV files of one results folder.
#[derive(Debug)]
pub struct Tables<'a> {
    experiment: &'a Experiment,
    runs: CsvFile,
    by_run: RunTables,
    summary: CsvFile,
    timeline: CsvFile,
    current: Option<CurrentCell<'a>>,
    summaries: Vec<CellSummary>,
}

/// The cell whose runs are coming.
#[derive(Debug)]
struct CurrentCell<'a> {
    cell: &'a Cell,
    scenario: Scenario,
    observations: Observations,
    timeline: MeanTimeline,
    steadiness: Steadiness,
}

impl<'a> Tables<'a> {
    /// Creates every file in `folder`, so that a bad folder fails before anything is simulated.
    ///
    /// # Errors
    /// If a file can't be created.
    pub fn create(folder: &Path, experiment: &'a Experiment) -> Result<Self, WriteError> {
        let file = |name: &str, by_run: bool, columns: &[&str]| {
            let axes = experiment.axes().iter().map(|axis| axis.column.as_str());
            let replication = by_run.then_some("replication");
            let prefix = ["cell", "arm"].into_iter().chain(axes).chain(replication);
            CsvFile::create(folder.join(name), prefix.chain(columns.iter().copied()))
        };
        let run_columns: Vec<&str> =
            ["seed"].into_iter().chain(METRICS.iter().map(|metric| metric.name)).collect();
        Ok(Self {
            experiment,
            runs: file("runs.csv", true, &run_columns)?,
            by_run: RunTables::create(|name, columns| file(name, true, columns))?,
            summary: file("summary.csv", false, &SUMMARY_COLUMNS)?,
            timeline: file("timeline.csv", false, &TIMELINE_COLUMNS)?,
            current: None,
            summaries: Vec::new(),
        })
    }

    /// Adds the rows of one run of `cell`.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn add(&mut self, cell: &'a Cell, replication: u32, run: &Run<'_>) -> Result<(), WriteError> {
        if self.current.as_ref().is_none_or(|current| current.cell.index != cell.index) {
            self.end_cell()?;
            self.current = Some(CurrentCell {
                cell,
                scenario: run.scenario.clone(),
                observations: Observations::default(),
                timeline: MeanTimeline::default(),
                steadiness: Steadiness::new(run.scenario),
            });
        }
        let current = self.current.as_mut().expect("it was made above");
        current.observations.add(run);
        current.timeline.add(&run.outcome.timeline, run.scenario);
        current.steadiness.add(&run.outcome.timeline);

        let mut prefix = cell_prefix(cell);
        prefix.push(Field::Count(u64::from(replication)));
        let values = METRICS.iter().map(|metric| Field::Number(metric.value(run)));
        let seed = Field::Count(self.experiment.seed());
        self.runs.write(prefix.iter().cloned().chain([seed]).chain(values))?;
        self.by_run.add(run, &prefix)
    }

    /// Writes what is left, and gives each cell's summary.
    ///
    /// # Errors
    /// If a file can't be written.
    pub fn finish(mut self) -> Result<Vec<CellSummary>, WriteError> {
        self.end_cell()?;
        for file in [&mut self.runs, &mut self.summary, &mut self.timeline] {
            file.finish()?;
        }
        self.by_run.finish()?;
        Ok(self.summaries)
    }

    fn end_cell(&mut self) -> Result<(), WriteError> {
        let Some(ended) = self.current.take() else { return Ok(()) };
        let prefix = cell_prefix(ended.cell);
        let doubt = ended.steadiness.doubt(self.experiment.cells().len());
        let summary = ended.observations.summarize(ended.cell.index, doubt);
        for metric in &summary.metrics {
            self.summary.write(prefix.iter().cloned().chain(summary::fields(metric)))?;
        }
        for row in ended.timeline.rows(&ended.scenario) {
            self.timeline.write(prefix.iter().cloned().chain(row))?;
        }
        self.summaries.push(summary);
        Ok(())
    }
}

/// The fields that begin every row of `cell`.
fn cell_prefix(cell: &Cell) -> Vec<Field<'_>> {
    let values = cell
        .values
        .iter()
        .map(|value| Field::Owned(value.as_ref().map(ToString::to_string).unwrap_or_default()));
    [Field::Count(cell.index as u64), Field::Text(&cell.arm)].into_iter().chain(values).collect()
}
