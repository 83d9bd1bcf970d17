//! The findings of all cells put together: one for each key, with the arms that it holds for.
//!
//! A value that many cells have from one place has an effect if it has one in any of them, one of the file's own tables also
//! if what arms write in its place has one.

use std::collections::BTreeMap;

use super::arm::Arm;
use super::finding::{CellFinding, SettingFinding, Severity};
use super::path::dotted;
use super::{Cell, Experiment};

impl Experiment {
    /// What its author should know, each finding once, in the order of cells.
    pub fn findings(&self) -> Vec<SettingFinding> {
        let mut all: Vec<(&CellFinding, Vec<usize>)> = Vec::new();
        for cell in &self.cells {
            for found in self.worlds.findings(cell.index) {
                let same =
                    |(known, _): &&mut (&CellFinding, _)| (known.id, &known.key) == (found.id, &found.key);
                match all.iter_mut().find(same) {
                    Some((_, cells)) => cells.push(cell.index),
                    None => all.push((found, vec![cell.index])),
                }
            }
        }
        all.into_iter().filter_map(|(found, cells)| self.finding(found, &cells)).collect()
    }

    /// `found`, which holds for `cells`, if the value that it is about does nothing wherever it is used.
    fn finding(&self, found: &CellFinding, cells: &[usize]) -> Option<SettingFinding> {
        let places: Vec<Option<String>> = self.plan.arms.iter().map(|arm| place(&found.key, arm)).collect();
        let holds = |cell: &&Cell| cells.binary_search(&cell.index).is_ok();
        let mut of_place: BTreeMap<&Option<String>, Vec<&Cell>> = BTreeMap::new();
        for cell in &self.cells {
            of_place.entry(&places[cell.arm_index]).or_default().push(cell);
        }
        // A value of the file's own tables is no waste where an arm's own value in its place has an effect.
        let is_idle = |place: &Option<String>, of_place: &[&Cell]| match (found.severity, place) {
            (Severity::Warning, _) => true,
            (Severity::Note, Some(_)) => of_place.iter().all(holds),
            (Severity::Note, None) => cells.len() == self.cells.len(),
        };
        let idle = of_place.into_iter().filter(|(place, of_place)| is_idle(place, of_place));
        let mut kept: Vec<&Cell> = idle.flat_map(|(_, of_place)| of_place).filter(holds).collect();
        kept.sort_by_key(|cell| cell.index);
        let mut arms: Vec<String> = kept.iter().map(|cell| cell.arm.clone()).collect();
        arms.dedup();
        let CellFinding { id, severity, key, what, help } = found.clone();
        let key = dotted(&key);
        if arms.iter().map(String::as_str).eq(self.arms()) {
            arms.clear();
        } else if arms.is_empty() {
            return None;
        }
        Some(SettingFinding { id, severity, key, what, help, arms })
    }
}

/// Where `arm` or one of its axes sets the value of `key`; nowhere if it has it from the tables of the file.
fn place(key: &[String], arm: &Arm) -> Option<String> {
    let axis = arm.axes.iter().find(|axis| axis.path.overlaps(key)).map(|axis| format!("{:?}", axis.place));
    axis.or_else(|| {
        let set = arm.set.iter().rev().find(|assignment| assignment.path.overlaps(key))?;
        Some(format!("{:?}", set.origin))
    })
}
