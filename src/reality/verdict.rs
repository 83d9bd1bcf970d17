//! Whether the simulation says what the kernel's network shows: three tests of each quantity, corrected for their number.

use rand::Rng;

use super::observation::RunObservation;
use super::quantity::RealQuantity;
use super::scenarios::RealScenario;
use crate::random::{Purpose, RunSeed, below};
use crate::sim::scenario::Scenario;
use crate::stats::{Moments, binomial_tail, holm, kolmogorov_smirnov, mean_difference, prediction_range};

/// The probability that any row disagrees by chance, if the simulation is right.
pub const FAMILY_ERROR: f64 = 0.01;
/// A run lies in the range that leaves so many of the simulated runs on either side.
const RANK: usize = 3;

/// What both sides say of one quantity of one scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct RealFinding {
    /// The scenario.
    pub scenario: String,
    /// The quantity.
    pub quantity: String,
    /// The runs on the kernel's network.
    pub real: Moments,
    /// The simulated runs.
    pub simulated: Moments,
    /// Where a simulated run lies, but for one in fifty.
    pub range: Option<(f64, f64)>,
    /// The p-values of its tests: of the means, of the range, and of the distributions if those are compared.
    tests: Vec<f64>,
    /// The least of them, corrected for the number of all tests.
    pub p: f64,
    /// Whether none of them speaks against the simulation.
    pub agrees: bool,
}

/// Compares what the kernel's network showed of `scenario` with what was simulated.
pub fn compare(
    scenario: &RealScenario,
    world: &Scenario,
    real: &[RunObservation],
    simulated: &[RunObservation],
) -> Vec<RealFinding> {
    let name = scenario.name.to_string();
    scenario.quantities.iter().map(|quantity| finding(&name, quantity, world, (real, simulated))).collect()
}

fn finding(
    scenario: &str,
    quantity: &RealQuantity,
    world: &Scenario,
    (real, simulated): (&[RunObservation], &[RunObservation]),
) -> RealFinding {
    let of = |runs: &[RunObservation]| -> Vec<RunObservation> {
        runs.iter().map(|run| quantity.of_groups(world, run)).collect()
    };
    let (real, simulated) = (of(real), of(simulated));
    let means =
        |runs: &[RunObservation]| runs.iter().filter_map(|run| quantity.value(run)).collect::<Vec<f64>>();
    let (ours, theirs) = (means(&real), means(&simulated));
    let moments = |values: &[f64]| values.iter().copied().collect::<Moments>();
    let mut finding = RealFinding {
        scenario: scenario.to_owned(),
        quantity: quantity.name(),
        real: moments(&ours),
        simulated: moments(&theirs),
        range: None,
        tests: Vec::new(),
        p: 1.0,
        agrees: true,
    };
    // Where one side never has what the other has, how often that has it tells whether this is chance.
    if ours.is_empty() || theirs.is_empty() {
        let side = if ours.is_empty() { simulated.len() } else { real.len() };
        finding.tests.push(all_on_one_side(ours.len() + theirs.len(), side, real.len() + simulated.len()));
        return finding;
    }
    let gap = finding.real.mean() - finding.simulated.mean();
    let closer: Vec<f64> =
        ours.iter().map(|value| value - gap.clamp(-quantity.slack(), quantity.slack())).collect();
    let mut stream = RunSeed::new(0, 0).stream(Purpose::Resampling, &finding.quantity).generator();
    finding.tests.push(mean_difference(&closer, &theirs, |count| below(stream.next_u64(), count)));
    if let Some(((low, high), outside)) = prediction_range(&theirs, RANK) {
        let (low_slack, high_slack) = (low - quantity.slack(), high + quantity.slack());
        let beyond = ours.iter().filter(|value| !(low_slack..=high_slack).contains(*value)).count();
        finding.tests.push(binomial_tail(beyond as u64, ours.len() as u64, outside));
        finding.range = Some((low, high));
    }
    if quantity.is_distribution() {
        let each =
            |runs: &[RunObservation]| runs.iter().flat_map(|run| quantity.values(run)).collect::<Vec<f64>>();
        finding.tests.push(kolmogorov_smirnov(&each(&real), &each(&simulated), quantity.slack()));
    }
    finding
}

/// The probability that all `marked` runs of `total` are on a side with so many of them, if both sides are alike (Fisher's
/// exact test).
fn all_on_one_side(marked: usize, side: usize, total: usize) -> f64 {
    (0..marked).map(|taken| (side - taken) as f64 / (total - taken) as f64).product()
}

/// Judges all findings together (Holm 1979).
pub fn judge(findings: &mut [RealFinding]) {
    let tests: Vec<f64> = findings.iter().flat_map(|finding| finding.tests.iter().copied()).collect();
    let mut judged = holm(&tests, FAMILY_ERROR).into_iter();
    for finding in findings {
        for test in judged.by_ref().take(finding.tests.len()) {
            finding.p = finding.p.min(test.p);
            finding.agrees &= !test.rejected;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_never_has_may_be_rare() {
        // One of 300 simulated runs, and none of 6 real ones: most likely so.
        assert!((all_on_one_side(1, 300, 306) - 300.0 / 306.0).abs() < 1e-12);
        assert_eq!(all_on_one_side(0, 300, 306), 1.0);
        // Both of 2 real ones, and no simulated one: 1 in as many as there are pairs.
        assert!((all_on_one_side(2, 2, 302) - 1.0 / (302.0 * 301.0 / 2.0)).abs() < 1e-12);
        assert!(all_on_one_side(300, 300, 306) < 1e-9, "all simulated ones, and no real one");
    }
}
