//! The ports of client addresses.

use std::ops::RangeInclusive;

use hashbrown::HashSet;

/// The ports of each address, used in turn. When all have been, those in use are remembered, as a kernel gives none
/// twice.
#[derive(Debug)]
pub(super) struct Ports {
    first: u16,
    count: u16,
    next: Vec<u16>,
    in_use: Option<HashSet<(u32, u16)>>,
    /// How many of them there are of each address.
    used: Vec<u16>,
}

impl Ports {
    pub(super) fn new(ports: RangeInclusive<u16>, addresses: usize) -> Self {
        let count = ports.end() - ports.start() + 1;
        Self { first: *ports.start(), count, next: vec![0; addresses], in_use: None, used: Vec::new() }
    }

    /// Whether [`know`](Self::know) must be told the ports in use before `address` can be given another one.
    pub(super) fn must_know(&self, address: u32) -> bool {
        self.in_use.is_none() && self.next[address as usize] == self.count
    }

    #[inline]
    pub(super) fn are_known(&self) -> bool {
        self.in_use.is_some()
    }

    #[cold]
    pub(super) fn know(&mut self, in_use: HashSet<(u32, u16)>) {
        self.used = vec![0; self.next.len()];
        in_use.iter().for_each(|(address, _)| self.used[*address as usize] += 1);
        self.in_use = Some(in_use);
    }

    /// A port of `address` that was never used, while there is one and no other needs to be remembered.
    #[inline]
    pub(super) fn take_fresh(&mut self, address: u32) -> Option<u16> {
        let next = &mut self.next[address as usize];
        if self.in_use.is_some() || *next == self.count {
            return None;
        }
        *next += 1;
        Some(self.first + *next - 1)
    }

    pub(super) fn take(&mut self, address: u32) -> Option<u16> {
        if self.used.get(address as usize) == Some(&self.count) {
            return None;
        }
        for _ in 0..self.count {
            let next = &mut self.next[address as usize];
            if *next == self.count {
                *next = 0;
            }
            let port = self.first + *next;
            *next += 1;
            if self.in_use.as_mut().is_none_or(|in_use| in_use.insert((address, port))) {
                if let Some(used) = self.used.get_mut(address as usize) {
                    *used += 1;
                }
                return Some(port);
            }
        }
        None
    }

    pub(super) fn addresses(&self) -> u32 {
        self.next.len() as u32
    }

    #[inline]
    pub(super) fn release(&mut self, address: u32, port: u16) {
        if let Some(in_use) = &mut self.in_use
            && in_use.remove(&(address, port))
        {
            self.used[address as usize] -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_used_in_turn_and_never_twice_at_once() {
        let mut ports = Ports::new(10..=13, 2);
        let take = |ports: &mut Ports| {
            if ports.must_know(1) {
                ports.know(HashSet::from([(1, 10), (1, 12)]));
            }
            ports.take(1)
        };
        assert_eq!([10, 11, 12, 13].map(|_| take(&mut ports)), [10, 11, 12, 13].map(Some));
        // All have been used: 10 and 12 still are.
        assert_eq!(take(&mut ports), Some(11));
        assert_eq!(take(&mut ports), Some(13));
        assert_eq!(take(&mut ports), None);
        ports.release(1, 12);
        assert_eq!(take(&mut ports), Some(12));
        assert_eq!(ports.take(0), Some(10), "another address has its own");
    }
}
