//! Cells: their order, their axes and what they simulate.

use std::sync::Arc;

use super::{changed, parse};
use crate::experiment::{Cell, Experiment};

/// The cells, a line each.
fn table(experiment: &Experiment) -> String {
    let columns = experiment.axes().iter().map(|axis| &axis.column[..]);
    let header = ["cell", "arm"].into_iter().chain(columns).collect::<Vec<_>>().join(" | ");
    let row = |cell: &Cell| {
        let values = cell.values.iter().map(|value| value.as_ref().map_or("-", |value| value.as_str()));
        let number = cell.index.to_string();
        [&number[..], &cell.arm].into_iter().chain(values).collect::<Vec<_>>().join(" | ")
    };
    std::iter::once(header).chain(experiment.cells().iter().map(row)).collect::<Vec<_>>().join("\n")
}

#[test]
fn arms_are_outermost_and_the_last_axis_is_fastest() {
    let text = changed(
        "[sweep]\n\"clients.web-a.addresses\" = [100, 200]",
        "[[arms]]\nname = \"grow\"\n[arms.sweep]\n\"backend_service.backends.ig-a.size\" = { from = 1, to = 2, step = 1 }\n\
         \"server.service_time.exponential.mean\" = [\"5ms\", \"0.01s\"]\n\
         [sweep]\n\"clients.web-a.addresses\" = [100, 2_00]\n\"health_check.timeout\" = { from = \"1s\", to = \"2500ms\", step = \"1s\" }",
    );
    insta::assert_snapshot!(table(&parse(&text).unwrap()), @r"
    cell | arm | spillover_ratio | addresses | timeout | size | exponential.mean
    0 | spill | 0.25 | 100 | 1s | - | -
    1 | spill | 0.25 | 100 | 2s | - | -
    2 | spill | 0.25 | 200 | 1s | - | -
    3 | spill | 0.25 | 200 | 2s | - | -
    4 | spill | 0.5 | 100 | 1s | - | -
    5 | spill | 0.5 | 100 | 2s | - | -
    6 | spill | 0.5 | 200 | 1s | - | -
    7 | spill | 0.5 | 200 | 2s | - | -
    8 | stay | - | 100 | 1s | - | -
    9 | stay | - | 100 | 2s | - | -
    10 | stay | - | 200 | 1s | - | -
    11 | stay | - | 200 | 2s | - | -
    12 | grow | - | 100 | 1s | 1 | 5ms
    13 | grow | - | 100 | 2s | 1 | 5ms
    14 | grow | - | 200 | 1s | 1 | 5ms
    15 | grow | - | 200 | 2s | 1 | 5ms
    16 | grow | - | 100 | 1s | 1 | 0.01s
    17 | grow | - | 100 | 2s | 1 | 0.01s
    18 | grow | - | 200 | 1s | 1 | 0.01s
    19 | grow | - | 200 | 2s | 1 | 0.01s
    20 | grow | - | 100 | 1s | 2 | 5ms
    21 | grow | - | 100 | 2s | 2 | 5ms
    22 | grow | - | 200 | 1s | 2 | 5ms
    23 | grow | - | 200 | 2s | 2 | 5ms
    24 | grow | - | 100 | 1s | 2 | 0.01s
    25 | grow | - | 100 | 2s | 2 | 0.01s
    26 | grow | - | 200 | 1s | 2 | 0.01s
    27 | grow | - | 200 | 2s | 2 | 0.01s
    ");
}

#[test]
fn without_arms_there_is_one() {
    let text = super::SMALL.split("[[arms]]").next().unwrap();
    insta::assert_snapshot!(table(&parse(text).unwrap()), @r"
    cell | arm
    0 | base
    ");
    let swept = format!("{text}[sweep]\n\"backend_service.allow_global_access\" = [true, false]\n");
    insta::assert_snapshot!(table(&parse(&swept).unwrap()), @r"
    cell | arm | allow_global_access
    0 | base | true
    1 | base | false
    ");
}

#[test]
fn paths_need_no_quotes() {
    let quoted = parse(super::SMALL).unwrap();
    let bare = super::SMALL.replace("\"clients.web-a.addresses\"", "clients.web-a.addresses");
    let bare = bare
        .replace("\"backend_service.zonal_affinity.spillover\"", "backend_service.zonal_affinity.spillover");
    let bare = parse(&bare).unwrap();
    assert_eq!((bare.axes(), bare.cells()), (quoted.axes(), quoted.cells()));
    for cell in bare.cells() {
        assert_eq!(bare.scenario(cell), quoted.scenario(cell));
    }
}

#[test]
fn decimals_are_exact_and_reach_the_model() {
    let text = changed("[0.25, 0.5]", "{ from = 0.0, to = 1.0, step = 0.05 }");
    let experiment = parse(&text).unwrap();
    let texts: Vec<&str> =
        experiment.cells().iter().filter_map(|cell| Some(cell.values[0].as_ref()?.as_str())).collect();
    assert_eq!(texts.len(), 42);
    assert_eq!(texts[..8], ["0.0", "0.0", "0.05", "0.05", "0.1", "0.1", "0.15", "0.15"]);
    for cell in experiment.cells().iter().filter(|cell| cell.arm == "spill") {
        let value = cell.values[0].as_ref().unwrap();
        let ratio = experiment
            .scenario(cell)
            .first_balancer()
            .settings
            .policy
            .get()
            .zonal_affinity()
            .spillover_ratio()
            .unwrap();
        assert_eq!(Some(ratio.value()), value.number());
        assert_eq!(value.as_str().parse(), Ok(ratio.value()));
    }
}

#[test]
fn each_cell_simulates_its_arm_and_its_values() {
    let experiment = parse(super::SMALL).unwrap();
    let worlds: Vec<(String, u32)> = experiment
        .cells()
        .iter()
        .map(|cell| {
            let scenario = experiment.scenario(cell);
            let affinity = scenario.first_balancer().settings.policy.get().zonal_affinity();
            let ratio = affinity.spillover_ratio().map(|ratio| format!(" {ratio}")).unwrap_or_default();
            let addresses = scenario.clients.iter().next().unwrap().addresses.get();
            (format!("{}{ratio}", affinity.spillover().trim_start_matches("ZONAL_AFFINITY_")), addresses)
        })
        .collect();
    let spill = |ratio| format!("SPILL_CROSS_ZONE {ratio}");
    let stay = || "STAY_WITHIN_ZONE".to_owned();
    assert_eq!(
        worlds,
        [
            (spill(0.25), 100),
            (spill(0.25), 200),
            (spill(0.5), 100),
            (spill(0.5), 200),
            (stay(), 100),
            (stay(), 200)
        ]
    );
}

#[test]
fn threads_can_share_an_experiment() {
    fn shared<T: Send + Sync>(value: T) -> T {
        value
    }
    shared(parse(super::SMALL).unwrap());
}

#[test]
fn thresholds_judge_the_cells_of_their_arm() {
    let text = format!("{}\n[[thresholds]]\nmetric = \"requests\"\nmin = 1\nmax = 5.5\n", super::SMALL);
    let experiment = parse(&text).unwrap();
    let [stay, all] = experiment.thresholds() else { panic!("two thresholds") };
    let judged: Vec<bool> = experiment.cells().iter().map(|cell| stay.applies_to(cell)).collect();
    assert_eq!(judged, [false, false, false, false, true, true]);
    assert!(experiment.cells().iter().all(|cell| all.applies_to(cell)));
    assert_eq!((stay.limits.min, stay.limits.max), (None, Some(0.01)));
    let held: Vec<bool> = [Some(1.0), Some(5.5), Some(0.9), Some(5.6), Some(f64::NAN), None]
        .map(|mean| all.limits.hold(mean))
        .into();
    assert_eq!(held, [true, true, false, false, false, false]);
}

#[test]
fn cells_in_words() {
    let experiment = parse(super::SMALL).unwrap();
    assert_eq!(
        experiment.describe(&experiment.cells()[0]),
        "arm `spill` with spillover_ratio = 0.25, addresses = 100"
    );
    assert_eq!(experiment.describe(&experiment.cells()[5]), "arm `stay` with addresses = 200");
}

#[test]
fn a_cell_is_built_once_and_equal_parts_of_cells_are_kept_once() {
    let experiment = parse(super::SMALL).unwrap();
    let cells = experiment.cells();
    let scenario = experiment.scenario(&cells[0]);
    assert!(Arc::ptr_eq(&scenario, &experiment.scenario(&cells[0])), "its runs share it");
    let pilot = experiment.pilot();
    assert!(!Arc::ptr_eq(&scenario, &pilot.scenario(&cells[0])), "pilots run in another world");
    // Only what arms and axes set is there more than once: a ratio or another policy, and a group's addresses.
    assert_eq!(experiment.worlds.distinct(), [1, 1, 3, 3, 1]);
}
