//! The offered load in the terminal: a table, and warnings.

use super::console::Console;
use super::table::Table;
use crate::answers::offered::{OfferedRow, offered_rows, offered_table, overload_warnings};
use crate::experiment::Experiment;

/// The most rows before a run; `zonesim expect` has all.
const ROWS_SHOWN: usize = 12;
/// The most warnings.
const WARNINGS_SHOWN: usize = 6;

/// The table of the first `most` rows; nothing where no backend has a limit of workers.
pub(super) fn offered(rows: &[OfferedRow], most: usize) -> String {
    let loads = || rows.iter().flat_map(|row| &row.loads);
    if loads().all(|load| load.before.is_none() && load.during.is_none()) {
        return String::new();
    }
    let (header, lines) = offered_table(rows);
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header);
    let more = lines.len().saturating_sub(most);
    lines.into_iter().take(most).for_each(|line| table.row(line));
    let mut text = table.render("", &[]);
    if more > 0 {
        text += &format!("… and {more} more rows; zonesim expect has all\n");
    }
    text
}

/// Says what is offered, if faults change it or it is too much, and warns of what is too much.
pub(super) fn say_offered(experiment: &Experiment, always: bool, console: &Console) {
    let rows = offered_rows(experiment);
    let warnings = overload_warnings(experiment, &rows);
    if always
        || !warnings.is_empty()
        || rows.iter().flat_map(|row| &row.loads).any(|load| load.before != load.during)
    {
        let table = offered(&rows, ROWS_SHOWN);
        if !table.is_empty() {
            console.note(table.trim_end());
        }
    }
    warn_of_overload(&warnings, console);
}

/// Warns, of many overloads of the first ones.
pub(super) fn warn_of_overload(warnings: &[String], console: &Console) {
    warnings.iter().take(WARNINGS_SHOWN).for_each(|line| console.caution(line));
    if warnings.len() > WARNINGS_SHOWN {
        console.note(&format!("… and {} more warnings of overload", warnings.len() - WARNINGS_SHOWN));
    }
}
