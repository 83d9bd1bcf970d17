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

#[cfg(test)]
pub(crate) mod sample;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use crate::metrics::tables::{
    BackendRow, CsvRow, DecisionRow, EventRow, FileRow, LatencyRow, RUN_FILES, SummaryRow, TimelineRow,
    TrafficRow,
};
use crate::unfit::Unfit;
use description::Description;
use disk::open_regular;
use error::ResultsError;
use table::{CsvTable, rows, rows_if_there};

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
    let drawn = details.filter(|name| *name != EventRow::FILE.name);
    drawn.filter(move |name| !dir.join(name).exists())
}

/// A results folder in memory.
#[derive(Clone, Debug)]
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
    /// Rates and levels over time.
    pub timeline: Vec<TimelineRow>,
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
    /// The value of each of [`Results::metrics`].
    pub values: Vec<Option<f64>>,
}

impl Results {
    /// Reads the folder `dir`.
    pub fn read(dir: &Path) -> Result<Self, ResultsError> {
        let scalars = Self::read_scalars(dir)?;
        let summary = rows::<SummaryRow>(dir)?;
        Ok(Self {
            summary: summary.into_iter().map(|row| ((row.cell, row.metric.clone()), row)).collect(),
            backends: rows_if_there(dir)?,
            decisions: rows_if_there(dir)?,
            timeline: rows_if_there(dir)?,
            ..scalars
        })
    }

    /// Reads what scalar metrics are computed from: runs, traffic and latency. The rest stays empty.
    pub fn read_scalars(dir: &Path) -> Result<Self, ResultsError> {
        let table = CsvTable::open(&dir.join("runs.csv"))?;
        let (axes, metrics) = (axes(&table)?, metrics(&table)?);
        let mut groups = Groups::default();
        let runs = table.read(|row| {
            groups.add(row, &axes)?;
            run(row, &metrics)
        })?;
        let Groups { arms, cells, .. } = groups;
        let mut description = Description::read(dir)?;
        let columns = description.axes.iter().map(|axis| &axis.column);
        if !columns.eq(&axes) || description.cells != cells.len() {
            description.policies = None;
        }
        Ok(Self {
            description,
            manifest: manifest(dir.join("manifest.json"))?,
            axes,
            arms,
            cells,
            metrics,
            runs,
            summary: BTreeMap::new(),
            traffic: rows_if_there(dir)?,
            latency: rows_if_there(dir)?,
            backends: Vec::new(),
            decisions: Vec::new(),
            timeline: Vec::new(),
        })
    }

    /// The summary of `metric` in the cell numbered `cell`.
    pub fn summary(&self, cell: usize, metric: &str) -> Option<&SummaryRow> {
        self.summary.get(&(cell, metric.to_owned()))
    }
}

/// The text of the file `path`, or nothing if there is no such file.
pub(crate) fn text_if_there(path: &Path) -> Result<Option<String>, ResultsError> {
    match open_regular(path).and_then(io::read_to_string) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ResultsError::Open { path: path.to_owned(), source }),
    }
}

/// The columns between `arm` and `replication`.
fn axes(runs: &CsvTable) -> Result<Vec<String>, Unfit> {
    let (arm, replication) = (runs.column("arm")?, runs.column("replication")?);
    Ok(runs.header().get(arm + 1..replication).unwrap_or_default().to_vec())
}

/// The columns after `seed`.
fn metrics(runs: &CsvTable) -> Result<Vec<String>, Unfit> {
    Ok(runs.header()[runs.column("seed")? + 1..].to_vec())
}

/// Arms and cells in the order in which they first appear.
#[derive(Default)]
struct Groups {
    arms: Vec<String>,
    cells: Vec<ResultCell>,
    positions: BTreeMap<usize, usize>,
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
        self.cells[position].replications += 1;
        Ok(())
    }
}

fn run(row: &CsvRow<'_>, metrics: &[String]) -> Result<Run, Unfit> {
    let values = metrics.iter().map(|metric| row.number(metric)).collect::<Result<_, _>>()?;
    Ok(Run { cell: row.index("cell")?, replication: row.index("replication")?, values })
}

fn manifest(path: PathBuf) -> Result<Option<serde_json::Value>, ResultsError> {
    let Some(text) = text_if_there(&path)? else { return Ok(None) };
    serde_json::from_str(&text).map(Some).map_err(|source| ResultsError::Json { path, source })
}

#[cfg(test)]
mod tests {
    use super::sample::SampleFolder;
    use super::*;

    #[test]
    fn a_folder_gives_its_arms_axes_and_cells_in_file_order() {
        let results = SampleFolder::default().results();
        assert_eq!(results.arms, ["disabled", "stay", "spill"]);
        assert_eq!(results.axes, ["spillover_ratio"]);
        assert_eq!(results.cells.len(), 13);
        assert_eq!(results.cells[0].values, [""], "an arm without the axis has no value of it");
        assert_eq!(results.cells[2].values, ["0.0"]);
        assert!(results.cells.iter().all(|cell| cell.replications == 5));
        assert_eq!(results.runs.len(), 13 * 5);
        assert_eq!(results.description.zones.len(), 3);
        assert!(results.manifest.is_some());
        let summary = results.summary(0, "failure_ratio").unwrap();
        assert_eq!((summary.n, summary.confidence), (Some(5.0), Some(0.95)));
    }

    #[test]
    fn missing_values_are_missing_and_not_zero() {
        let folder = SampleFolder { replications: 1, ..SampleFolder::default() }.write();
        let results = Results::read(folder.path()).unwrap();
        let summary = results.summary(0, "failure_ratio").unwrap();
        assert!(summary.mean.is_some());
        assert_eq!((summary.std_dev, summary.ci_low), (None, None));
    }

    /// Damages one file of a good folder and gives the error.
    fn error_after(file: &str, damage: impl Fn(String) -> String) -> String {
        let folder = SampleFolder::default().write();
        let path = folder.path().join(file);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, damage(text)).unwrap();
        Results::read(folder.path()).unwrap_err().to_string()
    }

    #[test]
    fn errors_name_file_line_column_and_what_was_expected() {
        let error =
            error_after("traffic.csv", |text| text.replacen("us-central1-a,us-central1-a,", "x,y,z", 1));
        assert!(error.contains("traffic.csv, line 2"), "{error}");
        let error = error_after("runs.csv", |text| text.replacen("0,disabled,,1,", "0,disabled,,one,", 1));
        assert!(error.contains("runs.csv, line 3, column `replication`"), "{error}");
        assert!(error.contains("expected a whole number, found \"one\""), "{error}");
        let error = error_after("latency.csv", |text| text.replacen("p99_ms", "p98_ms", 1));
        assert!(error.contains("latency.csv") && error.contains("no column `p99_ms`"), "{error}");
        let error = error_after("summary.csv", |text| text.replacen(",0.95\n", ",NaN\n", 1));
        assert!(
            error.contains("line 2, column `confidence`: expected a finite number or nothing"),
            "{error}"
        );
        let error = error_after("experiment.toml", |text| text.replacen("\"10m\"", "\"10\"", 1));
        assert!(error.contains("its experiment.toml can't be read; mend it"), "{error}");
        let error = error_after("resolved.json", |text| text.replacen("\"zones\"", "\"regions\"", 1));
        assert!(error.contains("can't read") && error.contains("resolved.json"), "{error}");
    }

    #[test]
    fn half_written_and_missing_files_are_errors() {
        let error = error_after("timeline.csv", |text| text[..text.len() - 5].to_owned());
        assert!(error.contains("timeline.csv") && error.contains("half-written"), "{error}");
        let error = error_after("backends.csv", |_| String::new());
        assert!(error.contains("backends.csv") && error.contains("half-written"), "{error}");
        let error = error_after("manifest.json", |text| text[..text.len() / 2].to_owned());
        assert!(error.contains("manifest.json"), "{error}");
        let error = Results::read(Path::new("/nonexistent")).unwrap_err().to_string();
        assert!(error.contains("runs.csv"), "{error}");
    }

    #[test]
    fn description_and_manifest_may_be_missing() {
        let folder = SampleFolder::default().write();
        for file in ["experiment.toml", "resolved.json", "manifest.json"] {
            fs::remove_file(folder.path().join(file)).unwrap();
        }
        let results = Results::read(folder.path()).unwrap();
        assert!(results.description.name.is_empty() && results.description.policies.is_none());
        assert_eq!(results.manifest, None);
    }
}
