//! Who looks on while a job runs, and what is there to see.

use std::error::Error;
use std::path::{Path, PathBuf};

use super::agenda::{Agenda, CellStanding};
use super::cost::costs;
use super::manifest::WarmupEntry;
use super::runner::{RunId, UnderWay};
use crate::experiment::Experiment;

/// Who is told how a job gets on. Nothing of it has to be listened to: `()` watches and does nothing.
pub trait Watcher {
    /// A run is finished, and kept.
    fn finished(&mut self, _run: RunId, _progress: &JobProgress<'_>) {}

    /// Runs begin, or nothing was finished lately.
    fn waiting(&mut self, _progress: &JobProgress<'_>) {}

    /// Something happened that does not happen to every job.
    fn note(&mut self, _note: JobNote) {}

    /// Every file is written, into this folder, in which results are built before they take their place: what is made of the
    /// files belongs here, for they take it together. A job that is stopped before can be resumed.
    ///
    /// # Errors
    /// If that can't be made. The job ends with [`JobError::Watcher`](super::JobError::Watcher).
    fn written(&mut self, _folder: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    /// Whether the job is to stop; asked several times a second. What is finished is kept.
    fn wants_to_stop(&self) -> bool {
        false
    }
}

impl Watcher for () {}

/// What happens to some jobs.
#[derive(Clone, Debug, PartialEq)]
pub enum JobNote {
    /// What was in the folder was moved aside, to this one.
    Aside(PathBuf),
    /// These lines of the journal are damaged: what they held is simulated again.
    Damaged(Vec<u64>),
    /// So many pilot runs begin, which find the warm-up.
    Pilots(usize),
    /// The warm-up is found, now or before the job was interrupted.
    Warmup(WarmupEntry),
}

/// How far a job is.
#[derive(Debug)]
pub struct JobProgress<'a> {
    /// What is run.
    pub experiment: &'a Experiment,
    /// The runs that there are to be, as far as that is known.
    pub agenda: Agenda,
    /// The runs that are under way.
    pub under_way: Vec<UnderWay>,
    /// How many runs are finished.
    pub finished: usize,
    /// The cost of a run of each cell.
    costs: Vec<u64>,
    /// The runs that are there from the beginning: how many, and their cost.
    planned: (usize, f64),
    /// The cost of the runs that were finished before.
    earlier: f64,
    done: f64,
}

/// How far a job is, in numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobAccount {
    /// Runs that are finished.
    pub finished: usize,
    /// Runs that there will be, as far as that is known.
    pub runs: usize,
    /// What is done of all costs, from 0 to 1.
    pub done: f64,
    /// The same at the beginning.
    pub earlier: f64,
    /// The cell that is farthest from its precision, of those that are not there.
    pub widest: Option<CellStanding>,
}

impl<'a> JobProgress<'a> {
    /// The beginning of `agenda`, of which the runs in `missing` are not finished.
    pub(super) fn new(experiment: &'a Experiment, agenda: Agenda, missing: &[RunId]) -> Self {
        let costs = costs(experiment);
        let cost = |run: &RunId| costs[run.cell] as f64;
        let (count, all) = (agenda.runs().len(), agenda.runs().iter().map(cost).sum());
        let earlier = all - missing.iter().map(cost).sum::<f64>();
        let (planned, finished) = ((count, all), count - missing.len());
        Self { experiment, agenda, under_way: Vec::new(), finished, costs, planned, earlier, done: earlier }
    }

    pub(super) fn finish(&mut self, run: RunId) {
        self.done += self.costs[run.cell] as f64;
        self.finished += 1;
    }

    /// Everything in numbers, which takes a look at every cell.
    pub fn account(&self) -> JobAccount {
        let standings: Vec<CellStanding> = self.agenda.standings().collect();
        let cost = |cell: usize| self.costs[cell] as f64;
        let (runs, all) = match &standings[..] {
            [] => self.planned,
            _ => standings.iter().fold((0, 0.0), |(runs, all), standing| {
                (runs + standing.expected as usize, all + cost(standing.cell) * f64::from(standing.expected))
            }),
        };
        let partly: f64 = self.under_way.iter().map(|it| cost(it.run.cell) * it.done).sum();
        JobAccount {
            finished: self.finished,
            runs,
            done: ((self.done + partly) / all).min(1.0),
            earlier: self.earlier / all,
            widest: widest(standings),
        }
    }
}

fn widest(standings: Vec<CellStanding>) -> Option<CellStanding> {
    let excess = |standing: &CellStanding| standing.width.map_or(0.0, |width| width.half / width.allowed);
    let open = standings.into_iter().filter(|standing| standing.end.is_none());
    open.max_by(|a, b| excess(a).total_cmp(&excess(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::agenda::CellEnd;
    use crate::stats::Width;

    #[test]
    fn the_widest_open_cell_is_shown() {
        let standing = |cell, half, end| CellStanding {
            cell,
            replications: 15,
            expected: 20,
            width: Some(Width { half, allowed: 1.0 }),
            needed: None,
            end,
        };
        let all =
            [standing(0, 2.0, None), standing(1, 3.0, None), standing(2, 9.0, Some(CellEnd::Exhausted))];
        assert_eq!(widest(all.to_vec()).unwrap().cell, 1);
        assert_eq!(widest(Vec::new()), None);
    }
}
