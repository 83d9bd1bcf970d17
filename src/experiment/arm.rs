//! Arms with their axes, and the cells that come of them.

use super::assignment::{Assignment, Origin};
use super::axis::AxisValue;
use super::path::{KeyPath, NamePath};
use super::problem::Problem;

/// One of the alternatives that an experiment compares.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    pub name: String,
    pub set: Vec<Assignment>,
    /// Its own axes, then the shared ones.
    pub axes: Vec<ArmAxis>,
}

#[derive(Clone, Debug)]
pub(super) struct ArmAxis {
    pub path: NamePath,
    pub values: Vec<AxisValue>,
    /// Where the file describes it.
    pub place: KeyPath,
    /// Whether the file lists its values there.
    pub is_list: bool,
}

impl ArmAxis {
    pub(super) fn assignment(&self, value: &AxisValue) -> Assignment {
        let index = self.values.iter().position(|other| other == value).filter(|_| self.is_list);
        let place = index.map_or_else(|| self.place.clone(), |index| self.place.member(index));
        Assignment { path: self.path.clone(), value: value.to_toml(), origin: Origin::File(place) }
    }
}

impl Arm {
    pub(super) fn cells(&self) -> u128 {
        self.axes.iter().fold(1, |cells, axis| cells.saturating_mul(axis.values.len() as u128))
    }

    /// The values of its cells, in the order of its axes, the last one changing fastest.
    pub(super) fn combinations(&self) -> impl Iterator<Item = Vec<&AxisValue>> {
        let cells = usize::try_from(self.cells()).expect("the number of runs was checked");
        (0..cells).map(|mut number| {
            let mut values: Vec<&AxisValue> = Vec::with_capacity(self.axes.len());
            for axis in self.axes.iter().rev() {
                values.push(&axis.values[number % axis.values.len()]);
                number /= axis.values.len();
            }
            values.reverse();
            values
        })
    }
}

pub(super) fn check_name(arms: &[Arm], name: &str, path: KeyPath) -> Result<(), Problem> {
    let known = arms.iter().map(|arm| arm.name.as_str());
    if known.clone().any(|other| other == name) {
        Ok(())
    } else {
        Err(Problem::unknown_name(path, name, "arms", known))
    }
}

/// The paths of the axes of `arms`, in order of first appearance.
pub(super) fn axis_paths(arms: &[Arm]) -> Vec<NamePath> {
    let mut paths: Vec<NamePath> = Vec::new();
    for axis in arms.iter().flat_map(|arm| &arm.axes) {
        if !paths.contains(&axis.path) {
            paths.push(axis.path.clone());
        }
    }
    paths
}
