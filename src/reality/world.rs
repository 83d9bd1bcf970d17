//! The simulated side: the same world, run by zonesim's own event loop.

use std::num::{NonZeroU32, NonZeroUsize};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use super::observation::RunObservation;
use crate::experiment::{Cell, Experiment, ExperimentError, Overrides, Source};
use crate::ids::{BalancerId, Id};
use crate::lb::affinity::SessionAffinity;
use crate::lb::selection::{SelectionHash, TableSize};
use crate::lb::tracking::{Persistence, TrackingMode};
use crate::random::RunSeed;
use crate::sim::scenario::Scenario;
use crate::sim::{RunError, Simulation};

/// Entries of the table that both sides select by: a prime.
pub(super) const ENTRIES: u32 = 1009;

/// Addresses of a client group of which hardly any opens two connections.
const MANY: NonZeroU32 = NonZeroU32::new(1 << 17).unwrap();

/// A world that is run on both sides.
#[derive(Clone, Debug)]
pub struct World {
    /// What is run.
    pub scenario: Arc<Scenario>,
    /// The seed of the experiment.
    pub seed: u64,
}

impl World {
    /// The first cell of the experiment that `text` describes, with `overrides`.
    ///
    /// # Errors
    /// If it describes none.
    pub fn read(name: &str, text: &str, overrides: &Overrides) -> Result<Self, ExperimentError> {
        let source = Source { name: name.to_owned(), text: text.to_owned() };
        let experiment = Experiment::parse(source, overrides)?;
        Ok(Self::of_cell(&experiment, &experiment.cells()[0]))
    }

    /// The world of a cell. Selection is by Maglev's table, whatever the experiment says: the kernel knows tables alone, and
    /// both sides must have the same.
    pub fn of_cell(experiment: &Experiment, cell: &Cell) -> Self {
        let mut scenario = Scenario::clone(&experiment.scenario(cell));
        let size = TableSize::try_from(ENTRIES).expect("a prime");
        scenario.balancers[BalancerId::from_index(0)].settings.hash = SelectionHash::Maglev(size);
        Self { scenario: Arc::new(scenario), seed: experiment.seed() }
    }

    /// The same with SYNs that follow the entry of their connection, whatever becomes of its backend, as ordinary address
    /// translation has it: no configuration gives that.
    #[must_use]
    pub fn with_sticky_syns(mut self) -> Self {
        let scenario = Arc::make_mut(&mut self.scenario);
        // Entries of sessions are what SYNs follow. Where hardly any client has two connections they are those of connections.
        scenario.clients.iter_mut().for_each(|group| group.addresses = MANY);
        scenario.balancers[BalancerId::from_index(0)].settings.session_affinity = SessionAffinity::ClientIp;
        scenario.balancers[BalancerId::from_index(0)].settings.tracking.mode = TrackingMode::PerSession;
        scenario.balancers[BalancerId::from_index(0)].settings.tracking.persistence =
            Persistence::AlwaysPersist;
        self
    }

    /// Simulates replications 0 to `count` - 1 on `jobs` threads; gives what each showed, in their order.
    ///
    /// # Errors
    /// If the world can't go on.
    pub fn simulate(&self, count: u32, jobs: NonZeroUsize) -> Result<Vec<RunObservation>, RunError> {
        let next = AtomicU32::new(0);
        let found = Mutex::new(Vec::new());
        let work = || loop {
            let replication = next.fetch_add(1, Ordering::Relaxed);
            if replication >= count {
                return;
            }
            let outcome = Simulation::new(&self.scenario, RunSeed::new(self.seed, replication)).run();
            let observed = outcome.map(|outcome| RunObservation::of_outcome(&self.scenario, &outcome));
            found.lock().expect("nobody panics while holding it").push((replication, observed));
        };
        std::thread::scope(|scope| (0..jobs.get()).for_each(|_| drop(scope.spawn(work))));
        let mut found = found.into_inner().expect("nobody panics while holding it");
        found.sort_by_key(|(replication, _)| *replication);
        found.into_iter().map(|(_, observed)| observed).collect()
    }
}
