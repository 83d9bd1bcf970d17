//! `[[charts]]`: charts that the experiment asks for beside the usual ones.
//!
//! Nothing of a run depends on them. They are drawn from the results folder, so that here they are only checked.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml_edit::Document;

use super::arm::{Arm, ArmAxis, axis_paths, check_name, columns};
use super::node::Node;
use super::path::{KeyPath, NamePath};
use super::problem::{Problem, distinct, metric, quoted, refuse};

/// `[[charts]]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChartRequest {
    /// What is shown: a metric of `summary.csv`.
    #[schemars(example = &"failure_ratio")]
    pub metric: String,
    /// What it is shown against: the column of an axis.
    #[schemars(example = &"spillover_ratio")]
    pub axis: String,
    /// The column of another axis, of which each value gets a panel. Default: every combination of the others.
    #[schemars(example = &"rate")]
    pub facet: Option<String>,
    /// Only these arms. Default: all.
    #[schemars(example = ["spill"])]
    pub arms: Option<Vec<String>>,
    /// Which axes have equal ratios equally long. Default: what suits the values.
    #[schemars(extend("enum" = LOGS))]
    pub log: Option<String>,
    /// The title. Default: metric and axis in words.
    #[schemars(example = &"Failures")]
    pub title: Option<String>,
    /// The name of its file, without an end. Default: `<metric>_vs_<axis>`.
    #[schemars(example = &"failures")]
    pub file: Option<String>,
}

/// The lines, from 1, of the keys of each chart that the experiment file `text` asks for.
pub fn chart_lines(text: &str) -> Vec<BTreeMap<String, usize>> {
    let Ok(document) = Document::parse(text) else { return Vec::new() };
    let root = Node::Table(document.as_table());
    let line = |index: usize, key: &str| {
        let span = root.place(&KeyPath::to("charts").member(index).key(key), false)?;
        Some((key.to_owned(), 1 + text[..span.start].matches('\n').count()))
    };
    let charts = root.get("charts").and_then(Node::members).unwrap_or_default().into_iter().enumerate();
    charts.map(|(index, chart)| chart.entries().filter_map(|(key, _)| line(index, key)).collect()).collect()
}

const LOGS: [&str; 3] = ["x", "y", "xy"];

/// The columns of the axes, each with the axis in every arm that has it.
type Axes<'a> = Vec<(String, Vec<&'a ArmAxis>)>;

pub(super) fn check(written: &[ChartRequest], arms: &[Arm]) -> Result<(), Problem> {
    let paths = axis_paths(arms);
    let at =
        |path: &NamePath| arms.iter().flat_map(|arm| &arm.axes).filter(|axis| axis.path == *path).collect();
    let axes: Axes<'_> = columns(&paths).into_iter().zip(paths.iter().map(at)).collect();
    let place = |index| KeyPath::to("charts").member(index);
    for (index, chart) in written.iter().enumerate() {
        chart.check(&axes, arms, place(index))?;
    }
    let files: Vec<String> = written.iter().map(ChartRequest::file).collect();
    distinct(&files, |index| match written[index].file {
        Some(_) => place(index).key("file"),
        None => place(index),
    })
}

impl ChartRequest {
    fn file(&self) -> String {
        let usual = || format!("{}_vs_{}", self.metric, self.axis).replace(|letter| !is_plain(letter), "_");
        self.file.clone().unwrap_or_else(usual)
    }

    fn check(&self, axes: &Axes<'_>, arms: &[Arm], path: KeyPath) -> Result<(), Problem> {
        let at = |key| path.key(key);
        metric(&self.metric, at("metric"))?;
        let along = find(axes, &self.axis, at("axis"))?;
        let values: Vec<Option<f64>> =
            along.iter().flat_map(|axis| &axis.values).map(|value| value.number()).collect();
        if values.contains(&None) {
            let help = "name an axis of numbers or durations; one of words can be the `facet`";
            return refuse(at("axis"), "names an axis with values that are no numbers", help);
        }
        if let Some(log) = self.log.as_ref().filter(|log| !LOGS.contains(&log.as_str())) {
            return refuse(at("log"), format!("can't be {}", quoted(log)), "write \"x\", \"y\" or \"xy\"");
        }
        let is_log_along = self.log.as_ref().is_some_and(|log| log.contains('x'));
        if is_log_along && values.iter().flatten().any(|value| *value <= 0.0) {
            let what =
                format!("is logarithmic along {}, which has values that are not above zero", self.axis);
            return refuse(at("log"), what, "leave x out of it");
        }
        if let Some(facet) = &self.facet {
            find(axes, facet, at("facet"))?;
            if *facet == self.axis {
                return refuse(at("facet"), "is the `axis` itself", "name another axis");
            }
        }
        for (index, name) in self.arms.iter().flatten().enumerate() {
            check_name(arms, name, at("arms").member(index))?;
        }
        if self.arms.as_ref().is_some_and(Vec::is_empty) {
            return refuse(at("arms"), "is empty", "leave it out for all arms");
        }
        let is_odd = |name: &&String| name.is_empty() || name.len() > 100 || !name.chars().all(is_plain);
        if let Some(name) = self.file.as_ref().filter(is_odd) {
            let what = format!("can't name a file: {}", quoted(name));
            return refuse(at("file"), what, "write letters, digits, - and _, without an end");
        }
        Ok(())
    }
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_".contains(letter)
}

fn find<'a>(axes: &'a Axes<'_>, name: &str, path: KeyPath) -> Result<&'a [&'a ArmAxis], Problem> {
    let found = axes.iter().find(|(column, _)| column == name);
    let known = axes.iter().map(|(column, _)| column.as_str());
    found.map(|(_, axes)| &axes[..]).ok_or_else(|| Problem::unknown_name(path, name, "axes", known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_charts_have_their_line() {
        let tables = "name = \"n\"\n[[charts]]\nmetric = \"a\"\n[[charts]]\nmetric = \"b\"\naxis = \"x\"\n";
        let lines = chart_lines(tables);
        assert_eq!((lines[0]["metric"], lines[1]["metric"], lines[1]["axis"]), (3, 5, 6));
        assert_eq!((lines.len(), lines[0].get("axis")), (2, None));
        assert_eq!(chart_lines("charts = [{ metric = \"a\" }]")[0]["metric"], 1);
        assert!(chart_lines("name = \"n\"").is_empty() && chart_lines("[[").is_empty());
    }
}
