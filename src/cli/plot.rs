//! `zonesim plot`: draws the charts of a results folder again.

use std::path::PathBuf;

use clap::Args;

use super::console::Console;
use super::{ChartFormat, Status, check_has_results};
use crate::figures::charts::draw_all;
use crate::job::manifest::Manifest;
use crate::results::{CHARTS, missing_details};

#[derive(Debug, Args)]
pub(super) struct PlotArgs {
    /// A results folder.
    #[arg(value_name = "RESULTS_DIR")]
    folder: PathBuf,
    /// Pixels, shapes, or both.
    #[arg(long, value_enum, default_value_t = ChartFormat::Png)]
    format: ChartFormat,
}

pub(super) fn plot(args: &PlotArgs, console: &Console) -> anyhow::Result<Status> {
    check_has_results(&args.folder)?;
    let charts = draw_all(&args.folder, args.format.files(), |path| {
        console.note(&format!("drew {}", path.display()));
    })?;
    Manifest::enlist(&args.folder, &charts)?;
    for name in missing_details(&args.folder) {
        console.note(&format!("{name} is not there, so that what it shows is not drawn"));
    }
    console.note(&format!("{} files in {}", charts.len(), args.folder.join(CHARTS).display()));
    Ok(Status::Done)
}
