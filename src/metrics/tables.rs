//! The CSV files of a results folder, each a table of columns: name, unit, meaning, how it is written and read.
//!
//! Headers, writing, reading and the names that axes can't have derive from it; to add a column is to add a row. The
//! columns of `runs.csv` are the metrics.

/// What a column of this kind is read as.
macro_rules! read_type {
    (text) => { String };
    (label) => { String };
    ($kind:ident) => { Option<f64> };
}

macro_rules! read_field {
    (text, $fields:ident, $name:expr) => {
        $fields.text($name)?.to_owned()
    };
    (label, $fields:ident, $name:expr) => {
        $fields.label($name).to_owned()
    };
    (signed, $fields:ident, $name:expr) => {
        $fields.number($name)?
    };
    ($kind:ident, $fields:ident, $name:expr) => {
        $fields.amount($name)?
    };
}

macro_rules! written_field {
    (text, $value:expr) => {
        $crate::metrics::tables::Field::Text($value.into())
    };
    (label, $value:expr) => {
        $crate::metrics::tables::Field::Text($value.into())
    };
    (count, $value:expr) => {
        $crate::metrics::tables::Field::Count($value)
    };
    (number, $value:expr) => {
        $crate::metrics::tables::Field::Number($value)
    };
    (signed, $value:expr) => {
        $crate::metrics::tables::Field::Number($value)
    };
}

/// A results file: its name, what one row is, of what a row is written, and its columns. A column: kind, name, unit (`1` for
/// shares and counts of nothing else, none for texts), meaning, and its value in the row that is written. Numbers and counts are read as numbers from 0 on that may be missing; those that are signed may be below.
/// Labels are texts of columns that a file has only where they tell rows apart.
macro_rules! results_file {
    (
        $row:ident in $file:literal $(by $run:ident)? $(each $($key:ident),+)?: $about:literal;
        of ($($source:ident: $type:ty),+)
        $($kind:ident $name:ident $([$unit:literal])? $meaning:literal = $value:expr;)+
    ) => {
        #[doc = $about]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $row {
            /// The number of the cell.
            pub cell: usize,
            $(/// Which replication it is.
            pub $run: usize,)?
            $(#[doc = concat!($meaning $(, " (", $unit, ")")?)] pub $name: read_type!($kind),)+
        }

        impl $crate::metrics::tables::FileRow for $row {
            const FILE: $crate::metrics::tables::ResultsFile =
                $crate::metrics::tables::ResultsFile { name: $file, columns: &[$(stringify!($name)),+] };

            const KEY: &'static [&'static str] = &[$($(stringify!($key)),+)?];

            fn read(
                fields: &$crate::metrics::tables::CsvRow<'_>,
            ) -> Result<Self, $crate::unfit::Unfit> {
                Ok(Self {
                    cell: fields.index("cell")?,
                    $($run: fields.index(stringify!($run))?,)?
                    $($name: read_field!($kind, fields, stringify!($name)),)+
                })
            }
        }

        impl $row {
            /// The fields of a row after the columns that tell it apart.
            fn fields<'a>($($source: $type),+) -> Vec<$crate::metrics::tables::Field<'a>> {
                vec![$(written_field!($kind, $value)),+]
            }
        }
    };
}
mod backends;
mod decisions;
mod events;
mod health;
mod latency;
mod packets;
mod summary;
mod timeline;
mod traffic;
mod zones;

pub use backends::BackendRow;
pub use decisions::DecisionRow;
pub use events::EventRow;
pub use health::HealthRow;
pub use latency::LatencyRow;
pub use packets::PacketRow;
pub use summary::{MetricSummary, SummaryRow, summarize};
pub use timeline::{MeanTimeline, TIMELINE_NUMBERS, TimelineRow};
pub use traffic::TrafficRow;
pub use zones::ZoneRow;

use std::borrow::Cow;
use std::ops::Index;
use std::path::Path;

use super::{MeasuredRun, Metric};
use crate::unfit::Unfit;

/// One results file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResultsFile {
    /// Its name.
    pub name: &'static str,
    /// Its columns after those that tell cells and runs apart.
    pub columns: &'static [&'static str],
}

/// So much of a field is shown where something else is expected.
const FOUND_MAX: usize = 60;

/// One field of a row that is written. What is missing is empty, never zero.
#[derive(Clone, Debug, PartialEq)]
pub enum Field<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// A count.
    Count(u64),
    /// A number, if there is one.
    Number(Option<f64>),
}

/// One record that is read, whose fields are asked for by name.
pub struct CsvRow<'a> {
    /// Its file, for errors.
    pub path: &'a Path,
    /// Its line in the file.
    pub line: u64,
    /// The names of the columns.
    pub header: &'a [String],
    /// Its fields, as many as there are columns.
    pub fields: &'a dyn Index<usize, Output = str>,
}

impl CsvRow<'_> {
    /// The field in column `name` as it stands.
    ///
    /// # Errors
    /// If there is no such column.
    pub fn text(&self, name: &str) -> Result<&str, Unfit> {
        Ok(&self.fields[column(self.path, self.header, name)?])
    }

    /// The text in column `name`; nothing if the file has no such column.
    pub fn label(&self, name: &str) -> &str {
        let position = self.header.iter().position(|column| column == name);
        position.map_or("", |position| &self.fields[position])
    }

    /// The whole number in column `name`.
    ///
    /// # Errors
    /// If there is no such column, or something else in it.
    pub fn index(&self, name: &str) -> Result<usize, Unfit> {
        let text = self.text(name)?;
        text.parse().map_err(|_| self.unfit(name, "a whole number"))
    }

    /// The number in column `name`, or nothing where the field is empty.
    ///
    /// # Errors
    /// If there is no such column, or something else in it.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Unfit> {
        match self.text(name)? {
            "" => Ok(None),
            text => match text.parse() {
                Ok(number) if f64::is_finite(number) => Ok(Some(number)),
                _ => Err(self.unfit(name, "a finite number or nothing")),
            },
        }
    }

    /// The number from 0 on in column `name`, or nothing where the field is empty.
    ///
    /// # Errors
    /// If there is no such column, or something else in it.
    pub fn amount(&self, name: &str) -> Result<Option<f64>, Unfit> {
        match self.number(name)? {
            Some(number) if number < 0.0 => Err(self.unfit(name, "a number from 0 on, or nothing")),
            number => Ok(number),
        }
    }

    /// The value of the metric `name`, or nothing where the field is empty.
    ///
    /// # Errors
    /// If there is no such column, or something else in it.
    pub fn metric(&self, name: &str) -> Result<Option<f64>, Unfit> {
        match self.amount(name)? {
            // A little more is what nine digits make of 1.
            Some(number) if number > 1.0 + 1e-9 && name.ends_with("_ratio") => {
                Err(self.unfit(name, "a ratio from 0 to 1, or nothing"))
            }
            number => Ok(number),
        }
    }

    /// The error of a row that should not be there.
    pub fn odd(&self, why: &str) -> Unfit {
        Unfit(format!("{}, line {}: {why}", self.path.display(), self.line))
    }

    fn unfit(&self, name: &str, expected: &str) -> Unfit {
        let (path, line) = (self.path.display(), self.line);
        let found: String = self.text(name).unwrap_or_default().chars().take(FOUND_MAX).collect();
        Unfit(format!("{path}, line {line}, column `{name}`: expected {expected}, found {found:?}"))
    }
}

/// The position of the column `name` in the `header` of the file `path`.
///
/// # Errors
/// If it is not there.
pub fn column(path: &Path, header: &[String], name: &str) -> Result<usize, Unfit> {
    let missing = || Unfit(format!("{}, line 1: no column `{name}`", path.display()));
    header.iter().position(|column| column == name).ok_or_else(missing)
}

/// A row of a results file as it is read. Axis columns are not repeated here: `cell` leads to them.
pub trait FileRow: Sized {
    /// The file.
    const FILE: ResultsFile;
    /// The columns that tell rows of the same run apart, or of the same cell. None where rows may be alike.
    const KEY: &'static [&'static str];
    /// Reads the row.
    ///
    /// # Errors
    /// If a column is missing, or a field holds something else than it should.
    fn read(row: &CsvRow<'_>) -> Result<Self, Unfit>;
}

/// The columns that tell cells and runs apart. Axes stand behind the arm.
const HEAD: [&str; 5] = ["cell", "arm", "replication", "seed", STRATUM_WEIGHT];
/// The column of `runs.csv` behind `seed` that is there if replications are drawn from strata in turn: how much of all
/// windows the run's stratum is.
pub const STRATUM_WEIGHT: &str = "stratum_weight";

/// Every row of a run, after the columns that tell it apart.
type RowsOf = for<'a> fn(&MeasuredRun<'a>) -> Vec<Vec<Field<'a>>>;

/// The files that have rows for every run, with what writes them.
pub const RUN_FILES: [(ResultsFile, RowsOf); 7] = [
    (TrafficRow::FILE, TrafficRow::of),
    (LatencyRow::FILE, LatencyRow::of),
    (BackendRow::FILE, BackendRow::of),
    (DecisionRow::FILE, DecisionRow::of),
    (ZoneRow::FILE, ZoneRow::of),
    (EventRow::FILE, EventRow::of),
    (HealthRow::FILE, HealthRow::of),
];

/// The column that files have only where an experiment has several forwarding rules.
pub const RULE: &str = "rule";

/// Every file but `runs.csv`.
pub fn files() -> impl Iterator<Item = ResultsFile> {
    RUN_FILES.into_iter().map(|(file, _)| file).chain([SummaryRow::FILE, TimelineRow::FILE, PacketRow::FILE])
}

/// Whether some file has a column called `name`, so that no axis can be called so.
pub fn is_column(name: &str) -> bool {
    files().map(|file| file.columns).chain([&HEAD[..]]).any(|columns| columns.contains(&name))
        || Metric::find(name).is_some()
}

fn millis(nanos: Option<u64>) -> Option<f64> {
    nanos.map(|nanos| nanos as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_name_of_its_own_in_its_file() {
        for file in files() {
            for column in file.columns {
                assert!(is_column(column), "{column}");
                let same = file.columns.iter().chain(&HEAD).filter(|other| *other == column);
                assert_eq!(same.count(), 1, "{column} of {}", file.name);
            }
        }
        assert!(is_column("seed") && is_column("mean_wait_ms") && is_column("failure_ratio"));
        assert!(!is_column("spillover_ratio"));
    }
}
