//! What a manifest says beside counts: the warm-up and the precision of a job, and what whoever reads the results must know.

use serde::{Deserialize, Serialize};

use crate::experiment::{Cell, Experiment};
use crate::job::agenda::{Agenda, CellEnd};
use crate::job::warmup::{FoundWarmup, PILOTS};
use crate::metrics::Metric;
use crate::metrics::unit::Unit;
use crate::results::steadiness::Series;
use crate::results::tables::CellSummary;
use crate::sim::history::HAPPENINGS_MAX;
use crate::sim::scenario::{Fault, FaultSchedule, Occurrence, Renewals};
use crate::stats::Tolerance;

/// A warm-up that was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WarmupEntry {
    /// How it was found.
    pub rule: String,
    /// How long it is.
    pub seconds: f64,
    /// The share of the simulated time that it is, of the cell where it is the largest.
    pub deleted_share: f64,
    /// How many pilot runs of each cell there were.
    pub pilots: u32,
    /// The cell that takes longest.
    pub cell: String,
    /// What takes longest in it.
    pub series: Series,
}

impl WarmupEntry {
    /// What `found` is to `experiment`, which has it.
    pub fn of(experiment: &Experiment, found: &FoundWarmup) -> Self {
        let seconds = found.length.as_secs_f64();
        let durations = experiment.cells().iter().map(|cell| experiment.scenario(cell).timing.duration);
        let shortest = durations.min().map_or(0.0, |duration| duration.as_secs_f64());
        Self {
            rule: "MSER-5".to_owned(),
            seconds,
            deleted_share: seconds / (seconds + shortest),
            pilots: PILOTS,
            cell: experiment.describe(&experiment.cells()[found.cell]),
            series: found.series,
        }
    }

    /// It in words.
    pub fn text(&self) -> String {
        let Self { rule, seconds, pilots, cell, series, deleted_share } = self;
        let share = Unit::Percent.text(*deleted_share);
        format!(
            "{seconds} s, found by {rule} in {pilots} pilot runs of each cell ({series} of {cell} take longest): {share} of \
             the simulated time"
        )
    }
}

/// A cell whose measured runs still show their beginning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ShortWarmup {
    /// The cell's number.
    pub cell: usize,
    /// The cell in words.
    pub name: String,
    /// What shows it.
    pub series: Series,
    /// How long it lasts in the measured window.
    pub seconds: f64,
    /// How much it changes the mean, as a share of the mean without it.
    pub share: f64,
}

impl ShortWarmup {
    /// The beginning that the runs of a cell still show, if they do.
    pub(super) fn of(experiment: &Experiment, summary: &CellSummary) -> Option<Self> {
        let doubt = summary.doubt?;
        Some(Self {
            cell: summary.cell,
            name: experiment.describe(&experiment.cells()[summary.cell]),
            series: doubt.series,
            seconds: doubt.length.as_secs_f64(),
            share: doubt.share,
        })
    }

    pub(super) fn text(&self) -> String {
        let Self { name, series, seconds, share, .. } = self;
        let share = Unit::Percent.text(*share);
        format!(
            "the warm-up looks too short for {name}: {series} still show the beginning of the run for {seconds} s, which \
             changes their mean by {share}; lengthen simulation.warmup, or write \"auto\""
        )
    }
}

/// A fault that is on some time in every measured window of a cell, because it was asked to happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AskedFault {
    /// The cell's number.
    pub cell: usize,
    /// The cell in words.
    pub name: String,
    /// The fault's number in the file, from 0.
    pub fault: usize,
    /// How many of all windows have it, as a share: the weight of what was measured.
    pub chance: f64,
    /// Whether it is in every other window alone, and means weigh these and those between.
    #[serde(default)]
    pub is_stratified: bool,
}

impl AskedFault {
    /// Those of all cells.
    pub(super) fn all(experiment: &Experiment) -> Vec<Self> {
        let of_cell = |cell: &Cell| {
            let scenario = experiment.scenario(cell);
            let chance = |fault: &Fault| match &fault.schedule {
                FaultSchedule::Random { time_between: up, duration: down, occurrence }
                    if *occurrence != Occurrence::Free =>
                {
                    let chance = Renewals { up, down }.chance_in(scenario.timing.duration);
                    Some((chance, *occurrence == Occurrence::InTurn))
                }
                _ => None,
            };
            let asked = |(fault, (chance, is_stratified))| Self {
                cell: cell.index,
                name: experiment.describe(cell),
                fault,
                chance,
                is_stratified,
            };
            let chances = scenario.faults.iter().map(chance).enumerate();
            chances.filter_map(|(fault, chance)| Some(asked((fault, chance?)))).collect::<Vec<Self>>()
        };
        experiment.cells().iter().flat_map(of_cell).collect()
    }

    pub(super) fn text(&self) -> String {
        let Self { name, fault, chance, .. } = self;
        if self.is_stratified {
            return format!(
                "every other measured window of {name} has fault {fault}, which was asked to happen, and none between has it; means \
                 are of all windows: those with it count for {} of them, two replications are one observation",
                Unit::Percent.text(*chance)
            );
        }
        format!(
            "every measured window of {name} has fault {fault}, which was asked to happen: what is measured is what it costs when \
             it does; it does in {} of all windows",
            Unit::Percent.text(*chance)
        )
    }
}

/// A cell in whose measured window no connection began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuietCell {
    /// The cell's number.
    pub cell: usize,
    /// The cell in words.
    pub name: String,
    /// How many connections were open in the window, on average over time and replications.
    pub open_connections: f64,
}

impl QuietCell {
    /// The cell of `summary`, if nothing began in it.
    pub(super) fn of(experiment: &Experiment, summary: &CellSummary) -> Option<Self> {
        let mean = |name: &str| {
            let found = summary.metrics.iter().find(|found| found.metric.name == name);
            found.and_then(|found| found.interval).map_or(0.0, |interval| interval.mean)
        };
        (mean("connections") == 0.0).then(|| Self {
            cell: summary.cell,
            name: experiment.describe(&experiment.cells()[summary.cell]),
            open_connections: mean("open_connections"),
        })
    }

    pub(super) fn text(&self) -> String {
        let Self { name, open_connections, .. } = self;
        let unknown = "nothing is known of failure_ratio and of the shares of connections";
        if *open_connections == 0.0 {
            return format!(
                "no connection began in the measured window of {name}, and none was open: {unknown}"
            );
        }
        let open = Unit::Number.text(*open_connections);
        format!(
            "no connection began in the measured window of {name}: {unknown}; bytes, dollars, requests, latencies and broken              connections are those of the {open} that were open on average; shorten simulation.warmup or lengthen              simulation.duration to see some begin"
        )
    }
}

/// A cell whose runs had more events than `events.csv` takes of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOutEvents {
    /// The cell's number.
    pub cell: usize,
    /// The cell in words.
    pub name: String,
    /// How many are left out, over its runs.
    pub events: u64,
}

impl LeftOutEvents {
    /// The events of a cell that are left out, if any are.
    pub(super) fn of(experiment: &Experiment, summary: &CellSummary) -> Option<Self> {
        let name = || experiment.describe(&experiment.cells()[summary.cell]);
        let events = summary.events_left_out;
        (events > 0).then(|| Self { cell: summary.cell, name: name(), events })
    }

    pub(super) fn text(&self) -> String {
        let Self { name, events, .. } = self;
        format!(
            "events.csv has the first {HAPPENINGS_MAX} events of each run: {events} of {name} are left out; the metrics count \
             them all"
        )
    }
}

/// A cell of which connections failed because their clients had no free port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutOfPorts {
    /// The cell's number.
    pub cell: usize,
    /// The cell in words.
    pub name: String,
    /// How many connections a run, on average.
    pub connections: f64,
}

impl OutOfPorts {
    /// The connections of a cell that failed so, if any did.
    pub(super) fn of(experiment: &Experiment, summary: &CellSummary) -> Option<Self> {
        let found = summary.metrics.iter().find(|found| found.metric.name == "failed_no_port")?;
        let connections = found.interval.map(|interval| interval.mean).filter(|mean| *mean > 0.0)?;
        let name = experiment.describe(&experiment.cells()[summary.cell]);
        Some(Self { cell: summary.cell, name, connections })
    }

    pub(super) fn text(&self) -> String {
        let Self { name, connections, .. } = self;
        format!(
            "{} connections a run of {name} failed because their client's address had one open on each of its ports \
             (failed_no_port); give the client groups more `addresses`, or shorter connections",
            Unit::Number.text(*connections)
        )
    }
}

/// What cells that are run for a precision came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PrecisionEntry {
    /// The metric that is to be known so well.
    pub metric: String,
    /// How far it may be off, as a share of itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<f64>,
    /// How far it may be off, in its unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absolute: Option<f64>,
    /// How sure that must be.
    pub confidence: f64,
    /// The most replications of a cell.
    pub max_replications: u32,
    /// The fewest replications of any cell of the folder.
    pub fewest_replications: u32,
    /// The cells that ended without it.
    pub not_reached: Vec<NotReached>,
}

/// A cell that ended without its precision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NotReached {
    /// The cell's number.
    pub cell: usize,
    /// The cell in words.
    pub name: String,
    /// How many replications it had.
    pub replications: u32,
    /// Half the width of its interval, or how far the farther end is from the mean; absent if there is none, or nothing bounds
    /// it.
    pub half_width: Option<f64>,
    /// Half the width that this may have.
    pub allowed_half_width: Option<f64>,
    /// About how many replications would take it there; absent if no number would.
    #[serde(default)]
    pub replications_needed: Option<usize>,
}

impl PrecisionEntry {
    /// What the cells of `agenda` came to; nothing if they are run a fixed number of times.
    pub fn of(experiment: &Experiment, agenda: &Agenda) -> Option<Self> {
        let precision = experiment.precision()?;
        let (relative, absolute) = match precision.rule.tolerance {
            Tolerance::Relative(share) => (Some(share), None),
            Tolerance::Absolute(most) => (None, Some(most)),
        };
        let missed =
            agenda.standings().filter(|standing| !matches!(standing.end, None | Some(CellEnd::Reached)));
        let not_reached = missed.map(|standing| NotReached {
            cell: standing.cell,
            name: experiment.describe(&experiment.cells()[standing.cell]),
            replications: standing.replications,
            half_width: standing.width.map(|width| width.half).filter(|half| half.is_finite()),
            allowed_half_width: standing.width.map(|width| width.allowed),
            replications_needed: standing.needed,
        });
        Some(Self {
            metric: precision.metric.name.to_owned(),
            relative,
            absolute,
            confidence: precision.rule.confidence.into(),
            max_replications: precision.max_replications,
            fewest_replications: agenda.standings().map(|standing| standing.replications).min().unwrap_or(0),
            not_reached: not_reached.collect(),
        })
    }

    /// A line for each cell that ended without its precision.
    pub(super) fn warnings(&self) -> Vec<String> {
        let (metric, unit) = (&self.metric, Metric::of(&self.metric).format);
        let warning = |missed: &NotReached| {
            let NotReached {
                name, replications, half_width, allowed_half_width, replications_needed, ..
            } = missed;
            let what = format!("{metric} of {name}");
            let Some(allowed) = *allowed_half_width else {
                return format!(
                    "{what} has no value in {replications} replications: its precision can't be judged"
                );
            };
            let asked = unit.text(allowed);
            let known = match *half_width {
                None => format!("can be anything after {replications} replications that are all alike"),
                Some(half) if half <= allowed => format!(
                    "is known to within {} after {replications} replications, but was not for long enough to be believed",
                    unit.text(half)
                ),
                Some(half) => format!(
                    "is known to within {} after {replications} replications, not to within {asked}",
                    unit.text(half)
                ),
            };
            let needed = replications_needed.map(|count| format!(" (it would take about {count})"));
            format!(
                "{what} {known}: the precision is not reached; raise max_replications{}",
                needed.unwrap_or_default()
            )
        };
        self.not_reached.iter().map(warning).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_without_their_precision_are_named_with_the_reason() {
        let missed = |half_width, allowed_half_width| NotReached {
            cell: 0,
            name: "arm `a`".to_owned(),
            replications: 40,
            half_width,
            allowed_half_width,
            replications_needed: Some(160),
        };
        let widths = [(Some(0.002), Some(0.001)), (Some(0.0009), Some(0.001)), (None, None)];
        let entry = PrecisionEntry {
            metric: "failure_ratio".to_owned(),
            relative: Some(0.05),
            absolute: None,
            confidence: 0.95,
            max_replications: 40,
            fewest_replications: 15,
            not_reached: widths.into_iter().map(|(half, allowed)| missed(half, allowed)).collect(),
        };
        insta::assert_snapshot!(entry.warnings().join("\n"), @"
        failure_ratio of arm `a` is known to within 0.2 % after 40 replications, not to within 0.1 %: the precision is not reached; raise max_replications (it would take about 160)
        failure_ratio of arm `a` is known to within 0.09 % after 40 replications, but was not for long enough to be believed: the precision is not reached; raise max_replications (it would take about 160)
        failure_ratio of arm `a` has no value in 40 replications: its precision can't be judged
        ");
    }
}
