//! The pilot runs that find a warm-up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::progress::ProgressLine;
use crate::cli::console::Console;
use crate::experiment::Experiment;
use crate::job::agenda::Agenda;
use crate::job::cost::longest_first;
use crate::job::journal::Journal;
use crate::job::manifest::WarmupEntry;
use crate::job::runner::{Progress, RunId, run_all};
use crate::job::warmup::{FoundWarmup, find, pilot_runs};
use crate::results::steadiness::Batches;

/// The experiment with the warm-up that the pilots of all its cells find, or have found before; nothing if that was stopped.
pub(super) fn settle(
    experiment: &Arc<Experiment>,
    journal: &mut Journal,
    jobs: usize,
    stop: &AtomicBool,
    console: &Console,
) -> anyhow::Result<Option<Arc<Experiment>>> {
    if !experiment.finds_warmup() {
        return Ok(Some(Arc::clone(experiment)));
    }
    let found = match journal.warmup() {
        Some(found) => found,
        None => {
            let Some(found) = look(experiment, jobs, stop, console)? else { return Ok(None) };
            journal.set_warmup(found)?;
            found
        }
    };
    let settled = experiment.with_warmup(found.length);
    console.note(&format!("warm-up: {}", WarmupEntry::of(&settled, &found).text()));
    Ok(Some(Arc::new(settled)))
}

fn look(
    experiment: &Experiment,
    jobs: usize,
    stop: &AtomicBool,
    console: &Console,
) -> anyhow::Result<Option<FoundWarmup>> {
    let pilot = Arc::new(experiment.pilot());
    let runs = pilot_runs(&pilot);
    console.note(&format!("pilot runs that find the warm-up: {}", runs.len()));
    let agenda = Agenda::of(runs.clone());
    let mut line = ProgressLine::new(&pilot, &agenda, std::iter::empty(), console);
    line.show(&agenda, &[]);
    let runs: Vec<RunId> = longest_first(&pilot, runs).into_iter().map(|(run, _)| run).collect();
    let mut found = BTreeMap::new();
    run_all(&pilot, runs, jobs, stop, |progress| -> anyhow::Result<()> {
        match progress {
            Progress::Finished(run, outcome) => {
                line.finished(run.cell);
                found.insert(run, Batches::of(&outcome.timeline, usize::MAX));
            }
            Progress::Waiting(under_way) => line.show(&agenda, &under_way),
        }
        Ok(())
    })?;
    line.clear();
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    Ok(Some(find(experiment, &found)?))
}
