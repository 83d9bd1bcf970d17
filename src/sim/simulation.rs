//! The event loop: one match over everything that can happen, which hands each handler the parts that it changes.

mod ending;

use super::autoscaler::Autoscaler;
use super::calendar::Calendar;
use super::clients::NewConnection;
use super::connection::Sent;
use super::event::{BackendStep, Event, FlowStep};
use super::fault::Faults;
use super::flow::{FlowState, Flows};
use super::front::FrontSide;
use super::historian::Historian;
use super::history::Trigger;
use super::machines::Machines;
use super::operate::change;
use super::outcome::Outcome;
use super::packets::TracedPacket;
use super::run_error::{RunError, RunResult};
use super::scenario::{InitialHealth, Scenario};
use super::service::deliver;
use super::tracer::Tracer;
use crate::ids::{BackendId, ClientId, FlowId};
use crate::lb::packet::PacketKind;
use crate::random::RunSeed;
use crate::time::SimTime;

/// After so many events, a few milliseconds of real time, who watches is told the time.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 12;

/// One world, in parts.
#[derive(Debug)]
pub struct Simulation<'a> {
    scenario: &'a Scenario,
    calendar: Calendar,
    front: FrontSide,
    flows: Flows<'a>,
    machines: Machines<'a>,
    faults: Faults,
    autoscalers: Vec<Autoscaler>,
    historian: Historian,
}

impl<'a> Simulation<'a> {
    /// The world of `scenario` at time 0, with the randomness of `seed`.
    pub fn new(scenario: &'a Scenario, seed: RunSeed) -> Self {
        let mut faults = Faults::new(scenario, seed);
        let mut front = FrontSide::new(scenario, seed);
        let mut machines = Machines::new(scenario, seed, faults.edges());
        for strike in faults.under_way() {
            let _nobody_is_connected =
                faults.strike(SimTime::ZERO, (strike, true), &mut front, &mut machines);
        }
        if scenario.initial_health == InitialHealth::Stationary {
            machines.settle(&mut front);
        }
        let mut simulation = Self {
            scenario,
            calendar: Calendar::new(),
            historian: Historian::new(&front.clients, &front.balancers, &machines),
            front,
            flows: Flows::new(&scenario.clients),
            machines,
            faults,
            autoscalers: scenario.groups.ids().filter_map(|group| Autoscaler::of(scenario, group)).collect(),
        };
        simulation.plan();
        simulation
    }

    fn plan(&mut self) {
        let Self { scenario, calendar, front, machines, .. } = self;
        // The window is half-open: both ends come before whatever else happens at their time.
        calendar.plan(scenario.timing.window_start(), Event::WindowStarts);
        calendar.plan(scenario.timing.window_end(), Event::WindowEnds);
        self.faults.plan(calendar);
        for (number, operation) in (0..).zip(&scenario.operations) {
            calendar.plan(operation.at, Event::Operation { number });
        }
        for (number, autoscaler) in (0..).zip(&self.autoscalers) {
            autoscaler.plan(number, calendar);
        }
        for backend in scenario.backends.ids() {
            machines.plan_renewal(backend, calendar);
            for balancer in front.balancers.ids() {
                if front.balancers.is_member(balancer, backend) {
                    let judge = front.balancers.judge(balancer, backend);
                    let healthy = machines.begins_healthy(judge, backend);
                    machines.hold(
                        (balancer, backend, healthy),
                        &front.balancers,
                        calendar,
                        &mut front.recorder,
                    );
                }
            }
        }
    }

    /// Runs the world to the end of the last measured connection. Connections begin until the measured window ends. At
    /// equal times events come before arrivals.
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
        self.run_to_end::<false>(watch).map_err(|error| *error)?;
        let now = self.calendar.now();
        let mut history = self.historian.finish(now);
        let mut outcome = self.front.recorder.finish(now, self.calendar.count());
        for seen in &mut outcome.health {
            seen.detections = history.detected.remove(&(seen.judge, seen.backend)).unwrap_or_default();
        }
        Ok(Outcome { history, ..outcome })
    }

    /// The same for the first so many connections of the measured window alone, packet by packet.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_traced(mut self, connections: usize) -> Result<Vec<TracedPacket>, RunError> {
        self.front.trace(connections);
        self.run_to_end::<true>(&|_| ()).map_err(|error| *error)?;
        Ok(self.front.tracer.map(Tracer::finish).unwrap_or_default())
    }

    fn run_to_end<const TRACED: bool>(&mut self, watch: &dyn Fn(SimTime)) -> RunResult<()> {
        self.front.clients.begin(&self.flows)?;
        let end = self.scenario.timing.window_end();
        // Whether more is in memory than fits into a processor's cache, so that looking ahead pays.
        let mut is_large = false;
        let mut next_look = 0;
        loop {
            if self.calendar.count().is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                watch(self.calendar.now());
                is_large = self.front.balancers.is_large() || self.flows.is_large();
            }
            let arrival = self.front.clients.next_time();
            if let Some(event) = self.calendar.next(arrival) {
                if is_large {
                    look_ahead(&mut self.calendar, &mut self.front, &self.flows);
                }
                if TRACED {
                    self.handle_traced(event)?;
                } else {
                    self.handle(event)?;
                }
            } else if let Some((client, connection)) = self.front.clients.take_next(&self.flows)? {
                self.calendar.advance(arrival);
                if is_large {
                    let FrontSide { clients, balancers, .. } = &mut self.front;
                    for packet in clients.new_packets(client) {
                        balancers.sole_mut().prefetch(&packet);
                    }
                }
                self.arrive(client, connection);
                continue;
            } else {
                return Err(self.never_ends());
            }
            let is_traced = TRACED && self.front.tracer.as_ref().is_some_and(Tracer::is_done);
            let is_after = arrival == SimTime::NEVER && self.calendar.now() >= end;
            if is_traced || (is_after && !self.front.clients.are_waiting()) {
                return Ok(());
            }
            if is_after && self.calendar.count() >= next_look {
                if self.is_decided() {
                    return self.end_the_rest::<TRACED>();
                }
                next_look = self.next_look();
            }
        }
    }

    #[inline(always)]
    fn arrive(&mut self, client: ClientId, connection: NewConnection) {
        let clients = &mut self.front.clients;
        // The client may itself be a backend that does nothing any more. One that only serves nothing calls on.
        if clients.are_backends()
            && let Some(own) = self.scenario.clients[client].own_backends.get(connection.address as usize)
            && self.machines.machines[*own].is_dead()
        {
            clients.not_opened(self.calendar.now(), client, connection);
        } else {
            self.open(client, connection);
        }
    }

    fn open(&mut self, client: ClientId, connection: NewConnection) {
        let Self { calendar, front, flows, machines, .. } = self;
        let mut flow = front.clients.open(calendar.now(), client, connection, flows);
        front.recorder.opened(&flow);
        let sent = front.start(&mut flow, calendar);
        machines.receive(sent, &mut flow, calendar);
    }

    #[inline(never)]
    fn handle_traced(&mut self, event: Event) -> RunResult<()> {
        let Event::Flow { flow: id, step } = event else { return self.handle(event) };
        let (now, key) = (self.calendar.now(), self.flows[id].key);
        if let Some(tracer) = &mut self.front.tracer {
            tracer.begins(now, &self.flows[id], step);
        }
        self.handle(event)?;
        let flow = &self.flows[id];
        if let Some(tracer) = self.front.tracer.as_mut().filter(|_| flow.key == key) {
            tracer.ends(now, flow, step);
        }
        Ok(())
    }

    fn handle(&mut self, event: Event) -> RunResult<()> {
        if let Event::Flow { flow, step } = event {
            return self.step(flow, step);
        }
        self.change(event);
        Ok(())
    }

    /// Something happens that is no connection's: rarely, so that it stands apart.
    #[inline(never)]
    fn change(&mut self, event: Event) {
        let Self { scenario, calendar, front, flows, machines, .. } = self;
        let now = calendar.now();
        match event {
            Event::Flow { .. } => {}
            Event::Backend { backend, step } => self.step_of_backend(backend, step),
            Event::Fault { strike, begins } => {
                let down = self.faults.strike(now, (strike, begins), front, machines);
                for backend in &down {
                    machines.went_down(*backend, flows, calendar);
                }
                machines.hang_up(&down, flows, calendar);
                self.historian.look(now, None, &mut front.balancers, machines);
            }
            Event::Autoscale { number } => {
                let removed = self.autoscalers[number as usize].scale(number, machines, calendar);
                let removed = front.balancers.without(&removed);
                change(&removed, front, machines, calendar);
                self.historian.scaled(now, &removed);
                self.historian.look(now, Some(Trigger::Autoscaler), &mut front.balancers, machines);
            }
            Event::Operation { number } => {
                change(&scenario.operations[number as usize].changes, front, machines, calendar);
                self.historian.operates(now, number);
                self.historian.look(now, Some(Trigger::Operation(number)), &mut front.balancers, machines);
            }
            Event::WindowStarts => {
                front.recorder.window_starts(now);
                front.balancers.restart_counters(now);
                self.historian.window_starts(&mut front.balancers);
                machines.stations.iter_mut().for_each(|station| station.restart(now));
                plan_sample(scenario, calendar);
            }
            Event::SampleEnds => {
                front.recorder.sample_ends(now, &front.balancers, &mut machines.stations);
                plan_sample(scenario, calendar);
            }
            Event::WindowEnds => {
                front.recorder.sample_ends(now, &front.balancers, &mut machines.stations);
                front.recorder.window_ends(now, &machines.stations);
            }
        }
    }

    fn step_of_backend(&mut self, backend: BackendId, step: BackendStep) {
        let Self { scenario, calendar, front, flows, machines, .. } = self;
        match step {
            BackendStep::Renewal => machines.renew(backend, flows, calendar, &mut front.recorder),
            BackendStep::Boots => {
                self.autoscalers.iter_mut().for_each(|autoscaler| autoscaler.booted(calendar.now(), backend));
                machines.replace(backend, flows, calendar, &mut front.recorder);
                let added = front.balancers.with(backend, scenario);
                change(&added, front, machines, calendar);
                self.historian.scaled(calendar.now(), &added);
            }
            BackendStep::SharedEnds => machines.shared_ends(backend, flows, calendar),
            BackendStep::ProbeStarts { prober } => machines.probe_starts(backend, prober, front, calendar),
            BackendStep::ProbeSendsAgain { prober } => {
                machines.probe_sends_again(backend, prober, front, calendar);
            }
            BackendStep::ProbeArrives { prober } => machines.probe_arrives(backend, prober, calendar),
            BackendStep::ProbeServed { prober } => machines.probe_served(backend, prober, flows, calendar),
            BackendStep::ProbeTimesOut { prober } => {
                if machines.probers[(prober.judge, backend)].is_awaiting(prober) {
                    machines.probe_ends(backend, (prober, false), front, calendar);
                }
            }
            BackendStep::ProbeEnds { prober, success } => {
                machines.probe_ends(backend, (prober, success), front, calendar);
            }
            BackendStep::HealthApplies { judge, healthy } => {
                machines.health_applies(calendar.now(), backend, (judge, healthy), front);
            }
        }
        let Self { calendar, front, machines, historian, .. } = self;
        if matches!(step, BackendStep::Renewal | BackendStep::Boots) || historian.is_behind(&front.balancers)
        {
            let cause =
                if step == BackendStep::Boots { Trigger::Autoscaler } else { Trigger::Backend(backend) };
            historian.look(calendar.now(), Some(cause), &mut front.balancers, machines);
        }
    }

    #[inline]
    fn step(&mut self, id: FlowId, step: FlowStep) -> RunResult<()> {
        let Self { calendar, front, flows, machines, .. } = self;
        let flow = &mut flows.named(id);
        let sent = match (step, flow.state) {
            (FlowStep::SynTimer, FlowState::Connecting) => front.syn_timer(flow, calendar),
            (FlowStep::Established, FlowState::Connecting) => front.established(flow, calendar),
            (FlowStep::Resend, FlowState::Requesting) => front.resend_request(flow, calendar),
            (FlowStep::Response, FlowState::Requesting) => front.responded(flow, calendar),
            (FlowStep::RequestDue, FlowState::Thinking) => front.request_due(flow, calendar),
            (FlowStep::SynArrives, FlowState::Connecting) => {
                machines.syn_arrives(flow, calendar);
                Sent::Nothing
            }
            (FlowStep::SynAck | FlowStep::SynAckTimer, FlowState::Connecting) => {
                match (machines.knows(flow), step) {
                    (true, _) => front.answer_syn(flow, step, machines, calendar),
                    // A machine that has failed since sends nothing.
                    (false, FlowStep::SynAck) => flow.await_syn_timer(calendar),
                    (false, _) => {}
                }
                Sent::Nothing
            }
            (FlowStep::RequestArrives, FlowState::Requesting) => {
                machines.request_arrives(calendar.now(), flow, calendar);
                Sent::Nothing
            }
            (FlowStep::Answer, FlowState::Requesting) => {
                if !machines.knows(flow) {
                    flow.await_request_timeout(calendar);
                } else if front.answer(flow, machines, calendar) {
                    deliver(calendar.now(), flow, calendar);
                }
                Sent::Nothing
            }
            (FlowStep::ServiceEnds, _) => {
                if let Some(backend) = machines.service_ends(flow, calendar) {
                    machines.serve_next(backend, flows, calendar);
                }
                flows.release(id);
                return Ok(());
            }
            (FlowStep::Fails(cause), FlowState::Failing) => {
                front.fail(calendar.now(), flow, cause);
                return self.try_again(id);
            }
            (FlowStep::RequestTimeout, _) if front.request_timeout(flow, calendar) => {
                return self.try_again(id);
            }
            // What was under way for a connection that fails or is over comes to nothing, and so do late timeouts.
            _ => Sent::Nothing,
        };
        machines.receive(sent, flow, calendar);
        flows.release(id);
        Ok(())
    }

    /// The client of a failed connection may try again.
    fn try_again(&mut self, id: FlowId) -> RunResult<()> {
        let flow = &self.flows[id];
        let client = flow.client;
        if let Some(again) = self.front.clients.retry(self.calendar.now(), &self.flows, flow) {
            self.open(client, again);
        }
        self.flows.release(id);
        Ok(())
    }
}

/// The next sample ends, if the window does not end with it.
fn plan_sample(scenario: &Scenario, calendar: &mut Calendar) {
    let end = scenario.timing.sample_end(calendar.now());
    if end < scenario.timing.window_end() {
        calendar.plan(end, Event::SampleEnds);
    }
}

/// Fetches ahead what the next events need, many at a time: where connections are many, most of an event's cost is
/// waiting for memory. Changes nothing.
#[inline]
fn look_ahead(calendar: &mut Calendar, front: &mut FrontSide, flows: &Flows<'_>) {
    if let Some(events) = calendar.soon() {
        fetch_connections(events, flows);
    }
    if let Some(events) = calendar.sooner() {
        fetch_entries(events, front, flows);
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
fn fetch_entries(events: impl Iterator<Item = Event>, front: &mut FrontSide, flows: &Flows<'_>) {
    for event in events {
        if let Event::Flow { flow, step } = event
            && step.sends_packet()
            && !step.follows_closely()
        {
            let flow = &flows[flow];
            front.balancers.sole_mut().prefetch(&front.clients.packet(flow, PacketKind::Data));
            if let Some(backend) = flow.backend {
                front.recorder.prefetch(backend);
            }
        }
    }
}
