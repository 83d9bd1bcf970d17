//! Follows the first connections of the measured window, packet by packet. Like the recorder it is told, and never asked.

use std::collections::BTreeMap;

use super::event::FlowStep;
use super::flow::{Flow, FlowState};
use super::outcome::FailureCause;
use super::packets::TracedPacket;
use crate::lb::Verdict;
use crate::lb::packet::{Endpoint, Packet, PacketKind, Protocol};
use crate::time::SimTime;

#[derive(Debug)]
pub(super) struct Tracer {
    /// How many connections are wanted.
    wanted: usize,
    /// The step that is under way.
    step: Option<FlowStep>,
    /// Those that are followed, by the word of their key.
    followed: BTreeMap<u64, Followed>,
    /// How many of them are not over.
    open: usize,
    packets: Vec<TracedPacket>,
}

#[derive(Clone, Copy, Debug)]
struct Followed {
    number: usize,
    source: Endpoint,
    protocol: Protocol,
    /// SYNs that it has sent.
    syns: u32,
    /// Requests that it has sent, each counted once.
    requests: u32,
    /// The place of its last packet.
    last: usize,
    is_over: bool,
}

impl Tracer {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, step: None, followed: BTreeMap::new(), open: 0, packets: Vec::new() }
    }

    /// Whether nothing more is to come.
    pub(super) fn is_done(&self) -> bool {
        self.followed.len() == self.wanted && self.open == 0
    }

    /// The load balancer has routed `packet` of `flow`.
    pub(super) fn routed(&mut self, now: SimTime, flow: &Flow, packet: &Packet, verdict: Verdict) {
        let key = flow.key.word();
        if !self.followed.contains_key(&key) && !self.follow(flow, packet) {
            return;
        }
        let Some(followed) = self.followed.get_mut(&key) else { return };
        let name = match packet.kind {
            PacketKind::Syn => {
                followed.syns += 1;
                if followed.syns > 1 { "resend" } else { "syn" }
            }
            PacketKind::LaterFragment => "request",
            PacketKind::Data | PacketKind::FirstFragment => {
                let is_new = flow.requests_sent > followed.requests;
                followed.requests = flow.requests_sent;
                match (self.step, flow.state) {
                    _ if is_new => "request",
                    (Some(FlowStep::Resend), _) => "resend",
                    (Some(FlowStep::Response), FlowState::Thinking) => "ack",
                    _ => "fin",
                }
            }
        };
        let selected = verdict.selected();
        let verdict = match verdict {
            Verdict::Dropped => "dropped",
            _ if packet.kind != PacketKind::Syn && diverts(flow, verdict) => "diverted",
            Verdict::Tracked(..) => "tracked",
            Verdict::Selected(..) => "new",
        };
        let (backend, outcome) = selected.unzip();
        self.note(flow, TracedPacket { at: now, packet: name, backend, verdict, outcome, ..of(flow) });
    }

    /// Begins to follow `flow`, with its first packet, if it is one of the wanted.
    fn follow(&mut self, flow: &Flow, packet: &Packet) -> bool {
        let is_first = flow.syn_retries == 0 && flow.requests_sent <= 1 && flow.backend.is_none();
        let is_wanted = self.followed.len() < self.wanted && flow.is_measured() && is_first;
        if is_wanted {
            let number = self.followed.len() + 1;
            let (source, protocol) = (packet.tuple.source, packet.tuple.protocol);
            let followed =
                Followed { number, source, protocol, syns: 0, requests: 0, last: 0, is_over: false };
            self.followed.insert(flow.key.word(), followed);
            self.open += 1;
        }
        is_wanted
    }

    /// A step of `flow` begins, perhaps with an answer.
    pub(super) fn begins(&mut self, now: SimTime, flow: &Flow, step: FlowStep) {
        self.step = Some(step);
        let Some(followed) = self.followed.get(&flow.key.word()).filter(|followed| !followed.is_over) else {
            return;
        };
        let packet = match (step, flow.state) {
            (FlowStep::Established, FlowState::Connecting) => "syn-ack",
            (FlowStep::Response, FlowState::Requesting) => "response",
            (FlowStep::Fails(cause), FlowState::Failing) => match cause {
                FailureCause::QueueFull => "rejection",
                FailureCause::Refused if followed.protocol != Protocol::Tcp => "unreachable",
                FailureCause::Refused | FailureCause::Reset => "rst",
                FailureCause::NoBackend | FailureCause::ConnectTimeout | FailureCause::RequestTimeout => {
                    "timeout"
                }
                FailureCause::NoPort => return,
            },
            _ => return,
        };
        // Who resets a connection that has gone astray is who its last packet went to.
        let last = followed.last;
        let backend = self.packets.get(last).filter(|_| packet == "rst").and_then(|packet| packet.backend);
        self.note(flow, TracedPacket { at: now, packet, backend: backend.or(flow.backend), ..of(flow) });
    }

    /// The step of `flow` is done.
    pub(super) fn ends(&mut self, now: SimTime, flow: &Flow, step: FlowStep) {
        self.step = None;
        let is_followed = self.followed.get(&flow.key.word()).is_some_and(|followed| !followed.is_over);
        if !is_followed || flow.state != FlowState::Over {
            return;
        }
        let nowhere = flow.backend.is_none();
        let ended = match step {
            FlowStep::Fails(_) | FlowStep::RequestTimeout if nowhere => FailureCause::NoBackend.name(),
            FlowStep::Fails(cause) => cause.name(),
            FlowStep::RequestTimeout => {
                self.note(
                    flow,
                    TracedPacket { at: now, packet: "timeout", backend: flow.backend, ..of(flow) },
                );
                FailureCause::RequestTimeout.name()
            }
            _ if flow.requests_sent < flow.requests => "replaced",
            _ => "completed",
        };
        if let Some(followed) = self.followed.get_mut(&flow.key.word()) {
            followed.is_over = true;
            self.open -= 1;
            self.packets[followed.last].ended = ended;
        }
    }

    fn note(&mut self, flow: &Flow, packet: TracedPacket) {
        if let Some(followed) = self.followed.get_mut(&flow.key.word()) {
            followed.last = self.packets.len();
            self.packets.push(TracedPacket {
                connection: followed.number,
                source: followed.source,
                ..packet
            });
        }
    }

    /// What was followed, in the order of time.
    pub(super) fn finish(self) -> Vec<TracedPacket> {
        self.packets
    }
}

/// Whether a later packet goes to another backend than those before it.
fn diverts(flow: &Flow, verdict: Verdict) -> bool {
    verdict.selected().is_some_and(|(backend, _)| flow.backend.is_some_and(|before| before != backend))
}

/// What all packets of `flow` have in common.
fn of(flow: &Flow) -> TracedPacket {
    TracedPacket {
        at: flow.started,
        connection: 0,
        client: flow.client,
        source: Endpoint { ip: 0, port: flow.port },
        packet: "",
        request: flow.requests_sent,
        backend: None,
        verdict: "",
        outcome: None,
        ended: "",
    }
}
