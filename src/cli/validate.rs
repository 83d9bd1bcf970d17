//! `zonesim validate`: runs every case of which theory gives the exact answer, and writes a table.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;

use super::console::Console;
use super::{Status, threads};
use crate::validation::coverage::{self, Coverage};
use crate::validation::verdicts::{self, Verdicts};
use crate::validation::{all, table};

#[derive(Debug, Args)]
pub(super) struct ValidateArgs {
    /// The file of the table.
    #[arg(long, value_name = "FILE", default_value = "results/validation.md")]
    out: PathBuf,
    /// Threads [default: one for each core].
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Measure too how often intervals hold exact values and claims are wrong, over 1000 studies each: some minutes.
    #[arg(long)]
    coverage: bool,
}

pub(super) fn validate(args: &ValidateArgs, console: &Console) -> anyhow::Result<Status> {
    let jobs = threads(args.jobs)?;
    if args.out.is_dir() {
        bail!("{} is a folder; name a file", args.out.display());
    }
    let folder = args.out.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).with_context(|| format!("can't create {}", folder.display()))?;
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
    fs::write(&args.out, text).with_context(|| format!("can't write {}", args.out.display()))?;
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
    console.note(&format!("{} quantities in {}", findings.len(), args.out.display()));
    let all_right = wrong.is_empty() && loose.count() == 0 && false_claims.count() == 0;
    Ok(if all_right { Status::Done } else { Status::ThresholdMissed })
}
