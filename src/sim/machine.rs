//! Whether backends run: failures and repairs of their own, and faults from outside.
//!
//! Every change of a machine's state is known some time ahead. A packet or a service that ends before the next
//! one meets the state that stands, and needs no event of its own.

use super::scenario::{FailureMode, Failures};
use crate::ids::FlowId;
use crate::random::{Stream, StreamKey};
use crate::time::SimTime;

/// What a machine does with packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MachineState {
    Up,
    Down(FailureMode),
}

/// One backend's machine.
#[derive(Debug)]
pub(super) struct Machine {
    /// How many failures and faults hold it silent, and how many make it refuse.
    silenced: u32,
    refusing: u32,
    /// Its lives so far: connections of an earlier life are unknown to it.
    incarnation: u32,
    renewal: Option<Renewal>,
    /// The times at which faults begin or end for it, latest first.
    fault_edges: Vec<SimTime>,
    next_change: SimTime,
    /// Connections in service whose service outlasts `next_change`.
    exposed: Vec<(FlowId, StreamKey)>,
}

/// An alternating renewal process.
#[derive(Debug)]
struct Renewal {
    failures: Failures,
    stream: Stream,
    up: bool,
    next: SimTime,
}

impl Machine {
    /// A machine that runs at time 0.
    pub(super) fn new(failures: Option<Failures>, stream: Stream, mut fault_edges: Vec<SimTime>) -> Self {
        fault_edges.sort_by(|a, b| b.cmp(a));
        let renewal = failures.map(|failures| {
            let mut renewal = Renewal { failures, stream, up: true, next: SimTime::ZERO };
            renewal.draw_next(SimTime::ZERO);
            renewal
        });
        let mut machine = Self {
            silenced: 0,
            refusing: 0,
            incarnation: 0,
            renewal,
            fault_edges,
            next_change: SimTime::NEVER,
            exposed: Vec::new(),
        };
        machine.look_ahead();
        machine
    }

    /// What it does with packets now.
    #[inline]
    pub(super) fn state(&self) -> MachineState {
        if self.silenced > 0 {
            MachineState::Down(FailureMode::Silent)
        } else if self.refusing > 0 {
            MachineState::Down(FailureMode::Refuse)
        } else {
            MachineState::Up
        }
    }

    /// What it will do at time `at`, if that is known now.
    #[inline]
    pub(super) fn state_at(&self, at: SimTime) -> Option<MachineState> {
        (at < self.next_change).then(|| self.state())
    }

    /// The number of its present life.
    pub(super) fn incarnation(&self) -> u32 {
        self.incarnation
    }

    /// When it fails or is repaired next by itself.
    pub(super) fn next_renewal(&self) -> Option<SimTime> {
        self.renewal.as_ref().map(|renewal| renewal.next)
    }

    /// Notes a connection whose service ends at `done`, if a failure may come before.
    #[inline]
    pub(super) fn watch(&mut self, flow: FlowId, key: StreamKey, done: SimTime) {
        if done >= self.next_change {
            self.exposed.push((flow, key));
        }
    }

    /// Fails by itself, or is repaired; gives how it went down, if it did.
    pub(super) fn renew(&mut self, now: SimTime) -> Option<FailureMode> {
        let renewal = self.renewal.as_mut().expect("only machines that fail by themselves are renewed");
        renewal.up = !renewal.up;
        renewal.draw_next(now);
        let (mode, failed) = (renewal.failures.mode, !renewal.up);
        let down = self.strike(mode, failed);
        self.look_ahead();
        down
    }

    /// Meets the beginning or the end of a fault; gives how it went down, if it did.
    pub(super) fn fault(&mut self, mode: FailureMode, begins: bool) -> Option<FailureMode> {
        let _edge = self.fault_edges.pop();
        let down = self.strike(mode, begins);
        self.look_ahead();
        down
    }

    /// The connections that a failure catches in service.
    pub(super) fn take_exposed(&mut self) -> Vec<(FlowId, StreamKey)> {
        std::mem::take(&mut self.exposed)
    }

    fn strike(&mut self, mode: FailureMode, begins: bool) -> Option<FailureMode> {
        let was_up = self.state() == MachineState::Up;
        let causes = match mode {
            FailureMode::Silent => &mut self.silenced,
            FailureMode::Refuse => &mut self.refusing,
        };
        *causes = if begins { *causes + 1 } else { *causes - 1 };
        let went_down = was_up && begins;
        self.incarnation += u32::from(went_down);
        went_down.then_some(mode)
    }

    fn look_ahead(&mut self) {
        let edge = self.fault_edges.last().copied().unwrap_or(SimTime::NEVER);
        self.next_change = self.next_renewal().unwrap_or(SimTime::NEVER).min(edge);
    }
}

impl Renewal {
    fn draw_next(&mut self, now: SimTime) {
        let law = if self.up { &self.failures.time_to_failure } else { &self.failures.time_to_repair };
        // At least a nanosecond, so that time goes on.
        let length = law.sample(&mut self.stream).max(crate::time::SimDuration::from_nanos(1));
        self.next = now + length;
    }
}
