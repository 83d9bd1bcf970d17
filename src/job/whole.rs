//! An experiment, or a shard of it, into a results folder.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use super::agenda::Agenda;
use super::error::JobError;
use super::folder::Folder;
use super::journal::{Journal, Part};
use super::manifest::WarmupEntry;
use super::runner::{RunId, measured};
use super::size::expected_size;
use super::warmup::{FoundWarmup, find, pilot_runs};
use super::watcher::{JobNote, Watcher};
use super::work::{CompleteJob, Filling, Work};
use crate::experiment::Experiment;
use crate::results::steadiness::Batches;
use crate::sim::outcome::Outcome;

/// How a job ends.
#[derive(Debug)]
pub enum JobEnd {
    /// Every run is in the folder.
    Complete(Box<CompleteJob>),
    /// Every run was in the folder before it began: it was resumed, or is a shard that a cluster has started twice.
    CompleteBefore,
    /// It was stopped. What is finished is kept, so that it can be resumed.
    Stopped,
}

/// Runs `experiment` into `folder`, or the shard of it that `folder` is for.
///
/// # Errors
/// If a file can't be read or written, another process has the folder, what is to be resumed is another job, pilots find no
/// warm-up, or a run fails.
pub fn run(experiment: &Experiment, folder: &Folder, watcher: &mut dyn Watcher) -> Result<JobEnd, JobError> {
    // A whole job is done again if it is asked for; a shard is one of many that a cluster may start twice.
    if (folder.resume || folder.shard.is_some()) && !folder.force && folder.is_complete(experiment)? {
        return Ok(JobEnd::CompleteBefore);
    }
    let experiment = Arc::new(experiment.clone());
    // More threads than runs would have nothing to do.
    let most = Agenda::new(&experiment, folder.shard).most_runs();
    let threads = folder.threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1);
    expected_size(&experiment, &Agenda::new(&experiment, folder.shard), threads).check(&experiment)?;
    let journal = folder.open(&experiment, folder.shard.map_or(Part::Whole, Part::Shard), watcher)?;
    let work = Work::new(journal, threads, watcher);
    fill(experiment, folder, work, most).map_err(|error| folder.ended(error))
}

/// Simulates what is missing of `experiment`, which has this many runs at most, and fills `folder`.
fn fill(
    experiment: Arc<Experiment>,
    folder: &Folder,
    mut work: Work<'_>,
    most: u64,
) -> Result<JobEnd, JobError> {
    // A shard without runs needs no warm-up.
    let settled = if most == 0 { Some(experiment) } else { settle(experiment, &mut work)? };
    let Some(experiment) = settled else { return Ok(JobEnd::Stopped) };
    let filling = Filling::begin(&experiment, &folder.path)?;
    let mut turns = Turns { experiment: &experiment, filling, written: None };
    let mut agenda = Agenda::new(&experiment, folder.shard);
    agenda.catch_up(&experiment, |run| work.journal.outcome(run))?;
    turns.catch_up(&agenda, &mut work.journal, false)?;
    let complete = turns.run(work, agenda, folder)?;
    Ok(if complete.manifest.complete { JobEnd::Complete(Box::new(complete)) } else { JobEnd::Stopped })
}

/// The experiment with the warm-up that the pilots of all its cells find, or have found before; nothing if that was stopped.
fn settle(experiment: Arc<Experiment>, work: &mut Work<'_>) -> Result<Option<Arc<Experiment>>, JobError> {
    if !experiment.finds_warmup() {
        return Ok(Some(experiment));
    }
    let found = match work.journal.warmup {
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
    work.simulate(&pilot, Agenda::of(runs.clone()), runs, |_, _, run, outcome| {
        found.insert(run, Batches::of(&outcome.timeline, usize::MAX));
        Ok(Vec::new())
    })?;
    // The pilots' time is no part of the job's.
    work.wall_time = Duration::ZERO;
    if work.watcher.wants_to_stop() {
        return Ok(None);
    }
    Ok(Some(find(experiment, &found)?))
}

/// A results folder that gets the rows of runs in their order, while they finish in any.
struct Turns<'a> {
    experiment: &'a Arc<Experiment>,
    filling: Filling<'a>,
    /// The last run that is in the tables, if there is one.
    written: Option<RunId>,
}

impl Turns<'_> {
    /// Simulates what is missing, and completes the folder as far as it got.
    fn run(mut self, mut work: Work<'_>, agenda: Agenda, folder: &Folder) -> Result<CompleteJob, JobError> {
        let runs = agenda.runs().iter().copied();
        let missing = runs.filter(|run| !work.journal.has(*run)).collect();
        let agenda = work.simulate(self.experiment, agenda, missing, |journal, agenda, run, outcome| {
            journal.add(run, outcome)?;
            let more = self.take(agenda, run, outcome)?;
            self.catch_up(agenda, journal, false)?;
            Ok(more)
        })?;
        // After an interruption there are gaps; what lies beyond them is kept too.
        self.catch_up(&agenda, &mut work.journal, true)?;
        work.finish(self.filling, &agenda, folder.shard, None)
    }

    /// Observes a finished run, and writes its rows if it is its turn; gives the runs that follow from it.
    fn take(&mut self, agenda: &mut Agenda, id: RunId, outcome: &Outcome) -> Result<Vec<RunId>, JobError> {
        measured(self.experiment, id, outcome, |run| {
            // First, so that no later cell takes the turn of what follows.
            let more = agenda.observe(id, run);
            if self.next(agenda) == Some(id) {
                self.filling.add(id, run)?;
                self.written = Some(id);
            }
            Ok(more)
        })
    }

    /// The run whose turn it is, in order of runs.
    fn next(&self, agenda: &Agenda) -> Option<RunId> {
        let after = self.written.map_or(Bound::Unbounded, Bound::Excluded);
        agenda.runs().range((after, Bound::Unbounded)).next().copied()
    }

    /// Writes the rows of the finished runs that have waited for earlier ones, up to the first gap or beyond.
    fn catch_up(&mut self, agenda: &Agenda, journal: &mut Journal, beyond: bool) -> Result<(), JobError> {
        while let Some(run) = self.next(agenda) {
            match journal.outcome(run)? {
                Some(outcome) => self.filling.add_outcome(run, &outcome)?,
                None if beyond => {}
                None => break,
            }
            self.written = Some(run);
        }
        Ok(())
    }
}
