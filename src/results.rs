//! Reads a results folder from its files alone.
//!
//! Columns are found by name, so that columns may be added and reordered. A file that is missing, cut short or
//! holds something else than it should is an error that says where.

pub mod description;
pub mod disk;
pub mod error;
mod number;
pub mod observed;
pub mod policies;
pub mod record;
pub mod steadiness;
pub mod table;
pub mod tables;
mod thinned;

#[cfg(test)]
pub(crate) mod sample;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::metrics::Metric;
use crate::metrics::tables::{
    BackendRow, CsvRow, DecisionRow, EventRow, FileRow, HealthRow, LatencyRow, RUN_FILES, STRATUM_WEIGHT,
    SummaryRow, TimelineRow, TrafficRow,
};
use crate::unfit::Unfit;
use description::Description;
use disk::open_regular;
use error::ResultsError;
use table::{CsvTable, rows, rows_if_there};
use thinned::ThinTimeline;

/// The name of the folder of an unfinished job in its results folder: its journal, and the files that it has made so far.
pub const JOURNAL: &str = ".zonesim-journal";

/// The name of the folder with charts in a results folder.
pub const CHARTS: &str = "charts";
/// The name of the page in a results folder.
pub const PAGE: &str = "report.html";

/// The journal of a job in its folder.
pub const JOURNAL_FILE: &str = "journal.jsonl";

/// The subfolder of the folder `dir` in which a job builds what it writes, beside its journal.
pub fn building(dir: &Path) -> PathBuf {
    dir.join(JOURNAL)
}

/// Whether a job in the folder `dir` has not ended: its journal is there, or a file in its place, as of an older version.
pub fn is_unfinished(dir: &Path) -> bool {
    let folder = building(dir);
    let is_there = |path: &Path| fs::symlink_metadata(path).is_ok();
    is_there(&folder) && (!disk::is_folder(&folder) || is_there(&folder.join(JOURNAL_FILE)))
}

/// The files of runs and of the timeline that were left out of the folder `dir`, which can do without them.
pub fn missing_details(dir: &Path) -> impl Iterator<Item = &'static str> {
    let details = RUN_FILES.into_iter().map(|(file, _)| file.name).chain([TimelineRow::FILE.name]);
    // Nothing is drawn of events.
    let drawn = details.filter(|name| ![EventRow::FILE.name, HealthRow::FILE.name].contains(name));
    drawn.filter(move |name| !dir.join(name).exists())
}

/// A results folder in memory.
#[derive(Clone, Debug, Default)]
pub struct Results {
    /// What the rows are about.
    pub description: Description,
    /// Its `manifest.json`, if there is one.
    pub manifest: Option<serde_json::Value>,
    /// The columns that tell the cells of an arm apart.
    pub axes: Vec<String>,
    /// The arms in file order.
    pub arms: Vec<String>,
    /// The cells in file order.
    pub cells: Vec<ResultCell>,
    /// The columns of scalar metrics in `runs.csv`.
    pub metrics: Vec<String>,
    /// One row per run.
    pub runs: Vec<Run>,
    /// One row per cell and metric, by both.
    pub summary: BTreeMap<(usize, String), SummaryRow>,
    /// Connections by client group and backend zone.
    pub traffic: Vec<TrafficRow>,
    /// Latency quantiles.
    pub latency: Vec<LatencyRow>,
    /// Load by backend.
    pub backends: Vec<BackendRow>,
    /// Connections by outcome.
    pub decisions: Vec<DecisionRow>,
    /// Rates and levels over time, of the cells of which they were asked for.
    pub timeline: Vec<TimelineRow>,
    /// How many samples in a row one of these is the mean of at most; 1 where none are too many for a chart.
    pub samples_per_row: usize,
}

/// One arm with one value of every axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultCell {
    /// The number that the rows call it by.
    pub number: usize,
    /// The position of its arm in [`Results::arms`].
    pub arm: usize,
    /// The value of each of [`Results::axes`]; empty where the arm lacks the axis.
    pub values: Vec<String>,
    /// How many runs it has.
    pub replications: usize,
}

/// One replication of one cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The number of its cell.
    pub cell: usize,
    /// Which replication it is.
    pub replication: usize,
    /// How much of all windows its stratum is, if replications are drawn from strata in turn.
    pub stratum_weight: Option<f64>,
    /// The value of each of [`Results::metrics`].
    pub values: Vec<Option<f64>>,
}

impl Results {
    /// Reads the folder `dir`; of the timeline nothing is kept.
    ///
    /// # Errors
    /// If a file can't be read, is half-written, or holds something else than it should; rows are missing, twice there, or of
    /// no run.
    pub fn read(dir: &Path) -> Result<Self, ResultsError> {
        Self::read_with_timeline(dir, |_| BTreeSet::new())
    }

    /// Reads the folder `dir`, with the timeline of the cells that `cells` tells from all the rest; a long one is thinned, for it
    /// may have more rows than memory has room for.
    ///
    /// # Errors
    /// As of [`Results::read`].
    pub fn read_with_timeline(
        dir: &Path,
        cells: impl FnOnce(&Self) -> BTreeSet<usize>,
    ) -> Result<Self, ResultsError> {
        let scalars = Self::read_scalars(dir)?;
        let known = Known::of(&scalars);
        let summary = rows::<SummaryRow>(dir, |row| known.check_cell(row))?;
        let mut results = Self {
            summary: summary.into_iter().map(|row| ((row.cell, row.metric.clone()), row)).collect(),
            backends: known.rows_of_all(dir)?,
            decisions: rows_if_there(dir, |row| known.check_run(row))?,
            ..scalars
        };
        let ThinTimeline { rows, width } = thinned::read(dir, &cells(&results), |row| known.check_cell(row))?;
        (results.timeline, results.samples_per_row) = (rows, width);
        let metrics = || results.metrics.iter().filter(|metric| Metric::find(metric).is_some());
        let pairs =
            results.cells.iter().flat_map(|cell| metrics().map(|metric| (cell.number, metric.clone())));
        match pairs.into_iter().find(|pair| !results.summary.contains_key(pair)) {
            None => Ok(results),
            Some((cell, metric)) => {
                let path = dir.join(SummaryRow::FILE.name);
                Err(Unfit(format!("{}: there is no row of {metric} in cell {cell}", path.display())).into())
            }
        }
    }

    /// Reads what scalar metrics are computed from: runs, traffic and latency. The rest stays empty.
    ///
    /// # Errors
    /// As of [`Results::read`].
    pub fn read_scalars(dir: &Path) -> Result<Self, ResultsError> {
        let path = dir.join("runs.csv");
        let table = CsvTable::open(&path)?;
        let (axes, metrics) = (axes(&table)?, metrics(&table)?);
        let mut groups = Groups::default();
        let runs = table.read(|row| {
            groups.add(row, &axes)?;
            run(row, &metrics)
        })?;
        let manifest = manifest(dir.join("manifest.json"))?;
        check_count(&path, runs.len(), manifest.as_ref())?;
        let Groups { arms, cells, .. } = groups;
        let mut description = Description::read(dir)?;
        let columns = description.axes.iter().map(|axis| &axis.column);
        if !columns.eq(&axes) || description.cells != cells.len() {
            description.policies = None;
        }
        let results = Self {
            description,
            manifest,
            axes,
            arms,
            cells,
            metrics,
            runs,
            summary: BTreeMap::new(),
            traffic: Vec::new(),
            latency: Vec::new(),
            backends: Vec::new(),
            decisions: Vec::new(),
            timeline: Vec::new(),
            samples_per_row: 1,
        };
        let known = Known::of(&results);
        // A run in which nothing was ever answered has no latency.
        let latency = rows_if_there(dir, |row| known.check_run(row))?;
        Ok(Self { traffic: known.rows_of_all(dir)?, latency, ..results })
    }

    /// The rows of these cells; arms and cells are left out.
    pub fn of_cells(&self, cells: &BTreeSet<usize>) -> Self {
        fn kept<T: Clone>(rows: &[T], is_kept: impl Fn(&T) -> bool) -> Vec<T> {
            rows.iter().filter(|row| is_kept(row)).cloned().collect()
        }
        let summary = self.summary.iter().filter(|((cell, _), _)| cells.contains(cell));
        Self {
            description: self.description.clone(),
            manifest: self.manifest.clone(),
            axes: self.axes.clone(),
            arms: Vec::new(),
            cells: Vec::new(),
            metrics: self.metrics.clone(),
            runs: kept(&self.runs, |run| cells.contains(&run.cell)),
            summary: summary.map(|(key, row)| (key.clone(), row.clone())).collect(),
            traffic: kept(&self.traffic, |row| cells.contains(&row.cell)),
            latency: kept(&self.latency, |row| cells.contains(&row.cell)),
            backends: kept(&self.backends, |row| cells.contains(&row.cell)),
            decisions: kept(&self.decisions, |row| cells.contains(&row.cell)),
            timeline: kept(&self.timeline, |row| cells.contains(&row.cell)),
            samples_per_row: self.samples_per_row,
        }
    }

    /// The summary of `metric` in the cell numbered `cell`.
    pub fn summary(&self, cell: usize, metric: &str) -> Option<&SummaryRow> {
        self.summary.get(&(cell, metric.to_owned()))
    }
}

/// More than any text of a results folder has, in bytes.
const TEXT_MAX: u64 = 1 << 30;

/// The text of the file `path`, or nothing if there is no such file.
pub(crate) fn text_if_there(path: &Path) -> Result<Option<String>, ResultsError> {
    let read = |file: File| io::read_to_string(file.take(TEXT_MAX));
    match open_regular(path).and_then(read) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ResultsError::Open { path: path.to_owned(), source }),
    }
}

/// Checks that the file of runs has some, and as many as the manifest of a complete job says.
fn check_count(path: &Path, count: usize, manifest: Option<&serde_json::Value>) -> Result<(), Unfit> {
    let path = path.display();
    if count == 0 {
        return Err(Unfit(format!("{path}, line 2: there are no rows; run the experiment again")));
    }
    let entry = |key: &str| manifest.and_then(|manifest| manifest.get(key));
    let whole = entry("complete").and_then(serde_json::Value::as_bool).unwrap_or_default();
    match entry("finished_runs").and_then(serde_json::Value::as_u64).filter(|_| whole) {
        Some(expected) if expected != count as u64 => Err(Unfit(format!(
            "{path}: there are {count} rows, but manifest.json says {expected}; run the experiment again"
        ))),
        _ => Ok(()),
    }
}

/// The runs of a folder, of which the rows of other files must be.
struct Known(BTreeSet<(usize, usize)>);

impl Known {
    fn of(results: &Results) -> Self {
        Self(results.runs.iter().map(|run| (run.cell, run.replication)).collect())
    }

    fn check_run(&self, row: &CsvRow<'_>) -> Result<(), Unfit> {
        let run = (row.index("cell")?, row.index("replication")?);
        let unknown = || row.odd(&format!("runs.csv has no run of cell {}, replication {}", run.0, run.1));
        self.0.contains(&run).then_some(()).ok_or_else(unknown)
    }

    fn check_cell(&self, row: &CsvRow<'_>) -> Result<(), Unfit> {
        let cell = row.index("cell")?;
        let is_there = self.0.range((cell, 0)..).next().is_some_and(|run| run.0 == cell);
        is_there.then_some(()).ok_or_else(|| row.odd(&format!("runs.csv has no run of cell {cell}")))
    }

    /// The rows of a file that has some of every run, or is left out.
    fn rows_of_all<R: FileRow>(&self, dir: &Path) -> Result<Vec<R>, ResultsError> {
        let mut missing = self.0.clone();
        let found = rows_if_there::<R>(dir, |row| {
            missing.remove(&(row.index("cell")?, row.index("replication")?));
            self.check_run(row)
        })?;
        match missing.first() {
            Some((cell, replication)) if fs::symlink_metadata(dir.join(R::FILE.name)).is_ok() => {
                let path = dir.join(R::FILE.name);
                let what = format!("there is no row of cell {cell}, replication {replication}");
                Err(Unfit(format!("{}: {what}", path.display())).into())
            }
            _ => Ok(found),
        }
    }
}

/// The columns between `arm` and `replication`.
fn axes(runs: &CsvTable) -> Result<Vec<String>, Unfit> {
    let (arm, replication) = (runs.column("arm")?, runs.column("replication")?);
    Ok(runs.header().get(arm + 1..replication).unwrap_or_default().to_vec())
}

/// The columns after `seed` that are metrics.
fn metrics(runs: &CsvTable) -> Result<Vec<String>, Unfit> {
    let after = runs.header()[runs.column("seed")? + 1..].iter();
    Ok(after.filter(|name| *name != STRATUM_WEIGHT).cloned().collect())
}

/// Arms and cells in the order in which they first appear.
#[derive(Default)]
struct Groups {
    arms: Vec<String>,
    cells: Vec<ResultCell>,
    positions: BTreeMap<usize, usize>,
    /// Cell and replication.
    runs: BTreeSet<(usize, usize)>,
}

impl Groups {
    fn add(&mut self, row: &CsvRow<'_>, axes: &[String]) -> Result<(), Unfit> {
        let number = row.index("cell")?;
        let next = self.cells.len();
        let position = *self.positions.entry(number).or_insert(next);
        if position == next {
            let name = row.text("arm")?;
            let arm = self.arms.iter().position(|arm| arm == name).unwrap_or(self.arms.len());
            if arm == self.arms.len() {
                self.arms.push(name.to_owned());
            }
            let values = axes.iter().map(|axis| row.text(axis).map(str::to_owned));
            let values = values.collect::<Result<_, _>>()?;
            self.cells.push(ResultCell { number, arm, values, replications: 0 });
        }
        if !self.runs.insert((number, row.index("replication")?)) {
            return Err(row.odd("the run is there twice; remove one of the two rows"));
        }
        let cell = &mut self.cells[position];
        if self.arms[cell.arm] != row.text("arm")? {
            return Err(row.odd(&format!("cell {number} has another arm in an earlier row")));
        }
        cell.replications += 1;
        Ok(())
    }
}

fn run(row: &CsvRow<'_>, metrics: &[String]) -> Result<Run, Unfit> {
    let values = metrics.iter().map(|metric| row.metric(metric)).collect::<Result<_, _>>()?;
    let is_stratified = row.header.iter().any(|name| name == STRATUM_WEIGHT);
    let stratum_weight = match is_stratified.then(|| row.amount(STRATUM_WEIGHT)).transpose()?.flatten() {
        Some(weight) if weight <= 1.0 => Some(weight),
        None if !is_stratified => None,
        _ => return Err(row.odd("the weight of a stratum is a share, from 0 to 1; run the experiment again")),
    };
    Ok(Run { cell: row.index("cell")?, replication: row.index("replication")?, stratum_weight, values })
}

fn manifest(path: PathBuf) -> Result<Option<serde_json::Value>, ResultsError> {
    let Some(text) = text_if_there(&path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|source| ResultsError::Json { path, source })
}
