//! Searching along one axis: runs what a search comes to ask for, and answers.
//!
//! The values that were tried become an axis of the arms that were searched, and the folder is that of a plain run of such
//! an experiment. The journal numbers cells in the order in which they were asked for, which follows from the outcomes
//! alone, so that a search that was interrupted goes the same way again.

mod again;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::agenda::Agenda;
use super::error::JobError;
use super::folder::Folder;
use super::holding::Identity;
use super::journal::Part;
use super::runner::{RunId, measured};
use super::shape::is_of;
use super::size::{JobSize, expected_size};
use super::watcher::Watcher;
use super::work::{CompleteJob, Filling, Work};
use crate::answers::search::{Goal, LineAnswer, Question, SearchedLine, Sought, TriedValue};
use crate::experiment::{AxisValue, Cell, Experiment, ExperimentError, Overrides, SearchAxis, grid};
use crate::random::hash_bytes;
use crate::results::observed::QuestionError;
use crate::sim::outcome::Outcome;

/// What is searched, and for what.
#[derive(Clone, Debug)]
pub struct SearchRequest {
    /// The path of the key.
    pub path: String,
    /// Its lowest value.
    pub low: String,
    /// Its highest value.
    pub high: String,
    /// From one value that is tried to the next, at least.
    pub step: String,
    /// The arms that are searched; all of them if none is named. The others are run once, to compare.
    pub arms: Vec<String>,
    /// What is sought.
    pub goal: Goal,
}

/// A search that is known to be possible.
#[derive(Clone, Debug)]
pub struct Search {
    /// With the first values of the grid that are asked for.
    experiment: Arc<Experiment>,
    /// What is asked for, with every arm that is searched.
    pub request: SearchRequest,
    /// The values that the key may get, in order.
    pub grid: Vec<AxisValue>,
    /// What every line is asked.
    pub question: Question,
}

/// What a search has found.
#[derive(Clone, Debug)]
pub struct SearchEnd {
    /// The folder that it leaves; absent where the search was finished before, and nothing was written.
    pub job: Option<CompleteJob>,
    /// The answer for each line, by its arm and its values of the other axes.
    pub answers: Vec<(String, LineAnswer)>,
}

const FEW: &str = "a search judges intervals, which take at least two replications; use --replications";
const PRECISION: &str =
    "a search judges every value by as many replications; use --replications instead of the precision";
const WARMUP: &str =
    "a search needs to know the warm-up; use --set simulation.warmup=2m with what a plain run finds";

type Positions = BTreeMap<String, BTreeSet<usize>>;

impl Search {
    /// The search in `experiment` that `request` asks for.
    ///
    /// # Errors
    /// If there is no such key, range, arm or metric, or intervals of `experiment` can't be judged.
    pub fn new(experiment: &Experiment, mut request: SearchRequest) -> Result<Self, JobError> {
        let grid = grid(&request.low, &request.high, &request.step)
            .map_err(|problem| QuestionError(format!("--search {}: {problem}", request.path)))?;
        let known: Vec<&str> = experiment.arms().collect();
        if let Some(arm) = request.arms.iter().find(|arm| !known.contains(&arm.as_str())) {
            return Err(QuestionError::unknown("arm", arm, known).into());
        }
        let is_meant = |arm: &&str| request.arms.is_empty() || request.arms.iter().any(|own| own == arm);
        request.arms = known.into_iter().filter(is_meant).map(str::to_owned).collect();
        let question = Question::new(request.goal.clone(), grid.len())?;
        let few = (experiment.replications() < 2).then_some(FEW);
        let unfit = few.or(experiment.precision().map(|_| PRECISION));
        if let Some(why) = unfit.or(experiment.finds_warmup().then_some(WARMUP)) {
            return Err(QuestionError(why.to_owned()).into());
        }
        let search = Self { experiment: Arc::new(experiment.clone()), request, grid, question };
        // The ends and one step show whether the whole grid can be set.
        let first: BTreeSet<usize> = search.first().into_iter().collect();
        let mut probe = first.clone();
        probe.extend([0, 1, search.grid.len() - 1]);
        search.step(&search.all(&probe))?;
        let experiment = Arc::new(search.step(&search.all(&first))?);
        Ok(Self { experiment, ..search })
    }

    /// How often each value is run.
    pub fn replications(&self) -> u32 {
        self.experiment.replications()
    }

    /// The lines of the experiment, and whether each is searched.
    pub fn lines(&self) -> Vec<(String, bool)> {
        let mut lines = Vec::new();
        for cell in self.experiment.cells() {
            let is_searched = self.position(&self.experiment, cell).is_some();
            let line = (self.line_name(&self.experiment, cell), is_searched);
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }

    /// The most cells: a value that one line of an arm asks for is run for all of them.
    pub fn cells_max(&self) -> u64 {
        let first = self.first().len();
        let of_arm = |arm: &str| {
            let own = self.experiment.cells().iter().filter(|cell| cell.arm == arm).count();
            if !self.request.arms.iter().any(|searched| searched == arm) {
                return own as u64;
            }
            let lines = own / first;
            ((self.question.steps_max() * lines).min(self.grid.len()) * lines) as u64
        };
        self.experiment.arms().map(of_arm).sum()
    }

    /// What the experiment is called.
    pub fn name(&self) -> &str {
        self.experiment.name()
    }

    /// The most runs.
    pub fn runs_max(&self) -> u64 {
        self.cells_max() * u64::from(self.replications())
    }

    /// What it is expected to take at most on so many threads: as much as its lowest and highest values for each of its cells.
    ///
    /// # Errors
    /// If an experiment with these values can't be.
    pub fn expected_size(&self, threads: usize) -> Result<JobSize, JobError> {
        let ends = self.step(&self.all(&[0, self.grid.len() - 1].into()))?;
        let size = expected_size(&ends, &Agenda::new(&ends, None), threads);
        Ok(size.of_cells(self.cells_max() as f64 / ends.cells().len() as f64))
    }

    /// Runs the search into `folder`; nothing if that was stopped.
    ///
    /// # Errors
    /// If a file can't be read or written, another process has the folder, what is to be resumed is another job, a run fails,
    /// it is expected to take more memory or room than it may, or `folder` is for a shard.
    pub fn run(&self, folder: &Folder, watcher: &mut dyn Watcher) -> Result<Option<SearchEnd>, JobError> {
        if folder.shard.is_some() {
            return Err(QuestionError("a search can't be divided into shards".to_owned()).into());
        }
        self.expected_size(folder.threads)?.check(&self.experiment)?;
        // Everything that it depends on beside the experiment.
        let SearchRequest { path, step, arms, goal, .. } = &self.request;
        let asked = format!("{path:?} {:?} {step:?} {arms:?} {goal:?}", self.grid);
        let part = Part::Search(hash_bytes(0, asked.as_bytes()));
        let identity = Identity::new(&self.experiment, part);
        if let Some(answers) = self.answered(folder, &identity)? {
            return Ok(Some(SearchEnd { job: None, answers }));
        }
        let journal = folder.open(&self.experiment, part, watcher)?;
        let work = Work::new(journal, folder.threads, watcher);
        let hunt = Hunt { search: self, work, numbers: BTreeMap::new(), lines: Vec::new() };
        hunt.run(folder, &identity).map_err(|error| folder.ended(error))
    }

    /// The positions of the grid that every line is asked for first.
    fn first(&self) -> Vec<usize> {
        match self.question.ask(&SearchedLine::default()) {
            Sought::Missing(first) => first,
            Sought::Found(_) => unreachable!("nothing is known of an empty line"),
        }
    }

    /// The same positions of the grid for every arm that is searched.
    fn all(&self, positions: &BTreeSet<usize>) -> Positions {
        self.request.arms.iter().map(|arm| (arm.clone(), positions.clone())).collect()
    }

    /// The experiment with these positions of the grid by arm.
    fn step(&self, tried: &Positions) -> Result<Experiment, ExperimentError> {
        let values = |positions: &BTreeSet<usize>| -> Vec<AxisValue> {
            positions.iter().map(|at| self.grid[*at].clone()).collect()
        };
        let arms = self.request.arms.iter().map(|arm| (arm.clone(), values(&tried[arm])));
        let search = Some(SearchAxis { path: self.request.path.clone(), arms: arms.collect() });
        self.experiment.overridden(&Overrides { search, ..Overrides::default() })
    }

    /// The position on the grid of the value of `cell`, if its arm is searched.
    fn position(&self, experiment: &Experiment, cell: &Cell) -> Option<usize> {
        let value = cell.values[experiment.axis_at(&self.request.path)?].as_ref()?;
        self.grid.iter().position(|other| other.as_str() == value.as_str())
    }

    /// The arm of `cell` with its values of the axes that are not searched.
    fn line_name(&self, experiment: &Experiment, cell: &Cell) -> String {
        let searched = experiment.axis_at(&self.request.path);
        let others = cell.values.iter().enumerate().filter(|(axis, _)| Some(*axis) != searched);
        let values = others.filter_map(|(_, value)| Some(format!(" {}", value.as_ref()?)));
        values.fold(cell.arm.clone(), |name, value| name + &value)
    }
}

struct Hunt<'a> {
    search: &'a Search,
    work: Work<'a>,
    /// The number of each cell in the journal, by its arm and its values of all axes.
    numbers: BTreeMap<String, usize>,
    /// By line and position on the grid, what was tried; in the order of the experiment's lines. Each with its arm.
    lines: Vec<(String, SearchedLine)>,
}

impl Hunt<'_> {
    /// Tries values until every line has its answer, and writes the folder; nothing if it was stopped.
    fn run(mut self, folder: &Folder, identity: &Identity) -> Result<Option<SearchEnd>, JobError> {
        let mut experiment = Arc::clone(&self.search.experiment);
        loop {
            self.simulate(&experiment)?;
            if self.work.watcher.wants_to_stop() {
                self.work.journal.sync()?;
                return Ok(None);
            }
            self.learn(&experiment, folder)?;
            let (answers, tried) = self.ask();
            match tried {
                Some(tried) => experiment = Arc::new(self.search.step(&tried)?),
                None => {
                    let job = Some(self.finish(&experiment, folder, identity)?);
                    return Ok(Some(SearchEnd { job, answers }));
                }
            }
        }
    }

    fn simulate(&mut self, experiment: &Arc<Experiment>) -> Result<(), JobError> {
        for cell in experiment.cells() {
            let next = self.numbers.len();
            self.numbers.entry(key(cell)).or_insert(next);
        }
        let agenda = Agenda::new(experiment, None);
        let runs = agenda.runs().iter().copied();
        let missing = runs.filter(|run| !self.work.journal.has(self.kept(experiment, *run))).collect();
        let numbers = &self.numbers;
        self.work.simulate(experiment, agenda, missing, |journal, _, run, outcome| {
            let cell = numbers[&key(&experiment.cells()[run.cell])];
            journal.add(RunId { cell, ..run }, outcome).map(|()| Vec::new())
        })?;
        Ok(())
    }

    /// What the journal calls a run of `experiment`.
    fn kept(&self, experiment: &Experiment, run: RunId) -> RunId {
        RunId { cell: self.numbers[&key(&experiment.cells()[run.cell])], ..run }
    }

    /// Takes what the cells of `experiment` gave that are new.
    fn learn(&mut self, experiment: &Experiment, folder: &Folder) -> Result<(), JobError> {
        for cell in experiment.cells() {
            let Some(at) = self.search.position(experiment, cell) else { continue };
            let name = self.search.line_name(experiment, cell);
            let known = self.lines.iter().position(|(_, line)| line.name == name);
            let index = known.unwrap_or_else(|| {
                self.lines.push((cell.arm.clone(), SearchedLine { name, ..SearchedLine::default() }));
                self.lines.len() - 1
            });
            if !self.lines[index].1.points.contains_key(&at) {
                let value = self.value(experiment, cell, folder)?;
                self.lines[index].1.points.insert(at, value);
            }
        }
        Ok(())
    }

    fn value(
        &mut self,
        experiment: &Experiment,
        cell: &Cell,
        folder: &Folder,
    ) -> Result<TriedValue, JobError> {
        let strata = experiment.strata().map(|strata| strata[cell.index]);
        let mut value = TriedValue::of_strata(strata);
        for replication in 0..experiment.replications() {
            let run = RunId { cell: cell.index, replication };
            let outcome = self.outcome(experiment, run, folder)?;
            measured(experiment, run, &outcome, |run| self.search.question.observe(&mut value, run));
        }
        Ok(value)
    }

    /// Asks the question of every line. Gives the answers, and all that is to be tried if some line has none.
    fn ask(&self) -> (Vec<(String, LineAnswer)>, Option<Positions>) {
        let mut tried: Positions = BTreeMap::new();
        let (mut answers, mut wants_more) = (Vec::new(), false);
        for (arm, line) in &self.lines {
            let positions = tried.entry(arm.clone()).or_default();
            positions.extend(line.points.keys());
            match self.search.question.ask(line) {
                Sought::Found(answer) => answers.push((line.name.clone(), answer)),
                Sought::Missing(wanted) => {
                    wants_more = true;
                    positions.extend(wanted);
                }
            }
        }
        (answers, wants_more.then_some(tried))
    }

    /// Writes the folder of `experiment`, of which every run is in the journal, as a plain run would.
    fn finish(
        mut self,
        experiment: &Arc<Experiment>,
        folder: &Folder,
        identity: &Identity,
    ) -> Result<CompleteJob, JobError> {
        let mut filling = Filling::begin(experiment, &folder.path)?;
        let agenda = Agenda::new(experiment, None);
        for run in agenda.runs() {
            filling.add_outcome(*run, &self.outcome(experiment, *run, folder)?)?;
        }
        self.work.finish(filling, &agenda, None, identity.search().map(str::to_owned))
    }

    /// What a finished run of `experiment` found.
    fn outcome(&mut self, experiment: &Experiment, run: RunId, folder: &Folder) -> Result<Outcome, JobError> {
        let found = self.work.journal.outcome(self.kept(experiment, run))?;
        let outcome = found.filter(|outcome| is_of(outcome, experiment, run.cell));
        outcome.ok_or_else(|| JobError::OtherJob(folder.path.clone()))
    }
}

/// A cell by its arm and its values of all axes.
fn key(cell: &Cell) -> String {
    let values = cell.values.iter().map(|value| value.as_ref().map_or("", AxisValue::as_str));
    values.fold(cell.arm.clone(), |key, value| format!("{key}\u{1f}{value}"))
}
