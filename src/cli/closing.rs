//! How a command ends that has completed a results folder: its headlines, and what its thresholds say.

mod summary;
mod thresholds;

use std::path::Path;

use super::Status;
use super::console::Console;
use crate::answers::disagreement::disagreements;
use crate::answers::thresholds::{JudgedThreshold, judged_at_once};
use crate::job::CompleteJob;

/// The most lines about what disagrees with the rules alone.
const DOUBTS_SHOWN: usize = 5;

/// Says what `folder` holds, and judges it.
pub(super) fn close(job: &CompleteJob, folder: &Path, console: &Console) -> Status {
    headlines(job, folder, console);
    let judged = judged_at_once(&job.experiment, &job.summaries);
    if judged.is_empty() {
        return Status::Done;
    }
    thresholds::show(&judged, console);
    if judged.iter().all(JudgedThreshold::is_held) { Status::Done } else { Status::ThresholdMissed }
}

/// Says what `folder` holds.
pub(super) fn headlines(job: &CompleteJob, folder: &Path, console: &Console) {
    let CompleteJob { experiment, summaries, manifest } = job;
    console.note(summary::render(experiment, summaries).trim_end());
    manifest.warnings().iter().for_each(|line| console.caution(line));
    let doubts = disagreements(experiment, summaries);
    doubts.iter().take(DOUBTS_SHOWN).for_each(|doubt| console.note(&format!("note: {doubt}")));
    if doubts.len() > DOUBTS_SHOWN {
        console.note(&format!("note: … and {} more", doubts.len() - DOUBTS_SHOWN));
    }
    console.note(&format!("results in {}", folder.display()));
}
