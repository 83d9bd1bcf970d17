//! How a command ends that has completed a results folder: its headlines, and what its thresholds say.

mod doubt;
mod summary;
mod thresholds;

use std::path::Path;

use super::Status;
use super::console::Console;
use crate::answers::thresholds::Judged;
use crate::job::CompleteJob;

/// Says what `folder` holds, and judges it.
pub(super) fn close(job: &CompleteJob, folder: &Path, console: &Console) -> Status {
    headlines(job, folder, console);
    let judged = thresholds::judged(&job.experiment, &job.summaries);
    if judged.is_empty() {
        return Status::Done;
    }
    thresholds::show(&judged, console);
    if judged.iter().all(Judged::is_held) { Status::Done } else { Status::ThresholdMissed }
}

/// Says what `folder` holds.
pub(super) fn headlines(job: &CompleteJob, folder: &Path, console: &Console) {
    let CompleteJob { experiment, summaries, manifest } = job;
    console.note(summary::render(experiment, summaries).trim_end());
    manifest.warnings().iter().for_each(|line| console.caution(line));
    doubt::disagreements(experiment, summaries).iter().for_each(|line| console.note(line));
    console.note(&format!("results in {}", folder.display()));
}
