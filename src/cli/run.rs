//! `zonesim run`: simulates every run of an experiment, or of a shard of it, and writes its results folder.

mod progress;
mod search;
mod shard;
pub(super) mod watching;

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::{Path, PathBuf};

use clap::Args;

use super::closing::{close, judge_again};
use super::console::Console;
use super::findings;
use super::offered::say_offered;
use super::signals;
use super::{ChartArgs, OverrideArgs, Status, threads};
use crate::experiment::{AxisValue, Experiment, Overrides, QUICKSTART, Source};
use crate::figures::draw::Format;
use crate::job::agenda::Agenda;
use crate::job::cost::expected_connections;
use crate::job::size::expected_size;
use crate::job::warmup::pilot_runs;
use crate::job::{self, CompleteJob, Folder, JobEnd};
use crate::stats::SequentialRule;
use search::SearchArgs;
use shard::ShardArg;
use watching::{Terminal, resumable, told};

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
    /// Finish a job that was interrupted: runs that it finished are not repeated. Without one it begins.
    #[arg(long)]
    resume: bool,
    /// Move what is in the results folder aside, to a numbered name, whatever it is.
    #[arg(long, conflicts_with_all = ["resume", "dry_run"])]
    force: bool,
    /// Write the first N connections of the measured window, of each cell's first replication, packet by packet into trace.csv.
    #[arg(long, value_name = "N", conflicts_with_all = ["shard", "search"])]
    trace: Option<NonZeroU32>,
    #[command(flatten)]
    search: SearchArgs,
    #[command(flatten)]
    charts: ChartArgs,
}

pub(super) fn run(args: RunArgs, console: &Console) -> anyhow::Result<Status> {
    let overrides = Overrides {
        set: args.overrides.set,
        seed: args.seed,
        replications: args.replications,
        ..Overrides::default()
    };
    let shard = args.shard.map(|shard| shard.resolve(|name| std::env::var(name).ok())).transpose()?;
    let quickstart = || Source { name: "quickstart.toml (embedded)".to_owned(), text: QUICKSTART.to_owned() };
    let experiment = match &args.file {
        Some(path) => Experiment::read(path, &overrides)?,
        None => Experiment::parse(quickstart(), &overrides)?,
    };
    let name = shard.map_or_else(|| experiment.name().to_owned(), |shard| shard.folder(experiment.name()));
    let path = args.out.unwrap_or_else(|| Path::new("results").join(name));
    let search = args.search.read(&experiment)?;
    findings::say(&experiment, None, console);
    if args.dry_run {
        let agenda = Agenda::new(&experiment, shard);
        let (table, total) = match &search {
            Some(search) => search::plan(search),
            None => plan(&experiment, &agenda),
        };
        console.data(&table)?;
        console.note(&total);
        let threads = threads(args.jobs)?;
        let size = match &search {
            Some(search) => search.expected_size(threads).map_err(told)?,
            None => expected_size(&experiment, &agenda, threads),
        };
        console.note(&size.to_string());
        size.check(&experiment)?;
        say_offered(&experiment, true, console);
        return Ok(Status::Done);
    }
    let folder = Folder { path, shard, resume: args.resume, force: args.force, threads: threads(args.jobs)? };
    let charts = args.charts.files().filter(|_| shard.is_none());
    say_offered(&experiment, false, console);
    match search {
        Some(search) => search::run(&search, &folder, charts, console),
        None => run_into(&folder, &experiment, (charts, args.trace), console),
    }
}

fn run_into(
    folder: &Folder,
    experiment: &Experiment,
    (charts, traced): (Option<&'static [Format]>, Option<NonZeroU32>),
    console: &Console,
) -> anyhow::Result<Status> {
    let mut terminal = Terminal::stoppable(console, charts, None);
    let ended = job::run(experiment, folder, &mut terminal).map_err(told)?;
    drop(terminal);
    match ended {
        JobEnd::CompleteBefore => {
            console.note(&format!("{} is complete", folder.path.display()));
            if traced.is_some() {
                console.caution(
                    "nothing was run, so that there is no new trace.csv; run without --resume for one",
                );
            }
            // A shard is judged with the others, when they are merged.
            if folder.shard.is_none() { judge_again(&folder.path, console) } else { Ok(Status::Done) }
        }
        JobEnd::Stopped => Ok(stopped(&folder.path, console)),
        JobEnd::Complete(job) if folder.shard.is_none() => {
            if let Some(connections) = traced {
                let packets = job::trace(&job.experiment, &folder.path, connections)?;
                console.note(&format!("packets in trace.csv: {packets}"));
            }
            Ok(close(&job, &folder.path, console))
        }
        JobEnd::Complete(job) => Ok(close_shard(&job, &folder.path, console)),
    }
}

/// Says that whoever looked on stopped the job in `folder`.
fn stopped(folder: &Path, console: &Console) -> Status {
    console.note(&format!("stopped: {}", resumable(folder)));
    // Nothing but a signal stops a job.
    signals::asked().unwrap_or(Status::Interrupted)
}

fn close_shard(job: &CompleteJob, folder: &Path, console: &Console) -> Status {
    let shard = job.manifest.shard.map(String::from).unwrap_or_default();
    let (runs, folder) = (job.manifest.finished_runs, folder.display());
    job.manifest.warnings().iter().for_each(|line| console.caution(line));
    let what = format!("shard {shard}: runs: {runs}, results in {folder}");
    console.note(&format!("{what}; zonesim merge joins all shards"));
    Status::Done
}

/// What the runs of `agenda` would be, at most: a table of cells, and the sum in words.
fn plan(experiment: &Experiment, agenda: &Agenda) -> (String, String) {
    let axes: String = experiment.axes().iter().map(|axis| format!("\t{}", axis.column)).collect();
    let mut text = format!("cell\tarm{axes}\texpected_connections\n");
    let mut total = Some(0.0);
    let shown = |count: Option<f64>| count.map_or("unknown".to_owned(), |count| format!("{count:.0}"));
    for cell in experiment.cells() {
        let count = f64::from(agenda.most_of(cell.index));
        let connections = expected_connections(&experiment.scenario(cell)).map(|mean| mean * count);
        total = total.zip(connections).map(|(total, connections)| total + connections);
        let value =
            |value: &Option<AxisValue>| value.as_ref().map_or("\t".to_owned(), |it| format!("\t{it}"));
        let values: String = cell.values.iter().map(value).collect();
        text += &format!("{}\t{}{values}\t{}\n", cell.index, cell.arm, shown(connections));
    }
    let (cells, replications) = (experiment.cells().len(), experiment.replications());
    let (runs, connections) = (agenda.most_runs(), shown(total));
    let mut total = match experiment.precision() {
        None => format!(
            "cells: {cells}, replications: {replications}, runs: {runs}, expected connections: {connections}"
        ),
        Some(precision) => format!(
            "cells: {cells}, replications: {} to {replications}, until each has {precision}; runs: at most {runs}, \
             expected connections: at most {connections}",
            SequentialRule::FIRST
        ),
    };
    if experiment.finds_warmup() {
        total += &format!("; before them pilot runs that find the warm-up: {}", pilot_runs(experiment).len());
    }
    (text, total)
}
