//! `zonesim explain`: every set on the way from configured to modified eligible backends, in one state of health.

pub(crate) mod text;

use std::path::PathBuf;

use clap::Args;

use super::console::Console;
use super::{OverrideArgs, Status, TextFormat, read_experiment};
use crate::answers::explain::explain as answer;
use crate::experiment::Overrides;

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The experiment file.
    #[arg(value_name = "EXPERIMENT.toml")]
    file: PathBuf,
    /// Backends that are unhealthy, by name; a group's name stands for all its members. All others are healthy.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    down: Vec<String>,
    /// Only this client group.
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    /// Only this arm.
    #[arg(long, value_name = "NAME")]
    arm: Option<String>,
    #[command(flatten)]
    overrides: OverrideArgs,
    /// A table to read, or one JSON array.
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

pub(super) fn explain(args: &ExplainArgs, console: &Console) -> anyhow::Result<Status> {
    let overrides = Overrides { set: args.overrides.set.clone(), ..Overrides::default() };
    let experiment = read_experiment(Some(&args.file), &overrides)?;
    let explanations = answer(&experiment, &args.down, args.arm.as_deref(), args.client.as_deref())?;
    let output = match args.format {
        TextFormat::Text => text::render(&explanations),
        TextFormat::Json => serde_json::to_string_pretty(&explanations)? + "\n",
    };
    console.data(&output)?;
    Ok(Status::Done)
}
