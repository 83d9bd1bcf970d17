//! What a folder's rows are about: `resolved.json`, which the job writes beside them.
//!
//! The job writes down what readers of the rows ask for, with every name resolved and every default filled in. Where that is
//! missing (an older version), or out of date (`experiment.toml` was edited), the experiment is read anew, as for a run,
//! which takes its data files; `resolved.json` takes nothing.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::disk::write_whole;
use super::error::{ResultsError, WriteError};
use super::policies::Policies;
use super::text_if_there;
use crate::experiment::{
    Axis, Cell, ChartRequest, Experiment, FaultWords, Overrides, PerCell, Threshold, chart_lines,
};
use crate::ids::BackendId;
use crate::lb::backend::Role;
use crate::lb::change::RegionChange;
use crate::metrics::METRICS;
use crate::random::hash_bytes;
use crate::sim::scenario::{
    BackendFault, BackendSpec, Fault, FaultEffect, FaultSchedule, LinkFault, Operation, Scenario,
};
use crate::time::{SimDuration, SimTime};
use crate::unfit::Unfit;

/// The name of the experiment file in a results folder.
pub const EXPERIMENT: &str = "experiment.toml";
pub(super) const NAME: &str = "resolved.json";
const FORMAT: u32 = 2;

/// What was run, as far as its results are read with it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Description {
    #[serde(flatten)]
    pub(super) stamp: Stamp,
    /// The experiment's name.
    pub name: String,
    /// The question that it asks.
    pub question: String,
    /// The name of the region.
    pub region: String,
    /// The zones of the region in file order; of all cells, should they differ.
    pub zones: Vec<String>,
    /// The arms in file order.
    pub arms: Vec<String>,
    /// The axes of all arms.
    pub axes: Vec<Axis>,
    /// How many cells there are.
    pub cells: usize,
    /// The unit of each metric.
    pub units: BTreeMap<String, String>,
    /// What the results are judged by.
    pub thresholds: Vec<ThresholdEntry>,
    /// The charts that are asked for.
    pub charts: Vec<ChartEntry>,
    /// When each cell is measured.
    pub timing: PerCell<TimingEntry>,
    /// Whether health differs between the replications of each cell ([`Scenario::health_varies`]).
    pub health_varies: PerCell<bool>,
    /// Where clients of each cell can be: its zones, and the places outside the region that it has.
    pub places: PerCell<Vec<String>>,
    /// The backends of each cell that are ever configured, in configuration order.
    pub members: PerCell<Vec<MemberEntry>>,
    /// What breaks in each cell, in file order.
    pub faults: PerCell<Vec<FaultEntry>>,
    /// What an operator does in each cell, in the order of time.
    pub operations: PerCell<Vec<OperationEntry>>,
    /// Which cells are the same policy, and where policies change; nothing where these are not the cells of the rows.
    pub policies: Option<Policies>,
}

/// What a description was made by, and of.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Stamp {
    format: u32,
    zonesim: String,
    /// The hash of the experiment file beside it.
    experiment_text: String,
}

/// A bound on the mean of a metric.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ThresholdEntry {
    /// The metric.
    pub metric: String,
    /// The arm whose cells are judged; every cell if absent.
    pub arm: Option<String>,
    /// The least that passes.
    pub min: Option<f64>,
    /// The most that passes.
    pub max: Option<f64>,
}

/// A chart that is asked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ChartEntry {
    /// What it shows.
    pub request: ChartRequest,
    /// The line of each of its keys in `experiment.toml`.
    pub lines: BTreeMap<String, usize>,
}

/// When a cell is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TimingEntry {
    /// The time before; absent where pilot runs were yet to find it.
    pub warmup: Option<SimDuration>,
    /// The measured time.
    pub duration: SimDuration,
    /// The resolution of the timeline.
    pub sample_interval: SimDuration,
}

/// A backend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberEntry {
    /// Its name.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Its zone.
    pub zone: String,
    /// Whether it is a failover backend, or one of the backup pool, at first.
    pub failover: bool,
    /// Whether it is configured from the beginning.
    pub configured: bool,
}

/// Something that breaks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FaultEntry {
    /// What it is called.
    #[serde(flatten)]
    pub words: FaultWords,
    /// When it begins; absent if that is random.
    pub at: Option<SimDuration>,
    /// When it is over; absent if it lasts to the end of the run.
    pub until: Option<SimDuration>,
    /// How it comes and goes until then, if it does.
    pub flapping: Option<FlappingEntry>,
    /// How bad it is, of kinds of which that can be said: the factor, the added seconds, the probability.
    pub amount: Option<f64>,
}

/// How something comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlappingEntry {
    /// From one beginning to the next.
    pub period: SimDuration,
    /// How long it lasts each time.
    pub active: SimDuration,
}

/// Something that an operator does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OperationEntry {
    /// When.
    pub at: SimDuration,
    /// What, with its keys: `drain zone = "us-central1-a"`.
    pub does: String,
    /// The backends that come, go or change their role.
    pub backends: Vec<String>,
}

/// Writes the experiment file into `folder`, and what it describes. They are to stand in the folder `home`, which is there.
///
/// # Errors
/// If a file can't be written.
pub fn describe(folder: &Path, home: &Path, experiment: &Experiment) -> Result<(), WriteError> {
    let text = experiment.document_in(home);
    write_whole(&folder.join(EXPERIMENT), text.as_bytes())?;
    Description::new(experiment, &text).write(folder)
}

impl Description {
    /// What `experiment` is, of which `text` is the file.
    pub fn new(experiment: &Experiment, text: &str) -> Self {
        let lines = chart_lines(text).into_iter().chain(std::iter::repeat(BTreeMap::new()));
        let charts = experiment.charts().iter().zip(lines);
        let threshold = |threshold: &Threshold| {
            let (metric, limits) = (threshold.metric.name.to_owned(), threshold.limits);
            ThresholdEntry { metric, arm: threshold.arm.clone(), min: limits.min, max: limits.max }
        };
        let mut described = Self {
            stamp: Stamp::of(text),
            name: experiment.name().to_owned(),
            question: experiment.description().to_owned(),
            arms: experiment.arms().map(str::to_owned).collect(),
            axes: experiment.axes().to_vec(),
            cells: experiment.cells().len(),
            units: METRICS.iter().map(|metric| (metric.name.to_owned(), metric.unit.to_owned())).collect(),
            thresholds: experiment.thresholds().iter().map(threshold).collect(),
            charts: charts.map(|(chart, lines)| ChartEntry { request: chart.clone(), lines }).collect(),
            policies: Some(Policies::of(experiment)),
            ..Self::default()
        };
        experiment.cells().iter().for_each(|cell| described.add(experiment, cell));
        described
    }

    fn add(&mut self, experiment: &Experiment, cell: &Cell) {
        let (scenario, words) = (&*experiment.scenario(cell), experiment.words(cell));
        for zone in &scenario.zones {
            if !self.zones.contains(zone) {
                self.zones.push(zone.clone());
            }
        }
        self.region.clone_from(&words.region);
        let timing = scenario.timing;
        let warmup = (!experiment.finds_warmup()).then_some(timing.warmup);
        let (duration, sample_interval) = (timing.duration, timing.sample_interval);
        self.timing.put(cell.index, TimingEntry { warmup, duration, sample_interval });
        self.health_varies.put(cell.index, scenario.health_varies());
        self.places.put(cell.index, scenario.places.iter().map(|place| place.name.clone()).collect());
        self.members.put(cell.index, members(scenario));
        let faults = scenario.faults.iter().zip(&words.faults);
        self.faults.put(cell.index, faults.map(|(fault, words)| FaultEntry::new(fault, words)).collect());
        self.operations.put(cell.index, operations(scenario, &words.operations));
    }

    /// Reads what the folder `dir` says of its rows; the folder need not say anything.
    ///
    /// # Errors
    /// If it is written in another format, or by hand, and the experiment can't be read either.
    pub(super) fn read(dir: &Path) -> Result<Self, ResultsError> {
        let text = text_if_there(&dir.join(EXPERIMENT))?;
        let path = dir.join(NAME);
        if let Some(written) = text_if_there(&path)? {
            let failed = |source| ResultsError::Json { path: path.clone(), source };
            let stamp: Stamp = serde_json::from_str(&written).map_err(failed)?;
            let is_current = text.as_ref().is_none_or(|text| stamp.experiment_text == hash(text));
            if stamp.format == FORMAT && is_current {
                return serde_json::from_str(&written).map_err(failed);
            }
            if text.is_none() {
                return Err(Unfit(format!(
                    "{}: written by zonesim {} in another format than that of {}; put its experiment.toml back beside \
                     it, or run the experiment again",
                    path.display(),
                    stamp.zonesim,
                    env!("CARGO_PKG_VERSION")
                ))
                .into());
            }
        }
        let Some(text) = text else { return Ok(Self::default()) };
        let experiment = Experiment::read(&dir.join(EXPERIMENT), &Overrides::default())?;
        Ok(Self::new(&experiment, &text))
    }

    pub(super) fn write(&self, folder: &Path) -> Result<(), WriteError> {
        let text = serde_json::to_string(self).expect("names, numbers and lists are JSON");
        write_whole(&folder.join(NAME), (text + "\n").as_bytes())
    }

    /// The same with the stamp of this version and of `text`, the experiment file.
    #[cfg(test)]
    pub(super) fn stamped(self, text: &str) -> Self {
        Self { stamp: Stamp::of(text), ..self }
    }

    /// How long the warm-up is; absent if it is not known, or not the same in all cells.
    pub fn warmup(&self) -> Option<SimDuration> {
        match self.timing.values() {
            [timing] => timing.warmup,
            _ => None,
        }
    }

    /// What breaks in cell number `cell`.
    pub fn faults_of(&self, cell: usize) -> &[FaultEntry] {
        self.faults.get(cell).map_or(&[], Vec::as_slice)
    }
}

impl Stamp {
    fn of(text: &str) -> Self {
        Self { format: FORMAT, zonesim: env!("CARGO_PKG_VERSION").to_owned(), experiment_text: hash(text) }
    }
}

fn hash(text: &str) -> String {
    format!("{:016x}", hash_bytes(0, text.as_bytes()))
}

fn members(scenario: &Scenario) -> Vec<MemberEntry> {
    let member = |(id, spec): (BackendId, &BackendSpec)| MemberEntry {
        name: spec.name.clone(),
        group: scenario.groups[spec.group].name.clone(),
        zone: scenario.zones[spec.zone].clone(),
        failover: scenario.role(id) == Role::Failover,
        configured: scenario.is_configured(id),
    };
    scenario.backends.pairs().map(member).collect()
}

/// The operations of `scenario`, of which these are the `words`.
fn operations(scenario: &Scenario, words: &[String]) -> Vec<OperationEntry> {
    let entry = |(operation, words): (&Operation, &String)| {
        let members = operation.changes.iter().filter_map(RegionChange::member);
        let backends = members.map(|member| scenario.backends[member].name.clone()).collect();
        OperationEntry { at: operation.at - SimTime::ZERO, does: words.clone(), backends }
    };
    scenario.operations.iter().zip(words).map(entry).collect()
}

impl FaultEntry {
    fn new(fault: &Fault, words: &FaultWords) -> Self {
        let (at, lasts, flapping) = match &fault.schedule {
            FaultSchedule::Once { at, duration } => (Some(*at), *duration, None),
            FaultSchedule::Flapping { at, duration, period, active } => {
                (Some(*at), *duration, Some(FlappingEntry { period: *period, active: *active }))
            }
            FaultSchedule::Random { .. } => (None, None, None),
            FaultSchedule::Rolling { at, batch, pause, grace, restart } => {
                let batches = struck(&fault.effect).div_ceil(u64::from(batch.get())).max(1);
                (Some(*at), Some((*grace + *restart) * batches + *pause * (batches - 1)), None)
            }
        };
        let at = at.map(|at| at - SimTime::ZERO);
        let until = at.zip(lasts).map(|(at, lasts)| at + lasts);
        let amount = match &fault.effect {
            FaultEffect::Backends { kind: BackendFault::Slow(factor), .. } => Some(factor.value()),
            FaultEffect::Backends { .. } => None,
            FaultEffect::Link { kind: LinkFault::Delay(delay), .. } => Some(delay.as_secs_f64()),
            FaultEffect::Link { kind: LinkFault::Loss(probability), .. } => Some(probability.value()),
        };
        Self { words: words.clone(), at, until, flapping, amount }
    }

    /// From when to when it is on, up to `end`; a missing end is that of the run. Nothing if the times are random.
    pub fn windows(&self, end: SimDuration) -> Vec<(SimDuration, Option<SimDuration>)> {
        let Some(at) = self.at else { return Vec::new() };
        // A period of nothing can only have been written by hand.
        let Some(flapping) = self.flapping.filter(|flapping| !flapping.period.is_zero()) else {
            return vec![(at, self.until)];
        };
        let last = self.until.map_or(end, |until| until.min(end));
        let starts = std::iter::successors(Some(at), |start| Some(*start + flapping.period));
        let window = |start: SimDuration| (start, Some((start + flapping.active).min(last)));
        starts.take_while(|start| *start < last).map(window).collect()
    }
}

/// How many backends a fault strikes: the nearest whole number, and at least one unless it strikes none.
fn struck(effect: &FaultEffect) -> u64 {
    let FaultEffect::Backends { targets, fraction, .. } = effect else { return 0 };
    let share = fraction.value();
    ((targets.len() as f64 * share).round() as u64).max(u64::from(share > 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Source;
    use std::fs;

    const TEXT: &str = r#"
        name = "n"
        simulation = { warmup = "auto", duration = "30m" }
        region = { name = "us", zones = ["us-a", "us-b"] }
        backend_service.backends = [
            { group = "ig-a", zone = "us-a", size = 3 },
            { group = "ig-b", zone = "us-b", size = 1, failover = true },
        ]
        clients = [{ name = "web", kind = "vpn", arrivals = { poisson = { rate = 1.0 } } }]
        faults = [
            { at = "10m", duration = "5m", target = { zone = "us-a", fraction = 0.5 }, kind = "silent" },
            { at = "90s", target = { backends = ["ig-a-1", "ig-a-2"] }, kind = "refuse" },
            { target = { link = ["us-a", "us-b"] }, kind = "link_loss", probability = 0.25, random = { time_between = { constant = "1m" }, duration = { constant = "1s" } } },
            { at = "1m", duration = "50s", target = { zone = "us-a" }, flapping = { period = "20s", active = "15s" } },
            { at = "5m", target = { group = "ig-a" }, kind = "rolling_restart", batch = 2, pause = "10s", grace = "5s" },
        ]
        operations = [{ at = "20m", do = "drain", zone = "us-a" }]
        sweep = { "faults.0.target.fraction" = [0.5, 1.0] }
    "#;

    fn experiment() -> Experiment {
        let source = Source { name: "n.toml".to_owned(), text: TEXT.to_owned() };
        Experiment::parse(source, &Overrides::default()).unwrap()
    }

    fn described() -> Description {
        Description::new(&experiment(), TEXT)
    }

    #[test]
    fn faults_have_their_words_and_their_times() {
        let described = described();
        let faults = described.faults_of(0);
        let targets: Vec<&str> = faults.iter().map(|fault| fault.words.target.as_str()).collect();
        assert_eq!(targets, ["us-a (50 %)", "ig-a-1, ig-a-2", "us-a–us-b", "us-a", "ig-a"]);
        assert_eq!((faults[4].words.kind.as_str(), faults[2].amount), ("rolling_restart", Some(0.25)));
        let secs = SimDuration::from_secs;
        let to = |from, to| (secs(from), Some(secs(to)));
        let windows: Vec<_> = faults.iter().map(|fault| fault.windows(secs(1800))).collect();
        let flapping = vec![to(60, 75), to(80, 95), to(100, 110)];
        let expected = [vec![to(600, 900)], vec![(secs(90), None)], vec![], flapping, vec![to(300, 380)]];
        assert_eq!(windows, expected);
        assert_eq!(described.faults_of(1)[0].words.target, "us-a (100 %)");
        assert_eq!((described.faults.values().len(), described.members.values().len()), (2, 1));
    }

    #[test]
    fn names_are_resolved() {
        let described = described();
        assert_eq!((described.region.as_str(), described.zones.join(" ")), ("us", "us-a us-b".to_owned()));
        assert_eq!(described.places.get(1).unwrap().join(" "), "us-a us-b vpn");
        let members = described.members.get(0).unwrap().iter();
        let members: Vec<String> =
            members.map(|member| format!("{} {} {}", member.name, member.zone, member.failover)).collect();
        let expected = ["ig-a-1 us-a false", "ig-a-2 us-a false", "ig-a-3 us-a false", "ig-b-1 us-b true"];
        assert_eq!(members, expected);
        let operation = &described.operations.get(1).unwrap()[0];
        assert_eq!((operation.does.as_str(), operation.backends.len()), ("drain zone = \"us-a\"", 3));
        assert_eq!((described.warmup(), described.axes[0].column.as_str()), (None, "fraction"));
        let found = experiment().with_warmup(SimDuration::from_secs(50));
        assert_eq!(Description::new(&found, TEXT).warmup(), Some(SimDuration::from_secs(50)));
    }

    #[test]
    fn it_is_read_as_written_or_made_anew_if_it_is_not_of_this_file_or_version() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let (experiment_file, json_file) = (dir.join(EXPERIMENT), dir.join(NAME));
        let json = |description: &Description| serde_json::to_string(description).unwrap();
        let read = || Description::read(dir);
        assert_eq!(json(&read().unwrap()), json(&Description::default()), "an empty folder says nothing");
        describe(dir, dir, &experiment()).unwrap();
        let written = json(&read().unwrap());
        assert_eq!(written, json(&described()));
        fs::remove_file(&json_file).unwrap();
        assert_eq!(json(&read().unwrap()), written, "as for a folder of an older version");
        let other = written.replace("\"format\":2", "\"format\":1").replace("us-a", "elsewhere");
        fs::write(&json_file, &other).unwrap();
        assert_eq!(json(&read().unwrap()), written);
        fs::write(&json_file, &written).unwrap();
        fs::write(&experiment_file, TEXT.replace("name = \"n\"", "name = \"edited\"")).unwrap();
        assert_eq!(read().unwrap().name, "edited");
        fs::remove_file(&experiment_file).unwrap();
        assert_eq!(json(&read().unwrap()), written, "it takes no other file");
        fs::write(&json_file, &other).unwrap();
        let error = read().unwrap_err().to_string();
        assert!(error.contains("resolved.json: written by zonesim") && error.contains("run"), "{error}");
    }
}
