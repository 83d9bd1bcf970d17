//! The event list: a ladder queue (Tang, Goh and Thng 2005, doi:10.1145/1103323.1103324) in exact order of (time,
//! sequence).
//!
//! Only the nearest events are sorted; the others lie in buckets of coarser and coarser time, and beyond those in one
//! unsorted list: an event's cost does not grow with their number. The sequence needs no field: buckets keep the order
//! in which events came, sorting is stable, and a late-comer is placed behind the events of its time.

use crate::time::SimTime;

/// A bucket with more events than this is cut finer instead of sorted.
const SORT_LIMIT: usize = 128;
/// The sorted list is cut into buckets when late-comers have made it longer than this.
const BOTTOM_LIMIT: usize = 256;
const BUCKET_TARGET: usize = 12;
const MAX_BUCKETS: usize = 1 << 14;
const CHUNK: usize = 1 << 10;
/// Emptied buckets that are kept, with room for this many events at most: larger ones' memory is given back.
const SPARE_BUCKETS: usize = 64;
const SPARE_ROOM: usize = 2 * SORT_LIMIT;

/// Stages of looking ahead: what an event names must be there before what that needs can be known.
const STAGES: usize = 2;

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    time: u64,
    event: E,
}

#[derive(Debug)]
pub(super) struct EventQueue<E> {
    /// Sorted events before `bottom_end`; those before `head` are gone.
    bottom: Vec<Entry<E>>,
    head: usize,
    bottom_end: u64,
    /// From coarse to fine: each span begins where the next finer one ends, the finest at `bottom_end`.
    rungs: Vec<Rung<E>>,
    /// Events after every rung, unsorted; in chunks, so that growth copies nothing and memory is given back.
    top: Vec<Vec<Entry<E>>>,
    spare: Spare<E>,
    /// How far among the sorted events each stage of looking ahead has come.
    seen: [usize; STAGES],
}

#[derive(Debug)]
struct Spare<E>(Vec<Vec<Entry<E>>>);

impl<E> Spare<E> {
    fn keep(&mut self, mut emptied: Vec<Entry<E>>) {
        let has_room = (1..=SPARE_ROOM).contains(&emptied.capacity());
        if has_room && self.0.len() < SPARE_BUCKETS {
            emptied.clear();
            self.0.push(emptied);
        }
    }

    fn take(&mut self) -> Vec<Entry<E>> {
        self.0.pop().unwrap_or_default()
    }
}

/// A span of time cut into buckets of 2^`shift` nanoseconds.
#[derive(Debug)]
struct Rung<E> {
    start: u64,
    end: u64,
    shift: u32,
    /// The first bucket that has not been emptied yet.
    next: usize,
    buckets: Vec<Vec<Entry<E>>>,
}

impl<E: Copy> EventQueue<E> {
    pub(super) fn new() -> Self {
        Self {
            bottom: Vec::new(),
            head: 0,
            bottom_end: 0,
            rungs: Vec::new(),
            top: Vec::new(),
            spare: Spare(Vec::new()),
            seen: [0; STAGES],
        }
    }

    /// Adds an event. At equal times, events leave in the order in which they came.
    #[inline]
    pub(super) fn push(&mut self, time: SimTime, event: E) {
        let entry = Entry { time: time.as_nanos(), event };
        if entry.time < self.bottom_end {
            return self.push_bottom(entry);
        }
        for rung in self.rungs.iter_mut().rev() {
            if entry.time < rung.end {
                return rung.push(entry);
            }
        }
        self.push_top(entry);
    }

    #[inline]
    fn push_top(&mut self, entry: Entry<E>) {
        match self.top.last_mut() {
            Some(chunk) if chunk.len() < CHUNK => chunk.push(entry),
            _ => {
                let mut chunk = Vec::with_capacity(if self.top.is_empty() { BUCKET_TARGET } else { CHUNK });
                chunk.push(entry);
                self.top.push(chunk);
            }
        }
    }

    /// Takes the earliest event if it is not later than `limit`.
    #[inline(always)]
    pub(super) fn pop_until(&mut self, limit: SimTime) -> Option<(SimTime, E)> {
        if self.head == self.bottom.len() && !self.refill() {
            return None;
        }
        let entry = self.bottom[self.head];
        if entry.time > limit.as_nanos() {
            return None;
        }
        self.head += 1;
        Some((SimTime::from_nanos(entry.time), entry.event))
    }

    /// Whether a stage has seen less than half of the next `reach` events: so it sees many at a time.
    #[inline]
    pub(super) fn has_unseen(&self, stage: usize, reach: usize) -> bool {
        let seen = self.seen[stage];
        seen < self.bottom.len() && seen <= self.head + reach / 2
    }

    /// The next `reach` events that a stage has not seen; late-comers may be passed over, and others seen twice.
    pub(super) fn unseen(&mut self, stage: usize, reach: usize) -> impl Iterator<Item = E> {
        let seen = self.seen[stage].max(self.head);
        let end = self.bottom.len().min(self.head + reach);
        self.seen[stage] = end.max(self.seen[stage]);
        self.bottom.get(seen..end).unwrap_or_default().iter().map(|entry| entry.event)
    }

    #[inline]
    fn push_bottom(&mut self, entry: Entry<E>) {
        // Most late-comers, as the ends of round trips, come first: the place of the event that left last is free.
        if self.head > 0 && self.bottom.get(self.head).is_none_or(|first| entry.time < first.time) {
            self.head -= 1;
            self.bottom[self.head] = entry;
            return;
        }
        self.insert_bottom(entry);
    }

    fn insert_bottom(&mut self, entry: Entry<E>) {
        let behind = self.bottom[self.head..].partition_point(|other| other.time <= entry.time);
        self.bottom.insert(self.head + behind, entry);
        if self.bottom.len() - self.head > BOTTOM_LIMIT {
            self.cut_bottom();
        }
    }

    /// Spreads the sorted list over a new finest rung, unless it is all of one time.
    #[cold]
    fn cut_bottom(&mut self) {
        let start = self.bottom[self.head].time;
        if self.bottom_end - start <= 1 {
            return;
        }
        let count = self.bottom.len() - self.head;
        let mut rung = Rung::new(start, self.bottom_end, count, &mut self.spare);
        self.bottom[self.head..].iter().for_each(|entry| rung.push(*entry));
        self.bottom_end = start;
        self.bottom.clear();
        self.head = 0;
        self.seen = [0; STAGES];
        self.rungs.push(rung);
    }

    /// Sorts the nearest events into the empty bottom; `false` if there are none at all.
    fn refill(&mut self) -> bool {
        self.bottom.clear();
        self.head = 0;
        self.seen = [0; STAGES];
        loop {
            let Some(rung) = self.rungs.last_mut() else {
                if self.top.is_empty() {
                    return false;
                }
                self.cut_top();
                continue;
            };
            let Some((start, end, mut bucket)) = rung.take_next() else {
                self.bottom_end = rung.end;
                self.rungs.pop();
                continue;
            };
            if bucket.len() > SORT_LIMIT && end - start > 1 {
                let mut finer = Rung::new(start, end, bucket.len(), &mut self.spare);
                bucket.iter().for_each(|entry| finer.push(*entry));
                self.spare.keep(bucket);
                self.bottom_end = start;
                self.rungs.push(finer);
                continue;
            }
            bucket.sort_by_key(|entry| entry.time);
            self.bottom_end = end;
            self.spare.keep(std::mem::replace(&mut self.bottom, bucket));
            return true;
        }
    }

    fn cut_top(&mut self) {
        let times = self.top.iter().flatten().map(|entry| entry.time);
        let start = times.clone().min().expect("there are events");
        let end = times.max().expect("there are events") + 1;
        let count = self.top.iter().map(Vec::len).sum();
        let mut rung = Rung::new(start, end, count, &mut self.spare);
        std::mem::take(&mut self.top).into_iter().flatten().for_each(|entry| rung.push(entry));
        self.bottom_end = start;
        self.rungs.push(rung);
    }
}

impl<E: Copy> Rung<E> {
    fn new(start: u64, end: u64, expected: usize, spare: &mut Spare<E>) -> Self {
        let wanted = (expected / BUCKET_TARGET + 1).next_power_of_two().min(MAX_BUCKETS) as u64;
        let shift = (end - start).div_ceil(wanted).next_power_of_two().trailing_zeros();
        let count = ((end - start - 1) >> shift) as usize + 1;
        Self { start, end, shift, next: 0, buckets: (0..count).map(|_| spare.take()).collect() }
    }

    #[inline]
    fn push(&mut self, entry: Entry<E>) {
        let bucket = &mut self.buckets[((entry.time - self.start) >> self.shift) as usize];
        if bucket.len() == bucket.capacity() {
            // By a half, not twice: there are as many events as connections, and memory is to be near what is needed.
            bucket.reserve_exact((bucket.len() / 2).max(4));
        }
        bucket.push(entry);
    }

    fn take_next(&mut self) -> Option<(u64, u64, Vec<Entry<E>>)> {
        let index = self.next + self.buckets[self.next..].iter().position(|bucket| !bucket.is_empty())?;
        self.next = index + 1;
        let start = self.start + ((index as u64) << self.shift);
        let end = (start + (1 << self.shift)).min(self.end);
        Some((start, end, std::mem::take(&mut self.buckets[index])))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs the same pushes and pops on the queue and on a list sorted by (time, sequence).
    fn check(steps: impl IntoIterator<Item = (u64, bool)>) {
        let mut queue = EventQueue::new();
        let mut list: std::collections::BTreeSet<(u64, u32)> = std::collections::BTreeSet::new();
        let mut now = 0;
        let mut sequence = 0;
        for (delay, pop) in steps {
            if pop {
                let expected = list.pop_first();
                let found = queue.pop_until(SimTime::NEVER);
                assert_eq!(found.map(|(time, event)| (time.as_nanos(), event)), expected);
                now = expected.map_or(now, |(time, _)| time);
            } else {
                queue.push(SimTime::from_nanos(now + delay), sequence);
                list.insert((now + delay, sequence));
                sequence += 1;
            }
        }
        while let Some(expected) = list.pop_first() {
            let found = queue.pop_until(SimTime::NEVER);
            assert_eq!(found.map(|(time, event)| (time.as_nanos(), event)), Some(expected));
        }
        assert_eq!(queue.pop_until(SimTime::NEVER), None);
    }

    fn delays() -> impl Strategy<Value = u64> {
        prop_oneof![Just(0), 0_u64..4, 0_u64..1000, 0_u64..1_000_000, 0_u64..1 << 40]
    }

    proptest! {
        #[test]
        fn order_is_that_of_a_sorted_list(steps in prop::collection::vec((delays(), any::<bool>()), 0..3000)) {
            check(steps);
        }

        #[test]
        fn order_holds_with_many_pending(
            first in prop::collection::vec(delays(), 2000..4000),
            then in prop::collection::vec((delays(), any::<bool>()), 0..4000),
        ) {
            check(first.into_iter().map(|delay| (delay, false)).chain(then));
        }

        #[test]
        fn order_holds_where_all_times_are_alike(
            burst in 100_usize..2000, steps in prop::collection::vec((0_u64..2, any::<bool>()), 0..2000),
        ) {
            check(std::iter::repeat_n((5, false), burst).chain(steps));
        }
    }

    #[test]
    fn nothing_later_than_the_limit_leaves() {
        let mut queue = EventQueue::new();
        queue.push(SimTime::from_nanos(10), 'a');
        assert_eq!(queue.pop_until(SimTime::from_nanos(9)), None);
        assert_eq!(queue.pop_until(SimTime::from_nanos(10)), Some((SimTime::from_nanos(10), 'a')));
    }

    #[test]
    fn looking_ahead_shows_every_event_before_it_leaves_and_changes_nothing() {
        let mut queue = EventQueue::new();
        // Ten at each time, in no order of time.
        (0..3000_u64).for_each(|number| queue.push(SimTime::from_nanos(number * 7 % 300 * 1000), number));
        let mut shown = std::collections::BTreeSet::new();
        let mut left = Vec::new();
        let first = queue.pop_until(SimTime::NEVER);
        shown.extend(first.map(|(_, event)| event));
        left.extend(first);
        loop {
            let before = shown.len();
            if queue.has_unseen(0, 8) {
                shown.extend(queue.unseen(0, 8));
            }
            let many = [0, 4, 5, 6, 7, 8].contains(&(shown.len() - before));
            assert!(many || queue.bottom.len() - queue.head < 8, "{} at a time", shown.len() - before);
            // The last of a bucket is followed by events that are sorted only when it has left.
            let is_shown = queue.head < queue.bottom.len();
            let Some((time, event)) = queue.pop_until(SimTime::NEVER) else { break };
            assert!(!is_shown || shown.contains(&event), "{event} at {time:?} was not shown");
            shown.insert(event);
            left.push((time, event));
        }
        assert_eq!(left.len(), 3000);
        assert!(left.is_sorted_by_key(|(time, _)| *time));
    }

    #[test]
    fn an_entry_takes_sixteen_bytes() {
        assert_eq!(size_of::<Entry<super::super::event::Event>>(), 16);
    }
}
