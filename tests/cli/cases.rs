//! Small systems of which the right answer is known, from public questions and from recomputing results with another
//! program. Each stands for a kind of question; the files are in `tests/cases`.

mod events;
mod measures;
mod model;
mod reading;
mod statistics;

use std::fs;
use std::path::Path;
use std::process::Output;

use tempfile::TempDir;

use crate::{assert_status, zonesim};

/// An empty folder with the case `name` in it.
fn case(name: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for a test");
    let file = format!("{name}.toml");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases").join(&file);
    fs::copy(from, folder.path().join(file)).expect("the case is there");
    folder
}

/// Runs the case `name` into the folder `out` beside it, without charts.
fn run_case(folder: &Path, name: &str, more: &[&str]) -> Output {
    let file = format!("{name}.toml");
    let output =
        zonesim(folder, &[&["run", file.as_str(), "--out", "out", "--no-charts", "--force"], more].concat());
    assert_status(&output, 0);
    output
}

/// The values of `column` in the CSV file `file` of the results in `folder`, row by row; empty ones are NaN.
fn column(folder: &Path, file: &str, column: &str) -> Vec<f64> {
    let mut reader = csv::Reader::from_path(folder.join("out").join(file)).expect("the file is there");
    let position = reader.headers().expect("a header").iter().position(|name| name == column);
    let position = position.unwrap_or_else(|| panic!("{file} has no column {column}"));
    let rows = reader.records().map(|row| row.expect("a row")[position].parse().unwrap_or(f64::NAN));
    rows.collect()
}

/// The mean of a scalar metric over the runs of `folder`.
fn mean(folder: &Path, metric: &str) -> f64 {
    let values = column(folder, "runs.csv", metric);
    values.iter().sum::<f64>() / values.len() as f64
}
