//! Cells that differ in what can be chosen, within one circumstance: what one reader compares.

use super::gather::grouped;
use crate::experiment::{Axis, AxisRole};
use crate::results::{ResultCell, Results};

/// One circumstance with its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circumstance {
    /// The axes that are circumstances ([`AxisRole`]), by name, with their values; empty if there are none.
    pub values: Vec<(String, String)>,
    /// The positions of its cells in the results; at least one.
    pub cells: Vec<usize>,
}

impl Circumstance {
    /// The cells of `results` by their values of the axes that are circumstances, in the order of their first cells.
    pub fn all(results: &Results) -> Vec<Self> {
        let known = &results.description.axes;
        let is_circumstance =
            |axis: &Axis, column: &str| axis.column == column && axis.role == AxisRole::Circumstance;
        let axes: Vec<usize> = (0..results.axes.len())
            .filter(|index| known.iter().any(|axis| is_circumstance(axis, &results.axes[*index])))
            .collect();
        let values = |cell: &ResultCell| -> Vec<(String, String)> {
            let named = axes.iter().map(|axis| (results.axes[*axis].clone(), cell.values[*axis].clone()));
            // An arm that does not have an axis stands at what the file says.
            named.filter(|(_, value)| !value.is_empty()).collect()
        };
        let cells = &results.cells;
        let of: Vec<Vec<(String, String)>> = cells.iter().map(values).collect();
        let groups = grouped(0..cells.len(), |a, b| of[*a] == of[*b]);
        groups.into_iter().map(|cells| Self { values: of[cells[0]].clone(), cells }).collect()
    }
}
