//! What time it is, and what is to come.

use super::event::{BackendStep, Event};
use super::queue::EventQueue;
use crate::ids::BackendId;
use crate::time::SimTime;

/// How many events ahead the connection of an event is fetched.
const FLOWS_AHEAD: usize = 24;
/// How many events ahead the tracking entry of its next packet is fetched; its connection is there by then.
const PACKETS_AHEAD: usize = 12;

#[derive(Debug)]
pub(super) struct Calendar {
    now: SimTime,
    queue: EventQueue<Event>,
    count: u64,
}

impl Calendar {
    pub(super) fn new() -> Self {
        Self { now: SimTime::ZERO, queue: EventQueue::new(), count: 0 }
    }

    #[inline]
    pub(super) fn now(&self) -> SimTime {
        self.now
    }

    #[inline]
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// At equal times events come in the order in which they were planned.
    #[inline]
    pub(super) fn plan(&mut self, time: SimTime, event: Event) {
        self.queue.push(time, event);
    }

    pub(super) fn plan_step(&mut self, time: SimTime, backend: BackendId, step: BackendStep) {
        self.plan(time, Event::Backend { backend, step });
    }

    /// The next event up to `limit`: its time is now.
    #[inline(always)]
    pub(super) fn next(&mut self, limit: SimTime) -> Option<Event> {
        let (time, event) = self.queue.pop_until(limit)?;
        assert!(time >= self.now, "time ran back from {:?} to {time:?}", self.now);
        self.advance(time);
        Some(event)
    }

    #[inline]
    pub(super) fn advance(&mut self, time: SimTime) {
        self.now = time;
        self.count += 1;
    }

    /// Events that come soon, whose connections can be fetched now: many at a time, or none.
    #[inline]
    pub(super) fn soon(&mut self) -> Option<impl Iterator<Item = Event>> {
        self.queue.has_unseen(0, FLOWS_AHEAD).then(|| self.queue.unseen(0, FLOWS_AHEAD))
    }

    #[inline]
    pub(super) fn sooner(&mut self) -> Option<impl Iterator<Item = Event>> {
        self.queue.has_unseen(1, PACKETS_AHEAD).then(|| self.queue.unseen(1, PACKETS_AHEAD))
    }
}
