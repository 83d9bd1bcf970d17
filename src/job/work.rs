//! A job at work: a journal that runs are added to as they finish, and the other files of its results folder.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::agenda::Agenda;
use super::cost::longest_first;
use super::error::JobError;
use super::holding::{built, clear, publish};
use super::journal::Journal;
use super::manifest::{EndedJob, Manifest};
use super::runner::{RunId, RunnerEvent, measured, run_growing};
use super::shard::Shard;
use super::watcher::{JobProgress, Watcher};
use crate::experiment::Experiment;
use crate::metrics::MeasuredRun;
use crate::results::building;
use crate::results::description::describe;
use crate::results::tables::{CellSummary, Tables};
use crate::sim::outcome::Outcome;

/// A results folder that holds every run.
#[derive(Clone, Debug)]
pub struct CompleteJob {
    /// The experiment, with the warm-up that was found and the values that were tried.
    pub experiment: Arc<Experiment>,
    /// Each cell's metrics.
    pub summaries: Vec<CellSummary>,
    /// What made the folder.
    pub manifest: Manifest,
}

/// A results folder whose files are being written.
pub(super) struct Filling<'a> {
    experiment: &'a Arc<Experiment>,
    home: &'a Path,
    tables: Tables<'a>,
}

impl<'a> Filling<'a> {
    /// Opens every file in the subfolder of `home` where they are built, so that a bad folder fails before anything is
    /// simulated.
    pub(super) fn begin(experiment: &'a Arc<Experiment>, home: &'a Path) -> Result<Self, JobError> {
        clear(home)?;
        let folder = building(home);
        let tables = Tables::create(&folder, experiment)?;
        describe(&folder, home, experiment)?;
        Ok(Self { experiment, home, tables })
    }

    /// Writes the rows of a run. Runs come in order.
    pub(super) fn add(&mut self, id: RunId, run: &MeasuredRun<'_>) -> Result<(), JobError> {
        let experiment: &'a Experiment = self.experiment;
        Ok(self.tables.add(&experiment.cells()[id.cell], id.replication, run)?)
    }

    pub(super) fn add_outcome(&mut self, id: RunId, outcome: &Outcome) -> Result<(), JobError> {
        measured(self.experiment, id, outcome, |run| self.add(id, run))
    }

    /// Writes the rest, and puts all of it in its place. The journal of a whole job goes last, so that a job that is stopped
    /// anywhere before can be resumed. What is not all of it never takes the place of what is.
    pub(super) fn finish(
        self,
        mut journal: Journal,
        ended: &EndedJob<'_>,
        watcher: &mut dyn Watcher,
    ) -> Result<CompleteJob, JobError> {
        let summaries = self.tables.finish()?;
        journal.sync()?;
        let mut manifest = Manifest::new(self.experiment, ended, &summaries);
        let folder = building(self.home);
        manifest.write(&folder)?;
        // Of no run there is nothing to show.
        if manifest.finished_runs > 0 {
            watcher.written(&folder).map_err(JobError::Watcher)?;
        }
        if manifest.complete || !Manifest::read(self.home).is_some_and(|old| old.complete) {
            manifest.files = built(self.home)?;
            manifest.write(&folder)?;
            publish(self.home, &manifest.files)?;
        }
        if manifest.complete && manifest.shard.is_none() {
            journal.remove()?;
        }
        Ok(CompleteJob { experiment: Arc::clone(self.experiment), summaries, manifest })
    }
}

/// A job at work.
pub(super) struct Work<'w> {
    pub(super) journal: Journal,
    pub(super) watcher: &'w mut dyn Watcher,
    threads: usize,
    pub(super) wall_time: Duration,
}

impl<'w> Work<'w> {
    pub(super) fn new(journal: Journal, threads: usize, watcher: &'w mut dyn Watcher) -> Self {
        Self { journal, watcher, threads, wall_time: Duration::ZERO }
    }

    /// Simulates the runs of `agenda` that are `missing`, the longest first, until done or to be stopped. Hands each to
    /// `take` as soon as it is finished, which may give more of them. Gives all runs that there are then.
    pub(super) fn simulate(
        &mut self,
        experiment: &Arc<Experiment>,
        agenda: Agenda,
        missing: Vec<RunId>,
        mut take: impl FnMut(&mut Journal, &mut Agenda, RunId, &Outcome) -> Result<Vec<RunId>, JobError>,
    ) -> Result<Agenda, JobError> {
        let Self { journal, watcher, .. } = self;
        // More threads than runs would have nothing to do.
        let most = agenda.most_runs() - (agenda.runs().len() - missing.len()) as u64;
        let threads = self.threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1);
        let mut progress = JobProgress::new(experiment, agenda, &missing);
        watcher.waiting(&progress);
        #[allow(clippy::disallowed_methods, reason = "how long a job takes is real time")]
        let begun = Instant::now();
        run_growing(experiment, longest_first(experiment, missing), threads, |event| {
            let mut more = Vec::new();
            match event {
                RunnerEvent::Finished(run, outcome) => {
                    progress.finish(run);
                    more = take(journal, &mut progress.agenda, run, &outcome)?;
                    watcher.finished(run, &progress);
                }
                RunnerEvent::Waiting(under_way) => {
                    progress.under_way = under_way;
                    watcher.waiting(&progress);
                    journal.tick()?;
                }
            }
            let stops = watcher.wants_to_stop();
            Ok::<_, JobError>(if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(more) })
        })?;
        self.wall_time += begun.elapsed();
        Ok(progress.agenda)
    }

    pub(super) fn finish(
        self,
        filling: Filling<'_>,
        agenda: &Agenda,
        shard: Option<Shard>,
        search: Option<String>,
    ) -> Result<CompleteJob, JobError> {
        let Journal { counts: total, fresh, warmup, .. } = self.journal;
        let (jobs, wall_time, finished_runs) = (self.threads, self.wall_time, self.journal.runs());
        let ended = EndedJob { shard, search, agenda, warmup, jobs, wall_time, finished_runs, total, fresh };
        filling.finish(self.journal, &ended, self.watcher)
    }
}
