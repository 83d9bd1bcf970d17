//! Searching along one axis: where a boundary lies, or which value is best, with few of the values of a grid.
//!
//! A question is asked of a line: the cells of an arm (and of one value of every other axis) at some values of the grid. What is
//! to be tried next follows from what was tried alone, so that a search that was interrupted goes on as if it had not been.
//! All values of a line meet the same arrivals and failures (common random numbers), and are compared pair by pair.

mod evidence;
mod section;

use std::collections::BTreeMap;

use super::compare::FAMILY_ERROR;
use super::recommend::{Check, Constraint, ConstraintStanding, check, standing};
use crate::metrics::{Good, METRICS, MeasuredRun, Metric};
use crate::results::observed::QuestionError;
use crate::stats::{Estimate, Family, Nature, Observation, Paired, Sample, Strata};
pub use evidence::Turn;
use section::Ends;
pub use section::Sought;

/// What is sought along the axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Goal {
    /// Where constraints cease to be kept.
    Boundary(Vec<Constraint>),
    /// Where a metric is lowest, or highest.
    Best {
        /// The metric.
        metric: String,
        /// Whether high is good.
        maximize: bool,
    },
}

/// A question about every line of an experiment.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is sought.
    pub goal: Goal,
    metrics: Vec<&'static Metric>,
    /// The position of the last value of the grid.
    last: usize,
}

/// What the replications of one cell gave for each metric of a question.
#[derive(Clone, Debug, Default)]
pub struct TriedValue {
    /// Whether health differs between its replications.
    health_varies: bool,
    /// The strata that replications are drawn from in turn, if they are.
    strata: Option<Strata>,
    /// By metric, then by replication.
    observations: Vec<Vec<Option<Observation>>>,
}

/// The cells of one arm, and of one value of every other axis, by the positions of their values on the grid.
#[derive(Clone, Debug, Default)]
pub struct SearchedLine {
    /// What random streams of the line are called.
    pub name: String,
    /// What was tried.
    pub points: BTreeMap<usize, TriedValue>,
}

/// The answer for one line.
#[derive(Clone, Debug)]
pub struct LineAnswer {
    /// What was found.
    pub outcome: LineOutcome,
    /// How many values were tried.
    pub tried: usize,
    /// Where metrics, by position, turn with confidence, if together they say that there may be another answer.
    pub turns: Vec<(usize, Turn)>,
    /// Positions on the wrong side of the boundary: they keep to the constraints beyond it, or break one inside.
    pub strays: Vec<usize>,
}

/// What was found.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "most names say it")]
pub enum LineOutcome {
    /// Two neighbours: the last that keeps to all constraints with confidence, and the first that does not.
    Between { inside: JudgedValue, beyond: JudgedValue },
    /// Both ends of the range keep to all constraints with confidence.
    Everywhere([JudgedValue; 2]),
    /// Neither end does.
    Nowhere([JudgedValue; 2]),
    /// The best of what was tried.
    Best {
        at: usize,
        /// The metric there.
        estimate: Estimate,
        /// The positions between which the best lies if there is one valley, or one hill, only.
        bracket: (usize, usize),
        /// The tried ones that are not told apart from it, in order.
        rivals: Vec<usize>,
    },
    /// The metric has no value anywhere.
    Missing,
}

/// How one value of the grid stands to the constraints.
#[derive(Clone, Debug)]
pub struct JudgedValue {
    /// Its position.
    pub at: usize,
    /// One for each constraint.
    pub checks: Vec<Check>,
}

impl Goal {
    /// The goal of an objective, whose direction is the metric's own unless `maximize` says it.
    ///
    /// # Errors
    /// If there is no such metric, or neither direction is its own.
    pub fn best(metric: &str, maximize: Option<bool>) -> Result<Self, QuestionError> {
        let own = (find(metric)?.good == Good::Low).then_some(false);
        let maximize = maximize.or(own).ok_or_else(|| {
            QuestionError(format!(
                "{metric} is good neither low nor high by itself; add --minimize or --maximize"
            ))
        })?;
        Ok(Self::Best { metric: metric.to_owned(), maximize })
    }
}

impl Question {
    /// The question of `goal` on a grid of so many `values`.
    ///
    /// # Errors
    /// If it names a metric that there is not.
    pub fn new(goal: Goal, values: usize) -> Result<Self, QuestionError> {
        let metrics = match &goal {
            Goal::Boundary(constraints) => {
                constraints.iter().map(|constraint| find(&constraint.metric)).collect::<Result<_, _>>()?
            }
            Goal::Best { metric, .. } => vec![find(metric)?],
        };
        Ok(Self { goal, metrics, last: values - 1 })
    }

    /// The most values that are tried of a line.
    pub fn steps_max(&self) -> usize {
        match self.goal {
            Goal::Boundary(_) => section::bisections(self.last),
            Goal::Best { .. } => section::golden_steps(self.last),
        }
    }

    /// Adds to `point` what the next replication of its cell gave.
    pub fn observe(&self, point: &mut TriedValue, run: &MeasuredRun<'_>) {
        point.observations.resize_with(self.metrics.len(), Vec::new);
        point.health_varies |= run.scenario.health_varies();
        for (metric, observed) in self.metrics.iter().zip(&mut point.observations) {
            observed.push(metric.observe(run));
        }
    }

    /// What has to be tried, or what was found.
    pub fn ask(&self, line: &SearchedLine) -> Sought<LineAnswer> {
        match &self.goal {
            Goal::Boundary(constraints) => self.boundary(line, constraints),
            Goal::Best { maximize, .. } => self.best(line, *maximize),
        }
    }

    fn boundary(&self, line: &SearchedLine, constraints: &[Constraint]) -> Sought<LineAnswer> {
        let judged: BTreeMap<usize, JudgedValue> =
            line.points.keys().map(|at| (*at, self.judge(line, *at, constraints))).collect();
        let keeps = |at: usize| judged.get(&at).map(|one| standing(&one.checks) == ConstraintStanding::Kept);
        let ends = || [judged[&0].clone(), judged[&self.last].clone()];
        let (outcome, strays) = match section::bisect(self.last, keeps) {
            Sought::Missing(positions) => return Sought::Missing(positions),
            Sought::Found(Ends::Alike(true)) => (LineOutcome::Everywhere(ends()), stray(&judged, |_| true)),
            Sought::Found(Ends::Alike(false)) => (LineOutcome::Nowhere(ends()), stray(&judged, |_| false)),
            Sought::Found(Ends::Between { kept, not }) => {
                let inside = |at: usize| if kept < not { at <= kept } else { at >= kept };
                let between =
                    LineOutcome::Between { inside: judged[&kept].clone(), beyond: judged[&not].clone() };
                (between, stray(&judged, inside))
            }
        };
        // A metric that rises and falls may meet its limit again.
        let turns = (0..self.metrics.len()).flat_map(|metric| {
            let turns = self.turns(line, metric);
            let both = turns.iter().any(|turn| turn.rises) && turns.iter().any(|turn| !turn.rises);
            turns.into_iter().filter(move |_| both).map(move |turn| (metric, turn))
        });
        Sought::Found(LineAnswer { outcome, tried: line.points.len(), turns: turns.collect(), strays })
    }

    /// How `line` stands to `constraints` at one position. The bounds of all positions that may be tried hold together; the
    /// other half of the error is that of where metrics turn.
    fn judge(&self, line: &SearchedLine, at: usize, constraints: &[Constraint]) -> JudgedValue {
        let family = Family::new(FAMILY_ERROR / 2.0, self.steps_max() * constraints.len());
        let point = &line.points[&at];
        let checks = constraints.iter().enumerate().map(|(metric, constraint)| {
            let found = check(&point.sample(metric), self.nature(point, metric), constraint, family.each());
            found.in_replications(if point.strata.is_some() { Strata::ROUND as u64 } else { 1 })
        });
        JudgedValue { at, checks: checks.collect() }
    }

    fn best(&self, line: &SearchedLine, maximize: bool) -> Sought<LineAnswer> {
        let sign = if maximize { -1.0 } else { 1.0 };
        let estimate = |at: usize| line.points.get(&at).map(|point| point.sample(0).estimate());
        // A position without a value is worse than all others.
        let cost = |at: usize| {
            estimate(at).map(|found| found.map_or(f64::INFINITY, |estimate| sign * estimate.value))
        };
        if let Sought::Missing(positions) = section::golden(self.last, cost) {
            return Sought::Missing(positions);
        }
        let tried = line.points.len();
        let found = |outcome, turns| Sought::Found(LineAnswer { outcome, tried, turns, strays: Vec::new() });
        let costs = line.points.keys().filter_map(|at| Some((cost(*at)?, *at)));
        let least = costs.min_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, at)| at);
        let Some((at, estimate)) = least.and_then(|at| Some((at, estimate(at)??))) else {
            return found(LineOutcome::Missing, Vec::new());
        };
        let below = line.points.range(..at).next_back().map_or(0, |(other, _)| *other);
        let above = line.points.range(at + 1..).next().map_or(self.last, |(other, _)| *other);
        let turns = self.turns(line, 0);
        // One valley falls first and rises then; one hill the other way round.
        let second = turns.windows(2).any(|pair| pair[0].rises != maximize && pair[1].rises == maximize);
        let turns = turns.into_iter().filter(|_| second).map(|turn| (0, turn)).collect();
        let rivals = self.rivals(line, at);
        found(LineOutcome::Best { at, estimate, bracket: (below, above), rivals }, turns)
    }

    /// What the metric at this position of the question is at `point`, as far as intervals must know.
    fn nature(&self, point: &TriedValue, metric: usize) -> Nature {
        self.metrics[metric].nature(point.health_varies)
    }

    /// The names of its metrics.
    pub fn metrics(&self) -> impl Iterator<Item = &'static str> {
        self.metrics.iter().map(|metric| metric.name)
    }
}

/// The positions that stand elsewhere than `inside` says, with confidence.
fn stray(judged: &BTreeMap<usize, JudgedValue>, inside: impl Fn(usize) -> bool) -> Vec<usize> {
    let wrong = |at| if inside(at) { ConstraintStanding::Broken } else { ConstraintStanding::Kept };
    judged.values().filter(|one| standing(&one.checks) == wrong(one.at)).map(|one| one.at).collect()
}

impl TriedValue {
    /// A value of which nothing was observed yet, whose replications are drawn from `strata` in turn, if from any.
    pub fn of_strata(strata: Option<Strata>) -> Self {
        Self { strata, ..Self::default() }
    }

    /// The same with what replications gave, by metric and then by replication, and whether health differs between them.
    #[must_use]
    pub fn with(self, health_varies: bool, observations: Vec<Vec<Option<Observation>>>) -> Self {
        Self { health_varies, observations, ..self }
    }

    /// What it gave for the metric at this position of the question; replications without a value are left out.
    fn sample(&self, metric: usize) -> Sample {
        self.observed(metric).into_iter().flatten().collect()
    }

    /// Its observations: replication by replication, or two by two where these are drawn from strata in turn.
    fn observed(&self, metric: usize) -> Vec<Option<Observation>> {
        let found = &self.observations[metric];
        match self.strata {
            Some(strata) => {
                let joined = strata.joined(found.iter().copied().enumerate());
                joined.into_iter().map(|(_, observation)| observation).collect()
            }
            None => found.clone(),
        }
    }

    /// The same of two points, for the replications in which both have a value.
    fn paired(&self, other: &Self, metric: usize) -> Paired {
        let pairs = self.observed(metric).into_iter().zip(other.observed(metric));
        let (own, other): (Vec<Observation>, Vec<Observation>) =
            pairs.filter_map(|(own, other)| own.zip(other)).unzip();
        Paired::new(own.into_iter().collect(), other.into_iter().collect())
    }
}

fn find(metric: &str) -> Result<&'static Metric, QuestionError> {
    let known = METRICS.iter().map(|metric| metric.name);
    Metric::find(metric).ok_or_else(|| QuestionError::unknown("metric", metric, known))
}

#[cfg(test)]
mod tests;
