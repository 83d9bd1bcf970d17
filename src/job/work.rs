//! A job at work: a journal that runs are added to as they finish.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::agenda::Agenda;
use super::cost::longest_first;
use super::error::JobError;
use super::filling::{CompleteJob, Filling};
use super::journal::{JobCounts, Journal};
use super::manifest::EndedJob;
use super::runner::{RunId, RunnerEvent, run_growing};
use super::shard::Shard;
use super::watcher::{Tally, Watcher};
use crate::experiment::Experiment;
use crate::sim::outcome::Outcome;

/// A job at work.
pub(super) struct Work<'w> {
    pub(super) journal: Journal,
    pub(super) watcher: &'w mut dyn Watcher,
    threads: usize,
    /// What an earlier, interrupted job had finished.
    earlier: JobCounts,
    /// How long it has simulated.
    pub(super) wall_time: Duration,
}

impl<'w> Work<'w> {
    pub(super) fn new(journal: Journal, threads: usize, watcher: &'w mut dyn Watcher) -> Self {
        let earlier = journal.counts();
        Self { journal, watcher, threads, earlier, wall_time: Duration::ZERO }
    }

    /// Simulates the runs of `agenda` that are `missing`, the longest first, until done or to be stopped. Hands each to
    /// `take` as soon as it is finished, which may give more of them.
    pub(super) fn simulate(
        &mut self,
        experiment: &Arc<Experiment>,
        agenda: &mut Agenda,
        missing: Vec<RunId>,
        mut take: impl FnMut(&mut Journal, &mut Agenda, RunId, &Outcome) -> Result<Vec<RunId>, JobError>,
    ) -> Result<(), JobError> {
        let Self { journal, watcher, .. } = self;
        let mut tally = Tally::new(experiment, agenda, &missing);
        watcher.waiting(&tally.progress(experiment, agenda, &[]));
        // More threads than runs would have nothing to do.
        let most = agenda.most_runs() - (agenda.runs().len() - missing.len()) as u64;
        let threads = self.threads.min(usize::try_from(most).unwrap_or(usize::MAX)).max(1);
        #[allow(clippy::disallowed_methods, reason = "how long a job takes is real time")]
        let begun = Instant::now();
        run_growing(experiment, longest_first(experiment, missing), threads, |event| {
            let mut more = Vec::new();
            match event {
                RunnerEvent::Finished(run, outcome) => {
                    tally.finished(run);
                    more = take(journal, agenda, run, &outcome)?;
                    watcher.finished(run, &tally.progress(experiment, agenda, &[]));
                }
                RunnerEvent::Waiting(under_way) => {
                    watcher.waiting(&tally.progress(experiment, agenda, &under_way));
                    journal.tick()?;
                }
            }
            let stops = watcher.wants_to_stop();
            Ok::<_, JobError>(if stops { ControlFlow::Break(()) } else { ControlFlow::Continue(more) })
        })?;
        self.wall_time += begun.elapsed();
        Ok(())
    }

    /// Completes the folder that is `filling`, of the runs of `agenda`.
    pub(super) fn finish(
        self,
        filling: Filling<'_>,
        agenda: &Agenda,
        shard: Option<Shard>,
    ) -> Result<CompleteJob, JobError> {
        let (total, warmup) = (self.journal.counts(), self.journal.warmup());
        let (jobs, wall_time, fresh) = (self.threads, self.wall_time, total.since(self.earlier));
        let ended = EndedJob { shard, agenda, warmup, jobs, wall_time, total, fresh };
        filling.finish(self.journal, &ended, self.watcher)
    }
}
