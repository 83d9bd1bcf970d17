//! Expectations against tables that were worked out by hand.

use super::*;
use crate::experiment::{Experiment, Overrides, Source};

const HEAD: &str = r#"
    name = "n"
    region = { name = "r", zones = ["a", "b", "c"] }
    [[arms]]
    name = "disabled"
    [[arms]]
    name = "stay"
    set = { "backend_service.zonal_affinity.spillover" = "STAY_WITHIN_ZONE" }
    [[arms]]
    name = "spill"
    set = { "backend_service.zonal_affinity.spillover" = "SPILL_CROSS_ZONE" }
    sweep = { "backend_service.zonal_affinity.spillover_ratio" = [0.0, 0.25, 0.5, 0.75, 1.0] }
"#;

fn zone(name: &str, size: usize, rate: f64) -> String {
    format!(
        "[[backend_service.backends]]\ngroup = \"{name}\"\nzone = \"{name}\"\nsize = {size}\n\
         [[clients]]\nname = \"web-{name}\"\nkind = \"vm\"\nzone = \"{name}\"\narrivals = {{ poisson = {{ rate = {rate:?} }} }}\n"
    )
}

fn expectations(text: &str) -> Vec<Expectation> {
    let source = Source { name: "n".to_owned(), text: text.to_owned() };
    let experiment = Experiment::parse(source, &Overrides::default()).unwrap();
    experiment.cells().iter().map(|cell| expect(&experiment.scenario(cell), STATES_MAX).unwrap()).collect()
}

/// Three zones of four backends with equal demand. Of each policy, for 4, 3, 2, 1 and 0 healthy backends in zone a: load of
/// one healthy backend of zone a / of zone b, share that crosses, share sent to unhealthy backends.
const BY_HAND: [[(f64, f64, f64, f64); 5]; 7] = {
    const GONE: f64 = f64::NAN;
    const THIRD: f64 = 1.0 / 3.0;
    const TWO: f64 = 2.0 / 3.0;
    const FULL: (f64, f64, f64, f64) = (1.0, 1.0, 0.0, 0.0);
    const THREE: (f64, f64, f64, f64) = (4.0 / 3.0, 1.0, 0.0, 0.0);
    const HALF: (f64, f64, f64, f64) = (2.0, 1.0, 0.0, 0.0);
    const ONE: (f64, f64, f64, f64) = (4.0, 1.0, 0.0, 0.0);
    const NONE: (f64, f64, f64, f64) = (GONE, 1.5, THIRD, 0.0);
    // Spilled with k healthy in zone a, its third goes to k + 8 backends: 4 / (k + 8) each.
    const SPILL3: (f64, f64, f64, f64) = (4.0 / 11.0, 1.0 + 4.0 / 11.0, THIRD * 8.0 / 11.0, 0.0);
    const SPILL2: (f64, f64, f64, f64) = (0.4, 1.4, THIRD * 0.8, 0.0);
    const SPILL1: (f64, f64, f64, f64) = (4.0 / 9.0, 1.0 + 4.0 / 9.0, THIRD * 8.0 / 9.0, 0.0);
    [
        [
            (1.0, 1.0, TWO, 0.0),
            (12.0 / 11.0, 12.0 / 11.0, TWO, 0.0),
            (1.2, 1.2, TWO, 0.0),
            (4.0 / 3.0, 4.0 / 3.0, TWO, 0.0),
            (GONE, 1.5, TWO, 0.0),
        ],
        [FULL, THREE, HALF, ONE, (GONE, 1.0, 0.0, THIRD)],
        [FULL, THREE, HALF, ONE, NONE],
        [FULL, THREE, HALF, ONE, NONE],
        [FULL, THREE, HALF, SPILL1, NONE],
        [FULL, THREE, SPILL2, SPILL1, NONE],
        [FULL, SPILL3, SPILL2, SPILL1, NONE],
    ]
};

#[test]
fn three_zones_of_four_backends() {
    let zones = ["a", "b", "c"].map(|name| zone(name, 4, 100.0)).concat();
    let close = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
    for (expectation, expected) in expectations(&format!("{HEAD}{zones}")).iter().zip(&BY_HAND) {
        assert_eq!(expectation.states.len(), 125);
        for (down, (load_a, load_b, crossing, unhealthy)) in expected.iter().enumerate() {
            let state = expectation.states.iter().find(|state| state.healthy == [4 - down, 4, 4]).unwrap();
            let shares = &state.shares;
            assert_eq!(shares.loads[0].is_none(), load_a.is_nan());
            assert!(load_a.is_nan() || close(shares.loads[0].unwrap(), *load_a), "{state:?}");
            assert!(close(shares.loads[1].unwrap(), *load_b), "{state:?}");
            assert!(close(shares.cross_zone.unwrap(), *crossing), "{state:?}");
            assert!(close(shares.unhealthy, *unhealthy), "{state:?}");
        }
        // Without failures the mean is the state in which all are up.
        assert_eq!(expectation.mean.cross_zone, expectation.states[0].shares.cross_zone);
    }
}

#[test]
fn uneven_zones() {
    let zones = [zone("a", 2, 180.0), zone("b", 3, 75.0), zone("c", 5, 45.0)].concat();
    let found = expectations(&format!("{HEAD}{zones}"));
    assert!((found[0].mean.cross_zone.unwrap() - 0.73).abs() < 1e-12);
    // All of zone a's 60 % on two backends, over a tenth of all.
    assert!((found[1].mean.loads[0].unwrap() - 3.0).abs() < 1e-12);
    assert_eq!((found[1].mean.cross_zone, found[1].mean.hottest), (Some(0.0), found[1].mean.loads[0]));
}

#[test]
fn the_long_run_is_a_product_of_binomials() {
    let failing = "server.failures = { time_to_failure = { exponential = { mean = \"1000s\" } }, \
                   time_to_repair = { exponential = { mean = \"250s\" } } }\n";
    let zones =
        [zone("a", 4, 1.0).replacen("size = 4\n", &format!("size = 4\n{failing}"), 1), zone("b", 1, 0.001)];
    let text = format!("{HEAD}{}", zones.concat()).replace("\"a\", \"b\", \"c\"", "\"a\", \"b\"");
    let up = 0.8_f64;
    let exactly = |k: i32| [1.0, 4.0, 6.0, 4.0, 1.0][k as usize] * up.powi(k) * (1.0 - up).powi(4 - k);
    for (expectation, needed) in expectations(&text)[2..].iter().zip([1, 1, 2, 3, 4]) {
        let total: f64 = expectation.states.iter().map(|state| state.probability).sum();
        assert!((total - 1.0).abs() < 1e-12);
        let spilled: f64 = (0..needed).map(exactly).sum();
        assert!((expectation.mean.spilled * 1.001 - spilled).abs() < 1e-12, "{needed}");
    }
    let law = counts([0.5, 0.5, 1.0].into_iter());
    assert_eq!(law, [0.0, 0.25, 0.5, 0.25]);
}

#[test]
fn too_many_states_are_refused() {
    let error = expect(&failing(80, "1000s"), STATES_MAX).unwrap_err().to_string();
    assert!(error.contains("states of health"), "{error}");
}

/// Three zones of this many backends, which fail for so long of 1000 s.
fn failing(size: usize, repair: &str) -> Scenario {
    let failures = format!(
        "server.failures = {{ time_to_failure = {{ exponential = {{ mean = \"1000s\" }} }}, \
         time_to_repair = {{ exponential = {{ mean = \"{repair}\" }} }} }}\n"
    );
    let sized = format!("size = {size}\n");
    let zones =
        ["a", "b", "c"].map(|name| zone(name, size, 1.0).replacen(&sized, &format!("{sized}{failures}"), 1));
    let source = Source { name: "n".to_owned(), text: format!("{HEAD}{}", zones.concat()) };
    let experiment = Experiment::parse(source, &Overrides::default()).unwrap();
    // Spilling as soon as one of them fails.
    Scenario::clone(&experiment.scenario(experiment.cells().last().unwrap()))
}

#[test]
fn large_groups_are_known_by_the_states_that_are_at_all_probable() {
    let scenario = failing(30, "2s");
    let [all, probable] = [STATES_MAX, 5_000].map(|most| expect(&scenario, most).unwrap());
    assert!(!all.has_left_out() && probable.has_left_out() && probable.states.len() < all.states.len());
    assert!(all.mean.spilled > 0.01 && (all.mean.spilled - probable.mean.spilled).abs() < 1e-12);
    let total: f64 = probable.states.iter().map(|state| state.probability).sum();
    assert!((total - 1.0).abs() < 1e-12, "{total}");
    let huge = expect(&failing(80, "1s"), STATES_MAX).unwrap();
    assert!(huge.has_left_out() && huge.states[0].healthy == [80; 3]);
}
