//! Next hops: what routes make of packets that go on to destinations of their own.

use crate::ids::RuleId;
use crate::lb::policy::TrafficOrigin;

/// How a route leads the packets of a client group, and their answers (REG-4). The rule that is the next hop is that of the
/// group's lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The first of the IPv4 addresses that the group sends to, as a number.
    pub destination: u32,
    /// The next hop of answers; without one they come back through the machine that let their connection through.
    pub answers: Option<AnswerHop>,
}

/// The next hop of answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerHop {
    /// The forwarding rule.
    pub rule: RuleId,
    /// Where answers come from.
    pub origin: TrafficOrigin,
    /// Whether machines share what they know of connections, so that any of them lets an answer pass.
    pub is_session_synced: bool,
}
