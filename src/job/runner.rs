//! Runs every cell × replication in parallel: one run on one thread.
//!
//! Runs start in the order given and are handed over as they finish; no more of them wait for that than there are
//! threads. Their results depend on cell and replication alone, never on the number of threads.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::experiment::Experiment;
use crate::random::RunSeed;
use crate::sim::Simulation;
use crate::sim::outcome::Outcome;
use crate::time::SimTime;

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
    /// Nothing was done lately; these runs are under way.
    Waiting(Vec<UnderWay>),
}

/// A run that is under way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UnderWay {
    /// Which run.
    pub run: RunId,
    /// The share of its simulated time that has passed.
    pub done: f64,
}

/// Every run of `experiment`, in order: cell by cell.
pub fn all_runs(experiment: &Experiment) -> Vec<RunId> {
    let replications = experiment.replications();
    let cells = experiment.cells().iter().map(|cell| cell.index);
    cells.flat_map(|cell| (0..replications).map(move |replication| RunId { cell, replication })).collect()
}

/// Simulates one run.
pub fn run_one(experiment: &Experiment, run: RunId) -> Outcome {
    watched(experiment, run, &AtomicU64::new(0))
}

/// Simulates one run, whose simulated time stands in `clock` now and then: the share that has passed, in parts of
/// [`WHOLE`].
fn watched(experiment: &Experiment, run: RunId, clock: &AtomicU64) -> Outcome {
    let scenario = experiment.scenario(&experiment.cells()[run.cell]);
    let end = (scenario.timing.window_end() - SimTime::ZERO).as_secs_f64();
    let passed = |now: SimTime| {
        let share = ((now - SimTime::ZERO).as_secs_f64() / end).min(1.0);
        clock.store((share * WHOLE) as u64, Ordering::Relaxed);
    };
    Simulation::new(&scenario, RunSeed::new(experiment.seed(), run.replication)).run_watched(&passed)
}

/// All of a run's simulated time.
const WHOLE: f64 = 1e6;

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
    run_growing(experiment, runs, jobs, stop, |event| progress(event).map(|()| Vec::new()))
}

/// The same where `progress` may give more runs to simulate. They come before those that have not begun: what waits for
/// the end of one batch to begin the next takes longest.
///
/// # Errors
/// The first panic of a run, or the first error of `progress`.
///
/// # Panics
/// If the threads can't be started.
pub fn run_growing<E: From<RunPanic>>(
    experiment: &Arc<Experiment>,
    runs: Vec<RunId>,
    jobs: usize,
    stop: &AtomicBool,
    mut progress: impl FnMut(Progress) -> Result<Vec<RunId>, E>,
) -> Result<(), E> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(jobs).build().expect("threads can be started");
    let (sender, receiver) = mpsc::sync_channel(jobs);
    let mut unfinished = runs.len();
    let queue = Arc::new(Queue::new(runs, jobs));
    // However this ends, no thread waits for more.
    let _closing = Closing(&queue);
    for thread in 0..jobs {
        let worker = Worker {
            experiment: Arc::clone(experiment),
            queue: Arc::clone(&queue),
            thread,
            sender: sender.clone(),
        };
        pool.spawn(move || worker.work());
    }
    drop(sender);
    while unfinished > 0 {
        let more = match receiver.recv_timeout(POLL) {
            Ok((run, Ok(outcome))) => {
                unfinished -= 1;
                progress(Progress::Finished(run, Box::new(outcome)))?
            }
            Ok((run, Err(panic))) => return Err(panicked(experiment, run, panic.as_ref()).into()),
            Err(RecvTimeoutError::Disconnected) => {
                unreachable!("threads wait for runs while some are unfinished")
            }
            Err(RecvTimeoutError::Timeout) => progress(Progress::Waiting(queue.under_way()))?,
        };
        unfinished += more.len();
        queue.add(more);
        if stop.load(Ordering::Relaxed) {
            return Ok(());
        }
    }
    Ok(())
}

/// How often a request to stop is looked for.
const POLL: Duration = Duration::from_millis(50);

type Finished = (RunId, std::thread::Result<Outcome>);

/// The runs that have not begun, and what each thread is doing.
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    threads: Vec<Thread>,
}

struct Waiting {
    runs: VecDeque<RunId>,
    is_closed: bool,
}

/// What a thread is doing: its run, and how far that is.
#[derive(Default)]
struct Thread {
    run: Mutex<Option<RunId>>,
    clock: AtomicU64,
}

impl Queue {
    fn new(runs: Vec<RunId>, threads: usize) -> Self {
        Self {
            waiting: Mutex::new(Waiting { runs: runs.into(), is_closed: false }),
            changed: Condvar::new(),
            threads: std::iter::repeat_with(Thread::default).take(threads).collect(),
        }
    }

    /// The next run for thread `thread`, which waits for one; nothing once there will be none.
    fn next(&self, thread: usize) -> Option<RunId> {
        let mut waiting = self.waiting.lock().expect(NO_PANIC);
        while waiting.runs.is_empty() && !waiting.is_closed {
            waiting = self.changed.wait(waiting).expect(NO_PANIC);
        }
        let run = if waiting.is_closed { None } else { waiting.runs.pop_front() };
        let thread = &self.threads[thread];
        thread.clock.store(0, Ordering::Relaxed);
        *thread.run.lock().expect(NO_PANIC) = run;
        run
    }

    fn add(&self, runs: Vec<RunId>) {
        if runs.is_empty() {
            return;
        }
        let mut waiting = self.waiting.lock().expect(NO_PANIC);
        runs.into_iter().rev().for_each(|run| waiting.runs.push_front(run));
        self.changed.notify_all();
    }

    fn close(&self) {
        self.waiting.lock().expect(NO_PANIC).is_closed = true;
        self.changed.notify_all();
    }

    fn under_way(&self) -> Vec<UnderWay> {
        let of = |thread: &Thread| {
            let run = (*thread.run.lock().expect(NO_PANIC))?;
            Some(UnderWay { run, done: thread.clock.load(Ordering::Relaxed) as f64 / WHOLE })
        };
        self.threads.iter().filter_map(of).collect()
    }
}

const NO_PANIC: &str = "nothing panics while it holds the queue";

struct Closing<'a>(&'a Queue);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// One thread's share of the work: the next run, again and again.
struct Worker {
    experiment: Arc<Experiment>,
    queue: Arc<Queue>,
    thread: usize,
    sender: mpsc::SyncSender<Finished>,
}

impl Worker {
    fn work(&self) {
        while let Some(run) = self.queue.next(self.thread) {
            let clock = &self.queue.threads[self.thread].clock;
            let outcome = catch_unwind(AssertUnwindSafe(|| watched(&self.experiment, run, clock)));
            if self.sender.send((run, outcome)).is_err() {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Overrides, Source};

    fn experiment() -> Arc<Experiment> {
        let text = r#"
            name = "runner"
            simulation = { replications = 2, warmup = "0s", duration = "5s" }
            region = { name = "r", zones = ["a"] }
            backend_service.backends = [{ group = "ig", zone = "a", size = 1 }]
            clients = [{ name = "web", kind = "vm", zone = "a", arrivals = { poisson = { rate = 5.0 } } }]
        "#;
        let source = Source { name: "test.toml".to_owned(), text: text.to_owned() };
        Arc::new(Experiment::parse(source, &Overrides::default()).unwrap())
    }

    /// What `progress` may fail with.
    #[derive(Debug, PartialEq, thiserror::Error)]
    enum Failure {
        #[error(transparent)]
        Panic(#[from] RunPanic),
        #[error("enough")]
        Enough,
    }

    fn id(replication: u32) -> RunId {
        RunId { cell: 0, replication }
    }

    #[test]
    fn runs_that_follow_from_others_are_run_too() {
        let experiment = experiment();
        for jobs in [1, 3] {
            let mut finished = Vec::new();
            let go = AtomicBool::new(false);
            let done =
                run_growing(&experiment, vec![id(0), id(1)], jobs, &go, |event| -> Result<_, Failure> {
                    let Progress::Finished(run, outcome) = event else { return Ok(Vec::new()) };
                    assert_eq!(*outcome, run_one(&experiment, run));
                    finished.push(run.replication);
                    // Two more after each of the first three.
                    let more = if run.replication < 3 {
                        [2, 3].map(|step| id(run.replication * 2 + step)).to_vec()
                    } else {
                        vec![]
                    };
                    Ok(more)
                });
            assert_eq!(done, Ok(()));
            finished.sort_unstable();
            assert_eq!(finished, [0, 1, 2, 3, 4, 5, 6, 7], "{jobs} threads");
        }
    }

    #[test]
    fn an_error_or_a_request_to_stop_ends_it_with_runs_left() {
        let experiment = experiment();
        let runs = || all_runs(&experiment);
        let go = AtomicBool::new(false);
        let ended = run_all(&experiment, runs(), 2, &go, |_| Err(Failure::Enough));
        assert_eq!(ended, Err(Failure::Enough));
        let mut events = 0;
        let stop = AtomicBool::new(true);
        let ended = run_all(&experiment, runs(), 1, &stop, |_| {
            events += 1;
            Ok::<(), Failure>(())
        });
        assert_eq!((ended, events), (Ok(()), 1));
    }

    #[test]
    fn a_run_under_way_says_how_far_it_is() {
        let experiment = experiment();
        let clock = AtomicU64::new(0);
        watched(&experiment, id(0), &clock);
        // Few events: only the beginning is looked at. Many: the last look is near the end.
        assert_eq!(clock.load(Ordering::Relaxed), 0);
        let source = Source {
            name: "test.toml".to_owned(),
            text: experiment.document().replace("rate = 5.0", "rate = 20000.0"),
        };
        let busy = Experiment::parse(source, &Overrides::default()).unwrap();
        watched(&busy, id(0), &clock);
        let share = clock.load(Ordering::Relaxed) as f64 / WHOLE;
        assert!((0.9..=1.0).contains(&share), "{share}");
    }
}
