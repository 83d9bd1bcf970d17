//! `zonesim run --search`: reads what is asked for, and writes the answers.

mod request;
mod text;

use super::stopped;
use super::watching::{Terminal, told};
use crate::cli::Status;
use crate::cli::closing::headlines;
use crate::cli::console::Console;
use crate::figures::draw::Format;
use crate::job::Folder;
use crate::job::search::Search;
pub(super) use request::SearchArgs;

/// What a search would be: a table of lines, and the sum in words.
pub(super) fn plan(search: &Search) -> (String, String) {
    let (steps, grid) = (search.question().steps_max(), search.grid());
    let mut table = String::from("line\tsearched\tfrom\tto\tvalues\tsteps_at_most\n");
    let lines = search.lines();
    for (name, is_searched) in &lines {
        let (path, last) = (&search.request().path, grid.len() - 1);
        table += &match is_searched {
            true => format!("{name}\t{path}\t{}\t{}\t{}\t{steps}\n", grid[0], grid[last], grid.len()),
            false => format!("{name}\t\t\t\t\t1\n"),
        };
    }
    let (cells, replications) = (search.cells_max(), search.replications());
    (
        table,
        format!(
            "lines: {}, steps of each at most: {steps}, cells at most: {cells}, replications: {replications}, runs at \
             most: {}",
            lines.len(),
            search.runs_max()
        ),
    )
}

/// Runs a search into `folder`, and prints the answers.
pub(super) fn run(
    search: &Search,
    folder: &Folder,
    charts: Option<&'static [Format]>,
    console: &Console,
) -> anyhow::Result<Status> {
    let mut terminal = Terminal::stoppable(console, charts, Some(search.runs_max()))?;
    let ended = search.run(folder, &mut terminal).map_err(told)?;
    drop(terminal);
    let Some(ended) = ended else { return Ok(stopped(&folder.path, console)) };
    headlines(&ended.job, &folder.path, console);
    console.data(&text::render(search, ended.job.experiment.name(), &ended.answers))?;
    let all = ended.answers.iter().all(|(_, answer)| text::is_answered(answer));
    Ok(if all { Status::Done } else { Status::ThresholdMissed })
}
