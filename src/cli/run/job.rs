//! A results folder that is being filled.

use std::fs;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;

use super::progress::ProgressLine;
use crate::cli::console::Console;
use crate::experiment::Experiment;
use crate::figures::charts::draw_all;
use crate::figures::draw::Format;
use crate::figures::page;
use crate::job::agenda::Agenda;
use crate::job::cost::longest_first;
use crate::job::journal::{Journal, Part, experiment_hash};
use crate::job::manifest::{self, EndedJob, JobCounts, Manifest, write_file};
use crate::job::runner::{Progress, RunId, run_growing};
use crate::job::shard::Shard;
use crate::metrics::Run;
use crate::results::tables::{CellSummary, Tables};
use crate::sim::outcome::Outcome;

/// What a job is: an experiment or a shard of it, and where its results go.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub experiment: &'a Arc<Experiment>,
    pub shard: Option<Shard>,
    pub folder: &'a Path,
}

impl Task<'_> {
    /// Its runs: those that are there from the beginning.
    pub(super) fn agenda(self) -> Agenda {
        Agenda::new(self.experiment, self.shard)
    }

    /// Whether its folder holds every run of it already. The journal of a shard stays, for its outcomes are merged.
    pub(super) fn is_complete(self) -> bool {
        let same = |manifest: Manifest| {
            manifest.complete
                && manifest.shard == self.shard
                && manifest.experiment_hash == experiment_hash(self.experiment)
        };
        Journal::exists(self.folder) == self.shard.is_some() && Manifest::read(self.folder).is_some_and(same)
    }

    /// Opens the journal of its folder, so that a bad folder fails before anything is simulated.
    pub(super) fn open(self, resume: bool, console: &Console) -> anyhow::Result<Journal> {
        let Self { experiment, folder, .. } = self;
        // A shard may be started again before it had begun, and nobody watches.
        let journal = if resume && (self.shard.is_none() || Journal::exists(folder)) {
            Journal::resume(folder, experiment, self.part())?
        } else {
            fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
            let unfinished = Journal::exists(folder);
            let journal = Journal::create(folder, experiment, self.part())?;
            if unfinished {
                console
                    .note("an unfinished job in this folder is discarded; --resume would have finished it");
            }
            remove_old(folder)?;
            journal
        };
        Ok(journal)
    }

    fn part(self) -> Part {
        self.shard.map_or(Part::Whole, Part::Shard)
    }
}

pub(super) struct Job<'a> {
    task: Task<'a>,
    journal: Journal,
    tables: Tables<'a>,
    agenda: Agenda,
    /// The last run that is in the tables, if there is one.
    written: Option<RunId>,
    /// What an earlier, interrupted job had finished.
    earlier: JobCounts,
    wall_time: Duration,
}

impl<'a> Job<'a> {
    /// Opens every file of a job whose journal is open.
    pub(super) fn begin(task: Task<'a>, mut journal: Journal) -> anyhow::Result<Self> {
        let Task { experiment, folder, .. } = task;
        let tables = Tables::create(folder, experiment)?;
        write_file(folder, "experiment.toml", &experiment.document_in(folder))?;
        let earlier = journal.counts();
        let mut agenda = task.agenda();
        agenda.catch_up(experiment, |run| journal.outcome(run))?;
        let mut job =
            Self { task, journal, tables, agenda, written: None, earlier, wall_time: Duration::ZERO };
        job.catch_up()?;
        Ok(job)
    }

    /// Simulates what is missing, the longest runs first, until done or stopped by Ctrl-C.
    pub(super) fn simulate(
        &mut self,
        jobs: usize,
        stop: &AtomicBool,
        console: &Console,
    ) -> anyhow::Result<()> {
        let experiment = self.task.experiment;
        let runs = self.agenda.runs().iter();
        let missing: Vec<RunId> = runs.filter(|run| !self.journal.has(**run)).copied().collect();
        let missing: Vec<RunId> =
            longest_first(experiment, missing).into_iter().map(|(run, _)| run).collect();
        let finished = self.journal.runs().map(|run| run.cell);
        let mut line = ProgressLine::new(experiment, &self.agenda, finished, console);
        line.show(&self.agenda, &[]);
        #[allow(clippy::disallowed_methods, reason = "how long a job takes is real time")]
        let begun = std::time::Instant::now();
        run_growing(experiment, missing, jobs, stop, |progress| -> anyhow::Result<Vec<RunId>> {
            match progress {
                Progress::Finished(run, outcome) => {
                    line.finished(run.cell);
                    self.take(run, &outcome)
                }
                Progress::Waiting(under_way) => {
                    line.show(&self.agenda, &under_way);
                    self.journal.tick()?;
                    Ok(Vec::new())
                }
            }
        })?;
        self.wall_time = begun.elapsed();
        line.clear();
        Ok(())
    }

    /// Takes a finished run, and writes the rows of every run whose turn has come; gives the runs that follow from it.
    fn take(&mut self, run: RunId, outcome: &Outcome) -> anyhow::Result<Vec<RunId>> {
        self.journal.add(run, outcome)?;
        let more = self.write_in_turn(run, outcome)?;
        self.catch_up()?;
        Ok(more)
    }

    /// Observes a run, and writes its rows if it is its turn.
    fn write_in_turn(&mut self, id: RunId, outcome: &Outcome) -> anyhow::Result<Vec<RunId>> {
        let experiment: &'a Experiment = self.task.experiment;
        let cell = &experiment.cells()[id.cell];
        let scenario = experiment.scenario(cell);
        let latency = outcome.latency_overall();
        let run = Run { scenario: &scenario, outcome, latency: &latency };
        // First, so that no later cell takes the turn of what follows.
        let more = self.agenda.observe(id, &run);
        if self.next() == Some(id) {
            self.tables.add(cell, id.replication, &run)?;
            self.written = Some(id);
        }
        Ok(more)
    }

    /// The run whose turn it is, in order of runs.
    fn next(&self) -> Option<RunId> {
        let after = self.written.map_or(Bound::Unbounded, Bound::Excluded);
        self.agenda.runs().range((after, Bound::Unbounded)).next().copied()
    }

    /// Writes the rows of the finished runs that have waited for earlier ones.
    fn catch_up(&mut self) -> anyhow::Result<()> {
        while let Some(run) = self.next() {
            let Some(outcome) = self.journal.outcome(run)? else { break };
            self.write(run, &outcome)?;
        }
        Ok(())
    }

    /// Writes the rows of a run.
    fn write(&mut self, id: RunId, outcome: &Outcome) -> anyhow::Result<()> {
        let experiment: &'a Experiment = self.task.experiment;
        let cell = &experiment.cells()[id.cell];
        let scenario = experiment.scenario(cell);
        let latency = outcome.latency_overall();
        self.tables.add(cell, id.replication, &Run { scenario: &scenario, outcome, latency: &latency })?;
        self.written = Some(id);
        Ok(())
    }

    /// Completes the folder; gives the summaries if every run is in it. The journal goes last, so that a job that is
    /// stopped anywhere before can be resumed.
    pub(super) fn finish(
        mut self,
        jobs: usize,
        charts: Option<&[Format]>,
    ) -> anyhow::Result<Option<(Vec<CellSummary>, Manifest)>> {
        // After an interruption there are gaps; what lies beyond them is kept too.
        while let Some(run) = self.next() {
            match self.journal.outcome(run)? {
                Some(outcome) => self.write(run, &outcome)?,
                None => self.written = Some(run),
            }
        }
        let Task { experiment, shard, folder } = self.task;
        let summaries = self.tables.finish()?;
        self.journal.sync()?;
        let total = self.journal.counts();
        let (agenda, wall_time) = (&self.agenda, self.wall_time);
        let (fresh, warmup) = (total.since(self.earlier), self.journal.warmup());
        let ended = EndedJob { shard, agenda, warmup, jobs, wall_time, total, fresh };
        let manifest = Manifest::new(experiment, &ended, &summaries);
        manifest.write(folder)?;
        if let Some(formats) = charts {
            draw_all(folder, formats, |_| {})?;
        }
        if manifest.complete && shard.is_none() {
            self.journal.remove()?;
        }
        Ok(manifest.complete.then_some((summaries, manifest)))
    }
}

/// Removes what an older job has left in its results folder that this one may not write again.
pub(super) fn remove_old(folder: &Path) -> anyhow::Result<()> {
    if Manifest::read(folder).is_none() {
        // Not a results folder: nothing here is ours.
        return Ok(());
    }
    let mut old = vec![folder.join(manifest::NAME)];
    if let Ok(entries) = fs::read_dir(folder.join("charts")) {
        let paths = entries.filter_map(Result::ok).map(|entry| entry.path());
        old.extend(paths.filter(|path| {
            path.extension().is_some_and(|extension| extension == "png" || extension == "svg")
        }));
    }
    old.extend(Some(folder.join(page::NAME)).filter(|path| path.exists()));
    for path in old {
        fs::remove_file(&path).with_context(|| format!("can't remove {}", path.display()))?;
    }
    Ok(())
}
