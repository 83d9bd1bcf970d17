//! Theory against simulation: small worlds of which mathematics gives the exact answer.
//!
//! A case is an experiment with what theory says of it. Its runs are those of `zonesim run`, from the same text by the
//! same code; what is compared is a ratio of sums over the replications (of means, if every whole is 1), with its own
//! interval. A wide interval would cover anything, so that each check says how narrow it must be.

mod cases;
pub mod coverage;
mod law;
pub mod soak;
pub mod table;
mod theory;
pub mod verdicts;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use crate::experiment::{Experiment, Overrides, Source};
use crate::job::runner::{RunFailure, run_every};
use crate::sim::outcome::Outcome;
use crate::stats::{Confidence, Interval, ratio_interval};
pub use cases::all;

/// An experiment, and what theory says of it.
pub struct Case {
    /// What it is called.
    pub name: String,
    /// The book, paper or rule that the theory is taken from.
    pub source: &'static str,
    text: String,
    overrides: Overrides,
    checks: Vec<Check>,
}

struct Check {
    quantity: String,
    theory: f64,
    /// Half the width that the interval of 99.9 % may have, as a share of the exact value.
    bound: f64,
    /// What one replication says of it, from the outcomes of all cells.
    measure: Measure,
}

type Measure = Box<dyn Fn(&[Outcome]) -> Part>;

/// What one replication says of a quantity: it is the ratio of the sums of these. The whole of a plain mean is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    part: f64,
    whole: f64,
}

/// What theory and simulation say of one quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The case, and what the quantity is, with its unit.
    pub name: String,
    /// The book, paper or rule that the theory is taken from.
    pub source: &'static str,
    /// The exact value.
    pub theory: f64,
    /// The simulated value with its interval of 99 %.
    pub simulated: Interval,
    /// The same with its interval of 99.9 %, by which tests judge.
    pub wide: Interval,
    /// Half the width that [`wide`](Self::wide) may have, as a share of the exact value.
    pub bound: f64,
}

impl Finding {
    /// Whether the exact value lies in the interval of 99 %.
    pub fn is_inside(&self) -> bool {
        self.simulated.covers(self.theory, ROUNDING)
    }

    /// Whether the interval of 99.9 % holds the exact value, and is narrow enough to say something.
    pub fn agrees(&self) -> bool {
        self.wide.covers(self.theory, ROUNDING)
            && self.wide.farthest().is_some_and(|half| half <= self.bound * self.theory.abs())
    }
}

/// What nanoseconds and floating-point numbers may round off, as a share of the value.
const ROUNDING: f64 = 1e-6;

impl Case {
    /// Simulates it on `jobs` threads; gives what is found, check by check.
    ///
    /// # Errors
    /// The first failure of a run.
    ///
    /// # Panics
    /// If its text is no experiment, or measures nothing.
    pub fn run(&self, jobs: usize) -> Result<Vec<Finding>, RunFailure> {
        let experiment = Arc::new(experiment(&self.name, &self.text, &self.overrides));
        let mut outcomes: Vec<_> = run_every(&experiment, jobs)?.into_iter().collect();
        outcomes.sort_by_key(|(run, _)| run.replication);
        let cells = experiment.cells().len();
        let outcomes: Vec<Outcome> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
        Ok(self.checks.iter().map(|check| self.finding(check, outcomes.chunks(cells))).collect())
    }

    fn finding<'a>(&self, check: &Check, replications: impl Iterator<Item = &'a [Outcome]>) -> Finding {
        let found = replications.map(|outcomes| (check.measure)(outcomes));
        let (parts, wholes): (Vec<f64>, Vec<f64>) = found.map(|found| (found.part, found.whole)).unzip();
        let interval = |confidence: f64| {
            let confidence = Confidence::try_from(confidence).expect("it lies between 0 and 1");
            ratio_interval(&parts, &wholes, confidence).expect("every case measures something")
        };
        Finding {
            name: format!("{}: {}", self.name, check.quantity),
            source: self.source,
            theory: check.theory,
            simulated: interval(0.99),
            wide: interval(0.999),
            bound: check.bound,
        }
    }
}

/// The experiment that `text` describes, called `name` in errors; panics if it describes none.
fn experiment(name: &str, text: &str, overrides: &Overrides) -> Experiment {
    let source = Source { name: name.to_owned(), text: text.to_owned() };
    // Nobody but this module writes the text, and a test runs every one.
    Experiment::parse(source, overrides).unwrap_or_else(|error| panic!("{}", error.render(false)))
}
