//! Values with numbers, which are given again once their value is taken.

use std::ops::Index;

#[derive(Debug)]
pub(super) struct Slots<T> {
    values: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }
}

impl<T: Copy> Slots<T> {
    pub(super) fn put(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = value;
            return number;
        }
        self.values.push(value);
        u32::try_from(self.values.len() - 1).expect("fewer than 2^32 values at a time")
    }

    pub(super) fn take(&mut self, number: u32) -> T {
        self.free.push(number);
        self.values[number as usize]
    }
}

impl<T> Index<u32> for Slots<T> {
    type Output = T;
    fn index(&self, number: u32) -> &T {
        &self.values[number as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_given_again() {
        let mut slots = Slots::default();
        assert_eq!([slots.put('a'), slots.put('b'), slots.put('c')], [0, 1, 2]);
        assert_eq!((slots.take(1), slots[2]), ('b', 'c'));
        assert_eq!((slots.put('d'), slots.put('e')), (1, 3));
        assert_eq!(slots[1], 'd');
    }
}
