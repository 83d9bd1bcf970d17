//! The quickstart's summary as a snapshot: a difference shows how the results of the whole model moved, and the commit
//! that moves them says why.

use super::outcomes;
use crate::experiment::{Experiment, Overrides, QUICKSTART, Source};
use crate::metrics::{METRICS, MeasuredRun};

#[test]
fn quickstart_in_one_replication() {
    let source = Source { name: "quickstart.toml".to_owned(), text: QUICKSTART.to_owned() };
    let overrides = Overrides { replications: Some(1), ..Overrides::default() };
    let experiment = Experiment::parse(source, &overrides).unwrap();
    let mut table = String::new();
    for (cell, outcomes) in experiment.cells().iter().zip(outcomes(&experiment)) {
        let scenario = experiment.scenario(cell);
        let latency = outcomes[0].latency_overall();
        let run = MeasuredRun { scenario: &scenario, outcome: &outcomes[0], latency: &latency };
        table += &format!("{}\n", experiment.describe(cell));
        for metric in METRICS {
            let value = metric.value(&run).map_or("-".to_owned(), |value| format!("{value:.6}"));
            table += &format!("  {} {value}\n", metric.name);
        }
    }
    insta::assert_snapshot!(table);
}
