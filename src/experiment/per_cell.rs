//! What each cell has of one kind, where most cells have the same: every value is kept once.

use std::collections::BTreeSet;
use std::fmt::Debug;

use serde::{Deserialize, Serialize};

use crate::random::hash_bytes;

/// A value for each cell. Equal ones are kept once, so that a cell costs four bytes, and nothing while all are alike.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PerCell<T> {
    /// The distinct values, in the order in which cells first have them.
    values: Vec<T>,
    /// The position of each cell's value; those at the end that have the first one are left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    of_cells: Vec<u32>,
    #[serde(skip)]
    hashes: BTreeSet<(u64, u32)>,
}

impl<T> Default for PerCell<T> {
    fn default() -> Self {
        Self { values: Vec::new(), of_cells: Vec::new(), hashes: BTreeSet::new() }
    }
}

impl<T> PerCell<T> {
    /// The same value for every cell.
    pub fn uniform(value: T) -> Self {
        Self { values: vec![value], ..Self::default() }
    }

    /// The value of cell number `cell`; absent if none has one.
    pub fn get(&self, cell: usize) -> Option<&T> {
        self.values.get(self.of_cells.get(cell).map_or(0, |position| *position as usize))
    }

    /// The distinct values, in the order in which cells first have them.
    pub fn values(&self) -> &[T] {
        &self.values
    }
}

impl<T: PartialEq + Debug> PerCell<T> {
    /// Gives cell number `cell` its `value`. Cells get theirs in order.
    pub fn put(&mut self, cell: usize, value: T) {
        let before = cell.checked_sub(1).map_or(0, |before| self.of_cells.get(before).copied().unwrap_or(0));
        // Neighbours differ in one axis, so that most have it from the last one.
        let same = self.values.get(before as usize).is_some_and(|known| *known == value);
        let position = if same { before } else { self.keep(value) };
        if position > 0 {
            self.of_cells.resize(cell, 0);
            self.of_cells.push(position);
        }
    }

    pub(super) fn keep(&mut self, value: T) -> u32 {
        let hash = hash_bytes(0, format!("{value:?}").as_bytes());
        let alike = self.hashes.range((hash, 0)..=(hash, u32::MAX));
        if let Some((_, found)) = alike.into_iter().find(|(_, found)| self.values[*found as usize] == value) {
            return *found;
        }
        let position = u32::try_from(self.values.len()).expect("at most a million cells");
        self.hashes.insert((hash, position));
        self.values.push(value);
        position
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_kept_once_and_every_cell_has_its_own() {
        let given = ["a", "a", "b", "a", "c", "b", "a", "a"];
        let mut kept = PerCell::default();
        given.iter().enumerate().for_each(|(cell, value)| kept.put(cell, (*value).to_owned()));
        assert_eq!(kept.values(), ["a", "b", "c"]);
        let json = serde_json::to_string(&kept).unwrap();
        assert_eq!(json, r#"{"values":["a","b","c"],"of_cells":[0,0,1,0,2,1]}"#);
        let again: PerCell<String> = serde_json::from_str(&json).unwrap();
        for (cell, value) in given.iter().enumerate() {
            assert_eq!(kept.get(cell).unwrap(), value);
            assert_eq!(again.get(cell).unwrap(), value);
        }
        assert_eq!(PerCell::<u8>::default().get(3), None);
        assert_eq!(serde_json::to_string(&PerCell::uniform(1)).unwrap(), r#"{"values":[1]}"#);
    }
}
