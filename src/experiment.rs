//! The experiment file: one TOML document that describes a world, and what is compared in it.
//!
//! Text, TOML tree (`draft`), overrides (`assignment`), arms and axes (`plan`), cells: each is the tree with its values,
//! read (`reader`) into the types of the model and resolved (`world`), with its load balancer as the Compute API would
//! check it ([`crate::compute`]). All cells are read when the file is, and kept (`worlds`): nothing can fail later.
//!
//! # Paths
//! A path names a key by dots, as a dotted TOML key does; a member of a list goes by its `name` or `group`
//! (`clients.web-a.addresses`, `backend_service.backends.ig-a.size`), and in lists without names by its number
//! from 0 (`faults.0.at`, `operations.0.count`, `network.links.0.rtt`, `thresholds.0.max`). A path may name any key that the file may
//! have, whether it has it or not. A part with other characters than letters, digits, `-` and `_` is quoted:
//! `arms.spill.sweep."server.workers"`. A table that is set as a whole is replaced, not merged.
//!
//! # Precedence
//! The file, then `--set` in order, then `--seed` and `--replications`, then an arm's `set`, then axes. Of two keys of
//! which an experiment has one, such as `replications` and `precision`, the one that is set last replaces the other.
//!
//! # Errors
//! A problem has the path of its key (`problem`) and the answer of the Compute API, if it has one (`api`). `draft` finds
//! out which line or override is to blame, and makes an [`ExperimentError`] of it.

mod api;
mod arm;
mod assignment;
mod axis;
mod bounded;
mod charts;
mod decimal;
mod defaults;
mod draft;
mod error;
mod files;
mod finding;
mod findings;
mod keys;
mod node;
mod path;
mod per_cell;
mod plan;
mod precision;
mod problem;
mod reader;
mod replaced;
mod threshold;
mod trace;
mod world;
mod worlds;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toml_edit::{DocumentMut, Item, Table, value};

use serde::{Deserialize, Serialize};

use crate::compute::Resources;
use crate::random::hash_bytes;
use crate::sim::scenario::Scenario;
use crate::stats::Strata;
use crate::time::{SimDuration, SimTime};
use arm::Arm;
use assignment::Assignment;
pub use axis::{AxisRole, AxisValue, grid};
pub use charts::{ChartRequest, chart_lines};
use draft::Draft;
pub use error::ExperimentError;
use error::Whereabouts;
use files::DataFiles;
pub use finding::{SettingFinding, Severity};
pub use keys::{KeyBound, KeyRow};
use node::Node;
use path::{KeyPath, NamePath, dotted};
pub use per_cell::PerCell;
use plan::Plan;
pub use plan::{key, keys};
pub use precision::Precision;
use problem::Problem;
pub use problem::nearest;
pub use threshold::{Limits, Threshold, limit_of};
pub use worlds::{FaultWords, WorldWords};
use worlds::{Recent, Worlds};

/// The experiment that runs when no file is named.
pub const QUICKSTART: &str = include_str!("../experiments/quickstart.toml");

/// The text of an experiment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// What errors call it: the path of the file.
    pub name: String,
    /// The text.
    pub text: String,
}

/// What the command line says about an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Paths and values of `--set`. A value that is not TOML is taken as text, so that `5s` needs no quotes.
    pub set: Vec<(String, String)>,
    /// The value of `--seed`.
    pub seed: Option<u64>,
    /// The value of `--replications`.
    pub replications: Option<u32>,
    /// The axis of `--search`, which no other override may replace.
    pub search: Option<SearchAxis>,
}

/// An axis that the command line adds to arms, each with its own values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchAxis {
    /// The path of the key that it sets.
    pub path: String,
    /// The arms with their values; those that are not there do not have the axis.
    pub arms: Vec<(String, Vec<AxisValue>)>,
}

/// A quantity that varies from cell to cell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// The name of its column in results: the shortest tail of the path that nothing else is called.
    pub column: String,
    /// The path of the key that it sets.
    pub path: String,
    /// Whether its values are alternatives.
    pub role: AxisRole,
}

/// One arm with one value of each of its axes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// Its number, from 0: arms outermost, then the arm's own axes, then the shared ones, the last one fastest.
    pub index: usize,
    /// The name of its arm.
    pub arm: String,
    /// Its value of every axis of the experiment; absent if its arm does not have the axis.
    pub values: Vec<Option<AxisValue>>,
    arm_index: usize,
}

/// An experiment of which every cell is known to be right.
#[derive(Clone, Debug)]
pub struct Experiment {
    plan: Plan,
    axes: Vec<Axis>,
    /// The paths of `axes`.
    paths: Vec<NamePath>,
    cells: Vec<Cell>,
    worlds: Arc<Worlds>,
    recent: Arc<Recent>,
    files: Arc<DataFiles>,
    document: String,
    /// What errors call the file, and the folder that it stands in.
    place: (String, Option<PathBuf>),
    /// The warm-up that was found, if it asks for one to be found.
    found_warmup: Option<SimDuration>,
    /// Whether its runs are pilots.
    is_pilot: bool,
}

impl Experiment {
    /// Reads the experiment in the file at `path`.
    ///
    /// # Errors
    /// If the file can't be read, or is no experiment.
    pub fn read(path: &Path, overrides: &Overrides) -> Result<Self, ExperimentError> {
        let name = path.display().to_string();
        match files::read_bounded(path) {
            Ok(text) => Self::parse_in(path.parent(), Source { name, text }, overrides),
            Err(error) => {
                let title = format!("`{name}` can't be read: {error}");
                let source = Source { name, text: String::new() };
                let help = "name an experiment file, a text in TOML";
                Err(ExperimentError::new(&source, Whereabouts::File, title, help))
            }
        }
    }

    /// Reads the experiment in `source`, and checks every cell of it. It can name data files by absolute paths only.
    ///
    /// # Errors
    /// If it is no experiment.
    pub fn parse(source: Source, overrides: &Overrides) -> Result<Self, ExperimentError> {
        Self::parse_in(None, source, overrides)
    }

    /// Reads the experiment in `source`, which stands in `folder`.
    fn parse_in(
        folder: Option<&Path>,
        source: Source,
        overrides: &Overrides,
    ) -> Result<Self, ExperimentError> {
        let draft = Draft::new(&source, overrides)?;
        let document = draft.document()?;
        let plan = plan::plan(&document)
            .map_err(|problem| draft.report(problem, &[], None, |root| plan::plan(root).map(drop)))?;
        let paths = arm::axis_paths(&plan.arms);
        let columns = arm::columns(&paths);
        let axis = |(path, column): (&NamePath, String)| {
            let role = arm::role(&plan.arms, path);
            Axis { column, path: dotted(path.parts()), role }
        };
        let mut base = document.as_table().clone();
        plan::keep_cells(&mut base);
        let mut experiment = Self {
            cells: cells(&plan.arms, &paths),
            axes: paths.iter().zip(columns).map(axis).collect(),
            document: document.to_string(),
            place: (source.name.clone(), folder.map(Path::to_owned)),
            files: Arc::new(DataFiles::new(folder, plan.keys.data_folder.as_deref())),
            worlds: Arc::default(),
            recent: Arc::default(),
            found_warmup: None,
            is_pilot: false,
            plan,
            paths,
        };
        experiment.worlds = Arc::new(experiment.read_worlds(&base, &draft)?);
        experiment.check_replaced(&base, &draft)?;
        experiment.check_strata(&draft)?;
        Ok(experiment)
    }

    /// The same experiment with these `overrides`, and those that it was read with.
    ///
    /// # Errors
    /// If it is no experiment then.
    pub fn overridden(&self, overrides: &Overrides) -> Result<Self, ExperimentError> {
        let (name, folder) = self.place.clone();
        Self::parse_in(folder.as_deref(), Source { name, text: self.document.clone() }, overrides)
    }

    /// Its name, which a folder can have.
    pub fn name(&self) -> &str {
        &self.plan.keys.name.0
    }

    /// The question that it asks; may be empty.
    pub fn description(&self) -> &str {
        &self.plan.keys.description
    }

    /// The root of all randomness.
    pub fn seed(&self) -> u64 {
        self.plan.keys.simulation.seed
    }

    /// The memory and the room on the disk that a job may be expected to take, in GiB.
    pub fn limits_gib(&self) -> (u32, u32) {
        let simulation = &self.plan.keys.simulation;
        (simulation.max_memory_gib.get(), simulation.max_results_gib.get())
    }

    /// How often each cell is run; at most so often if it is run for a precision.
    pub fn replications(&self) -> u32 {
        self.plan.replications
    }

    /// The precision that each cell is run for, if it is not run a fixed number of times.
    pub fn precision(&self) -> Option<&Precision> {
        self.plan.precision.as_ref()
    }

    /// The axes of all arms, in order of first appearance.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// The names of the arms, in order.
    pub fn arms(&self) -> impl Iterator<Item = &str> {
        self.plan.arms.iter().map(|arm| arm.name.as_str())
    }

    /// The position among [`Experiment::axes`] of the one that sets the key that `path` names.
    pub fn axis_at(&self, path: &str) -> Option<usize> {
        let path = NamePath::parse(path)?;
        self.paths.iter().position(|own| *own == path)
    }

    /// The cells in order.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// What the results are judged by.
    pub fn thresholds(&self) -> &[Threshold] {
        &self.plan.thresholds
    }

    /// The charts that it asks for beside the usual ones.
    pub fn charts(&self) -> &[ChartRequest] {
        &self.plan.keys.charts
    }

    /// The text of the file with the overrides of the command line, comments kept. It is the same experiment.
    pub fn document(&self) -> &str {
        &self.document
    }

    /// The text of [`Experiment::document`] for a file in `folder`, which must exist: it finds its data files from there.
    pub fn document_in(&self, folder: &Path) -> String {
        let Some(data_folder) = self.files.folder_from(folder) else { return self.document.clone() };
        let mut document: DocumentMut = self.document.parse().expect("it was read before");
        document.insert("data_folder", value(data_folder));
        document.to_string()
    }

    /// A number that depends on everything that [`Experiment::document`] says and on its data files, but neither on where they
    /// are nor on comments and layout.
    pub fn fingerprint(&self) -> u64 {
        let mut document: DocumentMut = self.document.parse().expect("it was read before");
        document.remove("data_folder");
        // What may be taken changes nothing of what comes out.
        if let Some(simulation) = document.get_mut("simulation").and_then(Item::as_table_like_mut) {
            for limit in ["max_memory_gib", "max_results_gib"] {
                simulation.remove(limit);
            }
        }
        let mut bare = String::new();
        Node::Table(document.as_table()).write_bare(&mut bare);
        hash_bytes(self.files.fingerprint(), bare.as_bytes())
    }

    /// Whether `other` gives the same results, whatever the words: a default may be written out in one of them.
    pub fn is_effectively(&self, other: &Self) -> bool {
        let words = |it: &Self| {
            let cells: Vec<_> = it.cells.iter().map(|cell| (cell.arm.clone(), cell.values.clone())).collect();
            let columns: Vec<_> = it.axes.iter().map(|axis| axis.column.clone()).collect();
            let judged = format!("{:?} {:?}", it.precision(), it.thresholds());
            (it.name().to_owned(), it.seed(), it.replications(), it.finds_warmup(), judged, columns, cells)
        };
        words(self) == words(other)
            && self.cells.iter().zip(&other.cells).all(|(own, its)| self.scenario(own) == other.scenario(its))
    }

    /// What `cell` simulates; the same for all of its runs.
    pub fn scenario(&self, cell: &Cell) -> Arc<Scenario> {
        self.recent.get(cell.index, || {
            let mut scenario = self.worlds.scenario(cell.index);
            scenario.timing.warmup = self.found_warmup.unwrap_or(scenario.timing.warmup);
            if self.is_pilot { scenario.undisturbed() } else { scenario }
        })
    }

    /// By cell: the strata that its replications are drawn from in turn; those of a cell without any are halves that are
    /// alike. Nothing if no cell has any.
    pub fn strata(&self) -> Option<Vec<Strata>> {
        let strata: Vec<Option<Strata>> =
            self.cells.iter().map(|cell| self.scenario(cell).strata()).collect();
        let any = strata.iter().any(Option::is_some);
        any.then(|| strata.into_iter().map(|own| own.unwrap_or(Strata::new(0.5))).collect())
    }

    /// What the file calls things that `cell` simulates.
    pub fn words(&self, cell: &Cell) -> &WorldWords {
        self.worlds.words(cell.index)
    }

    /// Whether some cell has several forwarding rules.
    pub fn has_several_rules(&self) -> bool {
        self.worlds.has_several_rules()
    }

    /// Whether its warm-up is to be found by pilot runs. Until then it is taken to be none.
    pub fn finds_warmup(&self) -> bool {
        self.plan.keys.simulation.warmup == world::Warmup::Auto && self.found_warmup.is_none()
    }

    /// The same experiment with a warm-up that was found. Its document still asks for one to be found.
    #[must_use]
    pub fn with_warmup(&self, length: SimDuration) -> Self {
        Self { found_warmup: Some(length), recent: Arc::default(), ..self.clone() }
    }

    /// The experiment of its pilot runs: without warm-up, and without the faults and operations whose times the file gives.
    #[must_use]
    pub fn pilot(&self) -> Self {
        Self { is_pilot: true, recent: Arc::default(), ..self.clone() }
    }

    /// `cell` in words: arm `spill` with spillover_ratio = 0.5.
    pub fn describe(&self, cell: &Cell) -> String {
        let mut text = format!("arm `{}`", cell.arm);
        let values =
            self.axes.iter().zip(&cell.values).filter_map(|(axis, value)| Some((axis, value.as_ref()?)));
        for (number, (axis, value)) in values.enumerate() {
            text += &format!("{}{} = {value}", if number == 0 { " with " } else { ", " }, axis.column);
        }
        text
    }

    /// The worlds of all cells, which `base` describes, the file with the overrides of the command line.
    fn read_worlds(&self, base: &Table, draft: &Draft<'_>) -> Result<Worlds, ExperimentError> {
        let mut worlds = Worlds::default();
        for cell in &self.cells {
            let mut root = base.clone();
            let assignments = self.assignments(cell);
            let applied = assignments.iter().try_for_each(|assignment| assignment.apply(&mut root));
            match applied.and_then(|()| world::world(&root, &self.files)) {
                Ok(world) => {
                    worlds.put_findings(cell.index, world::findings(&root, &world.0));
                    worlds.put(cell.index, world);
                }
                Err(problem) => {
                    let check = |root: &Table| {
                        let mut root = root.clone();
                        plan::keep_cells(&mut root);
                        world::world(&root, &self.files).map(drop)
                    };
                    let context = Some(format!("in {}", self.describe(cell)));
                    return Err(draft.report(problem, &assignments, context, check));
                }
            }
        }
        Ok(worlds)
    }

    /// Checks that every replication of strata has its neighbour.
    fn check_strata(&self, draft: &Draft<'_>) -> Result<(), ExperimentError> {
        let check = |plan: &Plan| {
            if plan.precision.is_some() || plan.replications.is_multiple_of(2) {
                return Ok(());
            }
            let what = format!(
                " is {}, and replications are of two strata in turn: the last one would count for nothing",
                plan.replications
            );
            let help = Some("write an even number".to_owned());
            Err(Problem::new(KeyPath::to("simulation").key("replications"), what, help))
        };
        match check(&self.plan) {
            Err(problem) if self.strata().is_some() => {
                Err(draft.report(problem, &[], None, |root| plan::plan(root).and_then(|plan| check(&plan))))
            }
            _ => Ok(()),
        }
    }

    /// The resources of `cell` at time `at`, after the operations until then; at the beginning if absent.
    ///
    /// # Panics
    /// If the experiment can't be read again as it was read.
    pub fn resources_at(&self, cell: &Cell, at: Option<SimTime>) -> Resources {
        let document: DocumentMut = self.document.parse().expect("it was read before");
        let mut root = document.as_table().clone();
        plan::keep_cells(&mut root);
        let assignments = self.assignments(cell);
        let applied = assignments.iter().try_for_each(|assignment| assignment.apply(&mut root));
        let world = applied.and_then(|()| world::world_at(&root, &self.files, at));
        world.unwrap_or_else(|_| unreachable!("it was read before")).1
    }

    /// What the arm and the axes of `cell` set, in order.
    fn assignments(&self, cell: &Cell) -> Vec<Assignment> {
        let arm = &self.plan.arms[cell.arm_index];
        let axes = arm.axes.iter().map(|axis| {
            let column = self.paths.iter().position(|path| *path == axis.path);
            let value = column.and_then(|column| cell.values[column].as_ref());
            axis.assignment(value.expect("a cell has a value of every axis of its arm"))
        });
        arm.set.iter().cloned().chain(axes).collect()
    }
}

/// All cells, of an experiment with axes of these `paths`.
fn cells(arms: &[Arm], paths: &[NamePath]) -> Vec<Cell> {
    let mut cells = Vec::new();
    for (arm_index, arm) in arms.iter().enumerate() {
        for combination in arm.combinations() {
            let value = |path: &NamePath| {
                let position = arm.axes.iter().position(|axis| axis.path == *path)?;
                Some(combination[position].clone())
            };
            cells.push(Cell {
                index: cells.len(),
                arm: arm.name.clone(),
                values: paths.iter().map(value).collect(),
                arm_index,
            });
        }
    }
    cells
}
