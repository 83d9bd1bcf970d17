//! `zonesim explain`: every set on the way from configured to modified eligible backends, in one state of health.

pub(crate) mod text;

use clap::Args;

use super::console::Console;
use super::findings;
use super::{ExperimentArgs, Status, TextFormat};
use crate::answers::explain::explain as answer;

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// Backends that are unhealthy, by name; a group's name stands for all its members. All others are healthy.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    down: Vec<String>,
    /// Only this client group.
    #[arg(long, value_name = "NAME")]
    client: Option<String>,
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// A table to read, or one JSON array.
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

pub(super) fn explain(args: &ExplainArgs, console: &Console) -> anyhow::Result<Status> {
    let (experiment, arm) = (args.experiment.read()?, args.experiment.arm.as_deref());
    let explanations = answer(&experiment, &args.down, arm, args.client.as_deref())?;
    findings::say(&experiment, arm, console);
    console.data(&match args.format {
        TextFormat::Text => text::render(&explanations),
        TextFormat::Json => serde_json::to_string_pretty(&explanations)? + "\n",
    })?;
    Ok(Status::Done)
}
