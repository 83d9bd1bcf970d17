//! `zonesim run --search`: runs what a search comes to ask for, and answers.
//!
//! The values that were tried become an axis of the arms that were searched, and the folder is that of a plain run of such
//! an experiment. The journal numbers cells in the order in which they were asked for, which follows from the outcomes
//! alone, so that a search that was interrupted goes the same way again.

mod request;
mod text;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::job::remove_old;
use super::{resumable, stop_on_signal};
use crate::answers::search::{Asked, LineAnswer, Question, SearchedLine, TriedValue};
use crate::cli::Status;
use crate::cli::closing::headlines;
use crate::cli::console::Console;
use crate::experiment::{AxisValue, Cell, Experiment, ExperimentError, Overrides, SearchAxis};
use crate::figures::charts::draw_all;
use crate::figures::draw::Format;
use crate::job::agenda::Agenda;
use crate::job::cost::longest_first;
use crate::job::journal::{Journal, Part};
use crate::job::manifest::{EndedJob, JobCounts, Manifest, write_file};
use crate::job::runner::{Progress, RunId, run_all};
use crate::metrics::Run;
use crate::results::tables::{CellSummary, Tables};
use request::Request;
pub(super) use request::SearchArgs;

/// A search that is known to be possible.
pub(super) struct Search {
    /// With the first values of the grid that are asked for.
    experiment: Arc<Experiment>,
    request: Request,
    question: Question,
}

/// What a search writes, and how.
pub(super) struct Job<'a> {
    pub folder: &'a Path,
    pub resume: bool,
    pub threads: usize,
    /// The files of each chart; nothing for none.
    pub charts: Option<&'a [Format]>,
}

/// An answer, and whose it is.
struct Found {
    /// The arm and its values of the other axes.
    name: String,
    answer: LineAnswer,
}

impl Search {
    /// The search in `experiment` that `args` ask for.
    pub(super) fn new(experiment: &Arc<Experiment>, args: &SearchArgs) -> anyhow::Result<Self> {
        let request = args.read(experiment)?;
        let question = Question::new(request.goal.clone(), request.grid.len())?;
        if experiment.replications() < 2 {
            let help = "a search judges intervals, which take at least two replications; use --replications";
            return Err(super::UsageError(help.to_owned()).into());
        }
        if experiment.precision().is_some() {
            let help = "a search judges every value by as many replications; use --replications instead of the precision";
            return Err(super::UsageError(help.to_owned()).into());
        }
        if experiment.finds_warmup() {
            let help = "a search needs to know the warm-up; use --set simulation.warmup=2m with what a plain run finds";
            return Err(super::UsageError(help.to_owned()).into());
        }
        let search = Self { experiment: Arc::clone(experiment), request, question };
        let Asked::Try(first) = search.question.ask(&SearchedLine::default()) else {
            unreachable!("nothing is known of an empty line");
        };
        // The ends and one step show whether the whole grid can be set.
        let mut probe: BTreeSet<usize> = first.iter().copied().collect();
        probe.extend([0, 1, search.request.grid.len() - 1]);
        search.round(&search.all(&probe))?;
        let experiment = Arc::new(search.round(&search.all(&first.into_iter().collect()))?);
        Ok(Self { experiment, ..search })
    }

    /// The same positions of the grid for every arm that is searched.
    fn all(&self, positions: &BTreeSet<usize>) -> BTreeMap<String, BTreeSet<usize>> {
        self.request.arms.iter().map(|arm| (arm.clone(), positions.clone())).collect()
    }

    /// The experiment with these positions of the grid by arm.
    fn round(&self, tried: &BTreeMap<String, BTreeSet<usize>>) -> Result<Experiment, ExperimentError> {
        let values = |positions: &BTreeSet<usize>| -> Vec<AxisValue> {
            positions.iter().map(|at| self.request.grid[*at].clone()).collect()
        };
        let arms = self.request.arms.iter().map(|arm| (arm.clone(), values(&tried[arm])));
        let search = Some(SearchAxis { path: self.request.path.clone(), arms: arms.collect() });
        self.experiment.overridden(&Overrides { search, ..Overrides::default() })
    }

    /// The position on the grid of the value of `cell`, if its arm is searched.
    fn position(&self, experiment: &Experiment, cell: &Cell) -> Option<usize> {
        let value = cell.values[experiment.axis_at(&self.request.path)?].as_ref()?;
        self.request.grid.iter().position(|other| other.as_str() == value.as_str())
    }

    /// The arm of `cell` with its values of the axes that are not searched.
    fn line_name(&self, experiment: &Experiment, cell: &Cell) -> String {
        let searched = experiment.axis_at(&self.request.path);
        let others = cell.values.iter().enumerate().filter(|(axis, _)| Some(*axis) != searched);
        let values = others.filter_map(|(_, value)| Some(format!(" {}", value.as_ref()?)));
        values.fold(cell.arm.clone(), |name, value| name + &value)
    }

    /// What a search would be: a table of lines, and the sum in words.
    pub(super) fn plan(&self) -> (String, String) {
        let (steps, grid) = (self.question.steps_max(), &self.request.grid);
        let mut table = String::from("line\tsearched\tfrom\tto\tvalues\tsteps_at_most\n");
        let mut lines: Vec<(String, bool)> = Vec::new();
        for cell in self.experiment.cells() {
            let line =
                (self.line_name(&self.experiment, cell), self.position(&self.experiment, cell).is_some());
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        for (name, is_searched) in &lines {
            table += &match is_searched {
                true => format!(
                    "{name}\t{}\t{}\t{}\t{}\t{steps}\n",
                    self.request.path,
                    grid[0],
                    grid[grid.len() - 1],
                    grid.len()
                ),
                false => format!("{name}\t\t\t\t\t1\n"),
            };
        }
        let cells = self.cells_max();
        let replications = u64::from(self.experiment.replications());
        (
            table,
            format!(
                "lines: {}, steps of each at most: {steps}, cells at most: {cells}, replications: {replications}, runs at \
                 most: {}",
                lines.len(),
                cells * replications
            ),
        )
    }

    /// The most cells: a value that one line of an arm asks for is run for all of them.
    fn cells_max(&self) -> u64 {
        let first: usize = match self.question.ask(&SearchedLine::default()) {
            Asked::Try(first) => first.len(),
            Asked::Found(_) => 1,
        };
        let mut cells = 0;
        for arm in self.experiment.arms() {
            let own = self.experiment.cells().iter().filter(|cell| cell.arm == arm).count() as u64;
            if self.request.arms.iter().any(|searched| searched == arm) {
                let lines = own / first as u64;
                let values = (self.question.steps_max() as u64 * lines).min(self.request.grid.len() as u64);
                cells += values * lines;
            } else {
                cells += own;
            }
        }
        cells
    }

    /// Runs the search, writes the folder, and prints the answers.
    pub(super) fn run(&self, job: &Job<'_>, console: &Console) -> anyhow::Result<Status> {
        let mut hunt = Hunt::open(self, job, console)?;
        let found = hunt.search(job, console).with_context(|| resumable(job.folder))?;
        let Some((experiment, found)) = found else {
            console.note(&format!("stopped: {}", resumable(job.folder)));
            return Ok(Status::Interrupted);
        };
        let (summaries, manifest) = hunt.finish(&experiment, job).with_context(|| resumable(job.folder))?;
        headlines(&experiment, &summaries, &manifest, job.folder, console);
        console.data(&text::render(&self.request, &self.question, experiment.name(), &found))?;
        let all = found.iter().all(|found| text::is_answered(&found.answer));
        Ok(if all { Status::Done } else { Status::ThresholdMissed })
    }
}

/// A search under way.
struct Hunt<'a> {
    search: &'a Search,
    journal: Journal,
    /// What an earlier, interrupted job had finished.
    earlier: JobCounts,
    /// The number of each cell in the journal, by its arm and its values of all axes.
    numbers: BTreeMap<String, usize>,
    /// By line and position on the grid, what was tried; in the order of the experiment's lines.
    lines: Vec<SearchedLine>,
    wall_time: Duration,
}

impl<'a> Hunt<'a> {
    /// Opens the folder, so that a bad one fails before anything is simulated.
    fn open(search: &'a Search, job: &Job<'_>, console: &Console) -> anyhow::Result<Self> {
        let (folder, experiment) = (job.folder, &search.experiment);
        let part = Part::Search(search.request.fingerprint());
        let journal = if job.resume {
            Journal::resume(folder, experiment, part)?
        } else {
            fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
            if Journal::exists(folder) {
                console
                    .note("an unfinished job in this folder is discarded; --resume would have finished it");
            }
            let journal = Journal::create(folder, experiment, part)?;
            remove_old(folder)?;
            journal
        };
        let earlier = journal.counts();
        let (numbers, lines) = (BTreeMap::new(), Vec::new());
        Ok(Self { search, journal, earlier, numbers, lines, wall_time: Duration::ZERO })
    }

    /// Tries values until every line has its answer; nothing if it was stopped by Ctrl-C.
    fn search(
        &mut self,
        job: &Job<'_>,
        console: &Console,
    ) -> anyhow::Result<Option<(Arc<Experiment>, Vec<Found>)>> {
        let stop = stop_on_signal()?;
        #[allow(clippy::disallowed_methods, reason = "how long a job takes is real time")]
        let begun = std::time::Instant::now();
        let most = self.search.cells_max() * u64::from(self.search.experiment.replications());
        let bar = progress_bar(most, console);
        let mut experiment = Arc::clone(&self.search.experiment);
        let mut tried: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        loop {
            self.simulate(&experiment, job.threads, &stop, &bar)?;
            if stop.load(Ordering::Relaxed) {
                bar.finish_and_clear();
                self.journal.sync()?;
                return Ok(None);
            }
            let (found, wanted) = self.ask(&experiment, &mut tried)?;
            if !wanted {
                self.wall_time = begun.elapsed();
                bar.finish_and_clear();
                return Ok(Some((experiment, found)));
            }
            experiment = Arc::new(self.search.round(&tried)?);
        }
    }

    /// Simulates the runs of `experiment` that are not in the journal, the longest first.
    fn simulate(
        &mut self,
        experiment: &Arc<Experiment>,
        threads: usize,
        stop: &AtomicBool,
        bar: &ProgressBar,
    ) -> anyhow::Result<()> {
        let mut number = Vec::with_capacity(experiment.cells().len());
        for cell in experiment.cells() {
            let next = self.numbers.len();
            number.push(*self.numbers.entry(key(cell)).or_insert(next));
        }
        let replications = experiment.replications();
        let all = (0..number.len())
            .flat_map(|cell| (0..replications).map(move |replication| RunId { cell, replication }));
        let missing: Vec<RunId> =
            all.filter(|run| !self.journal.has(RunId { cell: number[run.cell], ..*run })).collect();
        let known = number.len() * replications as usize - missing.len();
        bar.set_position(known as u64);
        if missing.is_empty() {
            return Ok(());
        }
        let threads = threads.min(missing.len());
        let missing = longest_first(experiment, missing).into_iter().map(|(run, _)| run).collect();
        run_all(experiment, missing, threads, stop, |progress| -> anyhow::Result<()> {
            match progress {
                Progress::Finished(run, outcome) => {
                    bar.inc(1);
                    Ok(self.journal.add(RunId { cell: number[run.cell], ..run }, &outcome)?)
                }
                Progress::Waiting(_) => Ok(self.journal.tick()?),
            }
        })
    }

    /// Asks the question of every line of `experiment`; adds what it wants to `tried`, and tells whether it wants anything.
    fn ask(
        &mut self,
        experiment: &Experiment,
        tried: &mut BTreeMap<String, BTreeSet<usize>>,
    ) -> anyhow::Result<(Vec<Found>, bool)> {
        let mut arms: Vec<String> = Vec::new();
        for cell in experiment.cells() {
            let Some(at) = self.search.position(experiment, cell) else { continue };
            tried.entry(cell.arm.clone()).or_default().insert(at);
            let name = self.search.line_name(experiment, cell);
            let known = self.lines.iter().position(|line| line.name == name);
            let index = known.unwrap_or_else(|| {
                self.lines.push(SearchedLine { name, ..SearchedLine::default() });
                self.lines.len() - 1
            });
            if arms.len() < self.lines.len() {
                arms.resize(self.lines.len(), String::new());
            }
            arms[index].clone_from(&cell.arm);
            if !self.lines[index].points.contains_key(&at) {
                let point = self.point(experiment, cell)?;
                self.lines[index].points.insert(at, point);
            }
        }
        let (mut found, mut wanted) = (Vec::new(), false);
        for (line, arm) in self.lines.iter().zip(&arms) {
            match self.search.question.ask(line) {
                Asked::Found(answer) => found.push(Found { name: line.name.clone(), answer: *answer }),
                Asked::Try(positions) => {
                    wanted = true;
                    tried.entry(arm.clone()).or_default().extend(positions);
                }
            }
        }
        Ok((found, wanted))
    }

    /// What `cell` of `experiment` gave.
    fn point(&mut self, experiment: &Experiment, cell: &Cell) -> anyhow::Result<TriedValue> {
        let scenario = &experiment.scenario(cell);
        let mut point = TriedValue::default();
        for replication in 0..experiment.replications() {
            let outcome = self.journal.outcome(RunId { cell: self.numbers[&key(cell)], replication })?;
            let outcome = &outcome.expect("every run of the cell is finished");
            let latency = &outcome.latency_overall();
            self.search.question.observe(&mut point, &Run { scenario, outcome, latency });
        }
        Ok(point)
    }

    /// Writes the folder of `experiment`, of which every run is in the journal, as a plain run would.
    fn finish(
        mut self,
        experiment: &Experiment,
        job: &Job<'_>,
    ) -> anyhow::Result<(Vec<CellSummary>, Manifest)> {
        let folder = job.folder;
        let mut tables = Tables::create(folder, experiment)?;
        write_file(folder, "experiment.toml", &experiment.document_in(folder))?;
        for cell in experiment.cells() {
            let scenario = experiment.scenario(cell);
            for replication in 0..experiment.replications() {
                let outcome = self.journal.outcome(RunId { cell: self.numbers[&key(cell)], replication })?;
                let outcome = outcome.expect("every run is finished");
                let latency = &outcome.latency_overall();
                tables.add(cell, replication, &Run { scenario: &scenario, outcome: &outcome, latency })?;
            }
        }
        let summaries = tables.finish()?;
        let total = self.journal.counts();
        let (fresh, agenda) = (total.since(self.earlier), &Agenda::new(experiment, None));
        let (jobs, wall_time) = (job.threads, self.wall_time);
        let ended = EndedJob { shard: None, agenda, warmup: None, jobs, wall_time, total, fresh };
        let manifest = Manifest::new(experiment, &ended, &summaries);
        manifest.write(folder)?;
        if let Some(formats) = job.charts {
            draw_all(folder, formats, |_| {})?;
        }
        self.journal.remove()?;
        Ok((summaries, manifest))
    }
}

/// The runs of a search, of which there are `most` at most.
fn progress_bar(most: u64, console: &Console) -> ProgressBar {
    let target = if console.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(most), target);
    let style = ProgressStyle::with_template("{bar:30} {pos} of at most {len} runs  {per_sec}");
    bar.set_style(style.expect("the template is right"));
    bar.enable_steady_tick(Duration::from_millis(500));
    bar
}

/// A cell by its arm and its values of all axes.
fn key(cell: &Cell) -> String {
    let values = cell.values.iter().map(|value| value.as_ref().map_or("", AxisValue::as_str));
    values.fold(cell.arm.clone(), |key, value| format!("{key}\u{1f}{value}"))
}
