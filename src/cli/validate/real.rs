//! `zonesim validate --real`: the same worlds in the simulation and on the kernel's own network.

mod file;

use std::fs;
use std::io::{self, BufRead, Read};
use std::num::NonZeroUsize;
use std::path::Path;
use std::process;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, anyhow};

use super::RealArgs;
use crate::cli::console::Console;
use crate::cli::signals::{Finishing, asked};
use crate::cli::{Status, UsageError};
use crate::experiment::{Experiment, Overrides, Source};
use crate::reality::crew::{Crew, obstacle};
use crate::reality::lab::{self, LabOrder};
use crate::reality::observation::RunObservation;
use crate::reality::scenarios::{self, Forwarding, RealScenario};
use crate::reality::table::{RealMachine, render};
use crate::reality::verdict::{RealFinding, judge};
use crate::reality::{verdict, world::World};
use crate::results::disk::write_whole;
use crate::sim::scenario::Scenario;

/// The command that is a laboratory: for this program alone.
pub(in crate::cli) const LABORATORY: &str = "laboratory";
/// Simulated runs of each scenario.
const SIMULATED: u32 = 300;
/// What a laboratory takes beyond its world's own time: it is set up, and its last connections end.
const AROUND: Duration = Duration::from_secs(4);

/// Compares, and writes the table; a row that disagrees is a failure.
pub(super) fn compare(
    args: &RealArgs,
    (file, out): (Option<&Path>, &Path),
    jobs: usize,
    console: &Console,
) -> anyhow::Result<Status> {
    let mut scenarios = scenarios_of(args, file, console)?;
    for scenario in &mut scenarios {
        scenario.runs = args.runs.map_or(scenario.runs, |runs| runs.get());
    }
    let no_overrides = Overrides::default();
    let world = |scenario: &RealScenario| world(scenario, &no_overrides);
    let worlds = scenarios.iter().map(world).collect::<anyhow::Result<Vec<World>>>()?;
    if let Some(why) = obstacle() {
        console.insist(&format!("SKIPPED: {why}"));
        return Ok(Status::Done);
    }
    let runs: u32 = scenarios.iter().map(|scenario| scenario.runs).sum();
    let takes = minutes(expected(&scenarios, &worlds, args.laboratories));
    console.note(&format!("{runs} runs on the kernel's network: {takes}"));
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

fn scenarios_of(
    args: &RealArgs,
    file: Option<&Path>,
    console: &Console,
) -> anyhow::Result<Vec<RealScenario>> {
    let mut scenarios = match file {
        Some(_) if args.smoke => {
            return Err(UsageError("--smoke has scenarios of its own; leave the file out".to_owned()).into());
        }
        Some(file) => file::scenarios(file, console)?,
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

/// The world of `scenario`, with `overrides` that leave its cell what it is.
fn world(scenario: &RealScenario, overrides: &Overrides) -> anyhow::Result<World> {
    let read = |overrides: &Overrides| {
        let source = Source { name: scenario.name.to_string(), text: scenario.text.clone() };
        Experiment::parse(source, overrides)
    };
    let experiment = read(overrides)?;
    let cell = experiment.cells().get(scenario.cell);
    if !overrides.set.is_empty() {
        let written = read(&Overrides::default())?;
        let words = written.describe(&written.cells()[scenario.cell]);
        if cell.map(|cell| experiment.describe(cell)) != Some(words) {
            let what =
                "--simulate-with changes which cells there are; set keys that are neither arms nor axes";
            return Err(UsageError(what.to_owned()).into());
        }
    }
    Ok(World::of_cell(&experiment, cell.expect("it is one of its cells")))
}

/// How long all runs on the kernel's network take, `side_by_side` at a time and in their order.
fn expected(scenarios: &[RealScenario], worlds: &[World], side_by_side: NonZeroUsize) -> Duration {
    let mut free_after = vec![Duration::ZERO; side_by_side.get()];
    for (scenario, world) in scenarios.iter().zip(worlds) {
        let window = Duration::from_nanos(world.scenario.timing.window_end().as_nanos());
        let takes = window + longest_connection(&world.scenario) + AROUND;
        for _ in 0..scenario.runs {
            // A laboratory begins as soon as another has ended.
            *free_after.iter_mut().min().expect("at least one") += takes;
        }
    }
    free_after.into_iter().max().unwrap_or_default()
}

/// How long connections are, in the mean of the group whose are the longest.
fn longest_connection(scenario: &Scenario) -> Duration {
    let thinks = scenario.clients.iter().map(|group| {
        let pauses = group.connection.requests.mean() - 1.0;
        // Nanoseconds.
        pauses.max(0.0) * group.connection.think_time.mean()
    });
    Duration::from_nanos(thinks.fold(0.0, f64::max) as u64)
}

fn minutes(time: Duration) -> String {
    match time.as_secs().div_ceil(60) {
        1 => "about a minute".to_owned(),
        minutes => format!("about {minutes} minutes"),
    }
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
        let world = world(scenario, &overrides)?;
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
            let RealScenario { text, cell, forwarding, .. } = scenario.clone();
            orders.push(LabOrder { experiment: text, cell, forwarding, run });
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
    fn the_time_is_that_of_laboratories_side_by_side() {
        let smoke = scenarios::smoke();
        let world = |scenario| world(scenario, &Overrides::default()).unwrap();
        let worlds: Vec<World> = smoke.iter().map(world).collect();
        // Three runs of 29 s, with 5 s of warm-up and what is around them, and three with connections that last 7 s more.
        for (side_by_side, seconds) in [(1, 3 * 29 + 3 * 36), (3, 29 + 36), (6, 36), (16, 36)] {
            let side_by_side = NonZeroUsize::new(side_by_side).unwrap();
            assert_eq!(expected(&smoke, &worlds, side_by_side).as_secs(), seconds);
        }
        assert_eq!(minutes(Duration::from_secs(29)), "about a minute");
        assert_eq!(minutes(Duration::from_secs(174)), "about 3 minutes");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (days, expected) in
            [(0, "1970-01-01"), (59, "1970-03-01"), (11_016, "2000-02-29"), (20_788, "2026-12-01")]
        {
            assert_eq!(date(days), expected);
        }
    }
}
