//! What a folder's `experiment.toml` says about its rows: names, zones, and when faults came.
//!
//! Only these few keys are read, and all of them may be missing: charts need nothing else, and the file itself
//! was checked when the experiment ran.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};

use super::error::ResultsError;
use crate::metrics::unit::Unit;
use crate::time::SimDuration;

/// The part of an experiment that its charts show.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Setup {
    /// The experiment's name.
    pub name: String,
    /// The question that it asks.
    pub description: String,
    /// The place that it looks at.
    pub region: Region,
    /// Its times.
    pub simulation: Simulation,
    /// What broke, in file order.
    pub faults: Vec<Fault>,
    /// The backends' part.
    pub backend_service: BackendService,
    /// The charts that the experiment asks for.
    pub charts: Vec<ChartRequest>,
    /// What its results are judged by.
    pub thresholds: Vec<Threshold>,
    /// What its arms change.
    pub arms: Vec<Changes>,
    /// The axes that its arms share, by path.
    pub sweep: BTreeMap<String, IgnoredAny>,
}

/// The paths of which an arm has values of its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Changes {
    set: BTreeMap<String, IgnoredAny>,
    sweep: BTreeMap<String, IgnoredAny>,
}

/// A bound on the mean of a metric.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Threshold {
    /// The metric.
    pub metric: String,
    /// The arm whose cells are judged; every cell if absent.
    pub arm: Option<String>,
    /// The least that passes.
    pub min: Option<f64>,
    /// The most that passes.
    pub max: Option<f64>,
}

/// A chart that the experiment asks for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ChartRequest {
    /// The metric that is shown.
    pub metric: String,
    /// The column of the axis that it is shown against.
    pub axis: String,
    /// The column of the axis of which each value gets a panel.
    pub facet: Option<String>,
    /// The arms that are shown; all if absent.
    pub arms: Option<Vec<String>>,
    /// The logarithmic axes: `x`, `y` or `xy`.
    pub log: Option<String>,
    /// The title, if it has one of its own.
    pub title: Option<String>,
    /// The name of the file without its end, if it has one of its own.
    pub file: Option<String>,
}

/// The backends' part.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct BackendService {
    /// The groups in file order.
    pub backends: Vec<Group>,
}

/// A group of backends.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(default)]
pub struct Group {
    /// Its name.
    pub group: String,
    /// Its zone, if it has one only.
    pub zone: String,
    /// Its zones, if it has several.
    pub zones: Vec<String>,
    /// How many members it has at first.
    pub size: usize,
}

impl Default for Group {
    fn default() -> Self {
        Self { group: String::new(), zone: String::new(), zones: Vec::new(), size: 4 }
    }
}

/// The region's part.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Region {
    /// The zones in file order.
    pub zones: Vec<String>,
}

/// The simulation's part.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Simulation {
    /// The time before measurement; nothing if the simulation found it by itself.
    #[serde(deserialize_with = "duration")]
    pub warmup: Option<SimDuration>,
    /// The measured time.
    #[serde(deserialize_with = "duration")]
    pub duration: Option<SimDuration>,
    /// The resolution of the timeline.
    #[serde(deserialize_with = "duration")]
    pub sample_interval: Option<SimDuration>,
}

/// When something broke, and what.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Fault {
    /// When it began; nothing if that was random.
    pub at: Option<SimDuration>,
    /// How long it lasted; nothing if it lasted to the end.
    pub duration: Option<SimDuration>,
    /// How it broke.
    #[serde(default = "silent")]
    pub kind: String,
    /// What broke.
    #[serde(default)]
    pub target: Target,
    /// When it came and went again, if it did.
    pub flapping: Option<Flapping>,
    /// How many restarted at a time, from the end of one batch to the next, and how long each took.
    batch: Option<usize>,
    pause: Option<SimDuration>,
    grace: Option<SimDuration>,
    restart: Option<SimDuration>,
}

fn silent() -> String {
    "silent".to_owned()
}

/// How something comes and goes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Flapping {
    /// From one beginning to the next.
    pub period: SimDuration,
    /// How long it lasts each time.
    pub active: SimDuration,
}

/// What broke.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Target {
    zone: String,
    group: String,
    backends: Vec<String>,
    link: Vec<String>,
    fraction: Option<f64>,
}

impl Target {
    /// In words: `us-central1-a (50 %)`.
    pub fn words(&self) -> String {
        let names = [self.zone.clone(), self.group.clone(), self.backends.join(", "), self.link.join("–")];
        let share = self.fraction.map(|fraction| format!("({})", Unit::Percent.text(fraction)));
        let words: Vec<String> = names.into_iter().chain(share).filter(|word| !word.is_empty()).collect();
        words.join(" ")
    }

    /// How many backends it means.
    fn count(&self, service: &BackendService) -> usize {
        let members = |group: &Group| {
            if !self.group.is_empty() {
                return if group.group == self.group { group.size } else { 0 };
            }
            // Members are dealt out to zones in turn.
            let dealt = |zone: usize| (group.size + group.zones.len() - 1 - zone) / group.zones.len();
            let inside = group.zones.iter().position(|zone| *zone == self.zone).map_or(0, dealt);
            if group.zone == self.zone { group.size } else { inside }
        };
        let grouped = self.zone.len() + self.group.len() > 0;
        let groups: usize = if grouped { service.backends.iter().map(members).sum() } else { 0 };
        let count = self.backends.len() + groups;
        let share = self.fraction.unwrap_or(1.0);
        ((count as f64 * share).round() as usize).max(usize::from(share > 0.0))
    }
}

impl Fault {
    /// From when to when it was on, up to `end`; an end that is missing is that of the run. Nothing if the times were
    /// random.
    pub fn windows(
        &self,
        end: SimDuration,
        service: &BackendService,
    ) -> Vec<(SimDuration, Option<SimDuration>)> {
        let Some(at) = self.at else { return Vec::new() };
        if self.kind == "rolling_restart" {
            let [pause, grace] = [self.pause, self.grace].map(Option::unwrap_or_default);
            let batch = grace + self.restart.unwrap_or(SimDuration::from_secs(30));
            let batches = self.target.count(service).div_ceil(self.batch.unwrap_or(1).max(1)).max(1) as u64;
            return vec![(at, Some(at + batch * batches + pause * (batches - 1)))];
        }
        let over = self.duration.map(|duration| at + duration);
        let Some(Flapping { period, active }) = self.flapping.filter(|flapping| !flapping.period.is_zero())
        else {
            return vec![(at, over)];
        };
        let last = over.map_or(end, |over| over.min(end));
        let starts = std::iter::successors(Some(at), |start| Some(*start + period));
        starts
            .take_while(|start| *start < last)
            .map(|start| (start, Some((start + active).min(last))))
            .collect()
    }
}

impl Setup {
    /// Whether arms or axes change the faults, so that those of the file are not those of every cell.
    pub fn changes_faults(&self) -> bool {
        let of_arms = self.arms.iter().flat_map(|arm| arm.set.keys().chain(arm.sweep.keys()));
        of_arms.chain(self.sweep.keys()).any(|path| path.split('.').next() == Some("faults"))
    }

    /// Reads the file `path`; a missing file says nothing.
    pub fn read(path: &Path) -> Result<Self, ResultsError> {
        let Some(text) = text_if_there(path)? else { return Ok(Self::default()) };
        toml_edit::de::from_str(&text)
            .map_err(|error| ResultsError::Toml { path: path.to_owned(), problem: error.to_string() })
    }
}

/// The line, from 1, of `key` of member `index` of the list of tables called `list` in the file `path`; that of the member
/// where it lacks the key.
pub(crate) fn line_of(path: &Path, list: &str, index: usize, key: &str) -> Option<usize> {
    let text = fs::read_to_string(path).ok()?;
    let document = toml_edit::Document::parse(text.as_str()).ok()?;
    let member = document.get(list)?.get(index)?;
    let span = member.get(key).and_then(toml_edit::Item::span).or_else(|| member.span())?;
    Some(1 + text[..span.start].matches('\n').count())
}

/// A duration with a unit; a word such as `"auto"` is none.
fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<SimDuration>, D::Error> {
    let text = String::deserialize(from)?;
    if text.chars().all(char::is_alphabetic) {
        return Ok(None);
    }
    text.parse().map(Some).map_err(D::Error::custom)
}

/// The text of the file `path`, or nothing if there is no such file.
pub(crate) fn text_if_there(path: &Path) -> Result<Option<String>, ResultsError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ResultsError::Open { path: path.to_owned(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_their_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.toml");
        fs::write(
            &path,
            "name = \"n\"\n[[charts]]\nmetric = \"a\"\n[[charts]]\nmetric = \"b\"\naxis = \"x\"\n",
        )
        .unwrap();
        let line = |index, key| line_of(&path, "charts", index, key);
        assert_eq!([line(0, "metric"), line(1, "axis"), line(1, "facet")], [Some(3), Some(6), Some(4)]);
        assert_eq!(line(2, "metric"), None);
    }

    #[test]
    fn faults_are_read_in_every_spelling_of_their_target() {
        let setup = toml_edit::de::from_str::<Setup>(
            r#"
            name = "n"
            [simulation]
            warmup = "auto"
            duration = "30m"
            [[faults]]
            at = "10m"
            duration = "5m"
            target = { zone = "us-central1-a", fraction = 0.5 }
            kind = "silent"
            [[faults]]
            at = "90s"
            target = { backends = ["ig-a-1", "ig-a-2"] }
            kind = "refuse"
            [[faults]]
            target = { link = ["us-central1-a", "us-central1-b"] }
            kind = "link_loss"
            random = { time_between = { constant = "1m" }, duration = { constant = "1s" } }
            [[faults]]
            at = "1m"
            duration = "50s"
            target = { zone = "us-central1-a" }
            flapping = { period = "20s", active = "15s" }
            [[faults]]
            at = "5m"
            target = { group = "ig-a" }
            kind = "rolling_restart"
            batch = 2
            pause = "10s"
            grace = "5s"
            [backend_service]
            backends = [{ group = "ig-a", zone = "us-central1-a", size = 3 }]
            "#,
        )
        .unwrap();
        assert_eq!(setup.simulation.warmup, None);
        assert_eq!(setup.simulation.duration, Some(SimDuration::from_secs(1800)));
        let targets: Vec<_> = setup.faults.iter().map(|fault| fault.target.words()).collect();
        let link = "us-central1-a–us-central1-b";
        assert_eq!(targets, ["us-central1-a (50 %)", "ig-a-1, ig-a-2", link, "us-central1-a", "ig-a"]);
        let secs = SimDuration::from_secs;
        let windows = setup.faults.iter().map(|fault| fault.windows(secs(1800), &setup.backend_service));
        let to = |from, to| (secs(from), Some(secs(to)));
        assert_eq!(
            windows.collect::<Vec<_>>(),
            [
                vec![to(600, 900)],
                vec![(secs(90), None)],
                vec![],
                vec![to(60, 75), to(80, 95), to(100, 110)],
                vec![to(300, 380)],
            ]
        );
        assert_eq!(setup.faults[1].duration, None);
    }

    #[test]
    fn faults_may_differ_from_cell_to_cell() {
        for (text, changes) in [
            ("[sweep]\n\"faults.0.target.fraction\" = [0.5, 1.0]", true),
            ("[[arms]]\nname = \"a\"\nset = { \"faults.0.at\" = \"5m\" }", true),
            (
                "[[arms]]\nname = \"a\"\nsweep = { \"faults.1.factor\" = { from = 1.0, to = 2.0, step = 0.5 } }",
                true,
            ),
            (
                "[[arms]]\nname = \"a\"\nset = { \"server.workers\" = 2 }\n[sweep]\n\"clients.faults.retries\" = [0, 1]",
                false,
            ),
            ("", false),
        ] {
            assert_eq!(toml_edit::de::from_str::<Setup>(text).unwrap().changes_faults(), changes, "{text}");
        }
    }
}
