//! How a world ends: when nothing that is still to come can change what is measured.
//!
//! After the window no connection begins, and those that began in it are followed to their end. One whose end is certain may wait
//! for it for a year, as a timeout or a trace says, and notices nothing of what probes find and machines do until then. So once
//! all that are left are such, nothing is probed or struck any more, and only their ends are told.

use super::{EVENTS_BETWEEN_LOOKS, Simulation};
use crate::ids::FlowId;
use crate::sim::event::Event;
use crate::sim::flow::FlowState;
use crate::sim::run_error::{RunError, RunResult};
use crate::time::SimTime;

impl Simulation<'_> {
    /// When to look whether the rest is decided, in events: a look at every connection may cost as much as events of as many.
    pub(super) fn next_look(&self) -> u64 {
        self.calendar.count() + EVENTS_BETWEEN_LOOKS.max(self.flows.ids().len() as u64)
    }

    /// Whether how each measured connection ends that is not over is certain: it fails, or it has all of its responses and is
    /// only closed later.
    pub(super) fn is_decided(&self) -> bool {
        self.waiting().all(|id| {
            let flow = &self.flows[id];
            let is_answered = flow.state == FlowState::Thinking && flow.requests_sent == flow.requests;
            flow.state == FlowState::Failing || is_answered
        })
    }

    /// Measured connections that are not over.
    fn waiting(&self) -> impl Iterator<Item = FlowId> {
        let flows = &self.flows;
        flows.ids().filter(|id| flows[*id].is_measured() && flows[*id].state != FlowState::Over)
    }

    /// Tells the ends of measured connections, which are all that is left of them.
    pub(super) fn end_the_rest<const TRACED: bool>(&mut self) -> RunResult<()> {
        while self.front.clients.are_waiting() {
            let Some(event) = self.calendar.next(SimTime::NEVER) else { return Err(self.never_ends()) };
            let is_measured = |flow| self.flows[flow].is_measured();
            if !matches!(event, Event::Flow { flow, .. } if is_measured(flow)) {
                continue;
            }
            if TRACED {
                self.handle_traced(event)?;
            } else {
                self.handle(event)?;
            }
        }
        Ok(())
    }

    /// Connections wait for what comes later than time can say.
    #[cold]
    pub(super) fn never_ends(&self) -> Box<RunError> {
        let client = self.waiting().next().map(|id| self.flows[id].client);
        let name = client.map_or(String::new(), |client| self.scenario.clients[client].name.clone());
        Box::new(RunError::NeverEnds { client: name })
    }
}
