//! How a backend works off requests: a number of workers and a bounded queue, first come first served.

use std::collections::VecDeque;

use super::scenario::{Server, Workers};
use crate::ids::FlowId;
use crate::random::Distribution;
use crate::stats::Level;
use crate::time::{SimDuration, SimTime};

/// What becomes of a request that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// A worker takes it at once.
    Starts,
    /// It waits.
    Waits,
    /// It is refused: the queue is full.
    Full,
}

/// One backend's workers and queue.
#[derive(Debug)]
pub(super) struct Station {
    pub(super) service_time: Distribution<SimDuration>,
    limits: Option<Limits>,
}

/// The state of a station whose workers are limited.
#[derive(Debug)]
struct Limits {
    workers: u64,
    queue_limit: usize,
    busy: Level,
    queue: VecDeque<FlowId>,
}

impl Station {
    pub(super) fn new(server: &Server) -> Self {
        let limits = match server.workers {
            Workers::Unlimited => None,
            Workers::Limited(workers) => Some(Limits {
                workers: u64::from(workers.get()),
                queue_limit: server.queue_limit as usize,
                busy: Level::default(),
                queue: VecDeque::new(),
            }),
        };
        Self { service_time: server.service_time.clone(), limits }
    }

    /// Whether a request never waits for another here.
    #[inline]
    pub(super) fn is_unlimited(&self) -> bool {
        self.limits.is_none()
    }

    /// Admits a request at time `now`, or refuses it.
    #[inline]
    pub(super) fn admit(&mut self, now: SimTime, flow: FlowId) -> Admission {
        let Some(limits) = &mut self.limits else {
            return Admission::Starts;
        };
        if limits.busy.value() < limits.workers {
            limits.busy.up(now);
            return Admission::Starts;
        }
        if limits.queue.len() >= limits.queue_limit {
            return Admission::Full;
        }
        limits.queue.push_back(flow);
        Admission::Waits
    }

    /// The request that waits longest, if there is one.
    pub(super) fn take_waiting(&mut self) -> Option<FlowId> {
        self.limits.as_mut()?.queue.pop_front()
    }

    /// A worker has nothing to do any more.
    pub(super) fn idle(&mut self, now: SimTime) {
        if let Some(limits) = &mut self.limits {
            limits.busy.down(now);
        }
    }

    /// The machine has failed: workers drop what they do. What waits is taken with [`Self::take_waiting`].
    pub(super) fn stop(&mut self, now: SimTime) {
        if let Some(limits) = &mut self.limits {
            limits.busy.set(now, 0);
        }
    }

    /// The mean share of busy workers since the last call, which was `length` ago; absent without a limit.
    pub(super) fn take_utilization(&mut self, now: SimTime, length: SimDuration) -> Option<f64> {
        let limits = self.limits.as_mut()?;
        let busy = limits.busy.area(now) as f64;
        limits.busy.restart(now);
        Some(busy / (limits.workers as f64 * length.as_nanos() as f64))
    }
}
