//! What the author of an experiment should know, on standard error.

use super::console::Console;
use crate::experiment::{Experiment, Severity};

/// Says what `experiment` has settings for that do nothing, and what may mislead; of all arms, or only of `arm`.
pub(super) fn say(experiment: &Experiment, arm: Option<&str>, console: &Console) {
    for finding in experiment.findings() {
        let concerns = |arm: &str| finding.arms.is_empty() || finding.arms.iter().any(|own| own == arm);
        if !arm.is_none_or(concerns) {
            continue;
        }
        match finding.severity {
            Severity::Note => console.note(&format!("note: {finding}")),
            Severity::Warning => console.caution(&finding.to_string()),
        }
    }
}
