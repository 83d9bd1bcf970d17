//! How a backend works off requests, and probes where they wait in its queue: with a number of workers and a bounded
//! queue, first come first served (M/M/c/K); sharing the workers' speed; or without limit.

mod sharing;

use std::collections::VecDeque;

use super::event::ProberId;
use super::scenario::{Discipline, Server, Workers};
use crate::ids::FlowId;
use crate::random::Distribution;
use crate::stats::Level;
use crate::time::{SimDuration, SimTime};
use sharing::Sharing;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Request(FlowId),
    Probe(ProbeId),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ProbeId {
    pub(super) prober: ProberId,
    /// Its number among the prober's, from 0 and round again: one of them is under way at most.
    pub(super) number: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// A worker takes it at once, or it shares the workers.
    Starts,
    Waits,
    /// It is refused: the queue is full.
    Full,
}

#[derive(Debug)]
pub(super) struct Station<'a> {
    /// That of its group: there may be thousands of stations, and every request asks for it.
    pub(super) service_time: &'a Distribution<SimDuration>,
    limits: Option<Box<Limits>>,
}

#[derive(Debug)]
struct Limits {
    workers: u64,
    queue_limit: usize,
    /// Busy workers, or requests that share them up to their number.
    busy: Level,
    /// Worker time, in nanoseconds, that was given before the level was restarted.
    busy_before: u128,
    /// Jobs that wait, and since when.
    queue: VecDeque<(Job, SimTime)>,
    sharing: Option<Sharing>,
    waits: Waits,
}

/// How long jobs wait, since it was last restarted.
#[derive(Debug, Default)]
struct Waits {
    /// Jobs that wait; of those that share, as many as there are beyond the workers.
    length: Level,
    /// Jobs that began to be served, were given up, or were dropped; of those that share, jobs that ended or were dropped.
    jobs: u64,
    /// How long these waited; of those that share, how much longer they took than alone for what was done of them.
    nanos: u128,
}

impl Waits {
    fn end(&mut self, waited: SimDuration) {
        self.jobs += 1;
        self.nanos += u128::from(waited.as_nanos());
    }
}

impl<'a> Station<'a> {
    pub(super) fn new(server: &'a Server) -> Self {
        let limits = match server.workers {
            Workers::Unlimited => None,
            Workers::Limited(workers) => Some(Box::new(Limits {
                workers: u64::from(workers.get()),
                queue_limit: server.queue_limit as usize,
                busy: Level::default(),
                busy_before: 0,
                queue: VecDeque::new(),
                sharing: (server.discipline == Discipline::ProcessorSharing)
                    .then(|| Sharing::new(workers.get())),
                waits: Waits::default(),
            })),
        };
        Self { service_time: &server.service_time, limits }
    }

    /// Whether a request never waits for another here.
    #[inline]
    pub(super) fn is_unlimited(&self) -> bool {
        self.limits.is_none()
    }

    /// Whether requests share the workers: then they end as [`share`](Self::share) says.
    #[inline]
    pub(super) fn is_sharing(&self) -> bool {
        self.limits.as_ref().is_some_and(|limits| limits.sharing.is_some())
    }

    #[inline]
    pub(super) fn admit(&mut self, now: SimTime, job: Job) -> Admission {
        let Some(limits) = &mut self.limits else {
            return Admission::Starts;
        };
        if let Some(sharing) = &limits.sharing {
            // Nobody waits; the queue's places are places to share in.
            let places = limits.workers as usize + limits.queue_limit;
            return if sharing.len() < places { Admission::Starts } else { Admission::Full };
        }
        if limits.busy.value() < limits.workers {
            limits.busy.up(now);
            limits.waits.end(SimDuration::ZERO);
            return Admission::Starts;
        }
        if limits.queue.len() >= limits.queue_limit {
            return Admission::Full;
        }
        limits.queue.push_back((job, now));
        limits.waits.length.up(now);
        Admission::Waits
    }

    /// A worker takes the job that waits longest among those that `is_wanted` wants, or is idle.
    pub(super) fn take_next(&mut self, now: SimTime, mut is_wanted: impl FnMut(Job) -> bool) -> Option<Job> {
        let limits = self.limits.as_mut()?;
        while let Some((job, since)) = limits.queue.pop_front() {
            limits.waits.length.down(now);
            limits.waits.end(now.since(since));
            if is_wanted(job) {
                return Some(job);
            }
        }
        limits.busy.down(now);
        None
    }

    /// An admitted job of `work` shares the workers; gives when the next job ends, if sooner than was said before.
    pub(super) fn share(&mut self, now: SimTime, job: Job, work: SimDuration) -> Option<SimTime> {
        let limits = self.limits.as_mut().expect("only limited workers are shared");
        let sharing = limits.sharing.as_mut().expect("it shares its workers");
        let next = sharing.enter(now, job, work);
        limits.count_shared(now);
        next
    }

    pub(super) fn take_shared(&mut self, now: SimTime) -> (Vec<Job>, Option<SimTime>) {
        let Some(limits) = &mut self.limits else { return (Vec::new(), None) };
        let Some(sharing) = &mut limits.sharing else { return (Vec::new(), None) };
        let (done, next) = sharing.take_done(now);
        limits.count_shared(now);
        done.iter().for_each(|(_, longer)| limits.waits.end(*longer));
        (done.into_iter().map(|(job, _)| job).collect(), next)
    }

    /// The machine has failed: workers drop what they do. Gives what waited, and what shared the workers.
    pub(super) fn stop(&mut self, now: SimTime) -> Vec<Job> {
        let Some(limits) = &mut self.limits else { return Vec::new() };
        limits.busy.set(now, 0);
        limits.waits.length.set(now, 0);
        let shared = limits.sharing.as_mut().map(|sharing| sharing.clear(now)).unwrap_or_default();
        let waited = limits.queue.drain(..).map(|(job, since)| (job, now.since(since)));
        let dropped: Vec<(Job, SimDuration)> = waited.chain(shared).collect();
        dropped.iter().for_each(|(_, waited)| limits.waits.end(*waited));
        dropped.into_iter().map(|(job, _)| job).collect()
    }

    /// Worker time in use since the last call, in nanoseconds; absent without a limit.
    pub(super) fn take_busy(&mut self, now: SimTime) -> Option<u128> {
        Some(self.limits.as_mut()?.take_busy(now))
    }

    /// The mean number of jobs that waited since [`Self::restart`], `length` ago; absent without a limit.
    pub(super) fn mean_queue_length(&self, now: SimTime, length: SimDuration) -> Option<f64> {
        Some(self.limits.as_ref()?.waits.length.area(now) as f64 / length.as_nanos() as f64)
    }

    /// The mean wait of a job since then, in nanoseconds; absent without a limit, or a job.
    pub(super) fn mean_wait(&self) -> Option<f64> {
        let Waits { jobs, nanos, .. } = &self.limits.as_ref()?.waits;
        (*jobs > 0).then(|| *nanos as f64 / *jobs as f64)
    }

    /// Worker time, in nanoseconds, since the beginning; absent without a limit.
    pub(super) fn busy_nanos(&mut self, now: SimTime) -> Option<u128> {
        let limits = self.limits.as_mut()?;
        Some(limits.busy_before + limits.busy.area(now))
    }

    pub(super) fn workers(&self) -> Option<u32> {
        self.limits.as_ref().map(|limits| limits.workers as u32)
    }

    pub(super) fn restart(&mut self, now: SimTime) {
        if let Some(limits) = &mut self.limits {
            limits.take_busy(now);
            limits.waits.length.restart(now);
            (limits.waits.jobs, limits.waits.nanos) = (0, 0);
        }
    }
}

impl Limits {
    /// Worker time, in nanoseconds, since the last call.
    fn take_busy(&mut self, now: SimTime) -> u128 {
        let busy = self.busy.area(now);
        self.busy.restart(now);
        self.busy_before += busy;
        busy
    }

    fn count_shared(&mut self, now: SimTime) {
        let jobs = self.sharing.as_ref().map_or(0, |sharing| sharing.len() as u64);
        self.busy.set(now, self.workers.min(jobs));
        self.waits.length.set(now, jobs.saturating_sub(self.workers));
    }
}
