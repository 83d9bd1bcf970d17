//! An experiment of the user's own on the kernel's network: every cell of it that a laboratory can be.

use std::borrow::Cow;
use std::path::Path;

use crate::cli::UsageError;
use crate::cli::console::Console;
use crate::experiment::{Cell, Experiment, Overrides};
use crate::reality::limits::beyond;
use crate::reality::quantity::RealQuantity;
use crate::reality::scenarios::{Forwarding, RealScenario};
use crate::reality::world::World;
use crate::sim::outcome::FailureCause;
use crate::sim::scenario::Scenario;

/// Runs of a cell on the kernel's network, unless asked for otherwise.
const RUNS: u32 = 8;

/// The scenarios that a user wrote, one for each cell that a laboratory can be, with everything compared that both sides
/// count. Says which it can't be.
pub(super) fn scenarios(file: &Path, console: &Console) -> anyhow::Result<Vec<RealScenario>> {
    let experiment = Experiment::read(file, &Overrides::default())?;
    let shown = file.display();
    if experiment.finds_warmup() {
        let what =
            "it asks for pilot runs to find a warm-up, and a laboratory has none; write warmup = \"5s\"";
        return Err(UsageError(format!("no laboratory can be {shown}:\n  {what}")).into());
    }
    let (mut scenarios, mut left_out) = (Vec::new(), Vec::<LeftOut<'_>>::new());
    for cell in experiment.cells() {
        let world = World::of_cell(&experiment, cell);
        let why = beyond(&world.scenario, Forwarding::Marks);
        if why.is_empty() {
            scenarios.push(scenario(&experiment, cell, &world.scenario));
            continue;
        }
        match left_out.iter_mut().find(|group| group.why == why) {
            Some(group) => group.others += 1,
            None => left_out.push(LeftOut { first: cell, others: 0, why }),
        }
    }
    let words = |group: &LeftOut<'_>| group.words(&experiment);
    let words: Vec<String> = left_out.iter().map(words).collect();
    if scenarios.is_empty() {
        return Err(UsageError(format!("no laboratory can be {shown}:\n{}", words.join("\n"))).into());
    }
    if !words.is_empty() {
        console.caution(&format!("no laboratory can be some cells of {shown}:\n{}", words.join("\n")));
    }
    Ok(scenarios)
}

/// Cells that no laboratory can be, for the same reasons.
struct LeftOut<'a> {
    first: &'a Cell,
    /// How many there are beside it.
    others: usize,
    why: Vec<String>,
}

impl LeftOut<'_> {
    fn words(&self, experiment: &Experiment) -> String {
        let others = match self.others {
            0 => String::new(),
            1 => " and one more".to_owned(),
            others => format!(" and {others} more"),
        };
        let who = format!("{}{others}", experiment.describe(self.first));
        self.why.iter().map(|why| format!("  {who}: {why}")).collect::<Vec<_>>().join("\n")
    }
}

fn scenario(experiment: &Experiment, cell: &Cell, world: &Scenario) -> RealScenario {
    let groups = world.clients.iter().map(|group| RealQuantity::Failed(Cow::Owned(group.name.clone())));
    let mut quantities: Vec<RealQuantity> = groups.collect();
    quantities.extend([
        RealQuantity::Cause(FailureCause::Reset),
        RealQuantity::FailuresKnown,
        RealQuantity::Across,
        RealQuantity::MeanRequest,
        RealQuantity::HealthTransitions,
        RealQuantity::HeldUnhealthy,
        RealQuantity::Detections,
        RealQuantity::Recoveries,
    ]);
    let name = match experiment.cells() {
        [_] => experiment.name().to_owned(),
        _ => format!("{}: {}", experiment.name(), experiment.describe(cell)),
    };
    RealScenario {
        name: Cow::Owned(name),
        text: experiment.document().to_owned(),
        cell: cell.index,
        forwarding: Forwarding::Marks,
        runs: RUNS,
        quantities,
    }
}
