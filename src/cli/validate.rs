//! `zonesim validate`: runs every case of which theory gives the exact answer, and writes a table; with `--real`, every
//! scenario that is built on the kernel's own network too.

#[cfg(target_os = "linux")]
pub(super) mod real;

use std::fs;
use std::num::{NonZeroU32, NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use super::console::Console;
use super::{Status, threads};
use crate::results::disk::write_whole;
use crate::validation::coverage::{self, Coverage};
use crate::validation::verdicts::{self, Verdicts};
use crate::validation::{all, soak, table};

#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    /// The file of the table [default: results/validation.md, results/soak.md or results/reality.md].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Threads [default: one for each core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Measure too how often intervals hold exact values and claims are wrong, over 1000 studies each: some minutes.
    #[arg(long)]
    coverage: bool,
    /// Run so many random worlds instead, twice each, with every check: 100000 take half an hour.
    #[arg(long, value_name = "N", conflicts_with = "coverage")]
    soak: Option<NonZeroU64>,
    /// The number of the first of them.
    #[arg(long, value_name = "NUMBER", default_value_t = 0, requires = "soak")]
    first: u64,
    /// Build worlds on the kernel's own network, and hold the simulation against them: those of a file's cells, or without a
    /// file the scenarios of results/reality.md, in a quarter of an hour. Needs Linux with nftables and iproute2, and no
    /// rights.
    #[arg(long, value_name = "EXPERIMENT.toml", num_args = 0..=1, conflicts_with_all = ["coverage", "soak"])]
    #[expect(clippy::option_option, reason = "the option may stand alone")]
    real: Option<Option<PathBuf>>,
    #[command(flatten)]
    laboratories: RealArgs,
}

/// What goes with `--real`.
#[derive(Debug, Args)]
pub(super) struct RealArgs {
    /// With --real: two short scenarios, to see that everything works.
    #[arg(long, requires = "real")]
    smoke: bool,
    /// With --real: runs of each scenario [default: 4 to 10 of the scenarios, 8 of each cell of a file].
    #[arg(long, value_name = "N", requires = "real")]
    runs: Option<NonZeroU32>,
    /// With --real: how many laboratories there are at a time.
    #[arg(long, value_name = "N", default_value = "16", requires = "real")]
    laboratories: NonZeroUsize,
    /// With --real: only scenarios, or cells of the file, whose names hold this.
    #[arg(long, value_name = "TEXT", requires = "real")]
    only: Option<String>,
    /// With --real: set a key in the simulation alone, to see whether a wrong model is found out. May be repeated.
    #[arg(long, value_name = "PATH=VALUE", value_parser = super::parse_set, requires = "real")]
    simulate_with: Vec<(String, String)>,
    /// With --real: have SYNs follow the entry of their connection in the simulation, against the rules, to see that this is
    /// found out.
    #[arg(long, requires = "real")]
    sticky_syns: bool,
}

pub(super) fn validate(args: &ValidateArgs, console: &Console) -> anyhow::Result<Status> {
    let jobs = threads(args.jobs)?;
    let usual = match (&args.real, args.soak) {
        (Some(_), _) => "results/reality.md",
        (None, Some(_)) => "results/soak.md",
        (None, None) => "results/validation.md",
    };
    let out = args.out.as_deref().unwrap_or(Path::new(usual));
    if out.is_dir() {
        bail!("{} is a folder; name a file", out.display());
    }
    let folder = out.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
    if let Some(count) = args.soak {
        return soak(args.first, count.get(), (jobs, out), console);
    }
    match &args.real {
        Some(file) => hold_against_reality(args, (file.as_deref(), out), jobs, console),
        None => hold_against_theory(args, out, jobs, console),
    }
}

#[cfg(target_os = "linux")]
fn hold_against_reality(
    args: &ValidateArgs,
    (file, out): (Option<&Path>, &Path),
    jobs: usize,
    console: &Console,
) -> anyhow::Result<Status> {
    real::compare(&args.laboratories, (file, out), jobs, console)
}

#[cfg(not(target_os = "linux"))]
fn hold_against_reality(
    _: &ValidateArgs,
    _: (Option<&Path>, &Path),
    _: usize,
    console: &Console,
) -> anyhow::Result<Status> {
    console.insist("SKIPPED: laboratories are namespaces of Linux, and this is another system");
    Ok(Status::Done)
}

fn hold_against_theory(
    args: &ValidateArgs,
    out: &Path,
    jobs: usize,
    console: &Console,
) -> anyhow::Result<Status> {
    let mut findings = Vec::new();
    for case in all() {
        findings.extend(case.run(jobs)?);
        console.note(&format!("ran {}", case.name));
    }
    let mut text = table::render(&findings);
    let (mut coverages, mut verdicts) = (Vec::new(), Vec::new());
    if args.coverage {
        coverages = coverage::measure(jobs, |found: &[Coverage]| {
            for it in found {
                console.note(&format!("{} of {} covered: {}", it.covered, it.experiments, it.name));
            }
        })?;
        verdicts = verdicts::measure(|found: &Verdicts| {
            console.note(&format!("{} of {} wrong: {}", found.wrong, found.studies, found.name));
        });
        text += &(coverage::render(&coverages) + &verdicts::render(&verdicts));
    } else {
        console.note("intervals are not checked; --coverage does that");
    }
    write_whole(out, text.as_bytes())?;
    let wrong: Vec<&str> = findings.iter().filter(|finding| !finding.agrees()).map(|it| &*it.name).collect();
    for name in &wrong {
        console.warn(&format!("{name}: theory lies outside the interval of 99.9 %, or that is too wide"));
    }
    let loose = coverages.iter().filter(|coverage| !coverage.is_right());
    for name in loose.clone().map(|coverage| coverage.name) {
        console.warn(&format!("{name}: intervals of 95 % cover less than 93 or more than 97 %"));
    }
    let false_claims = verdicts.iter().filter(|verdicts| !verdicts.is_right());
    for found in false_claims.clone() {
        console.warn(&format!("{}: in more than 5 % of the studies", found.name));
    }
    console.note(&format!("{} quantities in {}", findings.len(), out.display()));
    let all_right = wrong.is_empty() && loose.count() == 0 && false_claims.count() == 0;
    Ok(if all_right { Status::Done } else { Status::ThresholdMissed })
}

fn soak(first: u64, count: u64, (jobs, out): (usize, &Path), console: &Console) -> anyhow::Result<Status> {
    /// How many worlds lie between two notes of how many are done.
    const STEP: u64 = 1000;
    let mut said = 0;
    let found = soak::soak(first, count, jobs, |done| {
        if done / STEP > said {
            said = done / STEP;
            console.note(&format!("{} of {count} worlds", said * STEP));
        }
        false
    });
    write_whole(out, found.render().as_bytes())?;
    for (number, why) in &found.wrong {
        console.warn(&format!("world {number}: {why}; --soak 1 --first {number} runs it again"));
    }
    console.note(&format!("{} worlds, {} events, in {}", found.worlds, found.events, out.display()));
    Ok(if found.wrong.is_empty() { Status::Done } else { Status::Failed })
}
