//! Answers from folders of chance, which may hold anything that rows can say.

use proptest::prelude::*;

use super::compare::compare;
use super::recommend::{Constraint, RecommendRequest, more_replications, recommend};
use crate::experiment::{Axis, AxisRole};
use crate::results::observed::Observed;
use crate::results::{ResultCell, Results, Run};

const METRICS: [&str; 4] = ["connections", "failure_ratio", "cross_zone_usd_per_month", "health_transitions"];

/// What the replications of one cell say of one metric.
#[derive(Clone, Debug)]
enum Law {
    Missing,
    /// The same in every replication.
    Constant(f64),
    /// A value with noise that is small beside it, or not.
    Noisy(f64, f64),
    /// Something in one replication.
    Once(f64),
    /// Ties: 0, 1 or 2.
    Few,
}

fn law() -> impl Strategy<Value = Law> {
    let size = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0_f64, 1.0..1e4_f64, Just(1e15), Just(1e300)];
    prop_oneof![
        Just(Law::Missing),
        size.clone().prop_map(Law::Constant),
        (size.clone(), prop_oneof![Just(1e-12), Just(1e-3), Just(1.0)])
            .prop_map(|(value, noise)| Law::Noisy(value, noise)),
        size.prop_map(Law::Once),
        Just(Law::Few),
    ]
}

impl Law {
    fn value(&self, metric: &str, replication: usize, chance: u64) -> Option<f64> {
        let noise = (chance % 1000) as f64 / 1000.0;
        let value = match *self {
            Self::Missing => return chance.is_multiple_of(3).then_some(1.0),
            Self::Constant(value) => value,
            Self::Noisy(value, size) => value * (1.0 + size * noise),
            Self::Once(value) => {
                if replication == 1 {
                    value
                } else {
                    0.0
                }
            }
            Self::Few => (chance % 3) as f64,
        };
        match metric {
            "failure_ratio" => Some(value.min(1.0)),
            "connections" | "health_transitions" => Some(value.round()),
            _ => Some(value),
        }
    }
}

/// A folder of so many cells, two values of a circumstance in each arm, with laws of every metric.
fn folder() -> impl Strategy<Value = Results> {
    let cells = prop::collection::vec((prop::collection::vec(law(), METRICS.len()), 1..13_usize), 1..7);
    (cells, any::<u64>()).prop_map(|(cells, seed)| {
        let mut results = Results {
            metrics: METRICS.map(str::to_owned).to_vec(),
            axes: vec!["rate".to_owned()],
            arms: (0..cells.len().div_ceil(2)).map(|arm| format!("arm-{arm}")).collect(),
            ..Results::default()
        };
        let (column, path) = ("rate".to_owned(), "load".to_owned());
        results.description.axes = vec![Axis { column, path, role: AxisRole::Circumstance }];
        for (number, (laws, replications)) in cells.into_iter().enumerate() {
            let values = vec![(number % 2).to_string()];
            results.cells.push(ResultCell { number, arm: number / 2, values, replications });
            for replication in 0..replications {
                let chance = |metric: usize| {
                    crate::random::hash_bytes(seed, format!("{number} {replication} {metric}").as_bytes())
                };
                let values = METRICS.iter().zip(&laws).enumerate();
                let values = values.map(|(at, (metric, law))| law.value(metric, replication, chance(at)));
                results.runs.push(Run {
                    cell: number,
                    replication,
                    stratum_weight: None,
                    values: values.collect(),
                });
            }
        }
        results
    })
}

fn limits() -> impl Strategy<Value = Vec<Constraint>> {
    let limit = prop_oneof![
        Just("failure_ratio<=0"),
        Just("failure_ratio<=1%"),
        Just("failure_ratio>=0.5"),
        Just("connections<=1"),
        Just("connections>43157.1"),
        Just("health_transitions<=3"),
        Just("cross_zone_usd_per_month<1000000000000"),
    ];
    prop::collection::vec(limit.prop_map(|text| text.parse().expect("a limit")), 0..3)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]
    /// Every answer ends, and says nothing that is no number or lies outside itself.
    #[test]
    fn any_folder_is_answered(results in folder(), constraints in limits(), maximize in any::<bool>()) {
        let observed = Observed::of(results);
        for objective in METRICS {
            let request =
                RecommendRequest { objective: objective.to_owned(), maximize, constraints: constraints.clone() };
            let Ok(sections) = recommend(&observed, &request) else { continue };
            for candidate in sections.iter().flat_map(|section| &section.candidates) {
                for check in &candidate.checks {
                    if let (Some(value), Some((low, high))) = (check.value, check.ends) {
                        prop_assert!(low <= value && value <= high || value > 1e299, "{check:?}");
                    }
                }
                prop_assert!(more_replications(&candidate.checks) != Some(0));
                let ends = candidate.behind.and_then(|rank| Some((rank.difference, rank.ends?)));
                prop_assert!(ends.is_none_or(|(value, (low, high))| {
                    low <= value && value <= high || value.abs() > 1e299
                }), "{ends:?}");
            }
        }
        let names = METRICS.map(str::to_owned);
        if let Ok(found) = compare(&observed, None, &names) {
            for effect in found.metrics.iter().flat_map(|metric| &metric.rows).filter_map(|row| row.effect.as_ref()) {
                prop_assert!((0.0..=1.0).contains(&effect.p) && effect.p <= effect.corrected_p, "{effect:?}");
                let excludes = effect.corrected_ends.0 > 0.0 || effect.corrected_ends.1 < 0.0;
                prop_assert!(excludes == effect.is_shown || effect.corrected_p > 0.049 && effect.corrected_p < 0.051, "{effect:?}");
            }
        }
    }
}
