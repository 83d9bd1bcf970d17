//! Which runs a job has: all of them from the beginning, or of each cell as many as its precision takes.
//!
//! A cell that is run for a precision gets its replications in batches. What follows a batch is decided when all of it
//! is finished, from its values in the order of replications, so that neither the number of threads nor an interruption
//! changes how many there will be.

use std::collections::{BTreeMap, BTreeSet};

use super::runner::{RunId, all_runs, measured};
use super::shard::Shard;
use crate::experiment::Experiment;
use crate::experiment::Precision;
use crate::metrics::MeasuredRun;
use crate::sim::outcome::Outcome;
use crate::stats::{Look, Nature, Observation, SequentialRule, Strata, Width};

/// More replications than anybody runs.
const MOST_NEEDED: usize = 1_000_000;

/// The runs of a job.
#[derive(Clone, Debug)]
pub struct Agenda {
    runs: BTreeSet<RunId>,
    precision: Option<Precision>,
    /// By cell; none without a precision.
    sequences: BTreeMap<usize, Sequence>,
}

/// The replications of a cell that is run for a precision.
#[derive(Clone, Debug)]
struct Sequence {
    /// What the metric is in the world of the cell.
    nature: Nature,
    /// The strata that they are drawn from in turn, if they are.
    strata: Option<Strata>,
    /// What those that are finished say.
    found: BTreeMap<u32, Option<Observation>>,
    planned: u32,
    end: Option<CellEnd>,
}

/// Why a cell gets no more replications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellEnd {
    /// It has reached its precision.
    Reached,
    /// It has had as many as it may have.
    Exhausted,
    /// No replication has a value of the metric.
    Valueless,
}

/// How far a cell is that is run for a precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellStanding {
    /// The cell's number.
    pub cell: usize,
    /// Its replications so far, those that are planned included.
    pub replications: u32,
    /// How many it is expected to have in the end.
    pub expected: u32,
    /// How wide its interval is, as of the replications that are finished without a gap before them.
    pub width: Option<Width>,
    /// About how many would make it narrow enough; absent if no number would.
    pub needed: Option<usize>,
    /// Why it gets no more, if it does not.
    pub end: Option<CellEnd>,
}

impl Agenda {
    /// The runs of `experiment`, or of a shard of it: those that are there from the beginning.
    pub fn new(experiment: &Experiment, shard: Option<Shard>) -> Self {
        let own = |runs| match shard {
            Some(shard) => shard.of(experiment, runs),
            None => runs,
        };
        let Some(precision) = experiment.precision() else { return Self::of(own(all_runs(experiment))) };
        // For a precision shards get whole cells, since all runs of a cell decide what follows; one run each is their cost.
        let firsts = experiment.cells().iter().map(|cell| RunId { cell: cell.index, replication: 0 });
        let strata = experiment.strata();
        let mut agenda = Self { precision: Some(*precision), ..Self::of(Vec::new()) };
        for RunId { cell, .. } in own(firsts.collect()) {
            let world = experiment.scenario(&experiment.cells()[cell]);
            let strata = strata.as_ref().map(|strata| strata[cell]);
            let nature = precision.metric.nature(world.health_varies());
            let sequence = Sequence::new(nature, strata);
            let first = (SequentialRule::FIRST * sequence.each()) as u32;
            agenda.sequences.insert(cell, sequence);
            agenda.plan(cell, first.min(precision.max_replications));
        }
        agenda
    }

    /// These runs and no others.
    pub fn of(runs: Vec<RunId>) -> Self {
        Self { runs: runs.into_iter().collect(), precision: None, sequences: BTreeMap::new() }
    }

    /// The runs of several agendas that share no cell's future: those of all shards of an experiment.
    pub fn joined(agendas: &[Self]) -> Self {
        Self {
            runs: agendas.iter().flat_map(|agenda| &agenda.runs).copied().collect(),
            precision: agendas.iter().find_map(|agenda| agenda.precision),
            sequences: agendas.iter().flat_map(|agenda| agenda.sequences.clone()).collect(),
        }
    }

    /// The runs that are planned so far. While one that is planned is not finished, more of its cell may follow.
    pub fn runs(&self) -> &BTreeSet<RunId> {
        &self.runs
    }

    /// How many runs there may be in the end.
    pub fn most_runs(&self) -> u64 {
        match &self.precision {
            None => self.runs.len() as u64,
            Some(precision) => self.sequences.len() as u64 * u64::from(precision.max_replications),
        }
    }

    /// How many of them may be of cell number `cell`.
    pub fn most_of(&self, cell: usize) -> u32 {
        match &self.precision {
            None => {
                let [first, last] = [0, u32::MAX].map(|replication| RunId { cell, replication });
                self.runs.range(first..=last).count() as u32
            }
            Some(precision) if self.sequences.contains_key(&cell) => precision.max_replications,
            Some(_) => 0,
        }
    }

    /// Takes what a finished run found; gives the runs that follow from it.
    pub fn observe(&mut self, id: RunId, run: &MeasuredRun<'_>) -> Vec<RunId> {
        let (Some(precision), Some(sequence)) = (self.precision, self.sequences.get_mut(&id.cell)) else {
            return Vec::new();
        };
        sequence.found.insert(id.replication, precision.metric.observe(run));
        match sequence.decide(&precision) {
            Some(more) => self.plan(id.cell, more),
            None => Vec::new(),
        }
    }

    /// Takes the runs that are finished already. `outcome` gives what they found, and is asked only where that matters.
    ///
    /// # Errors
    /// The first error of `outcome`.
    pub fn catch_up<E>(
        &mut self,
        experiment: &Experiment,
        mut outcome: impl FnMut(RunId) -> Result<Option<Outcome>, E>,
    ) -> Result<(), E> {
        let mut waiting: Vec<RunId> = match self.precision {
            Some(_) => self.runs.iter().copied().collect(),
            None => Vec::new(),
        };
        while let Some(id) = waiting.pop() {
            let Some(outcome) = outcome(id)? else { continue };
            waiting.extend(measured(experiment, id, &outcome, |run| self.observe(id, run)));
        }
        Ok(())
    }

    /// How far each cell is; nothing without a precision.
    pub fn standings(&self) -> impl Iterator<Item = CellStanding> {
        let of = |(cell, sequence): (&usize, &Sequence)| {
            let precision = self.precision.as_ref().expect("there are sequences with a precision only");
            sequence.standing(*cell, precision)
        };
        self.sequences.iter().map(of)
    }

    fn plan(&mut self, cell: usize, more: u32) -> Vec<RunId> {
        let sequence = self.sequences.get_mut(&cell).expect("the cell is run for a precision");
        let planned = sequence.planned..sequence.planned + more;
        sequence.planned = planned.end;
        let runs: Vec<RunId> = planned.map(|replication| RunId { cell, replication }).collect();
        self.runs.extend(&runs);
        runs
    }
}

impl Sequence {
    fn new(nature: Nature, strata: Option<Strata>) -> Self {
        Self { nature, strata, found: BTreeMap::new(), planned: 0, end: None }
    }

    /// How many replications are one observation.
    fn each(&self) -> usize {
        if self.strata.is_some() { Strata::ROUND } else { 1 }
    }

    /// Once everything planned is finished: how many more replications there are to be, if any.
    fn decide(&mut self, precision: &Precision) -> Option<u32> {
        if self.end.is_some() || self.found.len() < self.planned as usize {
            return None;
        }
        let left = precision.max_replications - self.planned;
        match precision.rule.look(self.nature, &self.values()) {
            Look::Enough => self.end = Some(CellEnd::Reached),
            Look::Valueless => self.end = Some(CellEnd::Valueless),
            Look::More(_) if left < self.each() as u32 => self.end = Some(CellEnd::Exhausted),
            Look::More(more) => {
                let more = more.saturating_mul(self.each());
                return Some(u32::try_from(more).unwrap_or(left).min(left));
            }
        }
        None
    }

    /// What the replications say that are finished, up to the first that is not.
    fn values(&self) -> Vec<Option<Observation>> {
        let in_order = self.found.iter().zip(0..).take_while(|((found, _), expected)| *found == expected);
        let values = in_order.map(|((replication, value), _)| (*replication as usize, *value));
        match self.strata {
            Some(strata) => strata.joined(values).into_iter().map(|(_, value)| value).collect(),
            None => values.map(|(_, value)| value).collect(),
        }
    }

    fn standing(&self, cell: usize, precision: &Precision) -> CellStanding {
        let values = self.values();
        let width = precision.rule.width(self.nature, &values);
        let needed = precision.rule.expected(self.nature, &values).saturating_mul(self.each());
        let expected = match self.end {
            Some(_) => self.planned,
            None => {
                let needed = u32::try_from(needed).unwrap_or(u32::MAX);
                needed.max(self.planned).min(precision.max_replications)
            }
        };
        let needed = (needed <= MOST_NEEDED).then_some(needed);
        CellStanding { cell, replications: self.planned, expected, width, needed, end: self.end }
    }
}

#[cfg(test)]
mod tests;
