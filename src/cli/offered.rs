//! The offered load in the terminal: a table, and warnings.

use super::console::Console;
use super::table::Table;
use crate::answers::offered::OfferedLoads;
use crate::experiment::{Cell, Experiment};

/// The most rows before a run; `zonesim expect` has all.
const ROWS_SHOWN: usize = 12;
/// The most warnings.
const WARNINGS_SHOWN: usize = 6;

/// The table of the first `most` rows, and what it leaves out; nothing where no backend has a limit of workers.
pub(super) fn offered(loads: &OfferedLoads, most: usize) -> String {
    if loads.is_empty() {
        return String::new();
    }
    let (header, lines) = loads.table();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let mut table = Table::new(&header);
    let more = lines.len().saturating_sub(most);
    lines.into_iter().take(most).for_each(|line| table.row(line));
    let mut text = table.render("", &[]);
    if more > 0 {
        text += &format!("… and {more} more rows; zonesim expect has all\n");
    }
    text + &loads.left_out().map(|sentence| sentence + "\n").unwrap_or_default()
}

/// Says what is offered, if it `always` is to be said, faults change it or it is too much, and warns of what is too much.
pub(super) fn say_offered(experiment: &Experiment, always: bool, console: &Console) {
    let loads = OfferedLoads::of(experiment, &experiment.cells().iter().collect::<Vec<&Cell>>());
    if always || !loads.warnings.is_empty() || loads.changes() {
        let table = offered(&loads, ROWS_SHOWN);
        if !table.is_empty() {
            console.note(table.trim_end());
        }
    }
    warn_of_overload(&loads, console);
}

/// Warns, of many overloads of the first ones.
pub(super) fn warn_of_overload(loads: &OfferedLoads, console: &Console) {
    let warnings = &loads.warnings;
    warnings.iter().take(WARNINGS_SHOWN).for_each(|line| console.caution(line));
    if warnings.len() > WARNINGS_SHOWN {
        console.note(&format!("… and {} more warnings of overload", warnings.len() - WARNINGS_SHOWN));
    }
}
