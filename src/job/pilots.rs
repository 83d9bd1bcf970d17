//! The pilot runs that find a warm-up.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::agenda::Agenda;
use super::error::JobError;
use super::manifest::WarmupEntry;
use super::warmup::{FoundWarmup, find, pilot_runs};
use super::watcher::JobNote;
use super::work::Work;
use crate::experiment::Experiment;
use crate::results::steadiness::Batches;

/// The experiment with the warm-up that the pilots of all its cells find, or have found before; nothing if that was stopped.
pub(super) fn settle(
    experiment: Arc<Experiment>,
    work: &mut Work<'_>,
) -> Result<Option<Arc<Experiment>>, JobError> {
    if !experiment.finds_warmup() {
        return Ok(Some(experiment));
    }
    let found = match work.journal.warmup() {
        Some(found) => found,
        None => {
            let Some(found) = look(&experiment, work)? else { return Ok(None) };
            work.journal.set_warmup(found)?;
            found
        }
    };
    let settled = experiment.with_warmup(found.length);
    work.watcher.note(JobNote::Warmup(WarmupEntry::of(&settled, &found)));
    Ok(Some(Arc::new(settled)))
}

fn look(experiment: &Experiment, work: &mut Work<'_>) -> Result<Option<FoundWarmup>, JobError> {
    let pilot = Arc::new(experiment.pilot());
    let runs = pilot_runs(&pilot);
    work.watcher.note(JobNote::Pilots(runs.len()));
    let mut found = BTreeMap::new();
    work.simulate(&pilot, &mut Agenda::of(runs.clone()), runs, |_, _, run, outcome| {
        found.insert(run, Batches::of(&outcome.timeline, usize::MAX));
        Ok(Vec::new())
    })?;
    // What a job took is what its measured runs took.
    work.wall_time = Duration::ZERO;
    if work.watcher.wants_to_stop() {
        return Ok(None);
    }
    Ok(Some(find(experiment, &found)?))
}
