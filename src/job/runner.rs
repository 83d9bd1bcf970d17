//! Runs every cell × replication in parallel: one run on one thread.
//!
//! Runs start in the order given and are handed over as they finish; no more of them wait for that than there are
//! threads. Their results depend on cell and replication alone, never on the number of threads.

use std::any::Any;
use std::collections::{BTreeMap, VecDeque};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use crate::experiment::Experiment;
use crate::metrics::MeasuredRun;
use crate::random::RunSeed;
use crate::sim::outcome::Outcome;
use crate::sim::{RunError, Simulation};
use crate::time::SimTime;

/// One cell with one replication.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunId {
    /// The cell's number.
    pub cell: usize,
    /// The replication's number.
    pub replication: u32,
}

/// A run that has no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the run of cell {} ({cell_name}), replication {}, seed {seed} failed: {cause}",
    run.cell, run.replication
)]
pub struct RunFailure {
    /// Which run.
    pub run: RunId,
    /// The cell's arm and axis values.
    pub cell_name: String,
    /// The experiment's seed.
    pub seed: u64,
    /// Why: its world can't go on, or a fault of the simulator.
    pub cause: String,
}

/// A fault of the simulator, with what it said.
fn of_panic(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("{text}\nthis is a fault of zonesim; please report it with the experiment file")
}

/// What the thread that asked for runs is told.
#[derive(Debug)]
pub enum RunnerEvent {
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
///
/// # Errors
/// If its world can't go on.
pub fn run_one(experiment: &Experiment, run: RunId) -> Result<Outcome, RunError> {
    watched(experiment, run, &AtomicU64::new(0))
}

/// Asks what metrics are computed from: the run `id` with its `outcome`.
pub fn measured<T>(
    experiment: &Experiment,
    id: RunId,
    outcome: &Outcome,
    ask: impl FnOnce(&MeasuredRun<'_>) -> T,
) -> T {
    let scenario = &experiment.scenario(&experiment.cells()[id.cell]);
    let latency = &outcome.latency_overall();
    ask(&MeasuredRun { scenario, outcome, latency })
}

/// Simulates one run; now and then `clock` gets the share of simulated time that has passed, in parts of [`WHOLE`].
fn watched(experiment: &Experiment, run: RunId, clock: &AtomicU64) -> Result<Outcome, RunError> {
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

/// The outcome of every run of `experiment`, on `jobs` threads.
///
/// # Errors
/// The first failure of a run.
pub fn run_every(experiment: &Arc<Experiment>, jobs: usize) -> Result<BTreeMap<RunId, Outcome>, RunFailure> {
    let mut outcomes = BTreeMap::new();
    run_growing(experiment, all_runs(experiment), jobs, |event| {
        if let RunnerEvent::Finished(run, outcome) = event {
            outcomes.insert(run, *outcome);
        }
        Ok::<_, RunFailure>(ControlFlow::Continue(Vec::new()))
    })?;
    Ok(outcomes)
}

/// Simulates `runs` on `jobs` threads, and hands each to `take` on this thread as soon as it is done.
///
/// `take` may give more runs to simulate. They come before those that have not begun: what waits for the end of one batch
/// to begin the next takes longest. Or it ends all; runs under way are abandoned then.
///
/// # Errors
/// The first failure of a run, or the first error of `take`.
pub fn run_growing<E: From<RunFailure>>(
    experiment: &Arc<Experiment>,
    runs: Vec<RunId>,
    jobs: usize,
    take: impl FnMut(RunnerEvent) -> Result<ControlFlow<(), Vec<RunId>>, E>,
) -> Result<(), E> {
    let crew = Arc::new(Crew {
        experiment: Arc::clone(experiment),
        waiting: Mutex::default(),
        threads: std::iter::repeat_with(Thread::default).take(jobs.max(1)).collect(),
    });
    let ended = crew.lead(runs, take);
    // However it ended, no thread begins another run.
    crew.waiting.lock().expect(NO_PANIC).clear();
    ended
}

/// How often who asked for runs is told that it waits, and may end it.
const POLL: Duration = Duration::from_millis(50);

type Ended = (RunId, Result<Outcome, String>);

/// The runs that have not begun, and what each thread is doing.
struct Crew {
    experiment: Arc<Experiment>,
    waiting: Mutex<VecDeque<RunId>>,
    threads: Vec<Thread>,
}

/// What a thread is doing: its run, and how far that is.
#[derive(Default)]
struct Thread {
    run: Mutex<Option<RunId>>,
    clock: AtomicU64,
}

const NO_PANIC: &str = "nothing panics while it holds what waits";

impl Crew {
    /// Puts `runs` before all others; tells how many they are.
    fn add(&self, runs: Vec<RunId>) -> usize {
        let (count, mut waiting) = (runs.len(), self.waiting.lock().expect(NO_PANIC));
        runs.into_iter().rev().for_each(|run| waiting.push_front(run));
        count
    }

    fn lead<E: From<RunFailure>>(
        self: &Arc<Self>,
        mut more: Vec<RunId>,
        mut take: impl FnMut(RunnerEvent) -> Result<ControlFlow<(), Vec<RunId>>, E>,
    ) -> Result<(), E> {
        let jobs = self.threads.len();
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().ok();
        // Fewer where the system allows no more: results do not depend on it.
        let pool = (1..=jobs).rev().find_map(pool).expect("a process can start a thread");
        let (sender, receiver) = mpsc::sync_channel(jobs);
        let mut unfinished = 0;
        loop {
            unfinished += more.len();
            for _ in 0..self.add(more).min(jobs) {
                let (crew, sender) = (Arc::clone(self), sender.clone());
                pool.spawn(move || crew.work(&sender));
            }
            if unfinished == 0 {
                return Ok(());
            }
            let event = match receiver.recv_timeout(POLL) {
                Ok((run, Ok(outcome))) => {
                    unfinished -= 1;
                    RunnerEvent::Finished(run, Box::new(outcome))
                }
                Ok((run, Err(cause))) => return Err(failure(&self.experiment, run, cause).into()),
                Err(_) => RunnerEvent::Waiting(self.under_way()),
            };
            more = match take(event)? {
                ControlFlow::Continue(more) => more,
                ControlFlow::Break(()) => return Ok(()),
            };
        }
    }

    /// Simulates on this thread what waits, until nothing does or nobody wants more.
    fn work(&self, sender: &mpsc::SyncSender<Ended>) {
        let thread = &self.threads[rayon::current_thread_index().expect("it is a thread of the pool")];
        loop {
            let run = self.waiting.lock().expect(NO_PANIC).pop_front();
            thread.clock.store(0, Ordering::Relaxed);
            *thread.run.lock().expect(NO_PANIC) = run;
            let Some(run) = run else { return };
            let outcome = catch_unwind(AssertUnwindSafe(|| watched(&self.experiment, run, &thread.clock)));
            let outcome = match outcome {
                Ok(outcome) => outcome.map_err(|error| error.to_string()),
                Err(panic) => Err(of_panic(panic.as_ref())),
            };
            if sender.send((run, outcome)).is_err() {
                return;
            }
        }
    }

    fn under_way(&self) -> Vec<UnderWay> {
        let of = |thread: &Thread| {
            let run = (*thread.run.lock().expect(NO_PANIC))?;
            Some(UnderWay { run, done: thread.clock.load(Ordering::Relaxed) as f64 / WHOLE })
        };
        self.threads.iter().filter_map(of).collect()
    }
}

pub(super) fn failure(experiment: &Experiment, run: RunId, cause: String) -> RunFailure {
    let cell_name = experiment.describe(&experiment.cells()[run.cell]);
    RunFailure { run, cell_name, seed: experiment.seed(), cause }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Overrides, Source};
    use crate::sim::outcome::FailureCause;

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

    /// What `take` may fail with.
    #[derive(Debug, PartialEq, thiserror::Error)]
    enum Refused {
        #[error(transparent)]
        Run(#[from] RunFailure),
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
            let done = run_growing(&experiment, vec![id(0), id(1)], jobs, |event| -> Result<_, Refused> {
                let RunnerEvent::Finished(run, outcome) = event else {
                    return Ok(ControlFlow::Continue(Vec::new()));
                };
                assert_eq!(*outcome, run_one(&experiment, run).unwrap());
                finished.push(run.replication);
                // Two more after each of the first three.
                let steps = if run.replication < 3 { &[2, 3][..] } else { &[] };
                let more = steps.iter().map(|step| id(run.replication * 2 + step));
                Ok(ControlFlow::Continue(more.collect()))
            });
            assert_eq!(done, Ok(()));
            finished.sort_unstable();
            assert_eq!(finished, [0, 1, 2, 3, 4, 5, 6, 7], "{jobs} threads");
        }
    }

    #[test]
    fn an_error_or_a_wish_to_stop_ends_it_with_runs_left() {
        let experiment = experiment();
        let ended = run_growing(&experiment, all_runs(&experiment), 2, |_| Err(Refused::Enough));
        assert_eq!(ended, Err(Refused::Enough));
        let mut events = 0;
        let ended = run_growing(&experiment, all_runs(&experiment), 1, |_| {
            events += 1;
            Ok::<_, Refused>(ControlFlow::Break(()))
        });
        assert_eq!((ended, events), (Ok(()), 1));
    }

    #[test]
    fn a_panic_says_which_run_it_was_of() {
        let experiment = experiment();
        let cause = of_panic(&"index out of bounds");
        assert_eq!(
            failure(&experiment, id(1), cause).to_string(),
            "the run of cell 0 (arm `base`), replication 1, seed 42 failed: index out of bounds\n\
             this is a fault of zonesim; please report it with the experiment file"
        );
    }

    #[test]
    fn clients_without_a_free_port_fail_and_are_counted() {
        let text = experiment().document().replace("kind = \"vm\"", "kind = \"vm\", addresses = 1");
        let text = text.replace("rate = 5.0", "rate = 20000.0") + "server.service_time.constant = \"1m\"\n";
        let source = Source { name: "test.toml".to_owned(), text: text + "server.workers = \"unlimited\"\n" };
        let crowded = Arc::new(Experiment::parse(source, &Overrides::default()).unwrap());
        let outcome = &run_every(&crowded, 1).unwrap()[&id(0)];
        // Those that have no port fail, and are counted; no run ends of it.
        let no_port = outcome.failed(FailureCause::NoPort);
        assert!(no_port > 50_000 && outcome.started - no_port <= 28_232, "{no_port} of {}", outcome.started);
        assert_eq!(outcome.failed(FailureCause::NoBackend), 0);
    }

    #[test]
    fn a_run_under_way_says_how_far_it_is() {
        let experiment = experiment();
        let clock = AtomicU64::new(0);
        watched(&experiment, id(0), &clock).unwrap();
        // Few events: only the beginning is looked at. Many: the last look is near the end.
        assert_eq!(clock.load(Ordering::Relaxed), 0);
        let source = Source {
            name: "test.toml".to_owned(),
            text: experiment.document().replace("rate = 5.0", "rate = 20000.0"),
        };
        let busy = Experiment::parse(source, &Overrides::default()).unwrap();
        watched(&busy, id(0), &clock).unwrap();
        let share = clock.load(Ordering::Relaxed) as f64 / WHOLE;
        assert!((0.9..=1.0).contains(&share), "{share}");
    }
}
