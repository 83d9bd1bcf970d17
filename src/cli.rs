//! The command line: the only place that prints or knows arguments.

mod closing;
mod compare;
mod console;
mod expect;
pub(crate) mod explain;
mod findings;
mod get_health;
mod merge;
mod offered;
pub mod pages;
mod plot;
mod recommend;
mod report;
mod run;
mod signals;
mod table;
mod validate;

use std::io::{self, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use crate::experiment::{Experiment, ExperimentError, Overrides, nearest};
use crate::figures::draw::Format;
use crate::figures::error::FiguresError;
use crate::job::JobError;
use crate::job::manifest::Manifest;
use crate::results::is_unfinished;
use crate::results::observed::QuestionError;
use console::Console;

/// How a command ends: its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Done = 0,
    Failed = 1,
    /// Wrong usage, or an error in the experiment file.
    Usage = 2,
    /// All done, but a threshold was missed.
    ThresholdMissed = 3,
    /// By SIGHUP.
    HungUp = 129,
    /// By SIGINT.
    Interrupted = 130,
    /// By SIGTERM.
    Terminated = 143,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// More threads than any machine has cores.
const MAX_JOBS: usize = 512;

/// A request that can't be meant: exit status 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UsageError(String);

const EXAMPLES: &str = "\
Examples:
  zonesim run                                    run the quickstart, results in results/quickstart
  zonesim run my.toml --jobs 2                   run every arm of an experiment
  zonesim run my.toml --set simulation.duration=10m --dry-run
  zonesim run my.toml --trace 1000               which requests fail? 1000 connections packet by packet
  zonesim explain my.toml --down ig-a-1,ig-a-2   which backends each client may reach, and why
  zonesim expect my.toml                         what the rules alone say of every state of health
  zonesim compare results/my                     which arm is better, by how much, and how sure that is
  zonesim recommend results/my --objective cross_zone_usd_per_month --subject-to 'failure_ratio<=0.5%'
  zonesim run my.toml --shard 1/4                run a quarter of it, on one of four machines
  zonesim merge results/my.shard-* --out results/my
  zonesim run my.toml --search clients.web-a.arrivals.poisson.rate=100..4000 --resolution 50 --subject-to 'failure_ratio<=0.1%'
  zonesim plot results/my                        draw the charts again
  zonesim report results/my                      one page with answer, tables and charts";

/// Simulates how a Google Cloud passthrough Network Load Balancer treats zones.
#[derive(Debug, Parser)]
#[command(
    version,
    before_help = EXAMPLES,
    arg_required_else_help = true,
    help_template = "{about}\n\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Say nothing but errors and the data asked for.
    #[arg(long, short, global = true)]
    quiet: bool,
    /// When to use colour. `NO_COLOR` is obeyed.
    #[arg(long, global = true, value_enum, default_value_t = ColorChoice::Auto, value_name = "WHEN")]
    color: ColorChoice,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run every cell and replication of an experiment, and write its results folder.
    Run(run::RunArgs),
    /// Show which backends each client may reach in one state of health, and why.
    Explain(explain::ExplainArgs),
    /// Show health as the API tells it: `gcloud … get-health` of a backend service or a target pool.
    GetHealth(get_health::GetHealthArgs),
    /// Compute shares of connections in every state of health, and their long-run mean, without simulating.
    Expect(expect::ExpectArgs),
    /// Compare the cells of a results folder, replication by replication.
    Compare(compare::CompareArgs),
    /// Find the cell of a results folder that is best and keeps to limits with confidence.
    Recommend(recommend::RecommendArgs),
    /// Join the shards of an experiment into one results folder.
    Merge(merge::MergeArgs),
    /// Draw every chart of a results folder again, from its CSV files.
    Plot(plot::PlotArgs),
    /// Simulate worlds of which theory gives the exact answer, and write both in a table.
    Validate(validate::ValidateArgs),
    /// Be a laboratory of `validate --real`, in the namespaces of this process.
    #[cfg(target_os = "linux")]
    #[command(hide = true, name = validate::real::LABORATORY)]
    Laboratory,
    /// Write a results folder up as one page that needs nothing else: answer, tables, charts, and what made them.
    Report(report::ReportArgs),
}

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum AnswerFormat {
    /// To read.
    Table,
    /// One JSON value.
    Json,
    /// One row for each record.
    Csv,
}

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TextFormat {
    Text,
    Json,
}

/// How charts are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ChartFormat {
    /// PNG files.
    Png,
    /// SVG files.
    Svg,
    /// Both.
    Both,
}

impl ChartFormat {
    fn files(self) -> &'static [Format] {
        match self {
            Self::Png => &[Format::Png],
            Self::Svg => &[Format::Svg],
            Self::Both => &[Format::Png, Format::Svg],
        }
    }
}

/// Which charts a job ends with.
#[derive(Debug, Args)]
struct ChartArgs {
    /// Write no charts.
    #[arg(long)]
    no_charts: bool,
    /// How charts are written: pixels, shapes, or both.
    #[arg(long, value_enum, default_value_t = ChartFormat::Png, value_name = "FORMAT")]
    format: ChartFormat,
}

impl ChartArgs {
    fn files(&self) -> Option<&'static [Format]> {
        (!self.no_charts).then(|| self.format.files())
    }
}

/// The experiment that a question is about, without running it.
#[derive(Debug, Args)]
struct ExperimentArgs {
    /// The experiment file.
    #[arg(value_name = "EXPERIMENT.toml")]
    file: PathBuf,
    /// Only this arm.
    #[arg(long, value_name = "NAME")]
    arm: Option<String>,
    #[command(flatten)]
    overrides: OverrideArgs,
}

impl ExperimentArgs {
    fn read(&self) -> Result<Experiment, ExperimentError> {
        let overrides = Overrides { set: self.overrides.set.clone(), ..Overrides::default() };
        Experiment::read(&self.file, &overrides)
    }
}

/// Settings that win over the experiment file.
#[derive(Debug, Args)]
struct OverrideArgs {
    /// Set any key of the experiment, such as `clients.web-a.arrivals.poisson.rate=500`. May be repeated.
    #[arg(long, value_name = "PATH=VALUE", value_parser = parse_set)]
    set: Vec<(String, String)>,
}

fn parse_set(text: &str) -> Result<(String, String), String> {
    let (path, value) = text.split_once('=').ok_or("write PATH=VALUE")?;
    Ok((path.trim().to_owned(), value.trim().to_owned()))
}

/// Parses the arguments, does what they say, and gives the exit status.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return show(&error).into(),
    };
    let console = Console::new(cli.quiet, cli.color);
    let status = signals::listen().and_then(|()| obey(cli.command, &console));
    match status {
        Ok(status) => status.into(),
        Err(error) => {
            console.error(&error);
            if is_usage(&error) { Status::Usage } else { Status::Failed }.into()
        }
    }
}

/// Whether these arguments are a command.
#[cfg(test)]
pub(crate) fn parses<'a>(arguments: impl Iterator<Item = &'a str>) -> bool {
    Cli::try_parse_from(arguments).is_ok()
}

fn obey(command: Command, console: &Console) -> anyhow::Result<Status> {
    match command {
        Command::Run(args) => {
            pages::use_large();
            run::run(args, console)
        }
        Command::Explain(args) => explain::explain(&args, console),
        Command::GetHealth(args) => get_health::get_health(&args, console),
        Command::Expect(args) => expect::expect(&args, console),
        Command::Compare(args) => compare::compare(&args, console),
        Command::Recommend(args) => recommend::recommend(&args, console),
        Command::Merge(args) => merge::merge(&args, console),
        Command::Plot(args) => plot::plot(&args, console),
        Command::Validate(args) => validate::validate(&args, console),
        #[cfg(target_os = "linux")]
        Command::Laboratory => validate::real::laboratory(console),
        Command::Report(args) => report::report(&args, console),
    }
}

/// Whether `error` lies in what was asked for, and not in what became of it.
fn is_usage(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| cause.is::<ExperimentError>())
        || error.is::<UsageError>()
        || error.is::<QuestionError>()
        || matches!(error.downcast_ref(), Some(error) if is_refused(error))
        || matches!(error.downcast_ref(), Some(FiguresError::Request(_)))
}

/// Whether a job was refused for what it was asked to do, or where.
fn is_refused(error: &JobError) -> bool {
    use JobError::{HoldsUnfinished, Occupied, OtherJob, Taken, TooLarge, Unfit};
    matches!(error, TooLarge(_) | Unfit(_) | Taken(_) | OtherJob(_) | HoldsUnfinished(_) | Occupied { .. })
}

/// Checks that `folder` is one.
fn check_is_folder(folder: &Path) -> Result<(), UsageError> {
    if folder.is_dir() {
        return Ok(());
    }
    let shown = folder.display();
    if folder.exists() {
        return Err(UsageError(format!(
            "{shown} is no folder; name a results folder that `zonesim run` wrote"
        )));
    }
    let help = neighbour(folder).map_or_else(
        || "name a results folder that `zonesim run` wrote".to_owned(),
        |near| format!("did you mean {}?", near.display()),
    );
    Err(UsageError(format!("there is no folder {shown}; {help}")))
}

/// Checks that `folder` holds results, or a job that has begun to write some.
fn check_has_results(folder: &Path) -> Result<(), UsageError> {
    check_is_folder(folder)?;
    if folder.join("runs.csv").exists() || is_unfinished(folder) || Manifest::read(folder).is_some() {
        return Ok(());
    }
    let shown = folder.display();
    Err(UsageError(format!(
        "{shown} is no results folder: it has no runs.csv; name one that `zonesim run` wrote"
    )))
}

/// Says of what the means of the results in `folder` are, if not of all windows.
fn say_conditions(folder: &Path, console: &Console) {
    let manifest = Manifest::read(folder);
    manifest.iter().flat_map(Manifest::conditions).for_each(|line| console.caution(&line));
}

/// The folder beside the missing `folder` whose name is most like its own.
fn neighbour(folder: &Path) -> Option<PathBuf> {
    let parent = folder.parent()?;
    // An empty path is the working directory.
    let entries = std::fs::read_dir(Path::new(".").join(parent)).ok()?;
    let folders = entries.filter_map(Result::ok).filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let near = nearest(folder.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(parent.join(near))
}

/// Prints help and versions to standard output, errors to standard error.
fn show(error: &clap::Error) -> Status {
    use clap::error::ErrorKind;
    match error.kind() {
        // `zonesim` alone asks for help.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            let _ = write!(io::stdout().lock(), "{}", error.render());
            Status::Done
        }
        _ => {
            let _ = error.print();
            if error.use_stderr() { Status::Usage } else { Status::Done }
        }
    }
}

/// How many threads to use: `jobs`, or one for each core.
fn threads(jobs: Option<NonZeroUsize>) -> anyhow::Result<usize> {
    let cores = std::thread::available_parallelism;
    let jobs = jobs.map_or_else(cores, Ok).context("can't tell the number of cores; use --jobs")?;
    Ok(jobs.get().min(MAX_JOBS))
}
