//! The event loop: one match over everything that can happen.

use super::clients::Clients;
use super::event::{BackendStep, Event, FlowStep, Tick};
use super::fault::struck;
use super::flow::{FlowState, Flows};
use super::machine::Machine;
use super::outcome::Outcome;
use super::prober::Probers;
use super::queue::EventQueue;
use super::recorder::Recorder;
use super::scenario::{FailureMode, Scenario};
use super::station::Station;
use crate::ids::{BackendId, FlowId, Id, IdVec, PlaceId};
use crate::lb::packet::Endpoint;
use crate::lb::weight::WeightState;
use crate::lb::{Counters, LoadBalancer};
use crate::random::{Purpose, RunSeed};
use crate::time::SimTime;

/// The address of the forwarding rule, 192.168.0.10:80, above all client addresses.
pub(super) const SERVICE: Endpoint = Endpoint { ip: 0xC0A8_000A, port: 80 };

/// How many events ahead the connection of an event is fetched.
const FLOWS_AHEAD: usize = 6;
/// How many events ahead the tracking entry of its next packet is fetched; its connection is there by then.
const PACKETS_AHEAD: usize = 3;

/// One world, which owns everything in it.
#[derive(Debug)]
pub struct Simulation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) queue: EventQueue<Event>,
    pub(super) clients: Clients,
    pub(super) balancer: LoadBalancer,
    pub(super) flows: Flows,
    pub(super) machines: IdVec<BackendId, Machine>,
    pub(super) stations: IdVec<BackendId, Station>,
    pub(super) probers: IdVec<BackendId, Probers>,
    /// Whether a health check judges each backend, if it is configured.
    pub(super) checked: IdVec<BackendId, bool>,
    pub(super) recorder: Recorder,
    /// The backends that each fault strikes.
    struck: Vec<Vec<BackendId>>,
    /// What the load balancer had counted when the measured window ended.
    window_counts: Counters,
    window_peak_entries: u64,
    events: u64,
}

impl<'a> Simulation<'a> {
    /// The world of `scenario` at time 0, with the randomness of `seed`.
    pub fn new(scenario: &'a Scenario, seed: RunSeed) -> Self {
        let check = scenario.health_check;
        let struck: Vec<Vec<BackendId>> =
            scenario.faults.iter().enumerate().map(|(number, fault)| struck(fault, number, seed)).collect();
        let edges = |backend: BackendId| {
            let mine =
                scenario.faults.iter().zip(&struck).filter(move |(_, struck)| struck.contains(&backend));
            mine.flat_map(|(fault, _)| [Some(fault.at), fault.end()]).flatten().collect::<Vec<SimTime>>()
        };
        let machines = scenario.backends.pairs().map(|(id, spec)| {
            let failures = scenario.groups[spec.group].server.failures.clone();
            Machine::new(failures, seed.stream(Purpose::Failures, &spec.name).generator(), edges(id))
        });
        let probers = scenario.backends.iter().map(|spec| {
            let round_trips = &scenario.round_trips[PlaceId::from_index(spec.zone.index())][spec.zone];
            Probers::new(check, round_trips.clone(), seed, &spec.name)
        });
        let mut simulation = Self {
            scenario,
            queue: EventQueue::new(),
            clients: Clients::new(&scenario.clients, seed, scenario.timing.window_end()),
            balancer: LoadBalancer::new(
                scenario.balancer,
                scenario.zones.len(),
                scenario.members(|_| check.initially_healthy),
            )
            .with_hash_key(seed.stream(Purpose::Selection, "load-balancer").word()),
            flows: Flows::default(),
            machines: machines.collect(),
            stations: scenario
                .backends
                .iter()
                .map(|spec| Station::new(&scenario.groups[spec.group].server))
                .collect(),
            probers: probers.collect(),
            checked: scenario.backends.iter().map(|spec| spec.checked).collect(),
            recorder: Recorder::new(scenario),
            struck,
            window_counts: Counters::default(),
            window_peak_entries: 0,
            events: 0,
        };
        simulation.plan();
        simulation
    }

    /// Runs the world to the end of the last measured connection.
    ///
    /// Connections begin until the measured window ends; nothing new begins while the last ones are followed to
    /// their end. At equal times events come before arrivals.
    pub fn run(mut self) -> Outcome {
        let mut now = SimTime::ZERO;
        let end = self.scenario.timing.window_end();
        loop {
            let arrival = self.clients.next_time();
            if let Some((time, event)) = self.queue.pop_until(arrival) {
                assert!(time >= now, "time ran back from {now:?} to {time:?}");
                now = time;
                self.events += 1;
                self.look_ahead();
                self.handle(now, event);
            } else if let Some((client, connection)) = self.clients.take_next(&self.flows) {
                now = arrival;
                self.events += 1;
                let source = self.clients.next_source(client);
                self.prefetch(client, source);
                self.open(now, client, connection);
                continue;
            }
            let quiet = arrival == SimTime::NEVER && !self.recorder.is_waiting();
            if quiet && now >= end {
                break;
            }
        }
        self.finish(now)
    }

    /// Asks the processor to fetch what the next events will need: waiting for memory is most of the cost of an
    /// event where connections are many. Changes nothing.
    #[inline]
    fn look_ahead(&mut self) {
        if let Some(Event::Flow { flow, .. }) = self.queue.ahead(FLOWS_AHEAD) {
            self.flows.prefetch(*flow);
        }
        if let Some(Event::Flow { flow, .. }) = self.queue.ahead(PACKETS_AHEAD) {
            let (client, source) = self.source(*flow);
            self.prefetch(client, source);
        }
    }

    /// Puts everything that is known from the beginning on the event list.
    fn plan(&mut self) {
        let timing = self.scenario.timing;
        self.queue.push(timing.window_start(), Event::Clock(Tick::WindowStarts));
        for (number, fault) in self.scenario.faults.iter().enumerate() {
            let fault_number = u32::try_from(number).expect("fewer than 2^32 faults");
            self.queue.push(fault.at, Event::Fault { fault: fault_number, begins: true });
            if let Some(end) = fault.end() {
                self.queue.push(end, Event::Fault { fault: fault_number, begins: false });
            }
        }
        for (number, operation) in self.scenario.operations.iter().enumerate() {
            let number = u32::try_from(number).expect("fewer than 2^32 operations");
            self.queue.push(operation.at, Event::Operation { number });
        }
        for (backend, spec) in self.scenario.backends.pairs() {
            self.plan_renewal(backend);
            if spec.configured {
                self.hold(SimTime::ZERO, backend);
            }
        }
    }

    fn handle(&mut self, now: SimTime, event: Event) {
        match event {
            Event::Flow { flow, step } => self.step(now, flow, step),
            Event::Backend { backend, step } => match step {
                BackendStep::Renewal => self.renew(now, backend),
                BackendStep::ProbeStarts { prober } => self.probe_starts(now, backend, prober),
                BackendStep::ProbeArrives { prober } => self.probe_arrives(backend, prober),
                BackendStep::ProbeEnds { prober, success } => self.probe_ends(now, backend, prober, success),
                BackendStep::HealthApplies { healthy } => self.apply_health(now, backend, healthy),
            },
            Event::Fault { fault, begins } => self.fault(now, fault as usize, begins),
            Event::Operation { number } => self.operate(now, number as usize),
            Event::Clock(Tick::WindowStarts) => self.window_starts(now),
            Event::Clock(Tick::SampleEnds) => self.sample_ends(now),
        }
    }

    fn step(&mut self, now: SimTime, flow: FlowId, step: FlowStep) {
        self.flows[flow].pending -= 1;
        let state = self.flows[flow].state;
        match (step, state) {
            (FlowStep::ServiceEnds, _) => self.service_ends(now, flow),
            (FlowStep::Fails(cause), FlowState::Failing) => self.fail(now, flow, cause),
            (FlowStep::SynArrives, FlowState::Connecting) => self.syn_arrives(now, flow),
            (FlowStep::SynTimer, FlowState::Connecting) => self.send_syn(now, flow),
            (FlowStep::Established, FlowState::Connecting) => self.established(now, flow),
            (FlowStep::RequestArrives, FlowState::Requesting) => self.request_arrives(now, flow),
            (FlowStep::Response, FlowState::Requesting) => self.responded(now, flow),
            (FlowStep::RequestDue, FlowState::Thinking) => self.request_due(now, flow),
            (FlowStep::RequestTimeout, FlowState::Requesting) => self.request_timeout(now, flow),
            // What was under way for a connection that is failing, or over, comes to nothing; so does the
            // timeout of a request that was answered.
            _ => {}
        }
        self.flows.release(flow);
    }

    fn plan_renewal(&mut self, backend: BackendId) {
        if let Some(time) = self.machines[backend].next_renewal() {
            self.queue.push(time, Event::Backend { backend, step: BackendStep::Renewal });
        }
    }

    fn renew(&mut self, now: SimTime, backend: BackendId) {
        let down = self.machines[backend].renew(now);
        self.plan_renewal(backend);
        self.went_down(now, backend, down);
    }

    fn fault(&mut self, now: SimTime, fault: usize, begins: bool) {
        let mode = self.scenario.faults[fault].mode;
        for index in 0..self.struck[fault].len() {
            let backend = self.struck[fault][index];
            let down = self.machines[backend].fault(mode, begins);
            self.went_down(now, backend, down);
        }
    }

    /// Everything that a backend was doing is lost when it goes down.
    fn went_down(&mut self, now: SimTime, backend: BackendId, down: Option<FailureMode>) {
        let Some(mode) = down else { return };
        for (flow, key) in self.machines[backend].take_exposed() {
            // The slot may be another connection's by now.
            if self.flows[flow].key == key {
                self.interrupt(now, flow, backend, mode);
            }
        }
        self.stations[backend].stop(now);
        while let Some(flow) = self.stations[backend].take_waiting() {
            self.flows[flow].pending -= 1;
            self.interrupt(now, flow, backend, mode);
            self.flows.release(flow);
        }
    }

    fn probe_starts(&mut self, now: SimTime, backend: BackendId, prober: u8) {
        let (arrival, next) = self.probers[backend].start(now, prober);
        self.queue.push(next, Event::Backend { backend, step: BackendStep::ProbeStarts { prober } });
        let Some(arrival) = arrival else {
            let end = now + self.scenario.health_check.timeout;
            let step = BackendStep::ProbeEnds { prober, success: false };
            return self.queue.push(end, Event::Backend { backend, step });
        };
        if self.machines[backend].state_at(arrival).is_some() {
            self.probe_arrives(backend, prober);
        } else {
            self.queue.push(arrival, Event::Backend { backend, step: BackendStep::ProbeArrives { prober } });
        }
    }

    fn probe_arrives(&mut self, backend: BackendId, prober: u8) {
        let (end, success) = self.probers[backend].arrive(prober, self.machines[backend].state());
        self.queue.push(end, Event::Backend { backend, step: BackendStep::ProbeEnds { prober, success } });
    }

    fn probe_ends(&mut self, now: SimTime, backend: BackendId, prober: u8, success: bool) {
        let changed = self.probers[backend].end(prober, success);
        if self.scenario.balancer.weighted {
            let reported = self.scenario.groups[self.scenario.backends[backend].group].weight;
            self.balancer.set_weight(backend, if success { reported } else { WeightState::Unavailable });
        }
        let Some(healthy) = changed else { return };
        let delay = self.scenario.health_check.propagation_delay;
        if delay.is_zero() {
            self.apply_health(now, backend, healthy);
        } else {
            self.queue
                .push(now + delay, Event::Backend { backend, step: BackendStep::HealthApplies { healthy } });
        }
    }

    fn apply_health(&mut self, now: SimTime, backend: BackendId, healthy: bool) {
        if self.probers[backend].is_checking() && self.balancer.set_health(now, backend, healthy) {
            self.recorder.held(now, backend, Some(healthy));
        }
    }

    fn window_starts(&mut self, now: SimTime) {
        self.recorder.window_starts(now);
        self.balancer.restart_counters(now);
        for station in self.stations.iter_mut() {
            station.take_utilization(now, self.scenario.timing.duration);
        }
        self.plan_sample_end();
    }

    fn sample_ends(&mut self, now: SimTime) {
        let length = self.recorder.sample_length(now);
        for backend in self.stations.ids() {
            if let Some(utilization) = self.stations[backend].take_utilization(now, length) {
                self.recorder.utilization(backend, utilization, length);
            }
        }
        self.recorder.sample_ends(now);
        if self.recorder.next_sample_end().is_none() {
            self.window_counts = self.balancer.counters();
            self.window_peak_entries = self.balancer.peak_entries();
        }
        self.plan_sample_end();
    }

    fn plan_sample_end(&mut self) {
        if let Some(time) = self.recorder.next_sample_end() {
            self.queue.push(time, Event::Clock(Tick::SampleEnds));
        }
    }

    fn finish(self, now: SimTime) -> Outcome {
        Outcome {
            conntrack_lookups: self.window_counts.lookups,
            conntrack_hits: self.window_counts.hits,
            conntrack_peak_entries: self.window_peak_entries,
            health_transitions: self.window_counts.health_transitions,
            failover_switches: self.window_counts.failover_switches,
            events: self.events,
            ..self.recorder.finish(now)
        }
    }
}
