//! Comparisons of made-up folders, of which the answer is known.

use super::*;
use crate::results::sample::SampleFolder;
use crate::results::{ResultCell, Results};

fn asked(results: Results, baseline: Option<&str>, metrics: &[&str]) -> Comparison {
    let metrics: Vec<String> = metrics.iter().map(|name| (*name).to_owned()).collect();
    compare(&Observed::of(results), baseline, &metrics).unwrap()
}

/// Changes every value of `metric` of the cells that `of` picks.
fn with(
    mut results: Results,
    metric: &str,
    of: fn(&ResultCell) -> bool,
    change: impl Fn(usize, f64) -> f64,
) -> Results {
    let column = results.metrics.iter().position(|name| name == metric).unwrap();
    let chosen: Vec<usize> = results.cells.iter().filter(|cell| of(cell)).map(|cell| cell.number).collect();
    for run in results.runs.iter_mut().filter(|run| chosen.contains(&run.cell)) {
        run.values[column] = run.values[column].map(|value| change(run.replication, value));
    }
    results
}

/// Copies every value of cell `from` to cell `to`.
fn copied(mut results: Results, from: usize, to: usize) -> Results {
    let values: Vec<_> =
        results.runs.iter().filter(|run| run.cell == from).map(|run| run.values.clone()).collect();
    let runs = results.runs.iter_mut().filter(|run| run.cell == to);
    runs.zip(values).for_each(|(run, values)| run.values = values);
    results
}

#[test]
fn a_known_difference_has_its_sign_size_and_verdict() {
    // Ten of disabled, and 2 more with a little noise in stay.
    let results = SampleFolder::no_axis().results();
    let results =
        with(results, "connect_p99_ms", |cell| cell.arm == 0, |replication, _| 10.0 + replication as f64);
    let results = with(
        results,
        "connect_p99_ms",
        |cell| cell.arm == 1,
        |replication, _| 12.0 + replication as f64 + [0.1, -0.1, 0.0, 0.05, -0.05][replication],
    );
    let found = asked(results, None, &["connect_p99_ms"]);
    let row = &found.metrics[0].rows[1];
    let effect = row.effect.as_ref().unwrap();
    assert_eq!((row.n, row.verdict), (5, ComparisonVerdict::Worse));
    assert!((effect.difference - 2.0).abs() < 1e-12);
    assert!(effect.ends.0 < 2.0 && effect.ends.1 > 2.0 && effect.ends.0 > 1.8);
    assert!(effect.corrected_ends.0 <= effect.ends.0 && effect.corrected_p >= effect.p);
    // Variances 2.5 and 2.5 + 0.00625 and a little covariance, over 0.00625: hundreds of times.
    assert!(effect.variance_ratio.unwrap() > 500.0);
    assert_eq!(found.metrics[0].rows[0].verdict, ComparisonVerdict::Baseline);
}

#[test]
fn identical_cells_are_one_policy_and_equal_values_are_identical() {
    let results = copied(copied(SampleFolder::default().results(), 8, 9), 8, 10);
    let results = copied(results, 0, 1);
    let found = asked(results, None, &["failure_ratio"]);
    let policy = found.policies.iter().find(|policy| policy.cells.contains(&8)).unwrap();
    assert_eq!(policy.cells, [8, 9, 10]);
    assert_eq!(found.policies[0].cells, [0, 1], "stay is now the baseline's equal");
    assert_eq!(found.policies.len(), 10);
    assert_eq!(found.circumstances[0].1.claims(), 45, "every pair of ten");
    let again = asked(
        SampleFolder { zero: Some("failed_refused"), ..SampleFolder::default() }.results(),
        None,
        &["failed_refused"],
    );
    assert!(again.metrics[0].rows[1..].iter().all(|row| row.verdict == ComparisonVerdict::Identical));
}

#[test]
fn missing_values_are_missing_and_not_zero() {
    let results = SampleFolder { missing: Some("connect_p99_ms"), ..SampleFolder::no_axis() }.results();
    let found = asked(results, None, &["connect_p99_ms"]);
    let row = &found.metrics[0].rows[1];
    assert_eq!((row.n, row.value, row.verdict), (0, None, ComparisonVerdict::Missing));
}

#[test]
fn cells_meet_the_baseline_with_the_same_shared_values() {
    let results = SampleFolder::five_hundred_cells().results();
    let counterparts = Baseline::find(&results, None).unwrap().counterparts(&results);
    for (cell, counterpart) in results.cells.iter().zip(&counterparts) {
        let base = &results.cells[counterpart.unwrap()];
        assert_eq!((base.arm, &base.values[1]), (0, &cell.values[1]));
    }
}

#[test]
fn an_arm_with_an_axis_of_its_own_is_a_baseline_by_one_of_its_cells() {
    let results = SampleFolder::default().results();
    let first = Baseline::find(&results, Some("spill")).unwrap().counterparts(&results);
    assert!(first.iter().all(|counterpart| *counterpart == Some(2)));
    let half = Baseline::find(&results, Some("spill,spillover_ratio=0.50")).unwrap().counterparts(&results);
    assert!(half.iter().all(|counterpart| *counterpart == Some(7)));
    for (asked, part) in [
        ("spil", "did you mean \"spill\""),
        ("spill,spillover_ratios=0.5", "did you mean \"spillover_ratio\""),
        ("spill,spillover_ratio=0.55", "0.0, 0.1"),
        ("spill,0.5", "ARM,AXIS=VALUE"),
    ] {
        let error = Baseline::find(&results, Some(asked)).unwrap_err().to_string();
        assert!(error.contains(part), "{asked}: {error}");
    }
}

#[test]
fn the_best_names_those_that_may_be_as_good() {
    let results = with(
        SampleFolder::no_axis().results(),
        "connect_p99_ms",
        |_| true,
        |replication, _| replication as f64,
    );
    let worse = |replication: usize, value: f64| value + 1.0 + 0.01 * replication as f64;
    let near = |replication: usize, value: f64| value + [0.1, -0.09, 0.1, -0.1, 0.0][replication];
    let results = with(results, "connect_p99_ms", |cell| cell.arm == 1, worse);
    let results = with(results, "connect_p99_ms", |cell| cell.arm == 2, near);
    let found = asked(results, None, &["connect_p99_ms", "connections"]);
    let best = &found.metrics[0].best[0];
    assert_eq!((best.policy, best.rivals.as_slice()), (0, &[2][..]));
    assert!(found.metrics[1].best.is_empty(), "more connections are neither good nor bad");
    let effect = found.metrics[0].rows[2].effect.as_ref().unwrap();
    assert_eq!(found.metrics[0].rows[2].verdict, ComparisonVerdict::NotShown);
    assert!(effect.more_replications.unwrap() > 100, "a difference of 0.002 in noise of 0.1 takes many");
}

#[test]
fn one_replication_is_not_enough() {
    let observed = Observed::of(SampleFolder { replications: 1, ..SampleFolder::default() }.results());
    let error = compare(&observed, None, &[]).unwrap_err().to_string();
    assert!(error.contains("--replications"), "{error}");
}
