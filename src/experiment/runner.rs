//! Runs every cell × replication in parallel: one run on one thread.
//!
//! Runs start in the order given and are handed over as they finish; no more of them wait for that than there are
//! threads. Their results depend on cell and replication alone, never on the number of threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::Experiment;
use crate::random::RunSeed;
use crate::sim::Simulation;
use crate::sim::outcome::Outcome;

/// One cell with one replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    /// The cell's number.
    pub cell: usize,
    /// The replication's number.
    pub replication: u32,
}

/// A run that ended in a panic: a fault of the simulator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run of cell {} ({cell_name}), replication {}, seed {seed} failed: {message}\n\
     this is a fault of zonesim; please report it with the experiment file",
    run.cell, run.replication
)]
pub struct RunPanic {
    /// Which run.
    pub run: RunId,
    /// The cell's arm and axis values.
    pub cell_name: String,
    /// The experiment's seed.
    pub seed: u64,
    /// What the panic said.
    pub message: String,
}

/// What the thread that asked for runs is told.
#[derive(Debug)]
pub enum Progress {
    /// This run is done.
    Finished(RunId, Box<Outcome>),
    /// Nothing was done lately.
    Waiting,
}

/// Every run of `experiment`, in order: cell by cell.
pub fn all_runs(experiment: &Experiment) -> Vec<RunId> {
    let replications = experiment.replications();
    let cells = experiment.cells().iter().map(|cell| cell.index);
    cells.flat_map(|cell| (0..replications).map(move |replication| RunId { cell, replication })).collect()
}

/// Simulates one run.
pub fn run_one(experiment: &Experiment, run: RunId) -> Outcome {
    let scenario = experiment.scenario(&experiment.cells()[run.cell]);
    Simulation::new(&scenario, RunSeed::new(experiment.seed(), run.replication)).run()
}

/// Simulates `runs` on `jobs` threads, and hands each to `progress` on this thread as soon as it is done.
///
/// Once `stop` is set it returns; runs under way are abandoned.
///
/// # Errors
/// The first panic of a run, or the first error of `progress`.
///
/// # Panics
/// If the threads can't be started.
pub fn run_all<E: From<RunPanic>>(
    experiment: &Arc<Experiment>,
    runs: Vec<RunId>,
    jobs: usize,
    stop: &AtomicBool,
    mut progress: impl FnMut(Progress) -> Result<(), E>,
) -> Result<(), E> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().expect("threads can be started");
    let (sender, receiver) = mpsc::sync_channel(jobs);
    let runs = Arc::new(runs);
    let next = Arc::new(AtomicUsize::new(0));
    for _ in 0..jobs {
        let worker = Worker {
            experiment: Arc::clone(experiment),
            runs: Arc::clone(&runs),
            next: Arc::clone(&next),
            sender: sender.clone(),
        };
        pool.spawn(move || worker.work());
    }
    drop(sender);
    loop {
        match receiver.recv_timeout(POLL) {
            Ok((run, Ok(outcome))) => progress(Progress::Finished(run, Box::new(outcome)))?,
            Ok((run, Err(panic))) => return Err(panicked(experiment, run, panic.as_ref()).into()),
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => progress(Progress::Waiting)?,
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
}

/// How often a request to stop is looked for.
const POLL: Duration = Duration::from_millis(50);

type Finished = (RunId, std::thread::Result<Outcome>);

/// One thread's share of the work: the next run, again and again.
struct Worker {
    experiment: Arc<Experiment>,
    runs: Arc<Vec<RunId>>,
    next: Arc<AtomicUsize>,
    sender: mpsc::SyncSender<Finished>,
}

impl Worker {
    fn work(&self) {
        while let Some(run) = self.runs.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let outcome = catch_unwind(AssertUnwindSafe(|| run_one(&self.experiment, *run)));
            if self.sender.send((*run, outcome)).is_err() {
                // Nobody wants more.
                return;
            }
        }
    }
}

fn panicked(experiment: &Experiment, run: RunId, panic: &(dyn std::any::Any + Send)) -> RunPanic {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let message = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    let cell_name = experiment.describe(&experiment.cells()[run.cell]);
    RunPanic { run, cell_name, seed: experiment.seed(), message: message.to_owned() }
}
