//! `zonesim get-health`: health as the API tells it.

use clap::Args;
use serde_json::{Map, Value};

use super::console::Console;
use super::{ExperimentArgs, Status, TextFormat};
use crate::answers::explain::check_name;
use crate::answers::health::get_health as answer;
use crate::time::{SimDuration, SimTime};

#[derive(Debug, Args)]
pub(super) struct GetHealthArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// Only this backend service or target pool.
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// The moment, on the clock that starts with the warm-up: after the operations until then, and with the faults that last
    /// then.
    #[arg(long, value_name = "TIME")]
    at: Option<SimDuration>,
    /// Backends that are unhealthy too: names, ranges (`ig-a-1..4`), groups and zones.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    down: Vec<String>,
    /// As gcloud prints it, or its JSON: a list for one resource, lists by name for all.
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

pub(super) fn get_health(args: &GetHealthArgs, console: &Console) -> anyhow::Result<Status> {
    let (experiment, arm) = (args.experiment.read()?, args.experiment.arm.as_deref());
    check_name("arm", arm, experiment.arms())?;
    let mut cells = experiment.cells().iter().filter(|cell| arm.is_none_or(|arm| arm == cell.arm));
    let Some(cell) = cells.next() else { return Ok(Status::Done) };
    if cells.next().is_some() {
        let choice = if arm.is_some() { "--set chooses another" } else { "--arm and --set choose another" };
        console.note(&format!("note: this is cell {}, of arm {}; {choice}", cell.index, cell.arm));
    }
    let at = args.at.map(|at| SimTime::ZERO + at);
    let mut found = answer(&experiment, cell, (args.name.as_deref(), &args.down, at))?;
    let only = args.name.as_ref().and_then(|name| found.remove(name));
    console.data(&match (args.format, only) {
        (TextFormat::Json, Some(only)) => serde_json::to_string_pretty(&only)? + "\n",
        (TextFormat::Json, None) => serde_json::to_string_pretty(&found)? + "\n",
        (TextFormat::Text, Some(only)) => documents(&only),
        (TextFormat::Text, None) => by_name(&found),
    })?;
    Ok(Status::Done)
}

/// Each resource under its name.
fn by_name(found: &Map<String, Value>) -> String {
    found.iter().map(|(name, health)| format!("# {name}\n{}", documents(health))).collect()
}

/// A list as YAML documents.
fn documents(list: &Value) -> String {
    let documents = list.as_array().into_iter().flatten();
    documents.map(|document| format!("---\n{}", yaml(document, 0))).collect()
}

/// `value`, a table or a list of tables, as YAML, indented by so many spaces.
fn yaml(value: &Value, indent: usize) -> String {
    let space = " ".repeat(indent);
    let entry = |(key, value): (&String, &Value)| match value {
        Value::Object(_) => format!("{space}{key}:\n{}", yaml(value, indent + 2)),
        Value::Array(list) if list.is_empty() => format!("{space}{key}: []\n"),
        Value::Array(_) => format!("{space}{key}:\n{}", yaml(value, indent)),
        Value::String(text) => format!("{space}{key}: {text}\n"),
        other => format!("{space}{key}: {other}\n"),
    };
    match value {
        Value::Object(entries) => entries.iter().map(entry).collect(),
        Value::Array(list) => {
            let member = |member: &Value| {
                let text = yaml(member, indent + 2);
                format!("{space}- {}", text.trim_start())
            };
            list.iter().map(member).collect()
        }
        other => format!("{space}{other}\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_yaml_of_gcloud() {
        let health = serde_json::json!([{
            "backend": "groups/ig-a",
            "status": { "healthStatus": [{ "healthState": "HEALTHY", "port": 80 }], "kind": "k" },
        }, { "healthStatus": [] }]);
        let expected = "---\nbackend: groups/ig-a\nstatus:\n  healthStatus:\n  - healthState: HEALTHY\n    port: 80\n  \
                        kind: k\n---\nhealthStatus: []\n";
        assert_eq!(documents(&health), expected);
    }
}
