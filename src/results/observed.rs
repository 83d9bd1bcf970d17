//! What the replications of a results folder observed, cell by cell and metric by metric, for questions about it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::error::ResultsError;
use super::{ResultCell, Results, is_unfinished, manifest};
use crate::experiment::nearest;
use crate::metrics::{Metric, MetricWhole};
use crate::stats::{Nature, Observation, Paired, PairedTest, Sample, Strata};
use crate::unfit::Unfit;

/// A question that can't be meant: it names what the folder does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct QuestionError(pub String);

impl QuestionError {
    /// There is no `what` called `name`; these are `known`.
    pub fn unknown<'a>(what: &str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        Self(match nearest(name, known.iter().copied()) {
            Some(near) => format!("there is no {what} {name:?}; did you mean {near:?}?"),
            None => format!("there is no {what} {name:?}; there are {}", known.join(", ")),
        })
    }
}

/// The runs of a results folder, by cell and replication.
#[derive(Clone, Debug)]
pub struct Observed {
    results: Results,
    /// By cell number and replication: the position of its run.
    runs: BTreeMap<(usize, usize), usize>,
    /// By cell number: the strata that its replications are drawn from in turn, if they are.
    strata: BTreeMap<usize, Strata>,
    /// By the same: connections and bytes of clients that have a zone. Empty where no file says it.
    zonal: BTreeMap<(usize, usize), (f64, f64)>,
    /// By the same: round trips measured. Empty where no file says it.
    round_trips: BTreeMap<(usize, usize), f64>,
}

/// What several cells gave for one metric in the replications in which all of them have a value, so that their estimates
/// differ by what their differences say. A cell without any value is left out of that.
#[derive(Clone, Debug)]
pub struct Aligned {
    /// One for each cell.
    pub samples: Vec<Sample>,
    /// Whether these are the same replications; else, where fewer than two are common, each has all of its own.
    pub are_same: bool,
}

impl Aligned {
    /// Two of them as a pair; `None` where they are not of the same replications, or one has no value.
    pub fn paired(&self, baseline: usize, other: usize) -> Option<Paired> {
        let [baseline, other] = [baseline, other].map(|index| &self.samples[index]);
        let is_there = self.are_same && !baseline.is_empty() && !other.is_empty();
        is_there.then(|| Paired::new(baseline.clone(), other.clone()))
    }
}

impl Observed {
    /// Reads the folder `dir`.
    ///
    /// # Errors
    /// If it is missing, half-written, unfinished, or of another version.
    pub fn read(dir: &Path) -> Result<Self, ResultsError> {
        let refuse = |why: String| Err(Unfit(format!("{}: {why}", dir.display())).into());
        let unfinished = "the job is not finished; `zonesim run` with --resume finishes it";
        if is_whole_shard(dir) {
            let why = "this is one shard of its experiment; `zonesim merge` joins all of them";
            return refuse(why.to_owned());
        }
        if is_unfinished(dir) {
            return refuse(unfinished.to_owned());
        }
        let results = Results::read_scalars(dir)?;
        let manifest = results.manifest.as_ref();
        let entry = |key: &str| manifest.and_then(|manifest| manifest.get(key));
        let found = entry("zonesim").and_then(serde_json::Value::as_str);
        let own = env!("CARGO_PKG_VERSION");
        if let Some(found) = found.filter(|found| series(found) != series(own)) {
            return refuse(format!("made by zonesim {found}, this is {own}; run the experiment again"));
        }
        if entry("complete").and_then(serde_json::Value::as_bool) == Some(false) {
            return refuse(unfinished.to_owned());
        }
        Ok(Self::of(results))
    }

    /// The observations in `results`.
    pub fn of(results: Results) -> Self {
        let runs = results.runs.iter().enumerate();
        let mut zonal: BTreeMap<(usize, usize), (f64, f64)> = BTreeMap::new();
        for row in &results.traffic {
            if results.description.zones.contains(&row.client_zone) {
                let (connections, bytes) = zonal.entry((row.cell, row.replication)).or_default();
                *connections += row.connections.unwrap_or(0.0);
                *bytes += row.request_bytes.unwrap_or(0.0) + row.response_bytes.unwrap_or(0.0);
            }
        }
        let overall = results
            .latency
            .iter()
            .filter(|row| row.kind == "network_rtt" && row.client_zone == "all" && row.backend_zone == "all");
        // What the second stratum is follows from the first.
        let firsts = results.runs.iter().filter(|run| run.replication % Strata::ROUND == 0);
        let strata = firsts.filter_map(|run| Some((run.cell, Strata::new(run.stratum_weight?)))).collect();
        Self {
            strata,
            runs: runs.map(|(position, run)| ((run.cell, run.replication), position)).collect(),
            round_trips: overall.filter_map(|row| Some(((row.cell, row.replication), row.count?))).collect(),
            zonal,
            results,
        }
    }

    /// The folder's results.
    pub fn results(&self) -> &Results {
        &self.results
    }

    /// The cells.
    pub fn cells(&self) -> &[ResultCell] {
        &self.results.cells
    }

    /// The column of the metric called `name`.
    ///
    /// # Errors
    /// If the folder has no such metric.
    pub fn metric(&self, name: &str) -> Result<usize, QuestionError> {
        let metrics = &self.results.metrics;
        let unknown = || QuestionError::unknown("metric", name, metrics.iter().map(String::as_str));
        metrics.iter().position(|metric| metric == name).ok_or_else(unknown)
    }

    /// What the column `metric` of `cell` is, as far as intervals must know.
    pub fn nature(&self, cell: &ResultCell, metric: usize) -> Nature {
        // Of a folder that says nothing of its worlds, chance has a part in everything.
        let varies = self.results.description.health_varies.get(cell.number).copied().unwrap_or(true);
        Metric::of(&self.results.metrics[metric]).nature(varies)
    }

    /// Why ratios such as `metric` can't be compared from this folder, if they can't: their wholes are not in it.
    pub fn obstacle(&self, metric: usize) -> Option<String> {
        let name = &self.results.metrics[metric];
        let file = match Metric::of(name).whole()? {
            MetricWhole::ZonalConnections | MetricWhole::ZonalBytes if self.zonal.is_empty() => {
                "traffic.csv and resolved.json"
            }
            MetricWhole::RoundTrips if self.round_trips.is_empty() => "latency.csv",
            _ => return None,
        };
        Some(format!(
            "{name} is missing: it is a ratio, and its wholes stand in {file}, which this folder lacks"
        ))
    }

    /// The strata that the replications of `cell` are drawn from in turn, if they are.
    pub fn strata(&self, cell: &ResultCell) -> Option<Strata> {
        self.strata.get(&cell.number).copied()
    }

    /// How many replications make one observation: two where they are drawn from strata in turn, else one.
    pub fn replications_each(&self) -> u64 {
        if self.strata.is_empty() { 1 } else { Strata::ROUND as u64 }
    }

    /// What `cell` gave for the column `metric`, by number: that of the replication, or of the two that are one observation.
    /// Those without a value are left out.
    fn observations(&self, cell: &ResultCell, metric: usize) -> BTreeMap<usize, Observation> {
        let one = |replication| (replication, self.observation((cell.number, replication), metric));
        let found = self.replications(cell).map(|(replication, _)| one(replication));
        let found: Vec<(usize, Option<Observation>)> = match self.strata(cell) {
            Some(strata) => strata.joined(found),
            None => found.collect(),
        };
        found.into_iter().filter_map(|(number, observation)| Some((number, observation?))).collect()
    }

    /// What the replications of `cell` gave for the column `metric`; those without a value are left out. Where they are drawn
    /// from strata in turn, two of them are one observation of all windows.
    pub fn sample(&self, cell: &ResultCell, metric: usize) -> Sample {
        self.observations(cell, metric).into_values().collect()
    }

    /// The same of two cells, for the replications in which both have a value.
    pub fn paired(&self, baseline: &ResultCell, other: &ResultCell, metric: usize) -> Paired {
        let base = self.observations(baseline, metric);
        let others = self.observations(other, metric).into_iter();
        let both = others.filter_map(|(number, observation)| Some((*base.get(&number)?, observation)));
        let (baseline, other): (Vec<Observation>, Vec<Observation>) = both.unzip();
        Paired::new(baseline.into_iter().collect(), other.into_iter().collect())
    }

    /// The test of the difference of two cells, other minus baseline, of the column `metric` in these `pairs`. `None` with fewer
    /// than two, or without an estimate.
    pub fn test(
        &self,
        pairs: &Paired,
        baseline: &ResultCell,
        other: &ResultCell,
        metric: usize,
    ) -> Option<PairedTest> {
        let natures = [baseline, other].map(|cell| self.nature(cell, metric));
        pairs.test(pairs.is_ruled(natures)).filter(|_| pairs.len() > 1)
    }

    /// What each of `cells` gave for the column `metric`.
    pub fn aligned(&self, cells: &[&ResultCell], metric: usize) -> Aligned {
        let all: Vec<BTreeMap<usize, Observation>> =
            cells.iter().map(|cell| self.observations(cell, metric)).collect();
        let is_common = |run: &usize| all.iter().all(|own| own.is_empty() || own.contains_key(run));
        let common: BTreeSet<usize> =
            all.iter().flat_map(BTreeMap::keys).copied().filter(is_common).collect();
        let are_same = common.len() > 1;
        let sample = |own: BTreeMap<usize, Observation>| {
            let counted = own.into_iter().filter(|(run, _)| !are_same || common.contains(run));
            counted.map(|(_, observation)| observation).collect()
        };
        Aligned { samples: all.into_iter().map(sample).collect(), are_same }
    }

    /// Whether two cells have the same value of the column `metric`, or none, in every replication that both have.
    pub fn identical(&self, a: &ResultCell, b: &ResultCell, metric: usize) -> bool {
        let value = |position: usize| self.results.runs[position].values[metric];
        self.replications(a).all(|(replication, run)| {
            let other = self.runs.get(&(b.number, replication));
            other.is_none_or(|other| value(run) == value(*other))
        })
    }

    /// Whether two cells have the same replications, with the same values of every metric.
    pub fn all_identical(&self, a: &ResultCell, b: &ResultCell) -> bool {
        let numbers = |cell| self.replications(cell).map(|(replication, _)| replication);
        numbers(a).eq(numbers(b))
            && (0..self.results.metrics.len()).all(|metric| self.identical(a, b, metric))
    }

    /// The replications of `cell` in order, each with the position of its run.
    fn replications(&self, cell: &ResultCell) -> impl Iterator<Item = (usize, usize)> {
        let runs = self.runs.range((cell.number, 0)..=(cell.number, usize::MAX));
        runs.map(|((_, replication), position)| (*replication, *position))
    }

    /// What the run, by its cell and replication, gave for the column `metric`, if it has a value.
    pub fn observation(&self, run: (usize, usize), metric: usize) -> Option<Observation> {
        let values = &self.results.runs[*self.runs.get(&run)?].values;
        let value = values[metric];
        let Some(whole) = Metric::of(&self.results.metrics[metric]).whole() else {
            return value.map(Observation::Value);
        };
        let whole = match whole {
            MetricWhole::Connections => values[self.metric("connections").ok()?]?,
            MetricWhole::ZonalConnections => self.zonal.get(&run)?.0,
            MetricWhole::ZonalBytes => self.zonal.get(&run)?.1,
            MetricWhole::RoundTrips => self.round_trips.get(&run).copied()?,
        };
        // Where the whole is zero, so is the part: an observation too.
        let part = if whole == 0.0 { 0.0 } else { value? * whole };
        Some(Observation::Ratio { part, whole })
    }
}

/// Whether the folder `dir` holds one shard of its experiment, with every run of it.
fn is_whole_shard(dir: &Path) -> bool {
    let Ok(Some(manifest)) = manifest(dir.join("manifest.json")) else { return false };
    manifest.get("complete").and_then(serde_json::Value::as_bool) == Some(true)
        && manifest.get("shard").is_some_and(|shard| !shard.is_null())
}

/// The part of a version that says which files belong together: `0.1` of `0.1.7`.
fn series(version: &str) -> Vec<&str> {
    let mut parts: Vec<&str> = version.split('.').take(2).collect();
    if parts.first() != Some(&"0") {
        parts.truncate(1);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::SampleFolder;

    fn observed() -> Observed {
        Observed::of(SampleFolder::default().results())
    }

    #[test]
    fn ratios_are_parts_of_their_wholes_and_values_stand_alone() {
        let observed = observed();
        let cell = &observed.cells()[0];
        let of = |name| observed.sample(cell, observed.metric(name).unwrap());
        let mean = |name: &str| {
            let column = observed.metric(name).unwrap();
            let runs = observed.results.runs.iter().filter(|run| run.cell == 0);
            runs.filter_map(|run| run.values[column]).sum::<f64>() / 5.0
        };
        assert!((of("connect_p99_ms").estimate().unwrap().value - mean("connect_p99_ms")).abs() < 1e-12);
        let failed = of("failure_ratio").estimate().unwrap().value;
        let runs: Vec<_> = observed.results.runs.iter().filter(|run| run.cell == 0).collect();
        let (ratio, whole) =
            (observed.metric("failure_ratio").unwrap(), observed.metric("connections").unwrap());
        let parts: f64 = runs.iter().map(|run| run.values[ratio].unwrap() * run.values[whole].unwrap()).sum();
        let wholes: f64 = runs.iter().map(|run| run.values[whole].unwrap()).sum();
        assert!((failed - parts / wholes).abs() < 1e-12);
    }

    #[test]
    fn wholes_that_are_not_there_are_said_and_not_guessed() {
        let mut results = SampleFolder::default().results();
        results.traffic.clear();
        let observed = Observed::of(results);
        let metric = observed.metric("cross_zone_connection_ratio").unwrap();
        assert!(observed.obstacle(metric).unwrap().contains("traffic.csv"));
        assert!(observed.sample(&observed.cells()[0], metric).is_empty());
        assert_eq!(observed.obstacle(observed.metric("failure_ratio").unwrap()), None);
    }

    #[test]
    fn cells_with_unequal_replications_are_paired_where_both_have_one() {
        let mut results = SampleFolder::default().results();
        // The second cell is a copy of the first with two replications less, but for one value.
        let mut copies: Vec<_> = results.runs.iter().filter(|run| run.cell == 0).cloned().collect();
        copies.truncate(3);
        copies.iter_mut().for_each(|run| run.cell = 1);
        results.runs.retain(|run| run.cell != 1);
        results.runs.extend(copies);
        let position = results.runs.len() - 1;
        let observed = Observed::of(results.clone());
        let (long, short) = (&observed.cells()[0], &observed.cells()[1]);
        let metric = observed.metric("connect_p99_ms").unwrap();
        for (a, b) in [(long, short), (short, long)] {
            let paired = observed.paired(a, b, metric);
            assert_eq!((paired.len(), paired.test(false).unwrap().difference.estimate.value), (3, 0.0));
            assert!(observed.identical(a, b, metric), "in every replication that both have");
            assert!(!observed.all_identical(a, b), "they are no one policy");
        }
        assert_eq!((observed.sample(long, metric).len(), observed.sample(short, metric).len()), (5, 3));
        let aligned = observed.aligned(&[long, short], metric);
        assert_eq!((aligned.samples[0].len(), &aligned.samples[0]), (3, &aligned.samples[1]));
        assert_eq!(aligned.paired(0, 1).unwrap().test(false).unwrap().difference.estimate.value, 0.0);
        results.runs[position].values[metric] = Some(1e9);
        let changed = Observed::of(results);
        assert!(!changed.identical(&changed.cells()[0], &changed.cells()[1], metric));
    }

    #[test]
    fn unfinished_and_foreign_folders_are_refused() {
        let folder = SampleFolder::default().write();
        let with = |manifest: &str| {
            std::fs::write(folder.path().join("manifest.json"), manifest).unwrap();
            Observed::read(folder.path()).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(with("{}"), Ok(()));
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(with(&format!("{{\"zonesim\": \"{version}\", \"complete\": true}}")), Ok(()));
        assert!(with("{\"complete\": false}").unwrap_err().contains("--resume"));
        assert!(with("{\"zonesim\": \"99.1.0\"}").unwrap_err().contains("made by zonesim 99.1.0"));
        std::fs::write(folder.path().join(".zonesim-journal"), "").unwrap();
        assert!(with("{}").unwrap_err().contains("not finished"));
    }

    #[test]
    fn versions_belong_together_as_cargo_says() {
        assert_eq!(series("0.1.0"), series("0.1.9"));
        assert_ne!(series("0.1.0"), series("0.2.0"));
        assert_eq!(series("1.1.0"), series("1.9.3"));
        assert_ne!(series("1.1.0"), series("2.1.0"));
    }

    #[test]
    fn an_unknown_metric_gets_a_suggestion() {
        let error = observed().metric("failure_rate").unwrap_err().to_string();
        assert!(error.contains("failure_ratio"), "{error}");
    }
}
