//! `zonesim merge`: joins the shards of an experiment into one results folder.

use std::path::PathBuf;

use clap::Args;

use super::closing::close;
use super::console::Console;
use super::{ChartFormat, Status, UsageError, check_is_folder};
use crate::experiment::{Experiment, Overrides};
use crate::figures::charts::draw_all;
use crate::job::merge::{MergeError, Shards};

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// The folders of all shards, in any order.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The results folder to make; it must not hold anything yet.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Write no charts.
    #[arg(long)]
    no_charts: bool,
    /// How charts are written: pixels, shapes, or both.
    #[arg(long, value_enum, default_value_t = ChartFormat::Png, value_name = "FORMAT")]
    format: ChartFormat,
}

pub(super) fn merge(args: &MergeArgs, console: &Console) -> anyhow::Result<Status> {
    args.folders.iter().try_for_each(|folder| check_is_folder(folder))?;
    let shards = Shards::open(&args.folders).map_err(refused)?;
    let experiment = Experiment::read(&shards.experiment_file(), &Overrides::default())?;
    let experiment = shards.settled(experiment).map_err(refused)?;
    let whole = shards.check(&experiment).map_err(refused)?;
    let charts = || -> anyhow::Result<()> {
        if !args.no_charts {
            draw_all(&args.out, args.format.files(), |_| {})?;
        }
        Ok(())
    };
    let merged = whole.merge(&experiment, &args.out, charts).map_err(|error| match error.downcast() {
        Ok(error) => refused(error),
        Err(error) => error,
    })?;
    Ok(close(&experiment, &merged.summaries, &merged.manifest, &args.out, console))
}

/// Folders that were named wrongly are wrong usage.
fn refused(error: MergeError) -> anyhow::Error {
    match error {
        MergeError::Unfit(_) | MergeError::Taken(_) => UsageError(error.to_string()).into(),
        _ => error.into(),
    }
}
