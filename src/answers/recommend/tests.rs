//! Recommendations from made-up folders, of which the answer is known.

use super::*;
use crate::experiment::AxisRole;
use crate::results::sample::SampleFolder;

/// Cost and failures of each arm, with deviations of about 0.1 of the last digit over ten replications.
fn observed(cells: &[(f64, f64)]) -> Observed {
    let arms = (0..cells.len()).map(|arm| format!("arm-{arm}")).collect();
    let mut results =
        SampleFolder { arms, swept: Vec::new(), replications: 10, ..SampleFolder::default() }.results();
    let column = |name: &str| results.metrics.iter().position(|metric| metric == name).unwrap();
    let (cost, p99) = (column("cross_zone_usd_per_month"), column("request_p99_ms"));
    for run in &mut results.runs {
        let noise = [-0.3, 0.1, 0.2, -0.1, 0.0, 0.3, -0.2, 0.1, -0.1, 0.0][run.replication];
        run.values[cost] = Some(cells[run.cell].0 + noise + 0.001 * (run.cell * run.replication) as f64);
        run.values[p99] = Some(cells[run.cell].1 + noise);
    }
    Observed::of(results)
}

fn sought(observed: &Observed, constraints: &[&str]) -> Section {
    let request = RecommendRequest {
        objective: "cross_zone_usd_per_month".to_owned(),
        maximize: false,
        constraints: constraints.iter().map(|text| text.parse().unwrap()).collect(),
    };
    recommend(observed, &request).unwrap().remove(0)
}

fn cell(section: &Section, index: Option<usize>) -> Option<usize> {
    index.map(|index| section.candidates[index].cells[0])
}

#[test]
fn the_cheapest_that_keeps_to_the_limit_with_confidence() {
    // The cheapest breaks the limit; the next is within it by estimate but not with confidence.
    let observed = observed(&[(30.0, 5.0), (10.0, 20.0), (20.0, 9.95), (25.0, 8.0)]);
    let section = sought(&observed, &["request_p99_ms<=10"]);
    assert_eq!(cell(&section, section.recommended), Some(3));
    assert_eq!(section.binding, [0]);
    let standing = |index: usize| section.candidates[index].checks[0].standing;
    assert_eq!(
        [0, 1, 2, 3].map(standing),
        [
            ConstraintStanding::Broken,
            ConstraintStanding::Undecided,
            ConstraintStanding::Kept,
            ConstraintStanding::Kept
        ]
    );
    let more = more_replications(&section.candidates[1].checks).unwrap();
    assert!((100..1000).contains(&more), "0.05 in noise of 0.18 takes some 150: {more}");
    let runner_up = section.candidates[3].behind.unwrap();
    assert!(runner_up.told_apart && (runner_up.difference - 5.0).abs() < 0.1, "{runner_up:?}");
}

#[test]
fn without_constraints_nothing_binds_and_equals_are_not_told_apart() {
    let observed = observed(&[(10.0, 1.0), (10.0, 1.0), (12.0, 1.0)]);
    let section = sought(&observed, &[]);
    assert_eq!(section.binding, [] as [usize; 0]);
    assert_eq!(section.recommended, Some(0));
}

#[test]
fn no_feasible_cell_gives_none() {
    let observed = observed(&[(10.0, 5.0), (20.0, 6.0)]);
    let section = sought(&observed, &["request_p99_ms<=1", "request_p99_ms>=0"]);
    assert_eq!(section.recommended, None);
    assert_eq!(section.binding, [0]);
    assert!((0..section.candidates.len()).all(|index| section.standing(index) == "infeasible"));
}

#[test]
fn what_is_a_choice_is_chosen_and_what_is_a_circumstance_is_not() {
    let observed = Observed::of(SampleFolder::five_hundred_cells().results());
    let request = RecommendRequest {
        objective: "cross_zone_usd_per_month".to_owned(),
        maximize: false,
        constraints: Vec::new(),
    };
    let sections = recommend(&observed, &request).unwrap();
    assert_eq!(sections.len(), 40);
    assert_eq!(sections[1].values, [("rate".to_owned(), "50".to_owned())]);
    // The same axis as something that can be chosen, such as a size that is swept in every arm.
    let mut results = SampleFolder::five_hundred_cells().results();
    results.description.axes.iter_mut().for_each(|axis| axis.role = AxisRole::Choice);
    let sections = recommend(&Observed::of(results), &request).unwrap();
    assert_eq!((sections.len(), sections[0].values.len()), (1, 0));
    let one_arm = SampleFolder { arms: vec!["base".to_owned()], swept: vec![0], ..SampleFolder::default() };
    assert_eq!(recommend(&Observed::of(one_arm.results()), &request).unwrap().len(), 1);
}
