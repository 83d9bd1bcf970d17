//! The event loop: one match over everything that can happen.

use super::autoscaler::Autoscaler;
use super::clients::Clients;
use super::event::{BackendStep, Event, FlowStep, Tick};
use super::fault::{Strike, StrikeEffect, strikes};
use super::flow::{FlowState, Flows};
use super::links::Links;
use super::machine::Machine;
use super::outcome::Outcome;
use super::prober::Probers;
use super::queue::EventQueue;
use super::recorder::Recorder;
use super::run_error::RunError;
use super::scenario::Scenario;
use super::station::Station;
use crate::ids::{BackendId, FlowId, Id, IdVec, PlaceId};
use crate::lb::packet::PacketKind;
use crate::lb::{Counters, LoadBalancer};
use crate::random::{Purpose, RunSeed};
use crate::time::SimTime;

/// How many events ahead the connection of an event is fetched.
const FLOWS_AHEAD: usize = 24;
/// How many events ahead the tracking entry of its next packet is fetched; its connection is there by then.
const PACKETS_AHEAD: usize = 12;
/// After so many events, a few milliseconds of real time, who watches is told the time.
const EVENTS_BETWEEN_LOOKS: u64 = 1 << 12;

/// One world, which owns everything in it.
#[derive(Debug)]
pub struct Simulation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) queue: EventQueue<Event>,
    pub(super) clients: Clients,
    pub(super) balancer: LoadBalancer,
    pub(super) machines: IdVec<BackendId, Machine>,
    pub(super) stations: IdVec<BackendId, Station<'a>>,
    pub(super) probers: IdVec<BackendId, Probers>,
    /// Whether a health check judges each backend, if it is configured.
    pub(super) checked: IdVec<BackendId, bool>,
    pub(super) recorder: Recorder,
    pub(super) links: Links,
    /// Everything that faults do.
    strikes: Vec<Strike>,
    /// Whom each has hit.
    hit: Vec<Vec<BackendId>>,
    pub(super) autoscalers: Vec<Autoscaler>,
    /// What the load balancer had counted when the measured window ended.
    window_counts: Counters,
    window_peak_entries: u64,
    /// Switches of the serving role before this sample of the timeline.
    switches_seen: u64,
    events: u64,
}

impl<'a> Simulation<'a> {
    /// The world of `scenario` at time 0, with the randomness of `seed`.
    pub fn new(scenario: &'a Scenario, seed: RunSeed) -> Self {
        let check = scenario.health_check;
        let strikes = strikes(scenario, seed);
        let edges = strike_edges(scenario, &strikes);
        let machines = scenario.backends.pairs().map(|(id, spec)| {
            let server = &scenario.groups[spec.group].server;
            let stream = seed.stream(Purpose::Failures, &spec.name).generator();
            Machine::new(server.failures.clone(), server.slow_start, stream, edges[id].clone())
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
            machines: machines.collect(),
            stations: scenario
                .backends
                .iter()
                .map(|spec| Station::new(&scenario.groups[spec.group].server))
                .collect(),
            probers: probers.collect(),
            checked: scenario.backends.iter().map(|spec| spec.checked).collect(),
            recorder: Recorder::new(scenario),
            links: Links::new(scenario),
            hit: vec![Vec::new(); strikes.len()],
            strikes,
            autoscalers: scenario.groups.ids().filter_map(|group| Autoscaler::of(scenario, group)).collect(),
            window_counts: Counters::default(),
            window_peak_entries: 0,
            switches_seen: 0,
            events: 0,
        };
        simulation.plan();
        simulation
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
    pub fn run_watched(self, watch: &dyn Fn(SimTime)) -> Result<Outcome, RunError> {
        self.run_to_end(watch).map_err(|error| *error)
    }

    fn run_to_end(mut self, watch: &dyn Fn(SimTime)) -> Result<Outcome, Box<RunError>> {
        let mut now = SimTime::ZERO;
        let mut flows = Flows::new(&self.scenario.clients);
        self.clients.begin(&flows)?;
        let end = self.scenario.timing.window_end();
        // Whether more is in memory than fits into a processor's cache, so that looking ahead pays.
        let mut is_large = false;
        loop {
            if self.events.is_multiple_of(EVENTS_BETWEEN_LOOKS) {
                watch(now);
                is_large = self.balancer.is_large() || flows.is_large();
            }
            let arrival = self.clients.next_time();
            if let Some((time, event)) = self.queue.pop_until(arrival) {
                assert!(time >= now, "time ran back from {now:?} to {time:?}");
                now = time;
                self.events += 1;
                if is_large {
                    self.look_ahead(&flows);
                }
                self.handle(now, &mut flows, event)?;
            } else if let Some((client, connection)) = self.clients.take_next(&flows)? {
                now = arrival;
                self.events += 1;
                if is_large {
                    for packet in self.clients.new_packets(client) {
                        self.balancer.prefetch(&packet);
                    }
                }
                if self.is_dead(client, connection.address) {
                    self.clients.not_opened(now, client, connection);
                } else {
                    self.open(now, &mut flows, client, connection);
                }
                continue;
            }
            let quiet = arrival == SimTime::NEVER && !self.recorder.is_waiting();
            if quiet && now >= end {
                break;
            }
        }
        Ok(self.finish(now))
    }

    /// Asks the processor to fetch what the next events will need: waiting for memory is most of the cost of an
    /// event where connections are many. Changes nothing.
    ///
    /// It looks at many events at a time, so that for most events it has nothing to do.
    #[inline]
    fn look_ahead(&mut self, flows: &Flows<'_>) {
        if self.queue.has_unseen(0, FLOWS_AHEAD) {
            self.fetch_connections(flows);
        }
        if self.queue.has_unseen(1, PACKETS_AHEAD) {
            self.fetch_entries(flows);
        }
    }

    #[inline(never)]
    fn fetch_connections(&mut self, flows: &Flows<'_>) {
        for event in self.queue.unseen(0, FLOWS_AHEAD) {
            if let Event::Flow { flow, step } = event
                && !step.follows_closely()
            {
                flows.prefetch(flow);
            }
        }
    }

    #[inline(never)]
    fn fetch_entries(&mut self, flows: &Flows<'_>) {
        let Self { queue, clients, balancer, recorder, .. } = self;
        for event in queue.unseen(1, PACKETS_AHEAD) {
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

    /// Puts everything that is known from the beginning on the event list.
    fn plan(&mut self) {
        let timing = self.scenario.timing;
        self.queue.push(timing.window_start(), Event::Clock(Tick::WindowStarts));
        for (strike, number) in self.strikes.iter().zip(0_u32..) {
            self.queue.push(strike.at, Event::Fault { strike: number, begins: true });
            if let Some(end) = strike.end {
                self.queue.push(end, Event::Fault { strike: number, begins: false });
            }
        }
        for (number, operation) in self.scenario.operations.iter().enumerate() {
            let number = u32::try_from(number).expect("fewer than 2^32 operations");
            self.queue.push(operation.at, Event::Operation { number });
        }
        self.plan_autoscaling();
        for (backend, spec) in self.scenario.backends.pairs() {
            self.plan_renewal(backend);
            if spec.configured {
                self.hold(SimTime::ZERO, backend);
            }
        }
    }

    fn handle(&mut self, now: SimTime, flows: &mut Flows<'_>, event: Event) -> Result<(), Box<RunError>> {
        match event {
            Event::Flow { flow, step } => return self.step(now, flows, flow, step),
            Event::Backend { backend, step } => match step {
                BackendStep::Renewal => self.renew(now, flows, backend),
                BackendStep::Boots => self.boots(now, flows, backend),
                BackendStep::ProbeStarts { prober } => self.probe_starts(now, backend, prober),
                BackendStep::ProbeArrives { prober } => self.probe_arrives(now, backend, prober),
                BackendStep::ProbeServed { prober } => self.probe_served(now, flows, backend, prober),
                BackendStep::ProbeTimesOut { prober } => self.probe_times_out(now, backend, prober),
                BackendStep::SharedEnds => self.shared_ends(now, flows, backend),
                BackendStep::ProbeEnds { prober, success } => self.probe_ends(now, backend, prober, success),
                BackendStep::HealthApplies { healthy } => self.apply_health(now, backend, healthy),
            },
            Event::Fault { strike, begins } => self.fault(now, flows, strike as usize, begins),
            Event::Autoscale { number } => self.autoscale(now, number),
            Event::Operation { number } => self.operate(now, number as usize),
            Event::Clock(Tick::WindowStarts) => self.window_starts(now),
            Event::Clock(Tick::SampleEnds) => self.sample_ends(now),
        }
        Ok(())
    }

    #[inline]
    fn step(
        &mut self,
        now: SimTime,
        flows: &mut Flows<'_>,
        id: FlowId,
        step: FlowStep,
    ) -> Result<(), Box<RunError>> {
        let flow = &mut flows.named(id);
        match (step, flow.state) {
            (FlowStep::Fails(cause), FlowState::Failing) => {
                self.fail(now, flow, cause);
                self.try_again(now, flows, id)?;
            }
            (FlowStep::RequestTimeout, _) => {
                let failed = self.request_timeout(now, flow);
                if failed {
                    self.try_again(now, flows, id)?;
                }
            }
            (FlowStep::ServiceEnds, _) => {
                if let Some(backend) = self.service_ends(now, flow) {
                    self.serve_next(now, flows, backend);
                }
            }
            (FlowStep::SynArrives, FlowState::Connecting) => self.syn_arrives(now, flow),
            (FlowStep::SynTimer, FlowState::Connecting) => self.send_syn(now, flow),
            (FlowStep::Established, FlowState::Connecting) => self.established(now, flow),
            (FlowStep::Resend, FlowState::Requesting) => self.resend_request(now, flow),
            (FlowStep::RequestArrives, FlowState::Requesting) => self.request_arrives(now, flow),
            (FlowStep::Answer, FlowState::Requesting) => self.answer(now, flow),
            (FlowStep::Response, FlowState::Requesting) => self.responded(now, flow),
            (FlowStep::RequestDue, FlowState::Thinking) => self.request_due(now, flow),
            // What was under way for a connection that is failing, or over, comes to nothing; so does the
            // timeout of a request that was answered.
            _ => {}
        }
        flows.release(id);
        Ok(())
    }

    pub(super) fn plan_renewal(&mut self, backend: BackendId) {
        if let Some(time) = self.machines[backend].next_renewal() {
            self.queue.push(time, Event::Backend { backend, step: BackendStep::Renewal });
        }
    }

    fn renew(&mut self, now: SimTime, flows: &mut Flows<'_>, backend: BackendId) {
        // Of a machine that was replaced the old renewal means nothing.
        if self.machines[backend].next_renewal() != Some(now) {
            return;
        }
        let went_down = self.machines[backend].renew(now);
        self.plan_renewal(backend);
        if went_down {
            self.went_down(now, flows, backend);
        }
    }

    fn fault(&mut self, now: SimTime, flows: &mut Flows<'_>, strike: usize, begins: bool) {
        match self.strikes[strike].effect.clone() {
            StrikeEffect::Link(between, fault) => self.links.fault(between, fault, begins),
            StrikeEffect::Backends(victims, fault) => {
                if begins {
                    self.hit[strike] = victims.hit(|backend| self.is_there(backend));
                }
                for backend in victims.candidates {
                    if self.hit[strike].binary_search(&backend).is_err() {
                        self.machines[backend].pass_fault(now);
                    } else if self.machines[backend].fault(now, fault, begins) {
                        self.went_down(now, flows, backend);
                    }
                }
            }
        }
    }

    /// Whether a backend can be struck: a member of an autoscaled group only while it is one.
    fn is_there(&self, backend: BackendId) -> bool {
        let autoscaled = self.scenario.groups[self.scenario.backends[backend].group].autoscaling.is_some();
        !autoscaled || self.balancer.roster().member(backend).configured
    }

    fn window_starts(&mut self, now: SimTime) {
        self.recorder.window_starts(now);
        self.balancer.restart_counters(now);
        for station in self.stations.iter_mut() {
            station.restart(now);
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
        let switches = self.balancer.counters().failover_switches;
        self.recorder.sample_ends(now, switches - self.switches_seen);
        self.switches_seen = switches;
        if self.recorder.next_sample_end().is_none() {
            let window = self.scenario.timing.duration;
            for backend in self.stations.ids() {
                if let Some(waiting) = self.stations[backend].waiting(now, window) {
                    self.recorder.waited(backend, waiting);
                }
            }
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

/// When the strikes on each backend begin and end.
fn strike_edges(scenario: &Scenario, strikes: &[Strike]) -> IdVec<BackendId, Vec<SimTime>> {
    let mut edges: IdVec<BackendId, Vec<SimTime>> = scenario.backends.iter().map(|_| Vec::new()).collect();
    for strike in strikes {
        if let StrikeEffect::Backends(victims, _) = &strike.effect {
            for &backend in &victims.candidates {
                edges[backend].extend([Some(strike.at), strike.end].into_iter().flatten());
            }
        }
    }
    edges
}
