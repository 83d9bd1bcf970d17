//! Processor sharing: all jobs at once, each at an equal share of the workers' speed, but at most one worker's.
//!
//! A virtual clock runs at the speed of each job. A job ends when it has run as far as the job's work is long, so only
//! the job that ends next is looked at.

use std::collections::BTreeMap;

use super::Job;
use crate::time::{SimDuration, SimTime};

#[derive(Debug)]
pub(super) struct Sharing {
    workers: f64,
    /// The virtual clock, in nanoseconds of work done for each job, as it stood at `since`.
    clock: f64,
    since: SimTime,
    /// Jobs by the clock's reading at their end, as bits, which order positive numbers, and by order of entry.
    jobs: BTreeMap<(u64, u64), Entered>,
    entered: u64,
    /// The moment for which the end of a job was announced last; never if that has passed.
    announced: SimTime,
}

#[derive(Clone, Copy, Debug)]
struct Entered {
    job: Job,
    at: SimTime,
    work: SimDuration,
}

impl Sharing {
    pub(super) fn new(workers: u32) -> Self {
        Self {
            workers: f64::from(workers),
            clock: 0.0,
            since: SimTime::ZERO,
            jobs: BTreeMap::new(),
            entered: 0,
            announced: SimTime::NEVER,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Adds a job of `work`; gives when the next job ends, if that is sooner than was announced.
    pub(super) fn enter(&mut self, now: SimTime, job: Job, work: SimDuration) -> Option<SimTime> {
        self.advance(now);
        let end = self.clock + work.as_nanos() as f64;
        self.entered += 1;
        self.jobs.insert((end.to_bits(), self.entered), Entered { job, at: now, work });
        self.announce(now)
    }

    /// Takes the jobs that have ended by `now`, each with how much longer it took than alone; gives when the next one ends.
    pub(super) fn take_done(&mut self, now: SimTime) -> (Vec<(Job, SimDuration)>, Option<SimTime>) {
        self.advance(now);
        if now >= self.announced {
            self.announced = SimTime::NEVER;
        }
        let mut done = Vec::new();
        // Half a nanosecond of work is what rounding may leave.
        while let Some(first) = self.jobs.first_entry()
            && f64::from_bits(first.key().0) <= self.clock + 0.5
        {
            let Entered { job, at, work } = first.remove();
            let took = now.since(at);
            done.push((job, took - took.min(work)));
        }
        if self.jobs.is_empty() {
            self.clock = 0.0;
        }
        (done, self.announce(now))
    }

    /// Removes every job; gives each with how much longer it took than what was done of it would have taken alone.
    pub(super) fn clear(&mut self, now: SimTime) -> Vec<(Job, SimDuration)> {
        self.advance(now);
        let clock = std::mem::take(&mut self.clock);
        self.announced = SimTime::NEVER;
        let longer = |((end, _), Entered { job, at, work }): ((u64, u64), Entered)| {
            let left = SimDuration::from_nanos_f64((f64::from_bits(end) - clock).max(0.0));
            let (took, done) = (now.since(at), work - left.min(work));
            (job, took - took.min(done))
        };
        std::mem::take(&mut self.jobs).into_iter().map(longer).collect()
    }

    /// The speed of each job, as a share of one worker's.
    fn speed(&self) -> f64 {
        let jobs = self.jobs.len() as f64;
        if jobs <= self.workers { 1.0 } else { self.workers / jobs }
    }

    fn advance(&mut self, now: SimTime) {
        self.clock += now.since(self.since).as_nanos() as f64 * self.speed();
        self.since = now;
    }

    fn announce(&mut self, now: SimTime) -> Option<SimTime> {
        let ((end, _), _) = self.jobs.first_key_value()?;
        // A quarter of a nanosecond is less than what is forgiven at the end.
        let wait = ((f64::from_bits(*end) - self.clock) / self.speed() - 0.25).max(0.0).ceil();
        let time = now + SimDuration::from_nanos_f64(wait);
        let sooner = time < self.announced;
        if sooner {
            self.announced = time;
        }
        sooner.then_some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::{FlowId, Id};

    fn at(nanos: u64) -> SimTime {
        SimTime::from_nanos(nanos)
    }

    /// Runs jobs `(arrival, work)` to their ends, job by job.
    fn ends(workers: u32, jobs: &[(u64, u64)]) -> Vec<u64> {
        let mut sharing = Sharing::new(workers);
        let mut ends = vec![0; jobs.len()];
        let mut events: std::collections::BTreeSet<u64> = std::collections::BTreeSet::new();
        let mut arrivals = jobs.iter().enumerate().peekable();
        loop {
            let next_event = events.first().copied().unwrap_or(u64::MAX);
            let next_arrival = arrivals.peek().map_or(u64::MAX, |(_, (time, _))| *time);
            if next_event == u64::MAX && next_arrival == u64::MAX {
                return ends;
            }
            if next_arrival < next_event {
                let (number, (time, work)) = arrivals.next().unwrap();
                let job = Job::Request(FlowId::from_index(number));
                events.extend(
                    sharing.enter(at(*time), job, SimDuration::from_nanos(*work)).map(SimTime::as_nanos),
                );
            } else {
                events.pop_first();
                let (done, next) = sharing.take_done(at(next_event));
                for (job, longer) in done {
                    let Job::Request(flow) = job else { panic!("all are requests") };
                    let (arrival, work) = jobs[flow.index()];
                    ends[flow.index()] = next_event;
                    assert_eq!(longer.as_nanos(), next_event - arrival - work);
                }
                events.extend(next.map(SimTime::as_nanos));
            }
        }
    }

    #[test]
    fn jobs_share_the_workers_equally() {
        // Two jobs of 100 on one worker: the first runs alone for 50, then both at half speed.
        assert_eq!(ends(1, &[(0, 100), (50, 100)]), [150, 200]);
        // On two workers they do not disturb each other.
        assert_eq!(ends(2, &[(0, 100), (50, 100)]), [100, 150]);
        // Three on two workers: from 0 to 150 at two thirds, when the first two are done.
        assert_eq!(ends(2, &[(0, 100), (0, 100), (0, 200)]), [150, 150, 250]);
        // A short one overtakes.
        assert_eq!(ends(1, &[(0, 1000), (100, 10)]), [1010, 120]);
    }

    #[test]
    fn clearing_gives_back_every_job() {
        let mut sharing = Sharing::new(1);
        let jobs = [0, 1, 2, 3, 4].map(|number| Job::Request(FlowId::from_index(number)));
        for job in jobs {
            let _next = sharing.enter(at(0), job, SimDuration::from_nanos(10));
        }
        // Each has had a fifth of the worker: 1 ns of work in 5.
        let longer = SimDuration::from_nanos(4);
        assert_eq!(sharing.clear(at(5)), jobs.map(|job| (job, longer)));
        assert_eq!(sharing.len(), 0);
    }
}
