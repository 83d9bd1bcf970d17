//! With which cell each cell is compared.

use crate::answers::gather::distinct;
use crate::results::observed::QuestionError;
use crate::results::{ResultCell, Results};

/// Arms that are the baseline where nobody names another.
const USUAL: [&str; 2] = ["disabled", "base"];

/// What the others are compared with: an arm, and values of the axes that only some arms have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// The position of the arm in the results.
    pub arm: usize,
    /// Axes and values that the baseline's cells must have, by position of the axis.
    pub pinned: Vec<(usize, String)>,
}

impl Baseline {
    /// The baseline called `asked`: `ARM`, or `ARM,AXIS=VALUE,…` to tell the cells of an arm apart.
    ///
    /// # Errors
    /// If there is no such arm, axis or value.
    pub fn find(results: &Results, asked: Option<&str>) -> Result<Self, QuestionError> {
        let arm = |name: &str| results.arms.iter().position(|arm| arm == name);
        let Some(asked) = asked else {
            let usual = USUAL.into_iter().find_map(arm);
            return Ok(Self { arm: usual.unwrap_or(0), pinned: Vec::new() });
        };
        let mut parts = asked.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let known = results.arms.iter().map(String::as_str);
        let arm = arm(name).ok_or_else(|| QuestionError::unknown("arm", name, known))?;
        let pinned = parts.map(|part| pin(results, arm, part)).collect::<Result<_, _>>()?;
        let found = Self { arm, pinned };
        if results.cells.iter().any(|cell| found.is_candidate(cell)) {
            Ok(found)
        } else {
            Err(QuestionError(format!("no cell of arm {name:?} has all of {asked}")))
        }
    }

    /// For each cell the position of the cell that it is compared with: the first of the baseline's that agrees on the
    /// axes that both have. An axis that only the baseline's arm has tells alternatives apart, and is not shared.
    pub fn counterparts(&self, results: &Results) -> Vec<Option<usize>> {
        let shared: Vec<bool> = (0..results.axes.len()).map(|axis| self.is_shared(results, axis)).collect();
        let agrees = |a: &ResultCell, b: &ResultCell| {
            let values = a.values.iter().zip(&b.values).zip(&shared);
            values.into_iter().all(|((a, b), shared)| !shared || a.is_empty() || b.is_empty() || same(a, b))
        };
        let counterpart = |cell: &ResultCell| {
            results.cells.iter().position(|base| self.is_candidate(base) && agrees(base, cell))
        };
        results.cells.iter().map(counterpart).collect()
    }

    fn is_candidate(&self, cell: &ResultCell) -> bool {
        cell.arm == self.arm && self.pinned.iter().all(|(axis, value)| same(&cell.values[*axis], value))
    }

    /// Whether the baseline's arm and some other one have `axis`.
    fn is_shared(&self, results: &Results, axis: usize) -> bool {
        let has = |own: bool| {
            let cells = results.cells.iter().filter(move |cell| (cell.arm == self.arm) == own);
            cells.into_iter().any(|cell| !cell.values[axis].is_empty())
        };
        has(true) && has(false)
    }
}

/// The axis and value in `AXIS=VALUE`.
fn pin(results: &Results, arm: usize, text: &str) -> Result<(usize, String), QuestionError> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(QuestionError(format!("write ARM,AXIS=VALUE; {text:?} is no axis with a value")));
    };
    let known = results.axes.iter().map(String::as_str);
    let axis = results.axes.iter().position(|axis| axis == name);
    let axis = axis.ok_or_else(|| QuestionError::unknown("axis", name, known))?;
    let of_arm = results.cells.iter().filter(|cell| cell.arm == arm);
    let values = distinct(of_arm.map(|cell| cell.values[axis].as_str()));
    if values.iter().any(|known| same(known, value)) {
        return Ok((axis, value.to_owned()));
    }
    let arm = &results.arms[arm];
    Err(QuestionError(format!("arm {arm:?} has no {name} = {value}; it has {}", values.join(", "))))
}

/// Whether two values of an axis are the same, as numbers if they are numbers.
fn same(a: &str, b: &str) -> bool {
    a == b || matches!((a.parse::<f64>(), b.parse::<f64>()), (Ok(a), Ok(b)) if a == b)
}
