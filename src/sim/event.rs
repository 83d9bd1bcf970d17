//! Everything that can happen: the table of contents of the model.

use super::outcome::FailureCause;
use crate::ids::{BackendId, FlowId, JudgeId};

/// Arrivals are no events: they are merged with them ([`super::clients`]). Numbers are places in the scenario's lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// A step of a connection.
    Flow { flow: FlowId, step: FlowStep },
    /// Something about a backend.
    Backend { backend: BackendId, step: BackendStep },
    /// A fault strikes, or its strike ends.
    Fault { strike: u32, begins: bool },
    /// An operator does something.
    Operation { number: u32 },
    /// An autoscaler looks at its group.
    Autoscale { number: u32 },
    /// The warm-up is over.
    WindowStarts,
    /// A sample of the timeline is complete.
    SampleEnds,
    /// The measured window is over, and its last sample.
    WindowEnds,
}

/// A step of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FlowStep {
    /// A SYN reaches its backend.
    SynArrives,
    /// No answer to a SYN came in time: the client sends another, or gives up.
    SynTimer,
    /// A backend answers a SYN, and the network may lose the answer.
    SynAck,
    /// Nobody acknowledged a SYN-ACK in time: the backend sends it again by itself.
    SynAckTimer,
    /// The client has the SYN-ACK.
    Established,
    /// The client sends a request again that nobody acknowledged.
    Resend,
    /// A request reaches its backend.
    RequestArrives,
    /// A worker is done with a request.
    ServiceEnds,
    /// A backend sends an answer that the network may lose.
    Answer,
    /// The client has the whole response.
    Response,
    /// The client has thought enough and sends the next request.
    RequestDue,
    /// A request that waited, or is in service, may have taken too long.
    RequestTimeout,
    /// The client learns that its connection has failed.
    Fails(FailureCause),
}

impl FlowStep {
    /// Whether the client sends a packet that the load balancer routes, if nothing goes wrong.
    #[inline]
    pub(super) fn sends_packet(self) -> bool {
        matches!(self, Self::SynTimer | Self::Established | Self::Resend | Self::Response | Self::RequestDue)
    }

    /// Whether it comes a round trip after the connection's last packet, so that all it needs is in the processor's cache.
    #[inline]
    pub(super) fn follows_closely(self) -> bool {
        matches!(self, Self::SynArrives | Self::SynAck | Self::Established | Self::RequestArrives)
    }
}

/// A prober of one health check: each backend has its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProberId {
    pub(super) judge: JudgeId,
    pub(super) number: u8,
}

/// Something about a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BackendStep {
    /// It fails by itself, or is repaired.
    Renewal,
    /// An autoscaler ordered it: it begins to serve.
    Boots,
    /// A probe sets out.
    ProbeStarts { prober: ProberId },
    /// No answer to a probe's SYN came in time: its prober sends another.
    ProbeSendsAgain { prober: ProberId },
    /// A probe reaches it.
    ProbeArrives { prober: ProberId },
    /// A worker is done with a probe that went through the queue.
    ProbeServed { prober: ProberId },
    /// A probe that went through the queue may have had no answer in time.
    ProbeTimesOut { prober: ProberId },
    /// Jobs that share the workers may have ended.
    SharedEnds,
    /// A probe's result is known.
    ProbeEnds { prober: ProberId, success: bool },
    /// Load balancers take notice of a changed state of health.
    HealthApplies { judge: JudgeId, healthy: bool },
}
