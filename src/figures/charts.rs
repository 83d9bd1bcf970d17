//! The charts of a results folder: rows in, figures out, one file per chart.
//!
//! To add a chart, write `charts/<name>.rs` with a function from [`Results`] to a [`Figure`] and name it in `ALL`.

mod backend_load;
mod latency_cdf;
mod timeline;
mod tradeoff;
mod traffic_matrix;

mod axis;
mod bars;
mod caption;
mod cells;
mod metric;
mod palette;
mod requested;
mod sheet;
mod steps;
mod versus;
mod zones;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::Figure;
use super::draw::Format;
use super::error::FiguresError;
use crate::experiment::ChartRequest;
use crate::results::disk::{make_folder, write_whole};
use crate::results::error::WriteError;
use crate::results::observed::QuestionError;
use crate::results::{CHARTS, Results, description};
pub(super) use cells::spread;

/// The name of a chart's file or the beginning of it, whether it shows metrics against the first numeric axis (or by arm, if
/// there is none) and says so in the name, and the figure; none where the results have nothing to show in it.
type Chart = (&'static str, bool, fn(&Results) -> Option<Figure>);

/// Every chart, in the order in which they are drawn.
const ALL: [Chart; 9] = [
    ("cross_zone", true, metric::cross_zone),
    ("latency", true, metric::latency),
    ("failures", true, metric::failures),
    ("load", true, metric::load),
    ("traffic_matrix", false, traffic_matrix::figure),
    ("tradeoff", false, tradeoff::figure),
    ("timeline", false, timeline::figure),
    ("latency_cdf", false, latency_cdf::figure),
    ("backend_load", false, backend_load::figure),
];

/// The name of a chart's file without the extension.
fn stem(name: &str, against_axis: bool, results: &Results) -> String {
    match axis::first_numeric(results) {
        _ if !against_axis => name.to_owned(),
        Some(axis) => format!("{name}_vs_{}", file_name(&results.axes[axis.index])),
        None => format!("{name}_by_arm"),
    }
}

/// `name` as a part of a file's name.
fn file_name(name: &str) -> String {
    let letter = |letter: char| match letter {
        'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '-' => letter,
        _ => '_',
    };
    name.chars().map(letter).collect()
}

/// Every figure that the results have something to show in, with the name of its file without the extension: the usual
/// ones, then those that the experiment asks for. One of these takes the place of a usual one of the same name.
pub fn figures(results: &Results) -> Vec<(String, Figure)> {
    let fewer = cells::fewer_arms(results);
    let noted = |figure: Option<Figure>| {
        let note = fewer.as_ref().map(|(_, note)| note.clone());
        figure.map(|figure| Figure { notes: figure.notes.into_iter().chain(note).collect(), ..figure })
    };
    let all = results;
    let results = fewer.as_ref().map_or(all, |(fewer, _)| fewer);
    let asked = all.description.charts.iter().map(|chart| &chart.request);
    let of_request = |request: &ChartRequest| match &request.arms {
        Some(_) => requested::figure(all, request),
        None => noted(requested::figure(results, request)),
    };
    let requested = asked
        .filter_map(|request| Some((requested::stem(request), of_request(request)?)))
        .collect::<Vec<_>>();
    let is_replaced = |stem: &String| requested.iter().any(|(other, _)| other == stem);
    let usual = ALL.iter().map(|(name, against_axis, figure)| (stem(name, *against_axis, results), figure));
    let usual = usual.filter(|(stem, _)| !is_replaced(stem));
    let usual: Vec<_> = usual.filter_map(|(stem, figure)| Some((stem, noted(figure(results))?))).collect();
    usual.into_iter().chain(requested).collect()
}

/// Checks that the charts that the experiment of the folder `dir` asks for can be drawn from its `results`: they may have been
/// asked for since, of rows that are not all there.
///
/// # Errors
/// If one of them names what is not there.
pub fn check_requests(dir: &Path, results: &Results) -> Result<(), QuestionError> {
    let file = dir.join(description::EXPERIMENT);
    for (index, chart) in results.description.charts.iter().enumerate() {
        requested::check(results, &chart.request).map_err(|(key, QuestionError(problem))| {
            let line = chart.lines.get(key).map(|line| format!(", line {line}"));
            QuestionError(format!(
                "{}{}: charts.{index}.{key}: {problem}",
                file.display(),
                line.unwrap_or_default()
            ))
        })?;
    }
    Ok(())
}

/// The cells of which [`figures`] shows the timeline.
pub(super) fn with_timeline(results: &Results) -> BTreeSet<usize> {
    let fewer = cells::fewer_arms(results);
    timeline::shown(fewer.as_ref().map_or(results, |(fewer, _)| fewer))
}

/// Draws every chart of the folder `results_dir` into its `charts`, in each of `formats`, and gives the files, telling
/// `on_chart` of each as it is done.
pub fn draw_all(
    results_dir: &Path,
    formats: &[Format],
    mut on_chart: impl FnMut(&Path),
) -> Result<Vec<PathBuf>, FiguresError> {
    let results = Results::read_with_timeline(results_dir, with_timeline)?;
    check_requests(results_dir, &results)?;
    let dir = results_dir.join(CHARTS);
    make_folder(&dir).map_err(|source| WriteError { path: dir.clone(), source })?;
    let mut paths = Vec::new();
    for (stem, figure) in figures(&results) {
        for format in formats {
            let path = dir.join(format!("{stem}.{}", format.extension()));
            write_whole(&path, &format.draw(&figure))?;
            on_chart(&path);
            paths.push(path);
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::figures::SMALLEST;
    use crate::results::sample::SampleFolder;

    fn stems(sample: &SampleFolder) -> Vec<String> {
        figures(&sample.results()).into_iter().map(|(stem, _)| stem).collect()
    }

    #[test]
    fn charts_are_named_after_the_axis() {
        let names = [
            "cross_zone_vs_spillover_ratio",
            "latency_vs_spillover_ratio",
            "failures_vs_spillover_ratio",
            "load_vs_spillover_ratio",
            "traffic_matrix",
            "tradeoff",
            "timeline",
            "latency_cdf",
            "backend_load",
        ];
        assert_eq!(stems(&SampleFolder::default()), names);
        let dotted = SampleFolder { axis: "web-a.rate (µ)".to_owned(), ..SampleFolder::default() };
        assert_eq!(stems(&dotted)[0], "cross_zone_vs_web-a_rate____");
        assert_eq!(stems(&SampleFolder::no_axis())[0], "cross_zone_by_arm");
    }

    #[test]
    fn every_figure_says_what_and_of_how_many() {
        for (sample, n) in [
            (SampleFolder::default(), "5 replications"),
            (SampleFolder::one_cell(), "1 replication"),
            (SampleFolder::five_hundred_cells(), "2 replications"),
            (SampleFolder::no_axis(), "5 replications"),
        ] {
            for (stem, figure) in figures(&sample.results()) {
                assert!(figure.subtitle.contains(n), "{stem}: {}", figure.subtitle);
                assert!(!figure.title.is_empty(), "{stem}");
                assert!(figure.panels.len().div_ceil(figure.columns) >= 1, "{stem}");
                let outer = figure.panels.iter().filter(|panel| panel.x.shown);
                assert!(outer.clone().count() >= 1, "{stem}");
                assert!(outer.into_iter().all(|panel| !panel.x.label.is_empty()), "{stem}");
                assert!(figure.width >= SMALLEST.0 && figure.height >= SMALLEST.1, "{stem}");
            }
        }
    }

    #[test]
    fn charts_are_whole_files_and_the_same_every_time() {
        let folder = SampleFolder::default().write();
        let mut told = Vec::new();
        let both = [Format::Png, Format::Svg];
        let paths = draw_all(folder.path(), &both, |path| told.push(path.to_owned())).unwrap();
        assert_eq!(paths, told);
        let first: Vec<Vec<u8>> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
        let again = draw_all(folder.path(), &both, |_| {}).unwrap();
        assert_eq!(again.iter().map(|path| fs::read(path).unwrap()).collect::<Vec<_>>(), first);
        assert_eq!(
            fs::read_dir(folder.path().join("charts")).unwrap().count(),
            paths.len(),
            "no drafts are left"
        );
        for (path, bytes) in paths.iter().zip(&first) {
            assert!(bytes.len() < 170_000, "{} has {} bytes", path.display(), bytes.len());
        }
    }

    #[test]
    fn results_without_runs_have_no_charts() {
        let mut results = SampleFolder::default().results();
        results.runs.clear();
        results.cells.clear();
        results.summary.clear();
        for rows in [&mut results.arms, &mut results.axes] {
            rows.clear();
        }
        (results.traffic, results.latency, results.backends) = (Vec::new(), Vec::new(), Vec::new());
        (results.decisions, results.timeline) = (Vec::new(), Vec::new());
        assert!(figures(&results).is_empty());
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_an_error_that_says_so() {
        let error = draw_all(Path::new("/nonexistent"), &[Format::Png], |_| {}).unwrap_err();
        assert!(error.to_string().contains("runs.csv"), "{error}");
    }
}
