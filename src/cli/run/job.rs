//! A results folder that is being filled.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::cli::console::Console;
use crate::experiment::Experiment;
use crate::experiment::cost::longest_first;
use crate::experiment::runner::{Progress, RunId, all_runs, run_all};
use crate::experiment::shard::Shard;
use crate::report::charts::draw_all;
use crate::report::draw::Format;
use crate::report::journal::{Journal, Part, experiment_hash};
use crate::report::manifest::{self, EndedJob, JobCounts, Manifest, write_file};
use crate::report::page;
use crate::report::tables::{CellSummary, Tables};
use crate::sim::outcome::Outcome;

/// What a job is: an experiment or a shard of it, and where its results go.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub experiment: &'a Arc<Experiment>,
    pub shard: Option<Shard>,
    pub folder: &'a Path,
}

impl Task<'_> {
    /// Its runs, in order.
    pub(super) fn runs(self) -> Vec<RunId> {
        match self.shard {
            Some(shard) => shard.runs(self.experiment),
            None => all_runs(self.experiment),
        }
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

    fn part(self) -> Part {
        self.shard.map_or(Part::Whole, Part::Shard)
    }
}

pub(super) struct Job<'a> {
    task: Task<'a>,
    journal: Journal,
    tables: Tables<'a>,
    /// Every run, in order.
    runs: Vec<RunId>,
    /// The first of them that is not in the tables.
    next: usize,
    /// What an earlier, interrupted job had finished.
    earlier: JobCounts,
    wall_time: Duration,
}

impl<'a> Job<'a> {
    /// Opens every file, so that a bad folder fails before anything is simulated.
    pub(super) fn open(task: Task<'a>, resume: bool, console: &Console) -> anyhow::Result<Self> {
        let Task { experiment, folder, .. } = task;
        // A shard may be started again before it had begun, and nobody watches.
        let journal = if resume && (task.shard.is_none() || Journal::exists(folder)) {
            Journal::resume(folder, experiment, task.part())?
        } else {
            fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
            let unfinished = Journal::exists(folder);
            let journal = Journal::create(folder, experiment, task.part())?;
            if unfinished {
                console
                    .note("an unfinished job in this folder is discarded; --resume would have finished it");
            }
            remove_old(folder)?;
            journal
        };
        let tables = Tables::create(folder, experiment)?;
        write_file(folder, "experiment.toml", &experiment.document_in(folder))?;
        let earlier = journal.counts();
        let runs = task.runs();
        let mut job = Self { task, journal, tables, runs, next: 0, earlier, wall_time: Duration::ZERO };
        job.catch_up()?;
        Ok(job)
    }

    /// How many runs it has.
    pub(super) fn length(&self) -> usize {
        self.runs.len()
    }

    /// Simulates what is missing, the longest runs first, until done or stopped by Ctrl-C.
    pub(super) fn simulate(&mut self, jobs: usize, console: &Console) -> anyhow::Result<()> {
        let stop = on_interrupt()?;
        let experiment = self.task.experiment;
        let missing: Vec<RunId> = self.runs.iter().filter(|run| !self.journal.has(**run)).copied().collect();
        let missing: Vec<RunId> =
            longest_first(experiment, missing).into_iter().map(|(run, _)| run).collect();
        let bar = progress_bar(self.runs.len(), self.runs.len() - missing.len(), console);
        #[allow(clippy::disallowed_methods, reason = "how long a job takes is real time")]
        let begun = std::time::Instant::now();
        run_all(experiment, missing, jobs, &stop, |progress| -> anyhow::Result<()> {
            match progress {
                Progress::Finished(run, outcome) => {
                    bar.inc(1);
                    self.take(run, &outcome)
                }
                Progress::Waiting => Ok(self.journal.tick()?),
            }
        })?;
        self.wall_time = begun.elapsed();
        bar.finish_and_clear();
        Ok(())
    }

    /// Takes a finished run, and writes the rows of every run whose turn has come.
    fn take(&mut self, run: RunId, outcome: &Outcome) -> anyhow::Result<()> {
        self.journal.add(run, outcome)?;
        if self.runs[self.next] == run {
            self.write(run, outcome)?;
            self.next += 1;
            self.catch_up()?;
        }
        Ok(())
    }

    /// Writes the rows of the finished runs that have waited for earlier ones.
    fn catch_up(&mut self) -> anyhow::Result<()> {
        while let Some(run) = self.runs.get(self.next).copied() {
            let Some(outcome) = self.journal.outcome(run)? else { break };
            self.write(run, &outcome)?;
            self.next += 1;
        }
        Ok(())
    }

    fn write(&mut self, run: RunId, outcome: &Outcome) -> anyhow::Result<()> {
        let experiment: &'a Experiment = self.task.experiment;
        let cell = &experiment.cells()[run.cell];
        let scenario = experiment.scenario(cell);
        self.tables.add(cell, run.replication, &scenario, outcome)?;
        Ok(())
    }

    /// Completes the folder; gives the summaries if every run is in it. The journal goes last, so that a job that is
    /// stopped anywhere before can be resumed.
    pub(super) fn finish(
        mut self,
        jobs: usize,
        charts: Option<&[Format]>,
    ) -> anyhow::Result<Option<Vec<CellSummary>>> {
        // After an interruption there are gaps; what lies beyond them is kept too.
        for index in self.next..self.runs.len() {
            let run = self.runs[index];
            if let Some(outcome) = self.journal.outcome(run)? {
                self.write(run, &outcome)?;
            }
        }
        let Task { experiment, shard, folder } = self.task;
        let summaries = self.tables.finish()?;
        self.journal.sync()?;
        let total = self.journal.counts();
        let (runs, wall_time) = (self.runs.len(), self.wall_time);
        let ended = EndedJob { shard, runs, jobs, wall_time, total, fresh: total.since(self.earlier) };
        let manifest = Manifest::new(experiment, &ended);
        manifest.write(folder)?;
        if let Some(formats) = charts {
            draw_all(folder, formats, |_| {})?;
        }
        if manifest.complete && shard.is_none() {
            self.journal.remove()?;
        }
        Ok(manifest.complete.then_some(summaries))
    }
}

/// What Ctrl-C sets.
pub(super) fn on_interrupt() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let on_signal = Arc::clone(&stop);
    ctrlc::set_handler(move || on_signal.store(true, Ordering::Relaxed))
        .context("can't listen for Ctrl-C")?;
    Ok(stop)
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

pub(super) fn progress_bar(length: usize, done: usize, console: &Console) -> ProgressBar {
    let target = if console.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(length as u64), target);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs  {per_sec}  {eta} left");
    bar.set_style(style.expect("the template is right"));
    bar.set_position(done as u64);
    bar.reset_eta();
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}
