//! `zonesim report`: a results folder as one page.

use std::path::PathBuf;

use clap::Args;

use super::console::Console;
use super::{Status, check_has_results};
use crate::figures::page;
use crate::job::manifest::Manifest;
use crate::results::PAGE;

#[derive(Debug, Args)]
pub(super) struct ReportArgs {
    /// A results folder.
    #[arg(value_name = "RESULTS_DIR")]
    folder: PathBuf,
    /// The page [default: report.html in the folder].
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn report(args: &ReportArgs, console: &Console) -> anyhow::Result<Status> {
    check_has_results(&args.folder)?;
    let out = args.out.clone().unwrap_or_else(|| args.folder.join(PAGE));
    page::write(&args.folder, &out)?;
    Manifest::enlist(&args.folder, std::slice::from_ref(&out))?;
    console.note(&format!("report in {}", out.display()));
    Ok(Status::Done)
}
