//! Connection draining against renewal theory.

use super::{assert_binomial, outcomes};
use crate::experiment::{Experiment, Overrides, Source};
use crate::sim::outcome::FailureCause;

const FILE: &str = include_str!("../../experiments/drain.toml");
/// The shortest and the longest wait of that experiment, in seconds; between them waits are Pareto of shape 1.
const SHORTEST: f64 = 30.0;
const LONGEST: f64 = 540.0;

/// The chance that the residual life of a connection found open is longer than `seconds`: the integral of the waits'
/// survival function from there on, over their mean (Ross, Stochastic Processes, section 3.4).
fn residual_survival(seconds: f64) -> f64 {
    let span = (LONGEST / SHORTEST).ln();
    let mean = SHORTEST * span / (1.0 - SHORTEST / LONGEST);
    if seconds < SHORTEST {
        return 1.0 - seconds / mean;
    }
    ((LONGEST / seconds).ln() - 1.0 + seconds / LONGEST) / span
}

#[test]
fn the_share_that_a_drain_breaks_is_the_share_of_longer_residual_lives() {
    let overrides = Overrides { replications: Some(2), ..Overrides::default() };
    let source = Source { name: "drain.toml".to_owned(), text: FILE.to_owned() };
    let experiment =
        Experiment::parse(source, &overrides).unwrap_or_else(|error| panic!("{}", error.render(false)));
    let broken: Vec<u64> = outcomes(&experiment)
        .iter()
        .map(|runs| runs.iter().map(|run| run.failed(FailureCause::Reset)).sum())
        .collect();
    assert_eq!(broken.len(), 10, "one for each timeout from 0 to 9 minutes");
    assert!(broken[0] > 1000, "enough connections were open: {}", broken[0]);
    for (minutes, &count) in broken.iter().enumerate() {
        let share = residual_survival(60.0 * minutes as f64);
        assert_binomial(count, broken[0], share, &format!("a timeout of {minutes} minutes"));
    }
}
