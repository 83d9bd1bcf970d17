//! The charts that an experiment asks for: one metric against one axis.

use super::axis::{self, NumericAxis, ValueAxis};
use super::sheet::{Sheet, Shown, estimate};
use super::{cells, versus};
use crate::answers::gather::grouped;
use crate::experiment::ChartRequest;
use crate::figures::Figure;
use crate::figures::wording::capitalized;
use crate::metrics::Metric;
use crate::metrics::unit::Unit;
use crate::results::Results;
use crate::results::observed::QuestionError;

const MOST_PANELS: usize = 12;

/// The name of the file of `request` without its end.
pub(super) fn stem(request: &ChartRequest) -> String {
    let usual = || format!("{}_vs_{}", request.metric, request.axis);
    // A folder may have been edited: no name leads out of it.
    super::file_name(&request.file.clone().unwrap_or_else(usual))
}

/// Checks that `results` have what `request` names.
///
/// # Errors
/// The key that names something else, and what is wrong with it.
pub(super) fn check(results: &Results, request: &ChartRequest) -> Result<(), (&'static str, QuestionError)> {
    let axis = |key, name: &str| {
        let position = results.axes.iter().position(|axis| axis == name);
        position.ok_or_else(|| (key, unknown("axis", name, &results.axes)))
    };
    if Metric::find(&request.metric).is_none() || !results.metrics.contains(&request.metric) {
        return Err(("metric", unknown("metric", &request.metric, &results.metrics)));
    }
    let along = axis("axis", &request.axis)?;
    if axis::numeric(results, along).is_none() {
        let problem = format!("{:?} has values that are no numbers; make it the `facet`", request.axis);
        return Err(("axis", QuestionError(problem)));
    }
    if let Some(facet) = &request.facet {
        axis("facet", facet)?;
    }
    match request.arms.iter().flatten().find(|arm| !results.arms.contains(arm)) {
        Some(arm) => Err(("arms", unknown("arm", arm, &results.arms))),
        None => Ok(()),
    }
}

fn unknown(what: &str, name: &str, known: &[String]) -> QuestionError {
    if known.is_empty() {
        return QuestionError(format!(
            "there is no {what} {name:?}: these results have none; leave the chart out"
        ));
    }
    QuestionError::unknown(what, name, known.iter().map(String::as_str))
}

/// The figure that is asked for; none where the results have nothing to show in it.
pub(super) fn figure(results: &Results, request: &ChartRequest) -> Option<Figure> {
    let metric = Metric::find(&request.metric)?;
    let column = |name: &str| results.axes.iter().position(|axis| axis == name);
    let is_log = |letter: char| request.log.as_ref().is_some_and(|log| log.contains(letter));
    // Arms keep their places, and so their looks.
    let mut shown = results.clone();
    if let Some(arms) = &request.arms {
        shown.cells.retain(|cell| arms.contains(&results.arms[cell.arm]));
    }
    let along = NumericAxis { log: is_log('x'), ..axis::numeric(&shown, column(&request.axis)?)? };
    let all = cells::facets(&shown, Some(along.index));
    let count = all.len();
    let facets = match &request.facet {
        // For each value of the axis the one in the middle.
        Some(facet) => {
            let facet = column(facet)?;
            let having = grouped(all, |a, b| a.values[facet] == b.values[facet]);
            having.into_iter().flat_map(|having| cells::spread(having, 1)).collect()
        }
        None => all,
    };
    let facets = cells::spread(facets, MOST_PANELS);
    if !shown.cells.iter().any(|cell| estimate(&shown, cell, metric).is_some()) {
        return None;
    }
    let panels = facets.len();
    let words = capitalized(&axis::words(metric.name));
    let label = match metric.format {
        Unit::Number if metric.unit != "1" => format!("{words} ({})", metric.unit),
        _ => words.clone(),
    };
    let axis = ValueAxis { log: false, ..ValueAxis::of(metric, &label) };
    let metrics = vec![Shown { metric, title: metric.name, axis }];
    let sheet = Sheet { results: &shown, title: metric.name, metrics, facets, log: is_log('y') };
    let mut figure = versus::figure(&sheet, &along);
    figure.notes.extend(sheet.absences());
    figure.notes.extend(sheet.open_ends());
    if panels < count {
        figure.notes.push(format!("Shown are {panels} of {count} combinations of the other axes."));
    }
    figure.legend.retain(|key| shown.cells.iter().any(|cell| shown.arms[cell.arm] == key.name));
    figure.title = request.title.clone().unwrap_or_else(|| format!("{words} by {}", along.name));
    Some(figure)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Scale;
    use crate::figures::charts::figures;
    use crate::results::description::ChartEntry;
    use crate::results::sample::SampleFolder;

    fn request() -> ChartRequest {
        ChartRequest {
            metric: "failure_ratio".to_owned(),
            axis: "spillover_ratio".to_owned(),
            ..ChartRequest::default()
        }
    }

    fn entry(request: ChartRequest) -> ChartEntry {
        ChartEntry { request, ..ChartEntry::default() }
    }

    #[test]
    fn a_chart_shows_what_is_asked_for() {
        let mut results = SampleFolder::default().results();
        let asked = ChartRequest {
            arms: Some(vec!["spill".to_owned()]),
            log: Some("y".to_owned()),
            title: Some("Mine".to_owned()),
            file: Some("mine".to_owned()),
            ..request()
        };
        results.description.charts = vec![entry(asked), entry(request())];
        let figures = figures(&results);
        let (stem, mine) = &figures[figures.len() - 2];
        assert_eq!((stem.as_str(), mine.title.as_str()), ("mine", "Mine"));
        assert_eq!((mine.legend.len(), mine.panels[0].marks.len()), (1, 1));
        assert_eq!(mine.panels[0].y.scale, Scale::Log);
        let (stem, plain) = &figures[figures.len() - 1];
        assert_eq!(
            (stem.as_str(), plain.title.as_str()),
            ("failure_ratio_vs_spillover_ratio", "Failure ratio by spillover ratio")
        );
        assert_eq!((plain.legend.len(), plain.panels[0].marks.len()), (3, 3));
        assert_eq!(plain.panels[0].y.label, "Failure ratio");
    }

    #[test]
    fn bands_fit_on_a_log_axis_or_it_says_where_they_do_not() {
        let mut results = SampleFolder::default().results();
        let asked = ChartRequest { log: Some("y".to_owned()), ..request() };
        let drawn = |results: &Results| figure(results, &asked).unwrap();
        let before = drawn(&results);
        assert!(!before.notes.iter().any(|note| note.contains("foot")), "{:?}", before.notes);
        let wide = results.summary.get_mut(&(5, "failure_ratio".to_owned())).unwrap();
        let mean = wide.mean.expect("a mean");
        (wide.ci_low, wide.ci_high) = (Some(2.0 * mean - 0.5), Some(0.5));
        let after = drawn(&results);
        assert!(after.notes.iter().any(|note| note.contains("drawn from its foot")), "{:?}", after.notes);
        let (foot, top) = after.panels[0].y.range;
        assert!(foot > 0.0 && foot == before.panels[0].y.range.0 && top > 0.5, "{foot} {top}");

        let zero = SampleFolder { zero: Some("failure_ratio"), ..SampleFolder::default() }.results();
        let linear = drawn(&zero);
        assert_eq!(linear.panels[0].y.scale, Scale::Linear);
        assert!(linear.notes.iter().any(|note| note.contains("not logarithmic")), "{:?}", linear.notes);
    }

    #[test]
    fn any_axis_can_run_along_and_any_other_can_be_the_facet() {
        let results = SampleFolder::five_hundred_cells().results();
        let rate = ChartRequest {
            axis: "rate".to_owned(),
            facet: Some("spillover_ratio".to_owned()),
            log: Some("x".to_owned()),
            ..request()
        };
        let figure = figure(&results, &rate).unwrap();
        assert_eq!((figure.panels.len(), figure.panels[0].x.scale.clone()), (11, Scale::Log));
        assert_eq!(figure.panels[3].title, "spillover ratio 0.3");
    }

    #[test]
    fn a_chart_with_the_name_of_a_usual_one_takes_its_place() {
        let mut results = SampleFolder::default().results();
        let before = figures(&results).len();
        results.description.charts =
            vec![entry(ChartRequest { file: Some("tradeoff".to_owned()), ..request() })];
        let after = figures(&results);
        assert_eq!(after.len(), before);
        assert_eq!(after[before - 1].1.title, "Failure ratio by spillover ratio");
    }
}
