//! `zonesim run`: simulates every run of an experiment, or of a shard of it, and writes its results folder.

mod job;
mod search;
mod shard;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::closing::close;
use super::console::Console;
use super::{ChartFormat, OverrideArgs, Status, UsageError, read_experiment, threads};
use crate::experiment::cost::expected_connections;
use crate::experiment::runner::RunId;
use crate::experiment::{Experiment, Overrides};
use job::{Job, Task};
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
    /// Use another number of replications.
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
        let (table, total) = plan(&experiment, &task.runs());
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
    let mut job = Job::open(task, args.resume, console)?;
    let runs = job.length();
    // More threads than runs would have nothing to do.
    let jobs = jobs.min(runs).max(1);
    job.simulate(jobs, console).with_context(|| resumable(&folder))?;
    let charts = (!args.no_charts && shard.is_none()).then(|| args.format.files());
    let Some(summaries) = job.finish(jobs, charts).with_context(|| resumable(&folder))? else {
        console.note(&format!("stopped: {}", resumable(&folder)));
        return Ok(Status::Interrupted);
    };
    match shard {
        None => Ok(close(&experiment, &summaries, &folder, console)),
        Some(shard) => {
            let folder = folder.display();
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

/// What `runs` would be: a table of cells, and the sum in words.
fn plan(experiment: &Experiment, runs: &[RunId]) -> (String, String) {
    let mut text = String::from("cell\tarm");
    for axis in experiment.axes() {
        text += &format!("\t{}", axis.column);
    }
    text += "\texpected_connections\n";
    let mut total = Some(0.0);
    let shown = |count: Option<f64>| count.map_or("unknown".to_owned(), |count| format!("{count:.0}"));
    let mut of_cell = vec![0_u32; experiment.cells().len()];
    runs.iter().for_each(|run| of_cell[run.cell] += 1);
    for (cell, count) in experiment.cells().iter().zip(of_cell) {
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
    (
        text,
        format!(
            "cells: {cells}, replications: {replications}, runs: {}, expected connections: {}",
            runs.len(),
            shown(total)
        ),
    )
}
