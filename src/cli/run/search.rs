//! `zonesim run --search`: reads what is asked for, and writes the answers.

mod text;

use clap::Args;

use super::stopped;
use super::watching::{Terminal, told};
use crate::answers::recommend::Constraint;
use crate::answers::search::Goal;
use crate::cli::closing::headlines;
use crate::cli::console::Console;
use crate::cli::{Status, UsageError};
use crate::experiment::Experiment;
use crate::figures::draw::Format;
use crate::job::Folder;
use crate::job::search::{Search, SearchRequest};

#[derive(Debug, Args)]
#[command(next_help_heading = "Search instead of a sweep")]
pub(super) struct SearchArgs {
    /// Search this key between two values, such as `clients.web-a.arrivals.poisson.rate=100..4000`, for the boundary of
    /// `--subject-to` or the best of `--objective`, arm by arm.
    #[arg(long, value_name = "PATH=LOW..HIGH", requires = "resolution", conflicts_with = "shard")]
    search: Option<String>,
    /// How near two values may come to each other: those that are tried are LOW and whole steps above it.
    #[arg(long, value_name = "STEP", requires = "search")]
    resolution: Option<String>,
    /// A limit to keep to with confidence, such as `failure_ratio<=0.1%`. May be repeated.
    #[arg(long, value_name = "METRIC<=VALUE", requires = "search", conflicts_with = "objective")]
    subject_to: Vec<String>,
    /// The metric of which the best value is sought, a column of `runs.csv`.
    #[arg(long, value_name = "METRIC", requires = "search")]
    objective: Option<String>,
    /// The objective is to be low; needed where the metric does not say it.
    #[arg(long, requires = "objective", conflicts_with = "maximize")]
    minimize: bool,
    /// The objective is to be high.
    #[arg(long, requires = "objective")]
    maximize: bool,
    /// Search these arms only; the others are run once, to compare.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "search")]
    search_arms: Vec<String>,
}

impl SearchArgs {
    /// The search of `experiment`, if one is asked for.
    pub(super) fn read(&self, experiment: &Experiment) -> anyhow::Result<Option<Search>> {
        let Some(text) = &self.search else { return Ok(None) };
        let wrong = || {
            UsageError(format!(
                "--search {text} is no range; write PATH=LOW..HIGH, such as server.workers=1..64"
            ))
        };
        let (path, range) = text.split_once('=').ok_or_else(wrong)?;
        let (low, high) = range.split_once("..").ok_or_else(wrong)?;
        let [path, low, high] = [path, low, high].map(|part| part.trim().to_owned());
        if [&path, &low, &high].into_iter().any(String::is_empty) {
            return Err(wrong().into());
        }
        let step = self.resolution.as_deref().unwrap_or_default().trim().to_owned();
        let request =
            SearchRequest { path, low, high, step, arms: self.search_arms.clone(), goal: self.goal()? };
        Search::new(experiment, request).map(Some).map_err(told)
    }

    fn goal(&self) -> anyhow::Result<Goal> {
        if let Some(objective) = &self.objective {
            let direction = (self.minimize || self.maximize).then_some(self.maximize);
            return Ok(Goal::best(objective, direction)?);
        }
        if self.subject_to.is_empty() {
            let problem = "a search needs to know for what: add --subject-to 'failure_ratio<=0.1%' to find where that \
                           ceases to hold, or --objective request_p99_ms to find its best value";
            return Err(UsageError(problem.to_owned()).into());
        }
        let constraints = self.subject_to.iter().map(|text| text.parse::<Constraint>());
        Ok(Goal::Boundary(constraints.collect::<Result<_, _>>()?))
    }
}

/// What a search would be: a table of lines, and the sum in words.
pub(super) fn plan(search: &Search) -> (String, String) {
    let (steps, grid) = (search.question.steps_max(), &search.grid);
    let mut table = String::from("line\tsearched\tfrom\tto\tvalues\tsteps_at_most\n");
    let lines = search.lines();
    for (name, is_searched) in &lines {
        let (path, last) = (&search.request.path, grid.len() - 1);
        table += &match is_searched {
            true => format!("{name}\t{path}\t{}\t{}\t{}\t{steps}\n", grid[0], grid[last], grid.len()),
            false => format!("{name}\t\t\t\t\t1\n"),
        };
    }
    let (cells, replications, runs) = (search.cells_max(), search.replications(), search.runs_max());
    let total = format!(
        "lines: {}, steps of each at most: {steps}, cells at most: {cells}, replications: {replications}, runs at most: \
         {runs}",
        lines.len(),
    );
    (table, total)
}

/// Runs a search into `folder`, and prints the answers.
pub(super) fn run(
    search: &Search,
    folder: &Folder,
    charts: Option<&'static [Format]>,
    console: &Console,
) -> anyhow::Result<Status> {
    let mut terminal = Terminal::stoppable(console, charts, Some(search.runs_max()));
    let ended = search.run(folder, &mut terminal).map_err(told)?;
    drop(terminal);
    let Some(ended) = ended else { return Ok(stopped(&folder.path, console)) };
    match &ended.job {
        Some(job) => headlines(job, &folder.path, console),
        None => console.note(&format!("{} is complete", folder.path.display())),
    }
    console.data(&text::render(search, search.name(), &ended.answers))?;
    let all = ended.answers.iter().all(|(_, answer)| text::is_answered(answer));
    Ok(if all { Status::Done } else { Status::ThresholdMissed })
}
