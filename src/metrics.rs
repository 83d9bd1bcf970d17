//! The scalar metrics of a run, each in one row of [`METRICS`]: name, unit, meaning, which way is good, how it is computed
//! and in which words it is shown.
//!
//! Headers, summaries, thresholds, comparisons, charts and pages derive from it; to add a metric is to add a row.

mod formula;
mod happenings;
pub mod load;
mod table;
pub mod tables;
pub mod unit;

pub use table::METRICS;

use crate::sim::outcome::{Latency, Outcome};
use crate::sim::scenario::Scenario;
use crate::stats::{Nature, Observation, Range};
use unit::Unit;

/// A run with what it simulated: all that a metric may depend on.
#[derive(Clone, Copy, Debug)]
pub struct MeasuredRun<'a> {
    /// What was simulated.
    pub scenario: &'a Scenario,
    /// What was found.
    pub outcome: &'a Outcome,
    /// Latencies over all places and zones, merged once for all metrics.
    pub latency: &'a Latency,
}

/// How a metric's value comes about.
#[derive(Clone, Copy, Debug)]
pub enum Formula {
    /// A value of its own; its mean over replications is the mean of the values.
    Value(fn(&MeasuredRun<'_>) -> Option<f64>),
    /// A count: the same, but a whole number.
    Count(fn(&MeasuredRun<'_>) -> f64),
    /// A part of a whole; its mean over replications is the ratio of the means.
    Part(MetricWhole, fn(&MeasuredRun<'_>) -> f64),
}

/// Of what a ratio is a part, by where a results folder says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricWhole {
    /// The run's connections.
    Connections,
    /// Connections of clients that have a zone in the region.
    ZonalConnections,
    /// Bytes, both ways, of clients that have a zone in the region.
    ZonalBytes,
    /// Round trips that were measured.
    RoundTrips,
}

/// Which values of a metric are good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Good {
    /// Low ones.
    Low,
    /// Neither: whether more is better depends on the question.
    Neither,
}

/// In which words a metric is shown beside its name. Empty where it is not shown so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// At the head of a column. Metrics that have it are the headlines.
    pub heading: &'static str,
    /// In the title of a chart.
    pub noun: &'static str,
    /// In a sentence of the answer.
    pub topic: &'static str,
    /// Above a panel.
    pub title: &'static str,
    /// Along the axis of a panel that has a title: quantity and unit.
    pub quantity: &'static str,
    /// Along the axis of a panel that has none.
    pub label: &'static str,
    /// The same where there is little room, if that is shorter.
    pub short: &'static str,
}

/// What is to be known of a metric for intervals of its mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Whether the load balancer's decisions alone make it: it is the same in all replications if health and settings are.
    pub decided: bool,
    /// Whether a value of its own lies between 0 and 1. Parts of wholes that are shown in percent always do.
    pub share: bool,
}

impl Properties {
    const NONE: Self = Self { decided: false, share: false };
}

/// One scalar metric.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name: a column of `runs.csv`.
    pub name: &'static str,
    /// Its unit; `1` for shares and counts of nothing else.
    pub unit: &'static str,
    /// What it means.
    pub definition: &'static str,
    /// Which values are good.
    pub good: Good,
    /// How values are written.
    pub format: Unit,
    /// How it is computed.
    pub formula: Formula,
    /// What intervals of its mean must know.
    pub properties: Properties,
    /// In which words it is shown.
    pub words: Words,
}

/// A column of a results folder that another version made: a plain number.
const UNKNOWN: Metric = Metric {
    name: "",
    unit: "1",
    definition: "",
    good: Good::Neither,
    format: Unit::Number,
    formula: Formula::Value(|_| None),
    properties: Properties::NONE,
    words: Words::NONE,
};

impl Words {
    /// Not shown but by its name.
    const NONE: Self =
        Self { heading: "", noun: "", topic: "", title: "", quantity: "", label: "", short: "" };
}

impl Metric {
    /// The metric called `name`, if there is one.
    pub fn find(name: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.name == name)
    }

    /// The metric called `name` in a results folder; one that this version does not know is a plain number.
    pub fn of(name: &str) -> &'static Self {
        Self::find(name).unwrap_or(&UNKNOWN)
    }

    /// The metric called `name`, for code that speaks of one. In a constant a name that is wrong does not compile.
    pub const fn named(name: &str) -> &'static Self {
        let mut index = 0;
        while !is_same(METRICS[index].name, name) {
            index += 1;
        }
        &METRICS[index]
    }

    /// The metrics that a comparison shows by default: what users lose, the cost, how long they wait, the hottest zone.
    pub fn headlines() -> impl Iterator<Item = &'static Self> {
        METRICS.iter().filter(|metric| metric.is_headline())
    }

    /// Whether it is one of them.
    pub fn is_headline(&self) -> bool {
        !self.words.heading.is_empty()
    }

    /// Of what it is a part; absent for values of their own.
    pub fn whole(&self) -> Option<MetricWhole> {
        match self.formula {
            Formula::Value(_) | Formula::Count(_) => None,
            Formula::Part(whole, _) => Some(whole),
        }
    }

    /// What intervals of its mean must know, in a world in which health differs between replications, or does not
    /// ([`Scenario::health_varies`]).
    pub fn nature(&self, health_varies: bool) -> Nature {
        let range = match self.formula {
            Formula::Part(..) if self.format == Unit::Percent => Range::Share,
            _ if self.properties.share => Range::Share,
            Formula::Count(_) => Range::Count,
            // Of a metric that this version does not know nothing is.
            _ if self.name.is_empty() => Range::Any,
            _ => Range::Amount,
        };
        Nature { range, is_ruled: self.properties.decided && !health_varies }
    }

    /// Whether its values are multiples of a mean, so that 1 is even.
    pub fn is_multiple(&self) -> bool {
        self.unit == "1" && self.format == Unit::Number
    }

    /// What `run` says of it; absent where there is nothing to measure.
    pub fn observe(&self, run: &MeasuredRun<'_>) -> Option<Observation> {
        match self.formula {
            Formula::Value(value) => value(run).map(Observation::Value),
            Formula::Count(count) => Some(Observation::Value(count(run))),
            Formula::Part(whole, part) => {
                Some(Observation::Ratio { part: part(run), whole: formula::size(whole, run) })
            }
        }
    }

    /// Its value in `run`; absent where there is nothing to measure.
    pub fn value(&self, run: &MeasuredRun<'_>) -> Option<f64> {
        match self.observe(run)? {
            Observation::Value(value) => Some(value),
            Observation::Ratio { part, whole } => (whole > 0.0).then(|| part / whole),
        }
    }
}

/// Whether two texts are the same; `==` is not for constants.
const fn is_same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut index = 0;
    while index < a.len() && index < b.len() && a[index] == b[index] {
        index += 1;
    }
    index == a.len() && index == b.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::outcome::FailureCause;

    #[test]
    fn the_table_does_not_contradict_itself() {
        for metric in METRICS {
            assert_eq!(metric.unit.starts_with("USD/"), metric.format == Unit::Usd, "{}", metric.name);
            assert!(metric.format != Unit::Percent || metric.unit == "1", "{}", metric.name);
            assert_eq!(metric.name.ends_with("_over_mean"), metric.is_multiple(), "{}", metric.name);
            assert_eq!(Metric::named(metric.name).name, metric.name);
            assert_eq!(METRICS.iter().filter(|other| other.name == metric.name).count(), 1);
        }
        for (cause, kind) in
            FailureCause::ALL.into_iter().flat_map(|cause| [(cause, "failed"), (cause, "broken")])
        {
            assert!(Metric::find(&format!("{kind}_{}", cause.name())).is_some(), "{kind} {cause:?}");
        }
        let names: Vec<&str> = Metric::headlines().map(|metric| metric.name).collect();
        assert_eq!(names[..2], ["failure_ratio", "cross_zone_connection_ratio"]);
        assert_eq!(Metric::of("failure_rate").format, Unit::Number);
    }
}
