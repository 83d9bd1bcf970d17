//! Arms, axes and thresholds: what an experiment compares, and the cells that come of it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml_edit::{Table, TableLike};

use super::arm::{Arm, ArmAxis};
use super::assignment::{Assignment, Origin};
use super::axis::{AxisRange, AxisValues, axis_values};
use super::bounded::Name;
use super::charts::{self, ChartRequest};
use super::keys::{KeyRow, KeyTable};
use super::node::Node;
use super::path::{KeyPath, NamePath, dotted};
use super::precision::{Precision, precision};
use super::problem::{Problem, distinct, refuse, shown};
use super::reader::read;
use super::threshold::{Threshold, WrittenThreshold, thresholds};
use super::world::{self, SimulationTable, Warmup};

static KEYS: LazyLock<KeyTable> = LazyLock::new(KeyTable::of::<PlanKeys>);

const RUNS_MAX: u128 = 1_000_000;

#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub keys: PlanKeys,
    /// The most, if there is a precision.
    pub replications: u32,
    pub precision: Option<Precision>,
    /// At least one.
    pub arms: Vec<Arm>,
    pub thresholds: Vec<Threshold>,
}

/// The keys of the root that a plan is read from.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("x-whole" = true))]
pub(super) struct PlanKeys {
    /// What the experiment and its results folder are called.
    pub name: ExperimentName,
    /// The question that it asks.
    #[serde(default)]
    pub description: String,
    /// What the paths of data files are relative to, itself relative to the experiment file. Default: its folder.
    #[schemars(example = &"../data")]
    pub data_folder: Option<String>,
    #[serde(default)]
    #[schemars(skip)]
    pub simulation: SimulationTable,
    /// The alternatives to compare. Default: one, `base`, which sets nothing.
    #[serde(default, rename = "arms")]
    #[schemars(with = "Vec<WrittenArm>")]
    _arms: IgnoredAny,
    /// The axes of all arms: for each path the values of its key.
    #[serde(default, rename = "sweep")]
    #[schemars(with = "Sweep")]
    _sweep: IgnoredAny,
    /// What the results are judged by.
    #[schemars(extend("examples" = [[{ "metric": "failure_ratio", "max": 0.001 }]]))]
    #[serde(default)]
    thresholds: Vec<WrittenThreshold>,
    /// Charts beside the usual ones.
    #[serde(default)]
    pub charts: Vec<ChartRequest>,
}

type Sweep = BTreeMap<String, AxisRange>;

/// A name that a folder can have.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(extend("pattern" = "^[a-z0-9][-_.a-z0-9]{0,99}$", "examples" = ["some-name"]))]
pub(super) struct ExperimentName(pub String);

impl TryFrom<String> for ExperimentName {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        let begins_well = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        if begins_well && name.chars().all(is_inner) && name.len() <= 100 {
            return Ok(Self(name));
        }
        let slug = name.to_lowercase().replace(|c| !is_inner(c), "-");
        let slug = slug.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let slug = if slug.is_empty() || slug.len() > 100 { "my-experiment" } else { slug };
        let allowed = "lower-case letters, digits, -, _ and ., of which a letter or a digit comes first";
        Err(format!("{name:?} can't name a results folder; write \"{slug}\" ({allowed})"))
    }
}

/// Every key of the experiment file, first those of which all cells have the same value.
pub fn keys() -> impl Iterator<Item = &'static KeyRow> {
    KEYS.rows().iter().chain(world::KEYS.rows())
}

/// The row of the key that `path` leads to, which names and numbers members of lists as paths do.
pub fn key(path: &[impl AsRef<str>]) -> Option<&'static KeyRow> {
    KEYS.find(path).or_else(|| world::KEYS.find(path))
}

/// Leaves the keys of cells in the root of an experiment.
pub(super) fn keep_cells(root: &mut Table) {
    root.retain(|key, _| KEYS.find(&[key]).is_none());
}

fn check_keys(root: &Table) -> Result<(), Problem> {
    let known: Vec<&str> = [&*world::KEYS, &*KEYS].into_iter().flat_map(|keys| keys.names_at("")).collect();
    match root.iter().find(|(key, _)| !known.contains(key)) {
        Some((key, _)) => Err(Problem::unknown_key(KeyPath::to(key), &known)),
        None => Ok(()),
    }
}

pub(super) fn plan(root: &Table) -> Result<Plan, Problem> {
    check_keys(root)?;
    let node = Node::Table(root);
    let keys: PlanKeys = read(node, &KeyPath::default())?;
    let arms = arms(node)?;
    charts::check(&keys.charts, &arms)?;
    let (replications, precision) = repetition(&keys.simulation)?;
    let finds_warmup = keys.simulation.warmup == Warmup::Auto;
    arms.iter().try_for_each(|arm| check_warmup(arm, finds_warmup))?;
    let thresholds = thresholds(&keys.thresholds, &arms)?;
    let plan = Plan { keys, replications, precision, arms, thresholds };
    let cells = plan.arms.iter().fold(0, |cells, arm| arm.cells().saturating_add(cells));
    let runs = cells.saturating_mul(u128::from(plan.replications));
    if runs > RUNS_MAX {
        let key = if node.get("sweep").is_some() { "sweep" } else { "arms" };
        let key = if node.get(key).is_some() { key } else { "simulation" };
        let what = format!("leads to {runs} runs, replications included");
        return refuse(KeyPath::to(key), what, format!("an experiment has at most {RUNS_MAX}"));
    }
    Ok(plan)
}

/// How often each cell is run, at most, and for which precision.
fn repetition(simulation: &SimulationTable) -> Result<(u32, Option<Precision>), Problem> {
    let path = KeyPath::to("simulation").key("precision");
    match (simulation.replications, &simulation.precision) {
        (Some(_), Some(_)) => {
            let what = "stands beside `replications`, which says the same in another way";
            Err(Problem::that(path, what, "keep one of the two").of_key())
        }
        (replications, None) => Ok((replications.unwrap_or_default().get(), None)),
        (None, Some(written)) => {
            let precision = precision(written, &path)?;
            Ok((precision.max_replications, Some(precision)))
        }
    }
}

/// Checks that `arm` has the same warm-up as all others if pilot runs find it, and lets none be found for itself.
fn check_warmup(arm: &Arm, finds_warmup: bool) -> Result<(), Problem> {
    let own = |axis: &ArmAxis| axis.values.iter().map(|value| axis.assignment(value)).collect::<Vec<_>>();
    let assignments = arm.set.iter().cloned().chain(arm.axes.iter().flat_map(own));
    for assignment in assignments.filter(|assignment| assignment.path.parts() == ["simulation", "warmup"]) {
        let Origin::File(place) = assignment.origin else { continue };
        let (what, help) = match assignment.value.as_str() {
            Some(Warmup::AUTO) => {
                ("can't be \"auto\" for some cells", "set it in [simulation], for all cells alike")
            }
            _ if finds_warmup => {
                ("stands beside `warmup = \"auto\"`, which finds one for all cells", "keep one of the two")
            }
            _ => continue,
        };
        return refuse(place, what, help);
    }
    Ok(())
}

/// `[[arms]]`, where `set` and `sweep` are read on their own.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WrittenArm {
    /// Its name.
    name: Name,
    /// The values that it gives to keys, by their paths.
    #[serde(default, rename = "set")]
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    _set: IgnoredAny,
    /// Its own axes, beside those of all arms.
    #[serde(default, rename = "sweep")]
    #[schemars(with = "Sweep")]
    _sweep: IgnoredAny,
}

/// The arms, or the one that an experiment without arms has.
fn arms(root: Node<'_>) -> Result<Vec<Arm>, Problem> {
    let shared = axes(root, &KeyPath::default())?;
    let list = KeyPath::to("arms");
    let Some(written) = root.get("arms") else {
        return Ok(vec![Arm { name: "base".to_owned(), set: Vec::new(), axes: shared }]);
    };
    let headers: Vec<WrittenArm> = read(written, &list)?;
    if headers.is_empty() {
        return refuse(list, "is empty", "leave it out for a single arm, \"base\"");
    }
    let names: Vec<&str> = headers.iter().map(|header| header.name.as_str()).collect();
    distinct(&names, |index| list.member(index).key("name"))?;
    let nodes = written.members().unwrap_or_default();
    let arms = nodes
        .into_iter()
        .enumerate()
        .map(|(index, node)| arm(names[index].to_owned(), node, list.member(index), &shared));
    arms.collect()
}

fn arm(name: String, node: Node<'_>, place: KeyPath, shared: &[ArmAxis]) -> Result<Arm, Problem> {
    let set = entries(node, "set", &place)?.into_iter().map(|(path, place, value)| Assignment {
        path,
        value: value.to_value(),
        origin: Origin::File(place),
    });
    let set: Vec<Assignment> = set.collect();
    let own = axes(node, &place)?;
    let set_before = |path: &NamePath| set.iter().any(|assignment| assignment.path == *path);
    if let Some(axis) = own.iter().chain(shared).find(|axis| set_before(&axis.path)) {
        return Err(twice(axis, &format!("the `set` of arm {name:?}")));
    }
    if let Some(axis) = own.iter().find(|axis| shared.iter().any(|other| other.path == axis.path)) {
        return Err(twice(axis, "the shared [sweep]"));
    }
    Ok(Arm { name, set, axes: [own, shared.to_vec()].concat() })
}

fn twice(axis: &ArmAxis, elsewhere: &str) -> Problem {
    let what = format!("sweeps {}, which {elsewhere} gives a value too", dotted(axis.path.parts()));
    Problem::that(axis.place.clone(), what, "keep one of the two").of_key()
}

fn axes(node: Node<'_>, path: &KeyPath) -> Result<Vec<ArmAxis>, Problem> {
    let axes = entries(node, "sweep", path)?.into_iter().map(|(name, place, value)| {
        let AxisValues { values, role, place, is_list } = axis_values(value, &place)?;
        Ok(ArmAxis { path: name, values, role, place, is_list })
    });
    axes.collect()
}

/// An entry of a table whose keys are paths: the path, where it stands, and its value.
type Entry<'a> = (NamePath, KeyPath, Node<'a>);

/// The entries of the table `key`, if there is one, of the table `node` at `path`.
fn entries<'a>(node: Node<'a>, key: &str, path: &KeyPath) -> Result<Vec<Entry<'a>>, Problem> {
    let Some(node) = node.get(key) else { return Ok(Vec::new()) };
    let path = path.key(key);
    if node.as_table().is_none() {
        let what = format!("can't be {}", shown(node.found()));
        let help = "write a table of paths and values, such as { \"server.workers\" = 8 }";
        return refuse(path, what, help);
    }
    let mut entries: Vec<Entry<'a>> = Vec::new();
    for (keys, value) in dotted_entries(node) {
        let place = keys.iter().fold(path.clone(), |place, key| place.key(key));
        let refuse = |what: &str, help: &str| Err(Problem::that(place.clone(), what, help).of_key());
        let name = match keys[..] {
            [key] => NamePath::parse(key),
            _ => NamePath::parse(&dotted(&keys)),
        };
        let Some(name) = name else {
            return refuse("is not a path", "write keys with dots between them, such as \"server.workers\"");
        };
        if KEYS.is_whole(name.parts()) || world::KEYS.is_whole(name.parts()) {
            return refuse("holds for the whole experiment", "set it outside of arms and sweeps");
        }
        if entries.iter().any(|(other, ..)| *other == name) {
            return refuse("stands there twice", "keep one of the two");
        }
        entries.push((name, place, value));
    }
    Ok(entries)
}

/// The entries of a table, where `a.b = 1` without quotes is one entry with two keys.
fn dotted_entries(node: Node<'_>) -> Vec<(Vec<&str>, Node<'_>)> {
    let mut all = Vec::new();
    for (key, value) in node.entries() {
        if value.as_table().is_some_and(TableLike::is_dotted) {
            let below = dotted_entries(value).into_iter();
            all.extend(below.map(|(keys, value)| ([&[key], &keys[..]].concat(), value)));
        } else {
            all.push((vec![key], value));
        }
    }
    all
}
