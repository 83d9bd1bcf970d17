//! How a command ends that has completed a results folder: its headlines, and what its thresholds say.

mod doubt;
mod summary;

use std::path::Path;

use super::Status;
use super::console::Console;
use crate::experiment::Experiment;
use crate::report::manifest::Manifest;
use crate::report::tables::CellSummary;

/// Says what `folder` holds, and judges it.
pub(super) fn close(
    experiment: &Experiment,
    summaries: &[CellSummary],
    manifest: &Manifest,
    folder: &Path,
    console: &Console,
) -> Status {
    console.note(summary::render(experiment, summaries).trim_end());
    manifest.warnings().iter().for_each(|line| console.caution(line));
    doubt::disagreements(experiment, summaries).iter().for_each(|line| console.note(line));
    console.note(&format!("results in {}", folder.display()));
    if judge(experiment, summaries, console) { Status::Done } else { Status::ThresholdMissed }
}

/// Judges every threshold on the means over replications; tells whether all hold.
fn judge(experiment: &Experiment, summaries: &[CellSummary], console: &Console) -> bool {
    let (mut held, mut missed) = (0, 0);
    for threshold in experiment.thresholds() {
        let cells = experiment.cells().iter().zip(summaries);
        for (cell, summary) in cells.filter(|(cell, _)| threshold.applies_to(cell)) {
            let found = summary.metrics.iter().find(|found| found.metric.name == threshold.metric.name);
            let mean = found.and_then(|found| found.interval).map(|interval| interval.mean);
            if threshold.holds(mean) {
                held += 1;
            } else {
                missed += 1;
                let mean = mean.map_or("missing".to_owned(), |mean| mean.to_string());
                let place = experiment.describe(cell);
                console.warn(&format!("threshold missed: {threshold}: it is {mean} in {place}"));
            }
        }
    }
    if held + missed > 0 {
        console.note(&format!("thresholds: {held} held, {missed} missed (each in each cell that it judges)"));
    }
    missed == 0
}
