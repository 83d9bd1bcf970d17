//! The connection tracking table (rules CTE-1, 2, 3, 5, 7): which backend a connection was sent to.
//!
//! Open addressing with linear probing, 16 bytes a slot, in segments that grow one by one, so that the old slots of
//! only one of them are in memory beside its new ones. An entry dies when nothing has matched it for the idle timeout,
//! which costs no timer and no scan: its slot is used again by an insertion that passes it, and when its segment is
//! full one pass over that, in place and in order, drops the dead ones. Live entries are counted by epochs of 1/128 to
//! 1/256 of the timeout: the end of an epoch subtracts those last seen in an epoch that is dead by now. Lookups compare
//! times to 16 ns: an entry is dead at `last + timeout`.

mod epochs;

use prefetch_index::prefetch_index;

use super::affinity::Fields;
use super::packet::{Endpoint, FiveTuple, Protocol};
use super::policy::PlacementOutcome;
use crate::ids::{BackendId, Id};
use crate::random::{below, fold};
use crate::time::{SimDuration, SimTime};
use epochs::{EPOCHS, Epochs};

/// The most backends that an entry can tell apart.
pub const MAX_BACKENDS: usize = 1 << BACKEND_BITS;
const BACKEND_BITS: u32 = 14;
const OUTCOME_BITS: u32 = 8;
const TAG_BITS: u32 = BACKEND_BITS + OUTCOME_BITS;
const TAG_MASK: u64 = (1 << TAG_BITS) - 1;
/// Times are kept in units of 16 ns, modulo 2^46 ns: 19.5 hours, and the longest idle timeout is 16.
const TICK_BITS: u32 = 4;
/// The longest time between two moments that can be told apart, in nanoseconds.
const SPAN: u64 = 1 << (u64::BITS - TAG_BITS + TICK_BITS);
const SEGMENT_BITS: u32 = 6;
const SEGMENTS: usize = 1 << SEGMENT_BITS;
const MIN_SLOTS: usize = 16;
/// Slots in a line of a processor's cache.
const SLOTS_IN_LINE: usize = 64 / size_of::<Slot>();
/// What each value of an entry's outcome bits stands for; those beyond the last outcome are never written.
const OUTCOMES: [PlacementOutcome; 1 << OUTCOME_BITS] = {
    let mut outcomes = [PlacementOutcome::ALL[0]; 1 << OUTCOME_BITS];
    let mut code = 0;
    while code < PlacementOutcome::ALL.len() {
        outcomes[PlacementOutcome::ALL[code] as usize] = PlacementOutcome::ALL[code];
        code += 1;
    }
    outcomes
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TrackingKey(u64);

impl TrackingKey {
    /// No packet has this key: nobody has the address 255.255.255.255.
    const NONE: Self = Self(u64::MAX);
    /// The number of fields that do not tell protocols apart.
    const ANY_PROTOCOL: u64 = 14;
    /// The same of answers.
    const ANY_PROTOCOL_OF_ANSWERS: u64 = 15;
    /// Above the number of each protocol, that of the protocol of answers.
    const ANSWERS: u64 = Protocol::ALL.len() as u64;

    #[inline]
    fn hash(self) -> Hash {
        Hash(fold(self.0))
    }
}

/// What decides where a key belongs.
#[derive(Clone, Copy)]
struct Hash(u64);

impl Hash {
    #[inline]
    fn segment(self) -> usize {
        (self.0 >> (u64::BITS - SEGMENT_BITS)) as usize
    }

    #[inline]
    fn home(self, slots: usize) -> usize {
        below(self.0 << SEGMENT_BITS, slots as u64) as usize
    }
}

/// Numbers the destinations, so that a key fits 64 bits.
#[derive(Clone, Debug, Default)]
struct Destinations(Vec<Endpoint>);

impl Destinations {
    #[inline]
    fn number(&mut self, destination: Endpoint) -> u64 {
        if self.0.first() == Some(&destination) { 0 } else { self.later_number(destination) }
    }

    /// The same for any but the first, which is the only one of most load balancers.
    #[inline(never)]
    fn later_number(&mut self, destination: Endpoint) -> u64 {
        let number = self.0.iter().position(|other| *other == destination).unwrap_or_else(|| {
            self.0.push(destination);
            self.0.len() - 1
        });
        assert!(number < 1 << 12, "a load balancer has fewer than 4096 addresses and ports");
        number as u64
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) backend: BackendId,
    /// The outcome of the decision that placed it there.
    pub(super) outcome: PlacementOutcome,
}

/// A place for one entry: its key, and the time of the last packet, backend, and outcome, from the highest bit down.
#[derive(Clone, Copy, Debug)]
struct Slot {
    key: TrackingKey,
    stamp: u64,
}

impl Slot {
    const EMPTY: Self = Self { key: TrackingKey::NONE, stamp: 0 };

    fn new(key: TrackingKey, entry: Entry, last: SimTime) -> Self {
        let tag = (entry.backend.index() as u64) << OUTCOME_BITS | entry.outcome as u64;
        Self { key, stamp: clock(last) | tag }
    }

    #[inline]
    fn is_empty(self) -> bool {
        self.key == TrackingKey::NONE
    }

    #[inline]
    fn touch(&mut self, now: SimTime) {
        self.stamp = self.stamp & TAG_MASK | clock(now);
    }

    fn entry(self) -> Entry {
        let outcome = OUTCOMES[self.stamp as usize & ((1 << OUTCOME_BITS) - 1)];
        Entry { backend: self.backend(), outcome }
    }

    fn backend(self) -> BackendId {
        BackendId::from_index(((self.stamp & TAG_MASK) >> OUTCOME_BITS) as usize)
    }

    /// Time since the last packet. Dead entries are dropped long before it could wrap.
    fn age(self, now: SimTime) -> SimDuration {
        SimDuration::from_nanos(clock(now).wrapping_sub(self.stamp & !TAG_MASK) >> (TAG_BITS - TICK_BITS))
    }
}

/// The units of time before `time`, above the bits of a tag.
#[inline]
fn clock(time: SimTime) -> u64 {
    time.as_nanos() << (TAG_BITS - TICK_BITS) & !TAG_MASK
}

/// Tells entries that are counted no more by one subtraction.
#[derive(Clone, Copy)]
struct Horizon {
    /// Now, with every bit of a tag set, so that the tag of a stamp borrows nothing from its clock.
    now: u64,
    /// The least age that is counted no more, above the bits of a tag.
    age: u64,
}

impl Horizon {
    #[inline]
    fn new(now: SimTime, epochs: &Epochs) -> Self {
        let oldest = epochs.oldest(now).as_nanos() >> TICK_BITS;
        Self { now: clock(now) | TAG_MASK, age: (oldest + 1) << TAG_BITS }
    }

    #[inline]
    fn is_behind(self, slot: Slot) -> bool {
        self.now.wrapping_sub(slot.stamp) >= self.age
    }
}

#[derive(Clone, Debug)]
struct Segment {
    slots: Vec<Slot>,
    /// Slots in use, by dead entries too.
    stored: usize,
}

#[derive(Clone, Debug)]
pub(super) struct ConnectionTable {
    segments: Box<[Segment; SEGMENTS]>,
    slots: usize,
    timeout: SimDuration,
    destinations: Destinations,
    /// Where answers come from.
    answer_sources: Destinations,
    epochs: Epochs,
    last_pass: SimTime,
}

impl ConnectionTable {
    /// An empty table whose entries live `timeout` beyond their last packet.
    pub(super) fn new(timeout: SimDuration) -> Self {
        let segment = Segment { slots: vec![Slot::EMPTY; MIN_SLOTS], stored: 0 };
        Self {
            segments: Box::new(std::array::from_fn(|_| segment.clone())),
            slots: MIN_SLOTS * SEGMENTS,
            timeout,
            destinations: Destinations::default(),
            answer_sources: Destinations::default(),
            epochs: Epochs::new(timeout),
            last_pass: SimTime::ZERO,
        }
    }

    #[inline(always)]
    pub(super) fn key(&mut self, fields: Fields, tuple: &FiveTuple) -> TrackingKey {
        let (source, destination, protocol) = fields.of(tuple);
        let destination = self.destinations.number(destination);
        let protocol = protocol.map_or(TrackingKey::ANY_PROTOCOL, |protocol| protocol as u64);
        TrackingKey(u64::from(source.ip) << 32 | u64::from(source.port) << 16 | destination << 4 | protocol)
    }

    /// The key of an answer, which comes from few addresses and goes to many.
    pub(super) fn key_of_answer(&mut self, fields: Fields, tuple: &FiveTuple) -> TrackingKey {
        let (source, destination, protocol) = fields.of(tuple);
        let source = self.answer_sources.number(source);
        let protocol = protocol
            .map_or(TrackingKey::ANY_PROTOCOL_OF_ANSWERS, |protocol| TrackingKey::ANSWERS + protocol as u64);
        let number = source << 4 | protocol;
        TrackingKey(u64::from(destination.ip) << 32 | u64::from(destination.port) << 16 | number)
    }

    /// Whether the table is too large for a processor's cache, so that fetching ahead pays.
    #[inline]
    pub(super) fn is_large(&self) -> bool {
        self.slots * size_of::<Slot>() > 1 << 20
    }

    /// Fetches ahead the slots where the search for `key` begins: more of them if it `is_new`, so that it is long.
    #[inline]
    pub(super) fn prefetch(&self, key: TrackingKey, is_new: bool) {
        let hash = key.hash();
        let slots = &self.segments[hash.segment()].slots;
        let home = hash.home(slots.len());
        prefetch_index(slots, home);
        prefetch_index(slots, home + SLOTS_IN_LINE);
        if is_new {
            prefetch_index(slots, home + 2 * SLOTS_IN_LINE);
        }
    }

    /// What `key`'s live entry says, if there is one; its idle time starts anew.
    #[inline]
    pub(super) fn lookup(&mut self, now: SimTime, key: TrackingKey) -> Option<Entry> {
        self.advance(now);
        let hash = key.hash();
        let segment = &mut self.segments[hash.segment()];
        let position = segment.find(key, hash).ok()?;
        let slot = &mut segment.slots[position];
        let age = slot.age(now);
        if age >= self.timeout {
            return None;
        }
        slot.touch(now);
        let entry = slot.entry();
        self.epochs.moved(now, age);
        Some(entry)
    }

    pub(super) fn retain(&mut self, now: SimTime, keep: impl Fn(BackendId) -> bool) {
        self.advance(now);
        self.pass(now, keep);
    }

    /// Removes every entry, and lets new ones live `timeout` beyond their last packet.
    pub(super) fn reset(&mut self, now: SimTime, timeout: SimDuration) {
        let peak = self.epochs.peak;
        self.clear(now);
        self.timeout = timeout;
        self.epochs = Epochs::new(timeout);
        self.epochs.peak = peak;
        self.epochs.end(now);
    }

    #[inline]
    pub(super) fn insert(&mut self, now: SimTime, key: TrackingKey, entry: Entry) {
        self.advance(now);
        let hash = key.hash();
        if self.segments[hash.segment()].is_full() {
            self.make_room(now, hash.segment());
        }
        let segment = &mut self.segments[hash.segment()];
        let horizon = Horizon::new(now, &self.epochs);
        let slots = segment.slots.as_mut_slice();
        let mut position = hash.home(slots.len());
        let mut dead = None;
        let position = loop {
            let slot = slots[position];
            if slot.is_empty() {
                segment.stored += usize::from(dead.is_none());
                self.epochs.added();
                break dead.unwrap_or(position);
            }
            if slot.key == key {
                self.epochs.moved(now, slot.age(now));
                break position;
            }
            if horizon.is_behind(slot) && dead.is_none() {
                dead = Some(position);
            }
            position = next(slots, position);
        };
        slots[position] = Slot::new(key, entry, now);
    }

    /// The most live entries at one time since the last restart; those that die idle count to the end of their epoch.
    pub(super) fn peak(&self) -> u64 {
        self.epochs.peak
    }

    pub(super) fn restart_peak(&mut self, now: SimTime) {
        self.advance(now);
        self.epochs.peak = self.epochs.live;
    }

    #[inline]
    fn advance(&mut self, now: SimTime) {
        if now >= self.epochs.next_end {
            self.end_epochs(now);
        }
    }

    #[cold]
    fn end_epochs(&mut self, now: SimTime) {
        if self.epochs.end(now) >= EPOCHS as u64 / 2 {
            // Nothing came for longer than an entry lives.
            self.clear(now);
        } else if (now.since(self.last_pass) + self.timeout).as_nanos()
            > SPAN / 2 + self.timeout.as_nanos() / 2
        {
            // Before the stored time of an entry that died right after the last pass wraps.
            self.pass(now, |_| true);
        }
    }

    fn clear(&mut self, now: SimTime) {
        for segment in self.segments.iter_mut() {
            segment.slots.fill(Slot::EMPTY);
            segment.stored = 0;
        }
        self.last_pass = now;
    }

    /// Drops dead entries, and those that do not pass `keep`, everywhere.
    fn pass(&mut self, now: SimTime, keep: impl Fn(BackendId) -> bool) {
        for segment in self.segments.iter_mut() {
            segment.rebuild(now, &mut self.epochs, &keep);
        }
        self.last_pass = now;
    }

    /// Drops a segment's dead entries if they are many, or else, or if they were few here, gives it a fifth more slots.
    #[cold]
    fn make_room(&mut self, now: SimTime, number: usize) {
        let segment = &mut self.segments[number];
        // As many live here as anywhere: keys are spread evenly over all slots.
        let live = self.epochs.live as usize * segment.slots.len() / self.slots;
        let many_are_dead = live <= segment.stored * 3 / 4;
        self.slots -= segment.slots.len();
        if many_are_dead {
            segment.rebuild(now, &mut self.epochs, &|_| true);
        }
        if segment.stored * 10 > segment.slots.len() * 7 {
            segment.grow(now, &self.epochs);
        }
        self.slots += segment.slots.len();
    }
}

impl Segment {
    #[inline]
    fn is_full(&self) -> bool {
        (self.stored + 1) * 5 > self.slots.len() * 4
    }

    /// The slot that holds `key`, or else the one where it belongs.
    #[inline]
    fn find(&self, key: TrackingKey, hash: Hash) -> Result<usize, usize> {
        let home = hash.home(self.slots.len());
        let (front, back) = self.slots.split_at(home);
        let ends_search = |slot: &Slot| slot.key == key || slot.is_empty();
        let position = match back.iter().position(ends_search) {
            Some(places) => home + places,
            None => front.iter().position(ends_search).expect("a segment is never full"),
        };
        if self.slots[position].key == key { Ok(position) } else { Err(position) }
    }

    fn grow(&mut self, now: SimTime, epochs: &Epochs) {
        let bigger = vec![Slot::EMPTY; self.slots.len() + self.slots.len() / 5];
        let old = std::mem::replace(&mut self.slots, bigger);
        let horizon = Horizon::new(now, epochs);
        // The order of slots is that of the keys' hashes, so both are walked from front to back.
        let counted = old.into_iter().filter(|slot| !slot.is_empty() && !horizon.is_behind(*slot));
        self.stored = counted.map(|slot| put_back(&mut self.slots, slot)).count();
    }

    /// One pass in place: takes every entry out and puts those that live and pass `keep` back, nearer to their homes. It
    /// begins behind an empty slot, so that nothing is put back into a slot that is still to be visited.
    #[cold]
    fn rebuild(&mut self, now: SimTime, epochs: &mut Epochs, keep: &impl Fn(BackendId) -> bool) {
        let horizon = Horizon::new(now, epochs);
        let slots = self.slots.as_mut_slice();
        let start = slots.iter().position(|slot| slot.is_empty()).expect("a segment is never full");
        let mut stored = 0;
        for range in [start + 1..slots.len(), 0..start] {
            for position in range {
                let slot = slots[position];
                if slot.is_empty() {
                    continue;
                }
                slots[position] = Slot::EMPTY;
                if !keep(slot.backend()) {
                    epochs.removed(now, slot.age(now));
                } else if !horizon.is_behind(slot) {
                    put_back(slots, slot);
                    stored += 1;
                }
            }
        }
        self.stored = stored;
    }
}

#[inline]
fn put_back(slots: &mut [Slot], slot: Slot) {
    let mut position = slot.key.hash().home(slots.len());
    while !slots[position].is_empty() {
        position = next(slots, position);
    }
    slots[position] = slot;
}

#[inline]
fn next(slots: &[Slot], position: usize) -> usize {
    if position + 1 == slots.len() { 0 } else { position + 1 }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    fn to(backend: usize) -> Entry {
        Entry { backend: BackendId::from_index(backend), outcome: PlacementOutcome::Spilled }
    }

    fn at(secs: f64) -> SimTime {
        SimTime::ZERO + SimDuration::from_nanos_f64(secs * 1e9)
    }

    const TIMEOUT: SimDuration = SimDuration::from_secs(600);

    #[test]
    fn t9_an_entry_is_dead_at_its_timeout_and_alive_just_before() {
        let key = TrackingKey(1);
        for (packet, alive) in [(699.999, true), (700.0, false)] {
            let mut table = ConnectionTable::new(TIMEOUT);
            table.insert(at(0.0), key, to(3));
            assert_eq!(table.lookup(at(100.0), key), Some(to(3)));
            assert_eq!(table.lookup(at(packet), key), alive.then_some(to(3)), "at {packet}");
        }
    }

    #[test]
    fn dead_entries_leave_and_memory_stays_bounded() {
        let mut table = ConnectionTable::new(TIMEOUT);
        for second in 0..100_000_u64 {
            table.insert(at(second as f64), TrackingKey(second << 4), to(0));
        }
        assert!((600..=610).contains(&table.peak()), "{}", table.peak());
        // A segment grows only while few of its entries are dead: here it has about ten, and twice as many slots.
        let slots: usize = table.segments.iter().map(|segment| segment.slots.len()).sum();
        assert!(slots == table.slots && slots < 2400, "{slots} slots");
    }

    #[test]
    fn a_long_silence_empties_the_table() {
        let mut table = ConnectionTable::new(TIMEOUT);
        (0..1000).for_each(|number| table.insert(at(0.0), TrackingKey(number), to(1)));
        // 2^46 ns: the stored time has wrapped to where it was.
        let wrapped = SimTime::from_nanos(SPAN);
        assert_eq!(table.lookup(wrapped, TrackingKey(5)), None);
        assert!(table.segments.iter().all(|segment| segment.stored == 0));
        assert_eq!(table.epochs.live, 0);
    }

    proptest! {
        #[test]
        fn table_agrees_with_a_map(
            steps in prop::collection::vec((0_u64..200, 0_usize..50, 0_u8..20, 0_u64..20_000), 1..600),
        ) {
            let mut table = ConnectionTable::new(TIMEOUT);
            let mut model: BTreeMap<u64, (usize, SimTime)> = BTreeMap::new();
            let mut now = SimTime::ZERO;
            for (key, target, what, millis) in steps {
                now += SimDuration::from_millis(millis);
                let alive = model.get(&key).filter(|(_, last)| now.since(*last) < TIMEOUT).copied();
                match what {
                    0 => {
                        table.retain(now, |backend| backend.index() % 7 != target % 7);
                        model.retain(|_, (backend, _)| *backend % 7 != target % 7);
                    }
                    1 if target == 0 => {
                        table.reset(now, TIMEOUT);
                        model.clear();
                    }
                    1..=9 => {
                        table.insert(now, TrackingKey(key), to(target));
                        model.insert(key, (target, now));
                    }
                    _ => {
                        let found = table.lookup(now, TrackingKey(key));
                        prop_assert_eq!(found, alive.map(|(target, _)| to(target)));
                        if let Some((target, _)) = alive {
                            model.insert(key, (target, now));
                        }
                    }
                }
                let live = model.values().filter(|(_, last)| now.since(*last) < TIMEOUT).count() as u64;
                // An entry may be counted for one epoch longer than it lives.
                let grace = SimDuration::from_nanos(2 << table.epochs.shift);
                let at_most = model.values().filter(|(_, last)| now.since(*last) < TIMEOUT + grace).count() as u64;
                prop_assert!((live..=at_most).contains(&table.epochs.live));
            }
        }

        #[test]
        fn a_slot_keeps_what_it_is_given(
            backend in 0..MAX_BACKENDS, outcome in 0..PlacementOutcome::ALL.len(), nanos in any::<u64>(), age in 0..SPAN / 2,
        ) {
            let entry = Entry { backend: BackendId::from_index(backend), outcome: PlacementOutcome::ALL[outcome] };
            let last = SimTime::from_nanos(nanos >> 2);
            let slot = Slot::new(TrackingKey(1), entry, last);
            prop_assert_eq!(slot.entry(), entry);
            prop_assert_eq!(slot.age(last + TIMEOUT), TIMEOUT);
            let mut touched = Slot::new(TrackingKey(1), entry, SimTime::ZERO);
            touched.touch(last);
            prop_assert_eq!(touched.stamp, slot.stamp);
            // Rounded to units, and never into another epoch, whose length is a multiple of them.
            let now = last + SimDuration::from_nanos(age);
            let kept = now.as_nanos() - slot.age(now).as_nanos();
            prop_assert_eq!(kept >> TICK_BITS, last.as_nanos() >> TICK_BITS);
        }
    }
}
