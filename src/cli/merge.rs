//! `zonesim merge`: joins the shards of an experiment into one results folder.

use std::path::PathBuf;

use clap::Args;

use super::closing::close;
use super::console::Console;
use super::run::watching::{Terminal, told};
use super::{ChartArgs, Status, check_is_folder};
use crate::job::merge;

#[derive(Debug, Args)]
pub(super) struct MergeArgs {
    /// The folders of all shards, in any order.
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// The results folder to make; it must not hold anything yet.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    charts: ChartArgs,
}

pub(super) fn merge(args: &MergeArgs, console: &Console) -> anyhow::Result<Status> {
    args.folders.iter().try_for_each(|folder| check_is_folder(folder))?;
    let mut terminal = Terminal::new(console, args.charts.files());
    let merged = merge::merge(&args.folders, &args.out, &mut terminal).map_err(told)?;
    Ok(close(&merged, &args.out, console))
}
