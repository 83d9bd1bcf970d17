//! `zonesim compare`: which cell is better, by how much, and how sure that is.

mod text;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::console::Console;
use super::table::cells_text;
use super::{AnswerFormat, Status, check_has_results, say_conditions};
use crate::answers::compare::records::records;
use crate::answers::compare::{Comparison, FAMILY_ERROR, compare as compare_all};
use crate::results::observed::Observed;
use crate::results::record::{Record, csv_text};

#[derive(Debug, Args)]
pub(super) struct CompareArgs {
    /// A results folder.
    #[arg(value_name = "RESULTS_DIR")]
    folder: PathBuf,
    /// The arm that the others are compared with; where it has several cells for the same shared axes, add
    /// values, as in `spill,spillover_ratio=0.5` [default: disabled, base, or the first arm].
    #[arg(long, value_name = "ARM")]
    baseline: Option<String>,
    /// Only these metrics, columns of `runs.csv` [default: failures, cross-zone traffic and its price, p99, hottest
    /// zone].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    metric: Vec<String>,
    /// A table to read, JSON, or CSV with one row for each metric and cell.
    #[arg(long, value_enum, default_value_t = AnswerFormat::Table)]
    format: AnswerFormat,
}

pub(super) fn compare(args: &CompareArgs, console: &Console) -> anyhow::Result<Status> {
    check_has_results(&args.folder)?;
    say_conditions(&args.folder, console);
    let observed = Observed::read(&args.folder)?;
    let comparison = compare_all(&observed, args.baseline.as_deref(), &args.metric)?;
    let answer = match args.format {
        AnswerFormat::Table => text::render(&observed, &comparison),
        AnswerFormat::Csv => csv_text(&records(&observed, &comparison)),
        AnswerFormat::Json => {
            let mut head = Record::default();
            head.put("experiment", observed.results().description.name.as_str());
            head.put("baseline", baseline_text(&observed, &comparison));
            head.put("confidence", 1.0 - FAMILY_ERROR);
            head.put("correction", "bonferroni");
            let (rows, notes) = (records(&observed, &comparison), &comparison.notes);
            serde_json::to_string_pretty(&Answer { head, rows, notes })? + "\n"
        }
    };
    console.data(&answer)?;
    comparison.notes.iter().for_each(|note| console.note(&format!("note: {note}")));
    Ok(Status::Done)
}

#[derive(Debug, Serialize)]
struct Answer<'a> {
    #[serde(flatten)]
    head: Record,
    rows: Vec<Record>,
    notes: &'a [String],
}

/// The baseline in words: its one cell, or its arm.
fn baseline_text(observed: &Observed, comparison: &Comparison) -> String {
    let mut cells: Vec<usize> = comparison.policies.iter().map(|policy| policy.baseline).collect();
    cells.dedup();
    match cells[..] {
        [cell] => cells_text(observed.results(), &[cell]),
        _ => observed.results().arms[comparison.baseline.arm].clone(),
    }
}
