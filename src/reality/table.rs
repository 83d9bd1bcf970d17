//! The findings as a Markdown table.

use super::verdict::RealFinding;
use crate::metrics::unit::significant;
use crate::stats::Estimate;

/// The machine that the laboratories were on, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RealMachine {
    /// The version of its kernel.
    pub kernel: String,
    /// How many processors it has.
    pub processors: usize,
    /// The date, such as 2026-11-30.
    pub date: String,
}

/// The whole file.
pub fn render(findings: &[RealFinding], machine: &RealMachine, simulated: u32) -> String {
    let RealMachine { kernel, processors, date } = machine;
    let agree = findings.iter().filter(|finding| finding.agrees).count();
    let rows: String = findings.iter().map(row).collect();
    format!(
        "# A real data plane beside the simulation\n\n\
         `zonesim validate --real` made this file on {date}, on Linux {kernel} with {processors} processors. Each row is a world \
         that was built twice: on the kernel's own network, with its TCP, nftables and real probes, and in the simulation \
         with {simulated} replications. Real: mean of the runs with its 95 % interval; simulated: mean, and where all runs but \
         one in fifty lie. A row agrees unless a test says otherwise: of the means (by permutation), of the runs outside that range \
         (binomial), and of detection, recovery and knowledge of failures one by one (Kolmogorov and Smirnov). p is the least of its tests, corrected \
         for the number of all of them (Holm); below 0.01 is disagreement. What is built, and what it can and can't \
         support, stands in [`docs/reality.md`](../docs/reality.md).\n\n\
         | scenario | quantity | runs | real | simulated | p | agrees |\n|---|---|---|---|---|---|---|\n{rows}\n\
         {agree} of {} agree.\n",
        findings.len()
    )
}

fn row(finding: &RealFinding) -> String {
    let RealFinding { scenario, quantity, real, simulated, range, p, agrees, .. } = finding;
    let shown = if real.count() == 0 {
        "–".to_owned()
    } else {
        let half = Estimate::of_mean(real).half_width(0.05);
        let half = half.map_or_else(String::new, |half| format!(" ± {}", number(half)));
        format!("{}{half}", number(real.mean()))
    };
    let model = match (simulated.count(), range) {
        (0, _) => "–".to_owned(),
        (_, Some((low, high))) => {
            format!("{} ({} to {})", number(simulated.mean()), number(*low), number(*high))
        }
        (_, None) => number(simulated.mean()),
    };
    let agrees = if *agrees { "yes" } else { "**no**" };
    let runs = real.count();
    let p = if *p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") };
    format!("| {scenario} | {quantity} | {runs} | {shown} | {model} | {p} | {agrees} |\n")
}

fn number(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { significant(value, 4) }
}
