//! Connections under way.

mod draw;

use std::ops::{Deref, DerefMut, RangeInclusive};

use prefetch_index::prefetch_index;

use super::calendar::Calendar;
use super::event::{Event, FlowStep};
use super::outcome::FailureCause;
use super::retransmission::{DATA_COPIES, data_wait, late_handshake};
use super::scenario::{ClientGroup, Lane};
use crate::ids::{BackendId, ClientId, FlowId, Id, IdVec, RuleId};
use crate::lb::packet::Protocol;
use crate::lb::policy::PlacementOutcome;
use crate::random::StreamKey;
use crate::time::{SimDuration, SimTime};
pub(super) use draw::Draw;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowState {
    /// The answer to a SYN.
    Connecting,
    /// A response: the request is on its way, waiting or in service.
    Requesting,
    /// The client's next request.
    Thinking,
    /// The client's learning that it failed. Whatever else was under way for it comes to nothing.
    Failing,
    /// Nothing: it is over, and kept while events or queues still name it.
    Over,
}

/// In a line of a processor's cache: fetching it is most of the cost of an event where connections are many.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Flow {
    /// The key of all its draws: unique among connections.
    pub(super) key: StreamKey,
    pub(super) started: SimTime,
    /// When its latest SYN or request was sent.
    pub(super) sent: SimTime,
    /// The round trip of that packet.
    pub(super) trip: SimDuration,
    /// What its client group knows it by, its address among others.
    pub(super) number: u32,
    /// The life of its backend that accepted it: a backend that has failed since does not know it. [`Flow::NO_LIFE`] once
    /// its packets have gone to another backend.
    pub(super) incarnation: u32,
    pub(super) requests_sent: u32,
    pub(super) requests: u32,
    pub(super) client: ClientId,
    pub(super) port: u16,
    /// Its number among its group's destinations, those of all lanes together.
    pub(super) destination: u16,
    /// The backend of its handshake; of a connection without one, the backend that its packets reached last.
    pub(super) backend: Option<BackendId>,
    pub(super) state: FlowState,
    pub(super) outcome: PlacementOutcome,
    /// SYNs sent before the latest one.
    pub(super) syn_retries: u8,
    /// How often the request that is under way, or its answer, was sent again; before, how often a backend sent a SYN-ACK
    /// again by itself.
    pub(super) resends: u8,
    pub(super) retries_left: u8,
    /// Events and queue places that name it: a few at most.
    pub(super) pending: u8,
    pub(super) marks: Marks,
}

const _: () = assert!(size_of::<Flow>() == 64);

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks(u8);

#[derive(Clone, Copy, Debug)]
pub(super) enum Mark {
    /// How many requests it makes was given, not drawn: it is the same for a retry.
    RequestsGiven = 1,
    /// Its first SYN was sent in the measured window.
    Measured = 1 << 1,
    /// The handshake is done and it is not closed: it counts as active on its backend.
    Open = 1 << 2,
    /// The load balancer held its backend unhealthy when it placed it there.
    OnUnhealthy = 1 << 3,
    /// An event stands for the timeout of a request: one at most, set anew when it comes too early.
    Timed = 1 << 4,
    /// It has been open.
    Opened = 1 << 5,
    /// The bytes of its request do not count yet: no copy has been forwarded to its backend.
    Uncounted = 1 << 6,
    /// A SYN-ACK was lost: a backend sends it again by itself, and the handshake comes late.
    SynAckLost = 1 << 7,
}

impl Marks {
    #[inline]
    pub(super) fn has(self, mark: Mark) -> bool {
        self.0 & mark as u8 != 0
    }

    #[inline]
    pub(super) fn set(&mut self, mark: Mark, so: bool) {
        self.0 = if so { self.0 | mark as u8 } else { self.0 & !(mark as u8) };
    }

    #[inline]
    pub(super) fn open(&mut self) {
        self.0 |= Mark::Open as u8 | Mark::Opened as u8;
    }
}

impl Flow {
    /// A life that no machine has: none knows the connection.
    pub(super) const NO_LIFE: u32 = u32::MAX;

    #[inline]
    pub(super) fn is_measured(&self) -> bool {
        self.marks.has(Mark::Measured)
    }

    #[inline]
    pub(super) fn reached(&self) -> BackendId {
        self.backend.expect("its packets have reached a backend")
    }

    pub(super) fn way_back(&self) -> SimDuration {
        self.trip - self.trip.half()
    }
}

/// A connection whose step it is, looked up once, with what its group has in common.
#[derive(Debug)]
pub(super) struct Current<'a> {
    pub(super) id: FlowId,
    flow: &'a mut Flow,
    pub(super) group: &'a ClientGroup,
}

impl Current<'_> {
    #[inline]
    pub(super) fn connect_deadline(&self) -> SimTime {
        self.started + self.group.connect_timeout.min(self.group.syn_retransmission.gives_up())
    }

    #[inline(always)]
    fn lane(&self) -> Lane {
        self.group.lanes.of(self.destination, self.group.destinations)
    }

    #[inline(always)]
    pub(super) fn protocol(&self) -> Protocol {
        self.lane().protocol
    }

    pub(super) fn rule(&self) -> RuleId {
        self.lane().rule
    }

    /// Whether no answer to it has been sent: a first SYN-ACK, or the response to a first datagram, is the first.
    pub(super) fn awaits_first_answer(&self) -> bool {
        match self.protocol() {
            Protocol::Tcp => self.state == FlowState::Connecting && !self.marks.has(Mark::SynAckLost),
            _ => self.requests_sent == 1,
        }
    }

    #[inline]
    pub(super) fn request_deadline(&self) -> SimTime {
        self.sent + self.group.request_timeout
    }

    #[inline]
    pub(super) fn schedule(&mut self, time: SimTime, step: FlowStep, calendar: &mut Calendar) {
        self.pending += 1;
        calendar.plan(time, Event::Flow { flow: self.id, step });
    }

    /// Nothing but its failure at `time` can happen to it any more.
    pub(super) fn fail_at(&mut self, time: SimTime, cause: FailureCause, calendar: &mut Calendar) {
        self.state = FlowState::Failing;
        self.schedule(time, FlowStep::Fails(cause), calendar);
    }

    /// The client sends another SYN later, or gives up: perhaps too late already, if the SYN was long on its way. Up to then a
    /// SYN-ACK may come that a backend sends again.
    pub(super) fn await_syn_timer(&mut self, calendar: &mut Calendar) {
        let deadline = self.connect_deadline();
        let wait = self.group.syn_retransmission.wait(self.syn_retries);
        let timer = wait.map(|wait| (self.sent + wait).max(calendar.now()));
        match timer.filter(|timer| *timer < deadline) {
            Some(timer) => {
                self.syn_retries += 1;
                self.schedule(timer, FlowStep::SynTimer, calendar);
            }
            None if self.marks.has(Mark::SynAckLost) => self.schedule(deadline, FlowStep::SynTimer, calendar),
            None => self.fail_at(deadline, FailureCause::ConnectTimeout, calendar),
        }
    }

    pub(super) fn await_request_timeout(&mut self, calendar: &mut Calendar) {
        self.fail_at(self.request_deadline(), FailureCause::RequestTimeout, calendar);
    }

    /// Nobody acknowledges what was sent at `sent`: `step` sends it again, if this is TCP and the client waits that long. A system
    /// that has sent it often enough gives up: a client's connection fails then, a backend's leaves its client waiting.
    #[cold]
    pub(super) fn send_again(&mut self, sent: SimTime, step: FlowStep, calendar: &mut Calendar) {
        // The backend has measured its own round trip.
        let is_late = step == FlowStep::Resend && self.marks.has(Mark::SynAckLost);
        let excess = if is_late { late_handshake(self.requests_sent) } else { SimDuration::ZERO };
        let again = (sent + data_wait(self.resends, self.trip, excess)).max(calendar.now());
        if self.protocol() != Protocol::Tcp || again >= self.request_deadline() {
            return self.await_request_timeout(calendar);
        }
        if self.resends >= DATA_COPIES {
            return match step {
                FlowStep::Resend => self.fail_at(again, FailureCause::RequestTimeout, calendar),
                _ => self.await_request_timeout(calendar),
            };
        }
        self.resends += 1;
        self.schedule(again, step, calendar);
    }

    /// The request that is under way fails when it has taken too long.
    pub(super) fn time_request(&mut self, calendar: &mut Calendar) {
        if !self.marks.has(Mark::Timed) {
            self.marks.set(Mark::Timed, true);
            self.schedule(self.request_deadline(), FlowStep::RequestTimeout, calendar);
        }
    }
}

impl Deref for Current<'_> {
    type Target = Flow;
    #[inline]
    fn deref(&self) -> &Flow {
        self.flow
    }
}

impl DerefMut for Current<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Flow {
        self.flow
    }
}

#[derive(Debug)]
pub(super) struct Flows<'a> {
    groups: &'a IdVec<ClientId, ClientGroup>,
    /// In chunks, so that nothing is copied when they become more.
    chunks: Vec<Box<[Flow; CHUNK]>>,
    /// Slots that have ever been used.
    used: usize,
    free: Vec<FlowId>,
}

const CHUNK: usize = 1 << 10;

impl<'a> Flows<'a> {
    pub(super) fn new(groups: &'a IdVec<ClientId, ClientGroup>) -> Self {
        Self { groups, chunks: Vec::new(), used: 0, free: Vec::new() }
    }

    pub(super) fn group(&self, client: ClientId) -> &'a ClientGroup {
        &self.groups[client]
    }

    #[inline]
    pub(super) fn add(&mut self, flow: Flow) -> Current<'_> {
        let id = self.free.pop().unwrap_or_else(|| self.add_slot(&flow));
        let group = &self.groups[flow.client];
        let slot = &mut self[id];
        *slot = flow;
        Current { id, flow: slot, group }
    }

    /// A connection whose step it is, because what named it, an event or a place in a queue, has come.
    #[inline]
    pub(super) fn named(&mut self, id: FlowId) -> Current<'_> {
        let mut current = self.at(id);
        current.pending -= 1;
        current
    }

    /// A connection with which something happens that nothing named it for.
    #[inline]
    pub(super) fn at(&mut self, id: FlowId) -> Current<'_> {
        let groups = self.groups;
        let flow = &mut self[id];
        Current { id, group: &groups[flow.client], flow }
    }

    /// Frees the slot of a connection that is over, once nothing names it any more.
    #[inline]
    pub(super) fn release(&mut self, id: FlowId) {
        let flow = &self[id];
        if flow.pending == 0 {
            assert_eq!(flow.state, FlowState::Over, "a connection waits for something or is over");
            self.free.push(id);
        }
    }

    #[cold]
    fn add_slot(&mut self, flow: &Flow) -> FlowId {
        if self.used == self.chunks.len() * CHUNK {
            let chunk = vec![flow.clone(); CHUNK].into_boxed_slice();
            self.chunks.push(chunk.try_into().expect("a chunk's length"));
        }
        self.used += 1;
        FlowId::from_index(self.used - 1)
    }

    /// Those that are open, or were.
    pub(super) fn ids(&self) -> impl ExactSizeIterator<Item = FlowId> + use<> {
        (0..self.used).map(FlowId::from_index)
    }

    pub(super) fn ports_in_use(
        &self,
        client: ClientId,
        range: RangeInclusive<u16>,
    ) -> impl Iterator<Item = (u32, u16)> {
        let slots = self.chunks.iter().flat_map(|chunk| chunk.iter()).take(self.used);
        let open = slots.filter(move |flow| {
            flow.client == client && flow.state != FlowState::Over && range.contains(&flow.port)
        });
        open.map(|flow| (flow.number, flow.port))
    }

    /// Whether they are too many for a processor's cache, so that fetching ahead pays.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.chunks.len() * CHUNK * size_of::<Flow>() > 1 << 20
    }

    #[inline]
    pub(super) fn prefetch(&self, id: FlowId) {
        prefetch_index(&self.chunks[id.index() / CHUNK][..], id.index() % CHUNK);
    }
}

impl std::ops::Index<FlowId> for Flows<'_> {
    type Output = Flow;
    #[inline]
    fn index(&self, id: FlowId) -> &Flow {
        &self.chunks[id.index() / CHUNK][id.index() % CHUNK]
    }
}

impl std::ops::IndexMut<FlowId> for Flows<'_> {
    #[inline]
    fn index_mut(&mut self, id: FlowId) -> &mut Flow {
        &mut self.chunks[id.index() / CHUNK][id.index() % CHUNK]
    }
}
