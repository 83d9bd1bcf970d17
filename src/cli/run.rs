//! `zonesim run`: simulates every run of an experiment, or of a shard of it, and writes its results folder.

mod job;
mod pilots;
mod progress;
mod search;
mod shard;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;
use clap::Args;

use super::closing::close;
use super::console::Console;
use super::{ChartFormat, OverrideArgs, Status, UsageError, read_experiment, threads};
use crate::experiment::{Experiment, Overrides};
use crate::job::agenda::Agenda;
use crate::job::cost::expected_connections;
use crate::job::warmup::pilot_runs;
use crate::stats::SequentialRule;
use job::{Job, Task};
use pilots::settle;
use search::{Search, SearchArgs};
use shard::ShardArg;

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    /// The experiment file; the embedded quickstart without one.
    #[arg(value_name = "EXPERIMENT.toml")]
    file: Option<PathBuf>,
    /// The results folder [default: results/NAME of the experiment, with .shard-I-of-N for a shard].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads [default: one for each core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Use another seed.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Use another number of replications; replaces a precision too.
    #[arg(long, value_name = "N")]
    replications: Option<u32>,
    #[command(flatten)]
    overrides: OverrideArgs,
    /// Print cells, runs and expected connections, and write nothing.
    #[arg(long, short = 'n')]
    dry_run: bool,
    /// Run only part I of N (from 1), for `zonesim merge`. `auto` takes I and N from Slurm, Cloud Run or Batch; `auto/N`
    /// takes I from Kubernetes too.
    #[arg(long, value_name = "I/N")]
    shard: Option<ShardArg>,
    /// Finish a job that was interrupted: runs that it finished are not repeated.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    search: SearchArgs,
    /// Write no charts.
    #[arg(long)]
    no_charts: bool,
    /// How charts are written: pixels, shapes, or both.
    #[arg(long, value_enum, default_value_t = ChartFormat::Png, value_name = "FORMAT")]
    format: ChartFormat,
}

#[expect(clippy::too_many_lines, reason = "to be parted")]
pub(super) fn run(args: RunArgs, console: &Console) -> anyhow::Result<Status> {
    let overrides = Overrides {
        set: args.overrides.set,
        seed: args.seed,
        replications: args.replications,
        ..Overrides::default()
    };
    let shard = args.shard.map(|shard| shard.resolve(|name| std::env::var(name).ok())).transpose()?;
    let experiment = Arc::new(read_experiment(args.file.as_ref(), &overrides)?);
    let name = shard.map_or_else(|| experiment.name().to_owned(), |shard| shard.folder(experiment.name()));
    let folder = args.out.unwrap_or_else(|| Path::new("results").join(name));
    if args.search.is_asked() {
        let search = Search::new(&experiment, &args.search)?;
        if args.dry_run {
            let (table, total) = search.plan();
            console.data(&table)?;
            console.note(&total);
            return Ok(Status::Done);
        }
        let charts = (!args.no_charts).then(|| args.format.files());
        let (folder, threads) = (folder.as_path(), threads(args.jobs)?);
        return search.run(&search::Job { folder, resume: args.resume, threads, charts }, console);
    }
    let task = Task { experiment: &experiment, shard, folder: &folder };
    if args.dry_run {
        let (table, total) = plan(&experiment, &task.agenda());
        console.data(&table)?;
        console.note(&total);
        return Ok(Status::Done);
    }
    let jobs = threads(args.jobs)?;
    // A whole job is done again if it is asked for; a shard is one of many that a cluster may start twice.
    if (args.resume || shard.is_some()) && task.is_complete() {
        console.note(&format!("{} is complete", folder.display()));
        return Ok(Status::Done);
    }
    // More threads than runs would have nothing to do.
    let jobs = jobs.min(usize::try_from(task.agenda().most_runs()).unwrap_or(jobs)).max(1);
    let mut journal = task.open(args.resume, console)?;
    let stop = stop_on_signal()?;
    let stopped = || {
        console.note(&format!("stopped: {}", resumable(&folder)));
        Ok(Status::Interrupted)
    };
    // A shard without runs needs no warm-up.
    let settled = match task.agenda().most_runs() {
        0 => Some(Arc::clone(&experiment)),
        _ => settle(&experiment, &mut journal, jobs, &stop, console)?,
    };
    let Some(experiment) = settled else { return stopped() };
    let mut job = Job::begin(Task { experiment: &experiment, ..task }, journal)?;
    job.simulate(jobs, &stop, console).with_context(|| resumable(&folder))?;
    let charts = (!args.no_charts && shard.is_none()).then(|| args.format.files());
    let Some((summaries, manifest)) = job.finish(jobs, charts).with_context(|| resumable(&folder))? else {
        return stopped();
    };
    match shard {
        None => Ok(close(&experiment, &summaries, &manifest, &folder, console)),
        Some(shard) => {
            let (folder, runs) = (folder.display(), manifest.finished_runs);
            manifest.warnings().iter().for_each(|line| console.caution(line));
            console.note(&format!(
                "shard {shard}: runs: {runs}, results in {folder}; zonesim merge joins all shards"
            ));
            Ok(Status::Done)
        }
    }
}

/// How a job that ends before it is done can be finished.
fn resumable(folder: &Path) -> String {
    format!(
        "{} keeps the runs that are finished; the same command with --resume finishes the rest",
        folder.display()
    )
}

/// What is set once Ctrl-C is pressed.
fn stop_on_signal() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let on_signal = Arc::clone(&stop);
    ctrlc::set_handler(move || on_signal.store(true, Ordering::Relaxed))
        .context("can't listen for Ctrl-C")?;
    Ok(stop)
}

/// What the runs of `agenda` would be, at most: a table of cells, and the sum in words.
fn plan(experiment: &Experiment, agenda: &Agenda) -> (String, String) {
    let mut text = String::from("cell\tarm");
    for axis in experiment.axes() {
        text += &format!("\t{}", axis.column);
    }
    text += "\texpected_connections\n";
    let mut total = Some(0.0);
    let shown = |count: Option<f64>| count.map_or("unknown".to_owned(), |count| format!("{count:.0}"));
    for cell in experiment.cells() {
        let count = agenda.most_of(cell.index);
        text += &format!("{}\t{}", cell.index, cell.arm);
        for value in &cell.values {
            text += &format!("\t{}", value.as_ref().map(ToString::to_string).unwrap_or_default());
        }
        let connections =
            expected_connections(&experiment.scenario(cell)).map(|mean| mean * f64::from(count));
        total = total.zip(connections).map(|(total, connections)| total + connections);
        text += &format!("\t{}\n", shown(connections));
    }
    let (cells, replications) = (experiment.cells().len(), experiment.replications());
    let (runs, connections) = (agenda.most_runs(), shown(total));
    let total = match experiment.precision() {
        None => format!(
            "cells: {cells}, replications: {replications}, runs: {runs}, expected connections: {connections}"
        ),
        Some(precision) => format!(
            "cells: {cells}, replications: {} to {replications}, until each has {precision}; runs: at most {runs}, \
             expected connections: at most {connections}",
            SequentialRule::FIRST
        ),
    };
    let pilots = match experiment.finds_warmup() {
        true => format!("; before them pilot runs that find the warm-up: {}", pilot_runs(experiment).len()),
        false => String::new(),
    };
    (text, total + &pilots)
}
