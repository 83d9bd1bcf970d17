//! `zonesim validate --real`: the same worlds in the simulation and on the kernel's own network.

use std::borrow::Cow;
use std::fs;
use std::io::{self, BufRead, Read};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};

use super::RealArgs;
use crate::cli::console::Console;
use crate::cli::signals::{Finishing, asked};
use crate::cli::{Status, UsageError};
use crate::experiment::Overrides;
use crate::reality::crew::{Crew, obstacle};
use crate::reality::lab::{self, LabOrder};
use crate::reality::limits::beyond;
use crate::reality::observation::RunObservation;
use crate::reality::quantity::RealQuantity;
use crate::reality::scenarios::{self, Forwarding, RealScenario};
use crate::reality::table::{RealMachine, render};
use crate::reality::verdict::{RealFinding, judge};
use crate::reality::{verdict, world::World};
use crate::results::disk::write_whole;
use crate::sim::outcome::FailureCause;

/// The command that is a laboratory: for this program alone.
pub(in crate::cli) const LABORATORY: &str = "laboratory";
/// Simulated runs of each scenario.
const SIMULATED: u32 = 300;
/// Runs of a file's world on the kernel's network, unless asked for otherwise.
const RUNS_OF_A_FILE: u32 = 8;

/// Compares, and writes the table; a row that disagrees is a failure.
pub(super) fn compare(
    args: &RealArgs,
    (file, out): (Option<&Path>, &Path),
    jobs: usize,
    console: &Console,
) -> anyhow::Result<Status> {
    let mut scenarios = scenarios_of(args, file)?;
    for scenario in &mut scenarios {
        scenario.runs = args.runs.map_or(scenario.runs, |runs| runs.get());
    }
    let worlds = scenarios.iter().map(world).collect::<anyhow::Result<Vec<World>>>()?;
    if let Some(why) = obstacle() {
        console.insist(&format!("SKIPPED: {why}"));
        return Ok(Status::Done);
    }
    let _finishing = Finishing::begin();
    let simulated = simulate(args, &scenarios, jobs, console)?;
    let real = build(&scenarios, args.laboratories, console)?;
    if let Some(status) = asked() {
        return Ok(status);
    }
    let mut findings: Vec<RealFinding> = Vec::new();
    for (((scenario, world), real), simulated) in scenarios.iter().zip(&worlds).zip(&real).zip(&simulated) {
        findings.extend(verdict::compare(scenario, &world.scenario, real, simulated));
    }
    judge(&mut findings);
    write_whole(out, render(&findings, &machine()?, SIMULATED).as_bytes())?;
    let wrong: Vec<&RealFinding> = findings.iter().filter(|finding| !finding.agrees).collect();
    for finding in &wrong {
        console.warn(&format!("{}: {} disagrees", finding.scenario, finding.quantity));
    }
    console.note(&format!("{} quantities in {}", findings.len(), out.display()));
    Ok(if wrong.is_empty() { Status::Done } else { Status::Failed })
}

fn scenarios_of(args: &RealArgs, file: Option<&Path>) -> anyhow::Result<Vec<RealScenario>> {
    let mut scenarios = match file {
        Some(_) if args.smoke => {
            return Err(UsageError("--smoke has scenarios of its own; leave the file out".to_owned()).into());
        }
        Some(file) => vec![of_file(file)?],
        None if args.smoke => scenarios::smoke(),
        None => scenarios::all(),
    };
    if let Some(part) = &args.only {
        scenarios.retain(|scenario| scenario.name.contains(part));
        if scenarios.is_empty() {
            return Err(UsageError(format!("no scenario's name holds {part:?}")).into());
        }
    }
    Ok(scenarios)
}

/// The scenario that a user wrote, with everything compared that both sides count.
fn of_file(file: &Path) -> anyhow::Result<RealScenario> {
    // For errors that show its lines; what it names beside it is no part of a laboratory.
    let experiment = crate::experiment::Experiment::read(file, &Overrides::default())?;
    let world = World::read(&file.display().to_string(), experiment.document(), &Overrides::default())?;
    let beyond = beyond(&world.scenario, Forwarding::Marks);
    if !beyond.is_empty() {
        let shown = file.display();
        return Err(UsageError(format!("no laboratory can be {shown}:\n  {}", beyond.join("\n  "))).into());
    }
    let groups =
        world.scenario.clients.iter().map(|group| RealQuantity::Failed(Cow::Owned(group.name.clone())));
    let mut quantities: Vec<RealQuantity> = groups.collect();
    quantities.extend([
        RealQuantity::Cause(FailureCause::Reset),
        RealQuantity::Across,
        RealQuantity::MeanRequest,
        RealQuantity::HealthTransitions,
        RealQuantity::HeldUnhealthy,
        RealQuantity::Detections,
        RealQuantity::Recoveries,
    ]);
    Ok(RealScenario {
        name: Cow::Owned(experiment.name().to_owned()),
        text: experiment.document().to_owned(),
        forwarding: Forwarding::Marks,
        runs: RUNS_OF_A_FILE,
        quantities,
    })
}

fn world(scenario: &RealScenario) -> anyhow::Result<World> {
    Ok(World::read(&scenario.name, &scenario.text, &Overrides::default())?)
}

/// Simulates every scenario, with what is set in the simulation alone.
fn simulate(
    args: &RealArgs,
    scenarios: &[RealScenario],
    jobs: usize,
    console: &Console,
) -> anyhow::Result<Vec<Vec<RunObservation>>> {
    let overrides = Overrides { set: args.simulate_with.clone(), ..Overrides::default() };
    let jobs = NonZeroUsize::new(jobs).unwrap_or(NonZeroUsize::MIN);
    let mut simulated = Vec::new();
    for scenario in scenarios {
        let world = World::read(&scenario.name, &scenario.text, &overrides)?;
        let is_sticky = args.sticky_syns || scenario.forwarding == Forwarding::Dnat;
        let world = if is_sticky { world.with_sticky_syns() } else { world };
        simulated.push(world.simulate(SIMULATED, jobs)?);
        if asked().is_some() {
            break;
        }
    }
    console.note(&format!("simulated {} worlds {SIMULATED} times each", simulated.len()));
    Ok(simulated)
}

/// Runs every scenario on the kernel's network; gives what each run showed.
fn build(
    scenarios: &[RealScenario],
    side_by_side: NonZeroUsize,
    console: &Console,
) -> anyhow::Result<Vec<Vec<RunObservation>>> {
    let program = std::env::current_exe().context("can't find this program")?;
    let mut order_of: Vec<usize> = Vec::new();
    let mut orders = Vec::new();
    for (number, scenario) in scenarios.iter().enumerate() {
        for run in 0..scenario.runs {
            let (experiment, forwarding) = (scenario.text.clone(), scenario.forwarding);
            orders.push(LabOrder { experiment, forwarding, run });
            order_of.push(number);
        }
    }
    let all = orders.len();
    let mut found: Vec<Vec<RunObservation>> = vec![Vec::new(); scenarios.len()];
    let mut done = 0;
    let crew = Crew::new((program, LABORATORY), orders, side_by_side.get());
    crew.run(
        || asked().is_none(),
        |order, observation| {
            let scenario = order_of[order];
            found[scenario].push(observation);
            done += 1;
            console.note(&format!("{done} of {all}: {}", scenarios[scenario].name));
        },
    )
    .map_err(|error| anyhow!(error))?;
    Ok(found)
}

/// Is a laboratory: takes its order from standard input, and ends as soon as that is closed.
pub(in crate::cli) fn laboratory(console: &Console) -> anyhow::Result<Status> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line).context("can't read an order")?;
    let order: LabOrder =
        serde_json::from_str(&line).context("an order is one line of JSON from `zonesim validate --real`")?;
    std::thread::spawn(|| {
        // Nothing more comes but the end.
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        process::exit(Status::Interrupted as i32);
    });
    let observation = lab::run(&order)?;
    console.data(&serde_json::to_string(&observation)?)?;
    Ok(Status::Done)
}

fn machine() -> anyhow::Result<RealMachine> {
    let kernel =
        fs::read_to_string("/proc/sys/kernel/osrelease").context("can't read the kernel's version")?;
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    #[expect(clippy::disallowed_methods, reason = "a measurement has a date")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock stands before 1970")?;
    Ok(RealMachine { kernel: kernel.trim().to_owned(), processors, date: date(now.as_secs() / 86_400) })
}

/// The date so many days after 1970-01-01 (Hinnant, chrono-Compatible Low-Level Date Algorithms: `civil_from_days`).
fn date(days: u64) -> String {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, expected) in
            [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_788, "2026-12-01")]
        {
            assert_eq!(date(days), expected);
        }
    }
}
