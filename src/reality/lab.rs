//! A laboratory: the world of one experiment on the kernel's network, for one run.
//!
//! It is a process in namespaces of its own, of users, processes, mounts and networks, so that it needs no rights and
//! leaves nothing behind: all ends with its first process, and that ends when whoever began it closes its standard input,
//! however that comes about. Its threads are the servers, the clients, the probers and the controller, each in the network
//! of its place; the load balancer's network is that of the process.

mod client;
mod clock;
mod controller;
pub(super) mod data_plane;
mod dial;
mod line;
mod message;
pub(super) mod network;
mod prober;
mod server;

use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::observation::RunObservation;
use super::scenarios::Forwarding;
use super::world::World;
use crate::experiment::{Experiment, Overrides, Source};
use crate::ids::{BackendId, ClientId, Id};
use crate::random::{Purpose, RunSeed};
use crate::sim::retransmission::{LINEAR_TIMEOUTS, SynRetransmission};
use crate::sim::scenario::Scenario;
use crate::time::SimTime;
use client::{ClientHost, ClientRecord};
use clock::Clock;
use controller::Controller;
use data_plane::DataPlane;
use line::Line;
use network::{Host, LinearTimeouts};
use server::Backend;

/// Why a laboratory has no result.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct LabError(pub(super) String);

/// What a laboratory is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LabOrder {
    /// The experiment.
    pub experiment: String,
    /// The number of the cell of it that is run.
    pub cell: usize,
    /// How packets are forwarded.
    pub forwarding: Forwarding,
    /// The number of the run, from which everything random follows.
    pub run: u32,
}

/// What the controller is told.
enum Event {
    /// A probe has its result.
    Probed { backend: BackendId, prober: u8, at: SimTime, success: bool },
    /// The last connection of a client group is over.
    Ended { client: ClientId, record: Box<ClientRecord> },
    /// A part of the laboratory does not work.
    Broken(LabError),
}

/// Replications of the simulation have lower numbers.
const FIRST_RUN: u32 = 1 << 20;
/// From the last preparation to time 0: what has been started settles.
const LEAD: Duration = Duration::from_millis(500);

/// Runs the world of `order` in the namespaces of this process.
///
/// # Errors
/// If the network can't be set up, or breaks.
pub fn run(order: &LabOrder) -> Result<RunObservation, LabError> {
    let World { scenario, seed } = world(order)?;
    let seed = RunSeed::new(seed, FIRST_RUN + order.run);
    let has_distances = line::has_distances(&scenario);
    network::build(&hosts(&scenario), has_distances)?;
    let hash_seed = seed.stream(Purpose::Selection, "laboratory").word() as u32;
    let data_plane = DataPlane::install(&scenario, order.forwarding, hash_seed)?;
    let (events, told) = channel();
    let clock = Clock::starting_after(LEAD);
    let mut orders = Vec::new();
    for backend in scenario.backends.ids() {
        orders.push(serve(&scenario, backend, seed, clock, &events)?);
    }
    if has_distances {
        let (line, scenario) = (Line::open()?, Arc::clone(&scenario));
        spawn("line", &events, move || line.carry(&scenario, seed, clock))?;
    }
    spawn("probers", &events, {
        let (scenario, events) = (Arc::clone(&scenario), events.clone());
        move || {
            let backends = scenario.backends.pairs();
            let backends = backends.filter(|(id, _)| scenario.membership(*id).judge.is_some());
            let backends: Vec<_> = backends.map(|(id, spec)| (id, spec.name.clone())).collect();
            prober::probe(*scenario.first_check(), &backends, seed, clock, &events)
        }
    })?;
    for client in scenario.clients.ids() {
        let (scenario, told) = (Arc::clone(&scenario), events.clone());
        spawn("clients", &events, move || {
            let group = (client, &scenario.clients[client]);
            ClientHost::new(group, scenario.timing, scenario.backends.len(), seed, clock).run(seed, &told)
        })?;
    }
    Controller::new(&scenario, seed, clock, data_plane, orders).run(&told)
}

fn world(order: &LabOrder) -> Result<World, LabError> {
    let source = Source { name: "the experiment".to_owned(), text: order.experiment.clone() };
    let experiment = Experiment::parse(source, &Overrides::default());
    let experiment = experiment.map_err(|error| LabError(error.render(false)))?;
    let cell = experiment.cells().get(order.cell);
    let cell = cell.ok_or_else(|| LabError(format!("the experiment has no cell number {}", order.cell)))?;
    Ok(World::of_cell(&experiment, cell))
}

fn hosts(scenario: &Scenario) -> Vec<(Host, LinearTimeouts)> {
    let backends = (0..scenario.backends.len()).map(|number| (Host::Backend(number), 0));
    let clients = scenario.clients.pairs().map(|(client, group)| {
        let is_linear = group.syn_retransmission == SynRetransmission::Linux;
        (Host::Client(client.index()), if is_linear { LINEAR_TIMEOUTS } else { 0 })
    });
    backends.chain(clients).chain([(Host::Probers, 0)]).collect()
}

/// Starts a backend; gives the end that its orders go into.
fn serve(
    scenario: &Scenario,
    backend: BackendId,
    seed: RunSeed,
    clock: Clock,
    events: &Sender<Event>,
) -> Result<UnixStream, LabError> {
    let pair = UnixStream::pair().map_err(|error| LabError(format!("can't give orders: {error}")))?;
    let (orders, mut taken) = pair;
    let server = Backend {
        number: backend.index(),
        service_time: scenario.server(backend).service_time.clone(),
        draws: seed.stream(Purpose::Failures, &scenario.backends[backend].name).generator(),
        clock,
    };
    spawn("backend", events, move || server.serve(&mut taken))?;
    Ok(orders)
}

/// Runs `part` on a thread of its own, and tells if it breaks.
fn spawn(
    name: &str,
    events: &Sender<Event>,
    part: impl FnOnce() -> Result<(), LabError> + Send + 'static,
) -> Result<(), LabError> {
    let events = events.clone();
    let thread = std::thread::Builder::new().name(name.to_owned()).stack_size(256 * 1024);
    let spawned = thread.spawn(move || {
        if let Err(error) = part() {
            // Who does not listen any more has ended already.
            let _ = events.send(Event::Broken(error));
        }
    });
    spawned.map(drop).map_err(|error| LabError(format!("can't start a thread: {error}")))
}
