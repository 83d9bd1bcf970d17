//! Values that no cell keeps, because every arm replaces them. One of the command line is refused; one of the file is
//! checked all the same.

use toml_edit::Table;

use super::assignment::{Assignment, Origin};
use super::draft::Draft;
use super::error::{ExperimentError, Whereabouts};
use super::files::DataFiles;
use super::node::Node;
use super::path::dotted;
use super::problem::Problem;
use super::{Experiment, world};

/// The most arms that an error names.
const ARMS_SHOWN: usize = 14;

impl Experiment {
    /// Checks the values of `base`, the file with the overrides of the command line, that no cell keeps.
    pub(super) fn check_replaced(&self, base: &Table, draft: &Draft<'_>) -> Result<(), ExperimentError> {
        let mut arms: Vec<Vec<Assignment>> = Vec::new();
        for cell in &self.cells {
            // What an arm sets is the same in all of its cells, but for the values of its axes.
            if cell.arm_index == arms.len() {
                arms.push(self.assignments(cell));
            }
        }
        for flag in draft.flags() {
            if let Origin::Flag(text) = &flag.origin
                && arms.iter().all(|arm| replaces(arm, flag, base))
            {
                return Err(self.unkept(flag, text, &arms, draft));
            }
        }
        if world::world(base, &self.files).is_ok() {
            return Ok(());
        }
        let paths = arms.iter().flatten().map(|assignment| assignment.path.parts());
        for path in paths.collect::<std::collections::BTreeSet<_>>() {
            let wrong = |arm: &Vec<Assignment>| wrong_without(base, arm, path, &self.files);
            let problems: Option<Vec<(Problem, Table)>> = arms.iter().map(wrong).collect();
            if let Some([(problem, root), ..]) = problems.as_deref() {
                return Err(draft.report_replaced(problem, root));
            }
        }
        Ok(())
    }

    /// The error that says that no cell keeps what `flag` sets.
    fn unkept(
        &self,
        flag: &Assignment,
        text: &str,
        arms: &[Vec<Assignment>],
        draft: &Draft<'_>,
    ) -> ExperimentError {
        let path = dotted(flag.path.parts());
        let names: Vec<&str> = self.arms().take(ARMS_SHOWN).collect();
        let more = if arms.len() > names.len() { " and others" } else { "" };
        let who = match &names[..] {
            [only] => format!("arm {only} sets"),
            several => format!("arms {}{more} set", several.join(", ")),
        };
        let axis = self.paths.iter().find(|axis| axis.overlaps(flag.path.parts()));
        let help = match axis {
            Some(axis) => format!("leave it out, or change the values of the axis {}", dotted(axis.parts())),
            None => {
                let place = format!("arms.{}.set.{}", dotted(&[names[0]]), dotted(&[&path]));
                format!("leave it out, or set it in an arm: --set '{place}=VALUE'")
            }
        };
        let title = format!("`{path}` has this value in no cell: {who} it");
        ExperimentError::new(draft.source(), Whereabouts::Flag(text.to_owned()), title, &help)
    }
}

/// Whether nothing is left of what `flag` sets in `base` after what `arm` sets.
fn replaces(arm: &[Assignment], flag: &Assignment, base: &Table) -> bool {
    let path = flag.path.parts();
    if arm.iter().any(|assignment| path.starts_with(assignment.path.parts())) {
        return true;
    }
    // One of several alternatives gives way to another.
    Node::Table(base).at(path).is_some()
        && applied(base, arm).is_some_and(|root| Node::Table(&root).at(path).is_none())
}

fn applied<'a>(base: &Table, assignments: impl IntoIterator<Item = &'a Assignment>) -> Option<Table> {
    let mut root = base.clone();
    assignments.into_iter().try_for_each(|assignment| assignment.apply(&mut root)).ok()?;
    Some(root)
}

/// What is wrong with a value of `base` where `arm` does not replace what stands at `path`; with the file as it is then.
fn wrong_without(
    base: &Table,
    arm: &[Assignment],
    path: &[String],
    files: &DataFiles,
) -> Option<(Problem, Table)> {
    let kept: Vec<&Assignment> = arm.iter().filter(|assignment| !assignment.path.overlaps(path)).collect();
    if kept.len() == arm.len() {
        return None;
    }
    let (root, replaced) = (applied(base, kept)?, applied(base, arm)?);
    let problem = world::world(&root, files).err().filter(|problem| !problem.names_missing_key)?;
    let names = Node::Table(&root).names(&problem.path);
    let is_replaced = names.starts_with(path) || Node::Table(&replaced).at(&names).is_none();
    is_replaced.then_some((problem, root))
}
