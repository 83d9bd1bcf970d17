//! Connections under way.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use prefetch_index::prefetch_index;

use crate::ids::{BackendId, ClientId, FlowId, Id};
use crate::lb::zonal_affinity::Outcome as DecisionOutcome;
use crate::random::StreamKey;
use crate::time::{SimDuration, SimTime};

/// What a connection waits for.
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

/// One connection.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    /// The key of all its draws: unique among connections.
    pub(super) key: StreamKey,
    /// When its first SYN was sent.
    pub(super) started: SimTime,
    /// When its latest SYN or request was sent.
    pub(super) sent: SimTime,
    /// The round trip of that packet.
    pub(super) trip: SimDuration,
    pub(super) client: ClientId,
    /// The number of its client's address in the group.
    pub(super) address: u32,
    pub(super) port: u16,
    /// What its client group knows it by.
    pub(super) number: u32,
    /// The number of the destination that it sends to.
    pub(super) destination: u32,
    pub(super) state: FlowState,
    /// SYNs sent before the latest one.
    pub(super) syn_retries: u8,
    /// How often the latest request was sent again.
    pub(super) resends: u8,
    /// The backend that its packets reached last.
    pub(super) backend: Option<BackendId>,
    /// The life of its backend that accepted it: a backend that has failed since does not know it.
    pub(super) incarnation: u32,
    /// Requests that it has sent.
    pub(super) requests_sent: u32,
    /// Requests that it makes in all.
    pub(super) requests: u32,
    /// Whether that was given, not drawn: it is the same for a retry.
    pub(super) requests_given: bool,
    /// The outcome of the decision that placed it.
    pub(super) outcome: DecisionOutcome,
    /// Whether its first SYN was sent in the measured window.
    pub(super) measured: bool,
    /// Whether the handshake is done and it is not closed: it counts as active on its backend.
    pub(super) open: bool,
    /// Whether the load balancer held its backend unhealthy when it placed it there.
    pub(super) on_unhealthy: bool,
    pub(super) retries_left: u32,
    /// Whether an event stands for the timeout of a request. There is one at most, whatever the number of requests: it is set
    /// anew when it comes too early.
    pub(super) timed: bool,
    /// Events and queue places that name it: a few at most.
    pub(super) pending: u8,
}

/// The connections under way, in slots that are used again.
#[derive(Debug, Default)]
pub(super) struct Flows {
    slots: Vec<Flow>,
    free: Vec<FlowId>,
}

impl Flows {
    pub(super) fn add(&mut self, flow: Flow) -> FlowId {
        match self.free.pop() {
            Some(id) => {
                self.slots[id.index()] = flow;
                id
            }
            None => {
                self.slots.push(flow);
                FlowId::from_index(self.slots.len() - 1)
            }
        }
    }

    /// The addresses and ports of a client group's connections that are not over, of ports in `range`.
    pub(super) fn ports_in_use(&self, client: ClientId, range: RangeInclusive<u16>) -> BTreeSet<(u32, u16)> {
        let open = self.slots.iter().filter(|flow| {
            flow.client == client && flow.state != FlowState::Over && range.contains(&flow.port)
        });
        open.map(|flow| (flow.address, flow.port)).collect()
    }

    /// Whether they are too many for a processor's cache, so that fetching ahead pays.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.slots.len() * size_of::<Flow>() > 1 << 20
    }

    /// Asks the processor to fetch a connection.
    #[inline]
    pub(super) fn prefetch(&self, id: FlowId) {
        prefetch_index(&self.slots, id.index());
    }

    /// Frees the slot of a connection that is over, once nothing names it any more.
    #[inline]
    pub(super) fn release(&mut self, id: FlowId) {
        let flow = &self.slots[id.index()];
        if flow.pending == 0 {
            assert_eq!(flow.state, FlowState::Over, "a connection waits for something or is over");
            self.free.push(id);
        }
    }
}

impl std::ops::Index<FlowId> for Flows {
    type Output = Flow;
    fn index(&self, id: FlowId) -> &Flow {
        &self.slots[id.index()]
    }
}

impl std::ops::IndexMut<FlowId> for Flows {
    fn index_mut(&mut self, id: FlowId) -> &mut Flow {
        &mut self.slots[id.index()]
    }
}
