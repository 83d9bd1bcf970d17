//! Whether backends run: failures and repairs of their own, and faults from outside.
//!
//! All of them are known ahead: what ends before the next one meets the state that stands, without an event of its own.
//! Only an autoscaler's new machine is not known: its removed predecessor serves on until then, and what is in service
//! then finds its life over at its end.

use super::scenario::{BackendFault, FailureMode, Failures, InitialHealth, Renewals, Server, SlowStart};
use crate::ids::FlowId;
use crate::random::{Stream, StreamKey};
use crate::time::{SimDuration, SimTime};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MachineState {
    /// It answers.
    Up,
    /// It does nothing.
    Silent,
    /// It answers with RST.
    Refusing,
}

/// What a probe that has reached a machine meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProbeMeets {
    /// The answer that it wants.
    Success,
    /// A server that answers with an error.
    Error,
    /// RST.
    Refusal,
    /// Nothing: only its timeout ends it.
    Silence,
}

#[derive(Debug)]
pub(super) struct Machine {
    present: Present,
    /// How many failures and faults of each mode hold it.
    causes: [u32; 4],
    /// How many faults keep probes from it.
    blocked: u32,
    /// How many faults have it about to shut down.
    draining: u32,
    /// The factors of the faults that slow it.
    slowed: Vec<f64>,
    renewal: Option<Box<Renewal>>,
    /// The times at which faults begin or end for it, latest first.
    fault_edges: Vec<SimTime>,
    /// Connections whose service outlasts the next change, with its end.
    exposed: Vec<(FlowId, StreamKey, SimTime)>,
}

/// What every request asks of a machine: a line of a processor's cache, since there may be thousands of machines.
#[derive(Debug)]
#[repr(align(64))]
struct Present {
    state: MachineState,
    /// Its lives so far: connections of an earlier life are unknown to it.
    incarnation: u32,
    next_change: SimTime,
    slowness: f64,
    /// When it came back last, if it was ever down.
    returned: Option<SimTime>,
    slow_start: Option<SlowStart>,
}

const _: () = assert!(size_of::<Present>() == 64);

#[derive(Debug)]
struct Renewal {
    failures: Failures,
    stream: Stream,
    up: bool,
    next: SimTime,
}

impl Machine {
    pub(super) fn new(
        server: &Server,
        initial_health: InitialHealth,
        stream: Stream,
        mut fault_edges: Vec<SimTime>,
    ) -> Self {
        fault_edges.sort_by(|a, b| b.cmp(a));
        let renewal = server.failures.clone().map(|failures| {
            let mut renewal = Renewal { failures, stream, up: true, next: SimTime::ZERO };
            renewal.begin(initial_health);
            renewal
        });
        let failed = renewal.as_ref().filter(|renewal| !renewal.up).map(|renewal| renewal.failures.mode);
        let mut machine = Self {
            present: Present {
                state: MachineState::Up,
                incarnation: 0,
                next_change: SimTime::NEVER,
                slowness: 1.0,
                returned: None,
                slow_start: server.slow_start,
            },
            causes: [0; 4],
            blocked: 0,
            draining: 0,
            slowed: Vec::new(),
            renewal: renewal.map(Box::new),
            fault_edges,
            exposed: Vec::new(),
        };
        if let Some(mode) = failed {
            machine.strike(SimTime::ZERO, mode, true);
        }
        machine.look_ahead(SimTime::ZERO);
        machine
    }

    #[inline]
    pub(super) fn state(&self) -> MachineState {
        self.present.state
    }

    /// Whether it does nothing at all. One that is alive may be silent to clients, and opens connections itself.
    pub(super) fn is_dead(&self) -> bool {
        self.is(FailureMode::Silent)
    }

    /// What a probe meets that asks for a handshake or, if `wants_reply`, for a reply of the server (HCK-4, REG-7): what
    /// serves, but not well, says so in a reply, and can't in a handshake.
    pub(super) fn meets_probe(&self, wants_reply: bool) -> ProbeMeets {
        let is_unwell = self.is(FailureMode::UnhealthyOnly);
        if self.is_dead() || self.blocked > 0 || (is_unwell && !wants_reply) {
            ProbeMeets::Silence
        } else if self.is(FailureMode::Refuse) {
            ProbeMeets::Refusal
        } else if wants_reply && (is_unwell || self.draining > 0) {
            ProbeMeets::Error
        } else {
            ProbeMeets::Success
        }
    }

    fn state_for_clients(&self) -> MachineState {
        if self.is_dead() || self.is(FailureMode::ServingOnly) {
            MachineState::Silent
        } else if self.is(FailureMode::Refuse) {
            MachineState::Refusing
        } else {
            MachineState::Up
        }
    }

    /// How it fails clients or probes, if it does: the worst of what holds it.
    pub(super) fn failure(&self, wants_reply: bool) -> Option<FailureMode> {
        use FailureMode::{Refuse, ServingOnly, Silent, UnhealthyOnly};
        let of_clients = [Silent, Refuse, ServingOnly].into_iter().find(|mode| self.is(*mode));
        let is_seen = self.meets_probe(wants_reply) != ProbeMeets::Success;
        of_clients.or(is_seen.then_some(UnhealthyOnly))
    }

    fn is(&self, mode: FailureMode) -> bool {
        self.causes[mode as usize] > 0
    }

    /// Whether its state at time `at` is that of now.
    #[inline]
    pub(super) fn is_known(&self, at: SimTime) -> bool {
        at < self.present.next_change
    }

    pub(super) fn incarnation(&self) -> u32 {
        self.present.incarnation
    }

    #[inline]
    pub(super) fn slowness(&self, now: SimTime) -> f64 {
        match (self.present.slow_start, self.present.returned) {
            (Some(slow_start), Some(returned)) => {
                self.present.slowness * slow_start.factor(now.since(returned.min(now)))
            }
            _ => self.present.slowness,
        }
    }

    pub(super) fn next_renewal(&self) -> Option<SimTime> {
        self.renewal.as_ref().map(|renewal| renewal.next)
    }

    /// Notes a connection whose service ends at `done`, if a failure may come before.
    #[inline]
    pub(super) fn watch(&mut self, flow: FlowId, key: StreamKey, done: SimTime) {
        if done >= self.present.next_change {
            self.exposed.push((flow, key, done));
        }
    }

    /// Fails by itself, or is repaired; tells whether clients find it down now and did not before.
    pub(super) fn renew(&mut self, now: SimTime) -> bool {
        let renewal = self.renewal.as_mut().expect("only machines that fail by themselves are renewed");
        renewal.up = !renewal.up;
        renewal.draw_next(now);
        let (mode, failed) = (renewal.failures.mode, !renewal.up);
        let went_down = self.strike(now, mode, failed);
        self.look_ahead(now);
        went_down
    }

    /// A fault begins or ends, of it or of others; tells whether clients find it down now and did not before.
    pub(super) fn fault(&mut self, now: SimTime, fault: Option<BackendFault>, begins: bool) -> bool {
        let _edge = self.fault_edges.pop();
        let went_down = match fault {
            None => false,
            Some(BackendFault::Fails(mode)) => self.strike(now, mode, begins),
            Some(BackendFault::BlocksProbes) => {
                count(&mut self.blocked, begins);
                false
            }
            Some(BackendFault::Drains) => {
                count(&mut self.draining, begins);
                false
            }
            Some(BackendFault::Slow(factor)) => {
                if begins {
                    self.slowed.push(factor.value());
                } else {
                    let position = self.slowed.iter().position(|other| *other == factor.value());
                    self.slowed.remove(position.expect("a fault that ends has begun"));
                }
                self.present.slowness = self.slowed.iter().product();
                false
            }
        };
        self.look_ahead(now);
        went_down
    }

    /// A new machine takes its place: it knows no connection and has not failed, but faults strike it too.
    pub(super) fn replace(&mut self, now: SimTime) {
        self.present.incarnation += 1;
        self.present.returned = Some(now);
        if let Some(renewal) = &mut self.renewal {
            self.causes[renewal.failures.mode as usize] -= u32::from(!renewal.up);
            renewal.up = true;
            renewal.draw_next(now);
        }
        self.present.state = self.state_for_clients();
        self.look_ahead(now);
    }

    pub(super) fn take_exposed(&mut self) -> Vec<(FlowId, StreamKey)> {
        std::mem::take(&mut self.exposed).into_iter().map(|(flow, key, _)| (flow, key)).collect()
    }

    fn strike(&mut self, now: SimTime, mode: FailureMode, begins: bool) -> bool {
        let before = self.present.state;
        count(&mut self.causes[mode as usize], begins);
        let after = self.state_for_clients();
        self.present.state = after;
        let went_down = before == MachineState::Up && after != MachineState::Up;
        self.present.incarnation += u32::from(went_down);
        if before != MachineState::Up && after == MachineState::Up {
            self.present.returned = Some(now);
        }
        went_down
    }

    /// Notes when the next change comes, and forgets the connections that were done before this one.
    fn look_ahead(&mut self, now: SimTime) {
        self.exposed.retain(|(.., done)| *done >= now);
        let edge = self.fault_edges.last().copied().unwrap_or(SimTime::NEVER);
        self.present.next_change = self.next_renewal().unwrap_or(SimTime::NEVER).min(edge);
    }
}

/// One of the causes begins or ends.
fn count(causes: &mut u32, begins: bool) {
    *causes = if begins { *causes + 1 } else { *causes - 1 };
}

impl Renewal {
    /// The first state, and how long it lasts.
    fn begin(&mut self, initial_health: InitialHealth) {
        match initial_health {
            InitialHealth::AllUp => self.draw_next(SimTime::ZERO),
            InitialHealth::Stationary => {
                let Failures { time_to_failure, time_to_repair, .. } = &self.failures;
                let (up, left) =
                    Renewals { up: time_to_failure, down: time_to_repair }.stationary(&mut self.stream);
                self.up = up;
                self.next = SimTime::ZERO + left.max(SimDuration::from_nanos(1));
            }
        }
    }

    fn draw_next(&mut self, now: SimTime) {
        let law = if self.up { &self.failures.time_to_failure } else { &self.failures.time_to_repair };
        // At least a nanosecond, so that time goes on.
        self.next = now + law.sample(&mut self.stream).max(SimDuration::from_nanos(1));
    }
}
