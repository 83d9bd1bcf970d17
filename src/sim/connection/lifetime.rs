//! How long clients keep their connections.
//!
//! A connection is closed after its last request; one of a trace not before the duration that was recorded. As the
//! connection pools of HTTP clients and databases do, a client sends no request on a connection that is older than its
//! group's `max_age`: it closes it, after the response that it waits for, or when the next request is due. That request
//! and all later ones go over a new connection, which is one of its own, from another port.

use super::{Forwarded, Simulation};
use crate::lb::packet::{PacketKind, Protocol};
use crate::sim::event::FlowStep;
use crate::sim::flow::{Current, FlowState};
use crate::time::{SimDuration, SimTime};

impl Simulation<'_> {
    /// The last response is there.
    pub(super) fn served(&mut self, now: SimTime, flow: &mut Current<'_>) {
        let duration = self.clients.recorded(flow).and_then(|row| row.duration);
        let end = duration.map(|duration| flow.started + duration);
        match end.filter(|end| *end > now) {
            Some(end) => self.pause(now, flow, end),
            None => self.leave(now, flow),
        }
    }

    /// Leaves the connection alone until `until`.
    pub(super) fn pause(&mut self, now: SimTime, flow: &mut Current<'_>, until: SimTime) {
        flow.state = FlowState::Thinking;
        // The acknowledgement of a response passes the load balancer too. Nobody notices if it is dropped.
        if flow.group.protocol != Protocol::Tcp || self.forward(now, flow) != Forwarded::Elsewhere {
            self.schedule(until, flow, FlowStep::RequestDue);
        }
    }

    /// A pause is over.
    pub(in crate::sim) fn request_due(&mut self, now: SimTime, flow: &mut Current<'_>) {
        if flow.requests_sent == flow.requests {
            self.leave(now, flow);
        } else if self.is_too_old(now, flow) {
            self.replace(now, flow, SimDuration::ZERO);
        } else {
            self.send_request(now, flow);
        }
    }

    /// Whether the client sends no more requests on this connection.
    pub(super) fn is_too_old(&self, now: SimTime, flow: &Current<'_>) -> bool {
        flow.group.max_age.is_some_and(|max_age| now.since(flow.started) >= max_age)
    }

    /// Closes a connection; after `pause` a new one goes on with its requests.
    pub(super) fn replace(&mut self, now: SimTime, flow: &mut Current<'_>, pause: SimDuration) {
        self.leave(now, flow);
        self.clients.go_on(now + pause, flow);
    }

    /// The client closes a connection in good order.
    fn leave(&mut self, now: SimTime, flow: &mut Current<'_>) {
        if flow.group.protocol == Protocol::Tcp {
            // Its FIN is the last packet that keeps the tracking entry alive.
            let _ = self.route(now, flow, PacketKind::Data);
        }
        self.end(now, flow, None);
    }
}
