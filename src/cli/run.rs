//! `zonesim run`: simulates every run of an experiment and writes its results folder.

mod doubt;
mod summary;

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::console::Console;
use super::{ChartFormat, OverrideArgs, Status, read_experiment};
use crate::experiment::runner::{RunId, all_runs, run_all};
use crate::experiment::{Experiment, Overrides};
use crate::report::charts::draw_all;
use crate::report::journal::{Journal, experiment_hash};
use crate::report::manifest::{self, JobCounts, Manifest, write_file};
use crate::report::page;
use crate::report::tables::{CellSummary, Tables};
use crate::sim::outcome::Outcome;

/// More threads than any machine has cores.
const MAX_JOBS: usize = 512;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The experiment file; the embedded quickstart without one.
    #[arg(value_name = "EXPERIMENT.toml")]
    file: Option<PathBuf>,
    /// The results folder [default: results/NAME, of the experiment].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: one for each core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Use another seed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Use another number of replications.
    #[arg(long, value_name = "N")]
    replications: Option<u32>,
    #[command(flatten)]
    overrides: OverrideArgs,
    /// Print cells, runs and expected connections, and write nothing.
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Finish a job that was interrupted: runs that it finished are not repeated.
    #[arg(long)]
    resume: bool,
    /// Write no charts.
    #[arg(long)]
    no_charts: bool,
    /// How charts are written: pixels, shapes, or both.
    #[arg(long, value_enum, default_value_t = ChartFormat::Png, value_name = "FORMAT")]
    format: ChartFormat,
}

pub(super) fn run(args: RunArgs, console: &Console) -> anyhow::Result<Status> {
    let overrides = Overrides { set: args.overrides.set, seed: args.seed, replications: args.replications };
    let experiment = Arc::new(read_experiment(args.file.as_ref(), &overrides)?);
    if args.dry_run {
        let (table, total) = plan(&experiment);
        console.data(&table)?;
        console.note(&total);
        return Ok(Status::Done);
    }
    let folder = args.out.unwrap_or_else(|| Path::new("results").join(experiment.name()));
    let jobs = match args.jobs {
        Some(jobs) => jobs,
        None => std::thread::available_parallelism().context("can't tell the number of cores; use --jobs")?,
    };
    if args.resume && is_complete(&experiment, &folder) {
        console.note(&format!("{} is complete", folder.display()));
        return Ok(Status::Done);
    }
    let mut job = Job::open(&experiment, &folder, args.resume, console)?;
    // More threads than runs would have nothing to do.
    let jobs = jobs.get().min(job.runs.len()).clamp(1, MAX_JOBS);
    let resumable = || {
        format!(
            "{} keeps the runs that are finished; the same command with --resume finishes the rest",
            folder.display()
        )
    };
    job.simulate(jobs, console).with_context(resumable)?;
    let (summaries, complete) = job.finish(jobs)?;
    if !args.no_charts {
        draw_all(&folder, args.format.files(), |_| {})?;
    }
    if !complete {
        console.note(&format!("stopped: {}", resumable()));
        return Ok(Status::Interrupted);
    }
    console.note(summary::render(&experiment, &summaries).trim_end());
    doubt::disagreements(&experiment, &summaries).iter().for_each(|line| console.note(line));
    console.note(&format!("results in {}", folder.display()));
    Ok(if judge(&experiment, &summaries, console) { Status::Done } else { Status::ThresholdMissed })
}

/// Whether `folder` holds every run of `experiment` already.
fn is_complete(experiment: &Experiment, folder: &Path) -> bool {
    let same =
        |manifest: Manifest| manifest.complete && manifest.experiment_hash == experiment_hash(experiment);
    !Journal::exists(folder) && Manifest::read(folder).is_some_and(same)
}

/// A results folder that is being filled.
struct Job<'a> {
    experiment: &'a Arc<Experiment>,
    folder: &'a Path,
    journal: Journal,
    tables: Tables<'a>,
    /// Every run, in order.
    runs: Vec<RunId>,
    /// The first of them that is not in the tables.
    next: usize,
    /// Finished runs that wait for earlier ones.
    waiting: BTreeMap<RunId, Outcome>,
    total: JobCounts,
    fresh: JobCounts,
    wall_time: Duration,
}

impl<'a> Job<'a> {
    /// Opens every file, so that a bad folder fails before anything is simulated.
    fn open(
        experiment: &'a Arc<Experiment>,
        folder: &'a Path,
        resume: bool,
        console: &Console,
    ) -> anyhow::Result<Self> {
        let (journal, finished) = if resume {
            Journal::resume(folder, experiment)?
        } else {
            fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
            let unfinished = Journal::exists(folder);
            let journal = Journal::create(folder, experiment)?;
            if unfinished {
                console
                    .note("an unfinished job in this folder is discarded; --resume would have finished it");
            }
            remove_old(folder)?;
            (journal, Vec::new())
        };
        let tables = Tables::create(folder, experiment)?;
        write_file(folder, "experiment.toml", &experiment.document_in(folder))?;
        let mut job = Self {
            experiment,
            folder,
            journal,
            tables,
            runs: all_runs(experiment),
            next: 0,
            waiting: BTreeMap::new(),
            total: JobCounts::default(),
            fresh: JobCounts::default(),
            wall_time: Duration::ZERO,
        };
        for (run, outcome) in finished {
            job.take(run, outcome)?;
        }
        Ok(job)
    }

    /// Simulates what is missing, until done or stopped by Ctrl-C.
    fn simulate(&mut self, jobs: usize, console: &Console) -> anyhow::Result<()> {
        let stop = Arc::new(AtomicBool::new(false));
        let on_signal = Arc::clone(&stop);
        ctrlc::set_handler(move || on_signal.store(true, Ordering::Relaxed))
            .context("can't listen for Ctrl-C")?;
        let missing: Vec<RunId> =
            self.runs[self.next..].iter().filter(|run| !self.waiting.contains_key(run)).copied().collect();
        let bar = progress_bar(self.runs.len(), self.runs.len() - missing.len(), console);
        #[allow(clippy::disallowed_methods, reason = "how long a job takes is real time")]
        let begun = std::time::Instant::now();
        run_all(self.experiment, missing, jobs, &stop, |run, outcome| -> anyhow::Result<()> {
            self.journal.add(run, &outcome)?;
            self.fresh.runs += 1;
            self.fresh.events += outcome.events;
            self.fresh.connections += outcome.opened;
            bar.inc(1);
            self.take(run, outcome)
        })?;
        self.wall_time = begun.elapsed();
        bar.finish_and_clear();
        Ok(())
    }

    /// Takes a finished run, and writes the rows of every run whose turn has come.
    fn take(&mut self, run: RunId, outcome: Outcome) -> anyhow::Result<()> {
        self.total.runs += 1;
        self.total.events += outcome.events;
        self.total.connections += outcome.opened;
        self.waiting.insert(run, outcome);
        while let Some(next) = self.runs.get(self.next) {
            let Some(outcome) = self.waiting.remove(next) else { break };
            self.write(*next, &outcome)?;
            self.next += 1;
        }
        Ok(())
    }

    fn write(&mut self, run: RunId, outcome: &Outcome) -> anyhow::Result<()> {
        let experiment: &'a Experiment = self.experiment;
        let cell = &experiment.cells()[run.cell];
        let scenario = experiment.scenario(cell);
        self.tables.add(cell, run.replication, &scenario, outcome)?;
        Ok(())
    }

    /// Completes the folder; tells whether every run is in it.
    fn finish(mut self, jobs: usize) -> anyhow::Result<(Vec<CellSummary>, bool)> {
        // After an interruption there are gaps; what lies beyond them is kept too.
        for (run, outcome) in std::mem::take(&mut self.waiting) {
            self.write(run, &outcome)?;
        }
        let summaries = self.tables.finish()?;
        let manifest = Manifest::new(self.experiment, jobs, self.wall_time, self.total, self.fresh);
        manifest.write(self.folder)?;
        if manifest.complete {
            self.journal.remove()?;
        }
        Ok((summaries, manifest.complete))
    }
}

/// Removes what an older job has left in its results folder that this one may not write again.
fn remove_old(folder: &Path) -> anyhow::Result<()> {
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

fn progress_bar(length: usize, done: usize, console: &Console) -> ProgressBar {
    let target = if console.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(length as u64), target);
    let style = ProgressStyle::with_template("{bar:40} {pos}/{len} runs  {per_sec}  {eta} left");
    bar.set_style(style.expect("the template is right"));
    bar.set_position(done as u64);
    bar.reset_eta();
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// What a run would do: a table of its cells, and the sum in words.
fn plan(experiment: &Experiment) -> (String, String) {
    let mut text = String::from("cell\tarm");
    for axis in experiment.axes() {
        text += &format!("\t{}", axis.column);
    }
    text += "\texpected_connections\n";
    let mut total = Some(0.0);
    let shown = |count: Option<f64>| count.map_or("unknown".to_owned(), |count| format!("{count:.0}"));
    for cell in experiment.cells() {
        text += &format!("{}\t{}", cell.index, cell.arm);
        for value in &cell.values {
            text += &format!("\t{}", value.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        let scenario = experiment.scenario(cell);
        let end = scenario.timing.window_end();
        let expected = scenario.clients.iter().map(|client| client.arrivals.expected_before(end));
        let connections: Option<f64> = expected.sum();
        let connections = connections.map(|connections| connections * f64::from(experiment.replications()));
        total = total.zip(connections).map(|(total, connections)| total + connections);
        text += &format!("\t{}\n", shown(connections));
    }
    let (cells, replications) = (experiment.cells().len(), experiment.replications());
    let runs = cells as u64 * u64::from(replications);
    (
        text,
        format!(
            "cells: {cells}, replications: {replications}, runs: {runs}, expected connections: {}",
            shown(total)
        ),
    )
}

/// Judges every threshold on the means over replications; tells whether all hold.
fn judge(experiment: &Experiment, summaries: &[CellSummary], console: &Console) -> bool {
    let (mut held, mut missed) = (0, 0);
    for threshold in experiment.thresholds() {
        let cells = experiment.cells().iter().zip(summaries);
        for (cell, summary) in cells.filter(|(cell, _)| threshold.applies_to(cell)) {
            let found = summary.metrics.iter().find(|found| found.metric.name == threshold.metric.name);
            let mean = found.and_then(|found| found.interval).map(|interval| interval.mean);
            if threshold.holds(mean) {
                held += 1;
            } else {
                missed += 1;
                let mean = mean.map_or("missing".to_owned(), |mean| mean.to_string());
                let place = experiment.describe(cell);
                console.warn(&format!("threshold missed: {threshold}: it is {mean} in {place}"));
            }
        }
    }
    if held + missed > 0 {
        console.note(&format!("thresholds: {held} held, {missed} missed (each in each cell that it judges)"));
    }
    missed == 0
}
