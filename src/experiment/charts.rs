//! `[[charts]]`: charts that the experiment asks for beside the usual ones.
//!
//! Nothing of a run depends on them. They are drawn from the results folder, which keeps the file, so that here they are
//! only checked.

use schemars::JsonSchema;
use serde::Deserialize;

use super::arm::{Arm, ArmAxis, axis_paths};
use super::column::columns;
use super::path::{KeyPath, NamePath};
use super::problem::{Problem, distinct, quoted};
use crate::metrics::{METRICS, Metric};

/// `[[charts]]`
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenChart {
    /// What is shown: a metric of `summary.csv`.
    #[schemars(example = &"failure_ratio")]
    metric: String,
    /// What it is shown against: the column of an axis.
    #[schemars(example = &"spillover_ratio")]
    axis: String,
    /// The column of another axis, of which each value gets a panel. Default: every combination of the others.
    #[schemars(example = &"rate")]
    facet: Option<String>,
    /// Only these arms. Default: all.
    #[schemars(example = ["spill"])]
    arms: Option<Vec<String>>,
    /// Which axes have equal ratios equally long. Default: what suits the values.
    #[schemars(extend("enum" = LOGS))]
    log: Option<String>,
    /// The title. Default: metric and axis in words.
    #[serde(default, rename = "title")]
    #[schemars(example = &"Failures")]
    _title: Option<String>,
    /// The name of its file, without an end. Default: `<metric>_vs_<axis>`.
    #[schemars(example = &"failures")]
    file: Option<String>,
}

/// What `log` may be: the logarithmic axes.
const LOGS: [&str; 3] = ["x", "y", "xy"];

/// The axes of an experiment: the column of each, and everywhere that it is swept.
struct Axes<'a> {
    columns: Vec<String>,
    paths: Vec<NamePath>,
    arms: &'a [Arm],
}

/// Checks that `written` charts can be drawn of the cells of `arms`.
pub(super) fn check(written: &[WrittenChart], arms: &[Arm]) -> Result<(), Problem> {
    let paths = axis_paths(arms);
    let axes = Axes { columns: columns(&paths), paths, arms };
    let place = |index| KeyPath::to("charts").member(index);
    for (index, chart) in written.iter().enumerate() {
        chart.check(&axes, place(index))?;
    }
    let files: Vec<String> = written.iter().map(WrittenChart::file).collect();
    distinct(&files, |index| match written[index].file {
        Some(_) => place(index).key("file"),
        None => place(index),
    })
}

impl WrittenChart {
    fn file(&self) -> String {
        let usual = || format!("{}_vs_{}", self.metric, self.axis).replace(|letter| !is_plain(letter), "_");
        self.file.clone().unwrap_or_else(usual)
    }

    fn check(&self, axes: &Axes<'_>, path: KeyPath) -> Result<(), Problem> {
        let at = |key| path.clone().key(key);
        if Metric::find(&self.metric).is_none() {
            let known = METRICS.iter().map(|metric| metric.name);
            return Err(Problem::unknown_name(at("metric"), &self.metric, "metrics", known));
        }
        let along = axes.find(&self.axis, at("axis"))?;
        let values: Vec<Option<f64>> =
            along.iter().flat_map(|axis| &axis.values).map(|value| value.number()).collect();
        if values.contains(&None) {
            let help = "name an axis of numbers or durations; one of words can be the `facet`";
            return Err(Problem::that(at("axis"), "names an axis with values that are no numbers", help));
        }
        if let Some(log) = self.log.as_ref().filter(|log| !LOGS.contains(&log.as_str())) {
            let what = format!("can't be {}", quoted(log));
            return Err(Problem::that(at("log"), what, "write \"x\", \"y\" or \"xy\""));
        }
        let is_log_along = self.log.as_ref().is_some_and(|log| log.contains('x'));
        if is_log_along && values.iter().flatten().any(|value| *value <= 0.0) {
            let what =
                format!("is logarithmic along {}, which has values that are not above zero", self.axis);
            return Err(Problem::that(at("log"), what, "leave x out of it"));
        }
        if let Some(facet) = &self.facet {
            axes.find(facet, at("facet"))?;
            if *facet == self.axis {
                return Err(Problem::that(at("facet"), "is the `axis` itself", "name another axis"));
            }
        }
        for (index, name) in self.arms.iter().flatten().enumerate() {
            if axes.arms.iter().all(|arm| arm.name != *name) {
                let known = axes.arms.iter().map(|arm| arm.name.as_str());
                return Err(Problem::unknown_name(at("arms").member(index), name, "arms", known));
            }
        }
        if self.arms.as_ref().is_some_and(Vec::is_empty) {
            return Err(Problem::that(at("arms"), "is empty", "leave it out for all arms"));
        }
        match self
            .file
            .as_ref()
            .filter(|name| name.is_empty() || name.len() > 100 || !name.chars().all(is_plain))
        {
            None => Ok(()),
            Some(name) => {
                let what = format!("can't name a file: {}", quoted(name));
                Err(Problem::that(at("file"), what, "write letters, digits, - and _, without an end"))
            }
        }
    }
}

/// Whether a file's name may have `letter`.
fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_".contains(letter)
}

impl<'a> Axes<'a> {
    /// The axis whose column is called `name`, in each arm that has it.
    fn find(&self, name: &str, path: KeyPath) -> Result<Vec<&'a ArmAxis>, Problem> {
        let known = self.columns.iter().map(String::as_str);
        let Some(at) = self.columns.iter().position(|column| column == name) else {
            return Err(Problem::unknown_name(path, name, "axes", known));
        };
        let axes = self.arms.iter().flat_map(|arm| &arm.axes);
        Ok(axes.filter(|axis| axis.path == self.paths[at]).collect())
    }
}
