//! The event loop: one match over everything that can happen, which hands each handler the parts that it changes.

use super::autoscaler::Autoscaler;
use super::calendar::Calendar;
use super::clients::{Clients, NewConnection};
use super::connection::Sent;
use super::event::{BackendStep, ClockStep, Event, FlowStep};
use super::fault::Faults;
use super::flow::{FlowState, Flows};
use super::machines::Machines;
use super::network::Network;
use super::operate::change;
use super::outcome::Outcome;
use super::probing::{ProberId, Probing};
use super::recorder::Recorder;
use super::run_error::RunError;
use super::scenario::Scenario;
use super::service::deliver;
use crate::ids::{BackendId, ClientId, FlowId};
use crate::lb::LoadBalancer;
use crate::lb::change::Change;
use crate::lb::packet::PacketKind;
use crate::random::{Purpose, RunSeed};
use crate::time::{SimDuration, SimTime};

/// After so many events, a few milliseconds of real time, who watches is told the time.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 12;

/// One world, in parts.
#[derive(Debug)]
pub struct Simulation<'a> {
    /// What never changes in a run.
    scenario: &'a Scenario,
    /// What time it is, and what is to come.
    calendar: Calendar,
    /// Who opens connections, and when.
    clients: Clients,
    /// The connections under way.
    flows: Flows<'a>,
    /// The load balancer and the links.
    network: Network,
    /// The backends.
    machines: Machines<'a>,
    /// Who probes them.
    probing: Probing<'a>,
    /// What goes wrong.
    faults: Faults,
    autoscalers: Vec<Autoscaler>,
    /// What is measured: it is told, and never asked.
    recorder: Recorder,
}

impl<'a> Simulation<'a> {
    /// The world of `scenario` at time 0, with the randomness of `seed`.
    pub fn new(scenario: &'a Scenario, seed: RunSeed) -> Self {
        let faults = Faults::new(scenario, seed);
        let mut simulation = Self {
            scenario,
            calendar: Calendar::new(),
            clients: Clients::new(&scenario.clients, seed, scenario.timing),
            flows: Flows::new(&scenario.clients),
            network: Network::new(scenario, seed.stream(Purpose::Selection, "load-balancer").word()),
            machines: Machines::new(scenario, seed, faults.edges()),
            probing: Probing::new(scenario, seed),
            faults,
            autoscalers: scenario.groups.ids().filter_map(|group| Autoscaler::of(scenario, group)).collect(),
            recorder: Recorder::new(scenario),
        };
        simulation.plan();
        simulation
    }

    /// Puts everything that is known from the beginning on the event list.
    fn plan(&mut self) {
        let Self { scenario, calendar, machines, probing, recorder, .. } = self;
        calendar.plan(scenario.timing.window_start(), Event::Clock(ClockStep::WindowStarts));
        self.faults.plan(calendar);
        for (operation, number) in scenario.operations.iter().zip(0_u32..) {
            calendar.plan(operation.at, Event::Operation { number });
        }
        for (autoscaler, number) in self.autoscalers.iter().zip(0_u32..) {
            autoscaler.plan(number, calendar);
        }
        for (backend, spec) in scenario.backends.pairs() {
            machines.plan_renewal(backend, calendar);
            if spec.configured {
                probing.hold(backend, calendar, recorder);
            }
        }
    }

    /// Runs the world to the end of the last measured connection.
    ///
    /// Connections begin until the measured window ends; nothing new begins while the last ones are followed to
    /// their end. At equal times events come before arrivals.
    ///
    /// # Errors
    /// If the world comes to a state from which it can't go on.
    pub fn run(self) -> Result<Outcome, RunError> {
        self.run_watched(&|_| ())
    }

    /// The same; `watch` is told the time now and then.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_watched(mut self, watch: &dyn Fn(SimTime)) -> Result<Outcome, RunError> {
        self.run_to_end(watch).map_err(|error| *error)?;
        Ok(self.recorder.finish(self.calendar.now(), self.calendar.count()))
    }

    fn run_to_end(&mut self, watch: &dyn Fn(SimTime)) -> Result<(), Box<RunError>> {
        self.clients.begin(&self.flows)?;
        let end = self.scenario.timing.window_end();
        // Whether more is in memory than fits into a processor's cache, so that looking ahead pays.
        let mut is_large = false;
        loop {
            if self.calendar.count().is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                watch(self.calendar.now());
                is_large = self.network.balancer.is_large() || self.flows.is_large();
            }
            let arrival = self.clients.next_time();
            if let Some(event) = self.calendar.next(arrival) {
                if is_large {
                    look_ahead(
                        &mut self.calendar,
                        &self.clients,
                        &self.flows,
                        &mut self.network,
                        &self.recorder,
                    );
                }
                self.handle(event)?;
            } else if let Some((client, connection)) = self.clients.take_next(&self.flows)? {
                self.calendar.advance(arrival);
                if is_large {
                    for packet in self.clients.new_packets(client) {
                        self.network.balancer.prefetch(&packet);
                    }
                }
                self.arrive(client, connection);
                continue;
            }
            let quiet = arrival == SimTime::NEVER && !self.clients.are_waiting();
            if quiet && self.calendar.now() >= end {
                return Ok(());
            }
        }
    }

    /// A client is to open a connection; it does if it can.
    #[inline]
    fn arrive(&mut self, client: ClientId, connection: NewConnection) {
        if self.clients.are_backends() && self.is_dead(client, connection.address) {
            self.clients.not_opened(self.calendar.now(), client, connection);
        } else {
            self.open(client, connection);
        }
    }

    /// Whether a client is itself a backend that does nothing any more.
    fn is_dead(&self, client: ClientId, address: u32) -> bool {
        let own = self.scenario.clients[client].own_backends.get(address as usize);
        own.is_some_and(|own| self.machines.is_silent(*own))
    }

    /// A client opens a connection.
    fn open(&mut self, client: ClientId, connection: NewConnection) {
        let Self { calendar, clients, flows, network, machines, recorder, .. } = self;
        let mut flow = clients.open(calendar.now(), client, connection, flows);
        recorder.opened(&flow);
        let sent = clients.start(&mut flow, network, calendar, recorder);
        machines.receive(sent, &mut flow, calendar);
    }

    fn handle(&mut self, event: Event) -> Result<(), Box<RunError>> {
        let Self { scenario, calendar, flows, network, machines, probing, recorder, .. } = self;
        let now = calendar.now();
        match event {
            Event::Flow { flow, step } => return self.step(flow, step),
            Event::Backend { backend, step } => self.step_of_backend(backend, step),
            Event::Fault { strike, begins } => {
                for backend in self.faults.strike(now, (strike, begins), network, machines) {
                    machines.went_down(backend, flows, calendar);
                }
            }
            Event::Autoscale { number } => {
                let removed = self.autoscalers[number as usize].scale(number, machines, calendar);
                change(&removed, &mut network.balancer, probing, calendar, recorder);
            }
            Event::Operation { number } => {
                let changes = &scenario.operations[number as usize].changes;
                change(changes, &mut network.balancer, probing, calendar, recorder);
            }
            Event::Clock(step) => {
                match step {
                    ClockStep::WindowStarts => window_starts(now, network, machines, recorder),
                    ClockStep::SampleEnds => sample_ends(now, network, machines, recorder),
                }
                let timing = &scenario.timing;
                if now < timing.window_end() {
                    calendar.plan(timing.sample_end(now), Event::Clock(ClockStep::SampleEnds));
                } else {
                    window_ends(now, timing.duration, machines, recorder);
                }
            }
        }
        Ok(())
    }

    fn step_of_backend(&mut self, backend: BackendId, step: BackendStep) {
        let Self { calendar, flows, network, machines, probing, recorder, .. } = self;
        let id = |prober| ProberId { backend, prober };
        let health = match step {
            BackendStep::Renewal => {
                if machines.renew(backend, calendar) {
                    machines.went_down(backend, flows, calendar);
                }
                None
            }
            BackendStep::Boots => {
                self.autoscalers.iter_mut().for_each(|autoscaler| autoscaler.booted(calendar.now(), backend));
                machines.replace(backend, flows, calendar);
                change(&[Change::Add(backend)], &mut network.balancer, probing, calendar, recorder);
                None
            }
            BackendStep::SharedEnds => {
                machines.shared_ends(backend, flows, probing, calendar);
                None
            }
            BackendStep::ProbeStarts { prober } => {
                probing.probe_starts(id(prober), network, machines, calendar);
                None
            }
            BackendStep::ProbeArrives { prober } => {
                probing.probe_arrives(id(prober), machines, calendar);
                None
            }
            BackendStep::ProbeServed { prober } => {
                if probing.probe_served(id(prober), machines, calendar) {
                    machines.serve_next(backend, flows, probing, calendar);
                }
                None
            }
            BackendStep::ProbeTimesOut { prober } => {
                if !probing.is_awaiting(id(prober)) {
                    return;
                }
                probing.probe_ends(id(prober), false, &mut network.balancer, calendar)
            }
            BackendStep::ProbeEnds { prober, success } => {
                probing.probe_ends(id(prober), success, &mut network.balancer, calendar)
            }
            BackendStep::HealthApplies { healthy } => Some(healthy),
        };
        // The load balancer takes notice of a backend that is checked still.
        let now = calendar.now();
        if let Some(healthy) = health
            && probing.is_checking(backend)
            && network.balancer.set_health(now, backend, healthy)
        {
            recorder.held(now, backend, Some(healthy));
        }
    }

    #[inline]
    fn step(&mut self, id: FlowId, step: FlowStep) -> Result<(), Box<RunError>> {
        let Self { calendar, clients, flows, network, machines, probing, recorder, .. } = self;
        let flow = &mut flows.named(id);
        let sent = match (step, flow.state) {
            (FlowStep::SynTimer, FlowState::Connecting) => clients.send_syn(flow, network, calendar),
            (FlowStep::Established, FlowState::Connecting) => {
                clients.established(flow, network, calendar, recorder)
            }
            (FlowStep::Resend, FlowState::Requesting) => {
                clients.resend_request(flow, network, calendar, recorder)
            }
            (FlowStep::Response, FlowState::Requesting) => {
                clients.responded(flow, network, calendar, recorder)
            }
            (FlowStep::RequestDue, FlowState::Thinking) => {
                clients.request_due(flow, network, calendar, recorder)
            }
            (FlowStep::SynArrives, FlowState::Connecting) => {
                machines.syn_arrives(flow, calendar);
                Sent::Nothing
            }
            (FlowStep::RequestArrives, FlowState::Requesting) => {
                machines.request_arrives(calendar.now(), flow, calendar);
                Sent::Nothing
            }
            (FlowStep::Answer, FlowState::Requesting) => {
                if !machines.knows(flow) {
                    flow.await_request_timeout(calendar);
                } else if clients.answer(flow, network, calendar) {
                    deliver(calendar.now(), flow, calendar);
                }
                Sent::Nothing
            }
            (FlowStep::ServiceEnds, _) => {
                if let Some(backend) = machines.service_ends(flow, calendar) {
                    machines.serve_next(backend, flows, probing, calendar);
                }
                flows.release(id);
                return Ok(());
            }
            (FlowStep::Fails(cause), FlowState::Failing) => {
                clients.fail(calendar.now(), flow, cause, recorder);
                return self.try_again(id);
            }
            (FlowStep::RequestTimeout, _) => {
                if clients.request_timeout(flow, calendar, recorder) {
                    return self.try_again(id);
                }
                Sent::Nothing
            }
            // What was under way for a connection that is failing, or over, comes to nothing; so does the
            // timeout of a request that was answered.
            _ => Sent::Nothing,
        };
        machines.receive(sent, flow, calendar);
        flows.release(id);
        Ok(())
    }

    /// The client of a connection that has failed may try again.
    ///
    /// # Errors
    /// If it is out of ports.
    fn try_again(&mut self, id: FlowId) -> Result<(), Box<RunError>> {
        let flow = &self.flows[id];
        let client = flow.client;
        if let Some(again) = self.clients.retry(self.calendar.now(), &self.flows, flow)? {
            self.open(client, again);
        }
        self.flows.release(id);
        Ok(())
    }
}

/// Asks the processor to fetch what the next events will need: waiting for memory is most of the cost of an
/// event where connections are many. Changes nothing.
///
/// It looks at many events at a time, so that for most events it has nothing to do.
#[inline]
fn look_ahead(
    calendar: &mut Calendar,
    clients: &Clients,
    flows: &Flows<'_>,
    network: &mut Network,
    recorder: &Recorder,
) {
    if let Some(events) = calendar.soon() {
        fetch_connections(events, flows);
    }
    if let Some(events) = calendar.sooner() {
        fetch_entries(events, clients, flows, &mut network.balancer, recorder);
    }
}

#[inline(never)]
fn fetch_connections(events: impl Iterator<Item = Event>, flows: &Flows<'_>) {
    for event in events {
        if let Event::Flow { flow, step } = event
            && !step.follows_closely()
        {
            flows.prefetch(flow);
        }
    }
}

#[inline(never)]
fn fetch_entries(
    events: impl Iterator<Item = Event>,
    clients: &Clients,
    flows: &Flows<'_>,
    balancer: &mut LoadBalancer,
    recorder: &Recorder,
) {
    for event in events {
        if let Event::Flow { flow, step } = event
            && step.sends_packet()
            && !step.follows_closely()
        {
            let flow = &flows[flow];
            balancer.prefetch(&clients.packet(flow, PacketKind::Data));
            if let Some(backend) = flow.backend {
                recorder.prefetch(backend);
            }
        }
    }
}

/// The measured window begins.
fn window_starts(now: SimTime, network: &mut Network, machines: &mut Machines<'_>, recorder: &mut Recorder) {
    recorder.window_starts(now);
    network.balancer.restart_counters(now);
    machines.stations.iter_mut().for_each(|station| station.restart(now));
}

/// A sample of the timeline ends.
fn sample_ends(now: SimTime, network: &Network, machines: &mut Machines<'_>, recorder: &mut Recorder) {
    for (backend, station) in machines.stations.pairs_mut() {
        if let Some(work) = station.take_work(now) {
            recorder.worked(now, backend, work);
        }
    }
    recorder.sample_ends(now, network.balancer.counters(), network.balancer.peak_entries());
}

/// The measured window ends, which was `length` long.
fn window_ends(now: SimTime, length: SimDuration, machines: &mut Machines<'_>, recorder: &mut Recorder) {
    for (backend, station) in machines.stations.pairs_mut() {
        if let Some(waiting) = station.waiting(now, length) {
            recorder.waited(backend, waiting);
        }
    }
}
