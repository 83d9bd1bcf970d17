//! `zonesim explain`: every set on the way from configured to modified eligible backends, in one state of health.

pub(crate) mod text;

use clap::Args;

use super::console::Console;
use super::findings;
use super::{ExperimentArgs, Status, TextFormat};
use crate::answers::explain::{ExplainQuestion, explain as answer, unnoticed};
use crate::time::{SimDuration, SimTime};

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// Backends that are unhealthy: names, ranges (`ig-a-1..4`), groups and zones. All others are healthy.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    down: Vec<String>,
    /// The moment, on the clock that starts with the warm-up: after the operations until then, and with the faults that last
    /// then.
    #[arg(long, value_name = "TIME")]
    at: Option<SimDuration>,
    /// Only this forwarding rule.
    #[arg(long, value_name = "NAME")]
    rule: Option<String>,
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
    let question = ExplainQuestion {
        down: &args.down,
        arm,
        client: args.client.as_deref(),
        rule: args.rule.as_deref(),
        at: args.at.map(|at| SimTime::ZERO + at),
    };
    let explanations = answer(&experiment, question)?;
    findings::say(&experiment, arm, console);
    let unnoticed = unnoticed(&experiment, &args.down, arm)?;
    unnoticed.iter().for_each(|sentence| console.note(&format!("note: {sentence}")));
    console.data(&match args.format {
        TextFormat::Text => text::render(&explanations),
        TextFormat::Json => serde_json::to_string_pretty(&explanations)? + "\n",
    })?;
    Ok(Status::Done)
}
