//! How a command ends that has completed a results folder: its headlines, and what its thresholds say.

mod doubt;
mod summary;
mod thresholds;

use std::path::Path;

use super::Status;
use super::console::Console;
use crate::answers::thresholds::Judged;
use crate::experiment::Experiment;
use crate::job::manifest::Manifest;
use crate::results::tables::CellSummary;

/// Says what `folder` holds, and judges it.
pub(super) fn close(
    experiment: &Experiment,
    summaries: &[CellSummary],
    manifest: &Manifest,
    folder: &Path,
    console: &Console,
) -> Status {
    headlines(experiment, summaries, manifest, folder, console);
    let judged = thresholds::judged(experiment, summaries);
    if judged.is_empty() {
        return Status::Done;
    }
    thresholds::show(&judged, console);
    if judged.iter().all(Judged::is_held) { Status::Done } else { Status::ThresholdMissed }
}

/// Says what `folder` holds.
pub(super) fn headlines(
    experiment: &Experiment,
    summaries: &[CellSummary],
    manifest: &Manifest,
    folder: &Path,
    console: &Console,
) {
    console.note(summary::render(experiment, summaries).trim_end());
    manifest.warnings().iter().for_each(|line| console.caution(line));
    doubt::disagreements(experiment, summaries).iter().for_each(|line| console.note(line));
    console.note(&format!("results in {}", folder.display()));
}
