//! The words under a title: which experiment, how many replications, what the bands mean.

use crate::figures::elide;
use crate::metrics::unit::Unit;
use crate::results::Results;

const LONGEST_NAME: usize = 40;

/// Means with confidence intervals, which are drawn as `shape` ("bands", "whiskers").
pub(super) fn means(results: &Results, shape: &str) -> String {
    let confidence = results.summary.values().find_map(|row| row.ci_low.and(row.confidence));
    let what = match confidence {
        Some(level) => format!(
            "mean of {}; {shape}: {} confidence interval of the mean",
            replications(results),
            Unit::Percent.text(level)
        ),
        None if most_replications(results) <= 1 => {
            format!("1 replication, so there are no confidence {shape}")
        }
        None => format!("mean of {}, no confidence {shape} in summary.csv", replications(results)),
    };
    named(results, &what)
}

/// Means over replications, with whiskers from the smallest to the largest.
pub(super) fn ranges(results: &Results) -> String {
    let what = match most_replications(results) {
        0 | 1 => "1 replication, so there are no whiskers".to_owned(),
        _ => format!("mean of {}; whiskers: smallest and largest replication", replications(results)),
    };
    named(results, &what)
}

/// Something else, `what`, of all replications.
pub(super) fn other(results: &Results, what: &str) -> String {
    named(results, &format!("{what} {}", replications(results)))
}

/// Those of some sentences that apply.
pub(super) fn said<const N: usize>(sentences: [(bool, String); N]) -> Vec<String> {
    sentences.into_iter().filter(|(applies, _)| *applies).map(|(_, sentence)| sentence).collect()
}

fn named(results: &Results, what: &str) -> String {
    match results.description.name.as_str() {
        "" => what.to_owned(),
        name => format!("{} · {what}", elide(name, LONGEST_NAME)),
    }
}

fn most_replications(results: &Results) -> usize {
    results.cells.iter().map(|cell| cell.replications).max().unwrap_or(0)
}

fn replications(results: &Results) -> String {
    let most = most_replications(results);
    let fewest = results.cells.iter().map(|cell| cell.replications).min().unwrap_or(0);
    match (fewest, most) {
        (1, 1) => "1 replication".to_owned(),
        (fewest, most) if fewest == most => format!("{most} replications"),
        (fewest, most) => format!("{fewest}–{most} replications"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::sample::SampleFolder;

    #[test]
    fn captions_state_n_and_the_band() {
        assert_eq!(
            means(&SampleFolder::default().results(), "bands"),
            "spillover-sweep · mean of 5 replications; bands: 95 % confidence interval of the mean"
        );
        assert_eq!(
            means(&SampleFolder::one_cell().results(), "bands"),
            "spillover-sweep · 1 replication, so there are no confidence bands"
        );
        assert!(ranges(&SampleFolder::one_cell().results()).ends_with("no whiskers"));
    }
}
