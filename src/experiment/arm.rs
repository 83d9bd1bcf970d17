//! Arms with their axes, and the cells that come of them.

use super::assignment::{Assignment, Origin};
use super::axis::{AxisRole, AxisValue};
use super::path::{KeyPath, NamePath, dotted};
use super::problem::Problem;
use crate::metrics::tables::is_column;

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
    /// Whether they are alternatives, if the file says so.
    pub role: Option<AxisRole>,
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
    pub(super) fn combinations(&self) -> Vec<Vec<&AxisValue>> {
        self.axes.iter().fold(vec![Vec::new()], |all, axis| {
            let each = |values: &[_], value| [values, &[value]].concat();
            all.iter().flat_map(|values| axis.values.iter().map(|value| each(values, value))).collect()
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

/// The role of the axis `path` of `arms`: what the file says where it first says it, or what is usual.
pub(super) fn role(arms: &[Arm], path: &NamePath) -> AxisRole {
    let axes = arms.iter().flat_map(|arm| &arm.axes).filter(|axis| axis.path == *path);
    axes.into_iter().find_map(|axis| axis.role).unwrap_or_else(|| AxisRole::usual(path.parts()))
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

/// The column of each of the axes `paths`: the shortest tail of its path that nothing else in the results is called.
pub(super) fn columns(paths: &[NamePath]) -> Vec<String> {
    let is_tail_of_another = |path: &NamePath, tail: &[String]| {
        paths.iter().any(|other| other != path && other.parts().ends_with(tail))
    };
    let column = |path: &NamePath| {
        let parts = path.parts();
        let tails = (0..parts.len()).rev().map(|start| &parts[start..]);
        let mut free =
            tails.filter(|tail| !is_tail_of_another(path, tail)).map(dotted).filter(|name| !is_column(name));
        free.next().unwrap_or_else(|| dotted(parts))
    };
    paths.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_the_shortest_free_tails() {
        for (paths, names) in [
            (vec!["backend_service.zonal_affinity.spillover_ratio"], vec!["spillover_ratio"]),
            (
                vec!["clients.web-a.arrivals.poisson.rate", "clients.web-b.arrivals.poisson.rate"],
                vec!["web-a.arrivals.poisson.rate", "web-b.arrivals.poisson.rate"],
            ),
            (vec!["a.timeout", "b.timeout", "a.size"], vec!["a.timeout", "b.timeout", "size"]),
            (vec!["backend_service.backends.ig-a.zone"], vec!["ig-a.zone"]),
            (vec!["clients.web-a.kind", "x.requests"], vec!["web-a.kind", "x.requests"]),
            (vec!["a.b", "b"], vec!["a.b", "b"]),
            (vec!["clients.\"web a\".zone"], vec!["\"web a\".zone"]),
        ] {
            let paths: Vec<NamePath> = paths.iter().map(|path| NamePath::parse(path).unwrap()).collect();
            assert_eq!(columns(&paths), names);
        }
    }
}
