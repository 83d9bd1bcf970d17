//! What a search is asked for on the command line.

use clap::Args;

use crate::answers::recommend::Constraint;
use crate::answers::search::Goal;
use crate::cli::UsageError;
use crate::cli::run::watching::told;
use crate::experiment::Experiment;
use crate::job::search::{Search, SearchRequest};

#[derive(Debug, Args)]
#[command(next_help_heading = "Search instead of a sweep")]
pub(in crate::cli) struct SearchArgs {
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
    /// Whether a search is asked for.
    pub(in crate::cli::run) fn is_asked(&self) -> bool {
        self.search.is_some()
    }

    /// What is asked for, of `experiment`.
    pub(in crate::cli::run) fn read(&self, experiment: &Experiment) -> anyhow::Result<Search> {
        let text = self.search.as_deref().unwrap_or_default();
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
        Search::new(experiment, request).map_err(told)
    }

    fn goal(&self) -> anyhow::Result<Goal> {
        if let Some(objective) = &self.objective {
            let direction = match (self.minimize, self.maximize) {
                (true, _) => Some(false),
                (_, true) => Some(true),
                _ => None,
            };
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
