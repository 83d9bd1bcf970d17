//! `zonesim explain`: every set on the way from configured to modified eligible backends, in one state of health.
//!
//! The sets come from [`decide`], which the engine asks too; nothing is decided here.

mod reason;
mod text;

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};

use super::console::Console;
use super::{OverrideArgs, Status, TextFormat, UsageError, read_experiment};
use crate::experiment::{Cell, Experiment, Overrides, nearest};
use crate::ids::{BackendId, ClientId};
use crate::lb::backend::{BackendSet, Role, Roster};
use crate::lb::policy::{PlacementOutcome, TrafficOrigin};
use crate::lb::tracking::Tracker;
use crate::lb::zonal_affinity::decide;
use crate::sim::scenario::{BackendSpec, Scenario};
use reason::because;

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
    let explanations = explain_all(&experiment, args)?;
    let output = match args.format {
        TextFormat::Text => text::render(&explanations),
        TextFormat::Json => serde_json::to_string_pretty(&explanations)? + "\n",
    };
    console.data(&output)?;
    Ok(Status::Done)
}

/// Primaries and failovers apart; of a target pool, its own instances and those of its backup pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct ByRole {
    primary: Vec<String>,
    failover: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct OriginalEligible {
    kind: &'static str,
    backends: Vec<String>,
}

/// One client group in one cell. A set that is not computed is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
struct Explanation {
    arm: String,
    client: String,
    client_zone: String,
    compatible: bool,
    configured: ByRole,
    healthy: Vec<String>,
    original_eligible: OriginalEligible,
    zonal_match_test: Option<Vec<String>>,
    zonal_matched: Option<Vec<String>>,
    intersection: Option<Vec<String>>,
    healthy_share: Option<f64>,
    spillover: &'static str,
    spillover_ratio: Option<f64>,
    modified_eligible: Vec<String>,
    outcome: &'static str,
    because: String,
    /// What kind of load balancer it is.
    #[serde(skip)]
    tracker: Tracker,
    /// The cell's other axis values, where its arm or the experiment sweeps any.
    #[serde(skip_serializing_if = "Map::is_empty")]
    axes: Map<String, Value>,
}

fn explain_all(experiment: &Experiment, args: &ExplainArgs) -> anyhow::Result<Vec<Explanation>> {
    let mut arms: Vec<&str> = experiment.cells().iter().map(|cell| cell.arm.as_str()).collect();
    arms.dedup();
    check_name("arm", args.arm.as_deref(), &arms)?;
    check_down(experiment, &args.down)?;
    let mut explanations = Vec::new();
    for cell in experiment.cells() {
        if args.arm.as_ref().is_some_and(|arm| *arm != cell.arm) {
            continue;
        }
        let scenario = experiment.scenario(cell);
        let clients: Vec<&str> = scenario.clients.iter().map(|client| client.name.as_str()).collect();
        check_name("client", args.client.as_deref(), &clients)?;
        let down = backends_called(&scenario, &args.down);
        let roster = Roster::of(scenario.zones.len(), scenario.members(|backend| !down.contains(&backend)));
        for (client, group) in scenario.clients.pairs() {
            if args.client.as_ref().is_none_or(|name| *name == group.name) {
                explanations.push(explain_one(experiment, cell, &scenario, &roster, client));
            }
        }
    }
    Ok(explanations)
}

fn explain_one(
    experiment: &Experiment,
    cell: &Cell,
    scenario: &Scenario,
    roster: &Roster,
    client: ClientId,
) -> Explanation {
    let group = &scenario.clients[client];
    let decision = decide(roster, &scenario.balancer.policy, group.origin);
    let names = |set: BackendSet| -> Vec<String> {
        roster.members(set).map(|id| roster.name(id).to_owned()).collect()
    };
    let zonal_match = decision.zonal_match;
    // What a backend sends to its own load balancer never leaves it (ELIG-14).
    let own = group.own_backends.iter().map(|id| roster.name(*id).to_owned());
    let own = (!group.own_backends.is_empty()).then(|| own.collect::<Vec<_>>());
    let reaches_itself = "a backend that sends to its own load balancer reaches itself, healthy or not";
    let axes = experiment.axes().iter().zip(&cell.values).filter_map(|(axis, value)| {
        let value = value.as_ref()?;
        // This one is a field of every element.
        (axis.column != "spillover_ratio").then(|| (axis.column.clone(), value.to_json()))
    });
    Explanation {
        arm: cell.arm.clone(),
        client: group.name.clone(),
        client_zone: scenario.places[group.place].name.clone(),
        compatible: matches!(group.origin, TrafficOrigin::Zone(_)),
        configured: ByRole {
            primary: names(BackendSet::configured(Role::Primary)),
            failover: names(BackendSet::configured(Role::Failover)),
        },
        healthy: healthy_names(roster),
        original_eligible: OriginalEligible {
            kind: decision.kind.name(),
            backends: decision.kind.set().map(names).unwrap_or_default(),
        },
        zonal_match_test: decision.test.map(names),
        // Sought and not found is an empty set; not sought is none.
        zonal_matched: decision
            .test
            .map(|_| zonal_match.map(|found| names(found.matched)).unwrap_or_default()),
        intersection: zonal_match.map(|found| names(found.intersection)),
        healthy_share: zonal_match.map(|found| found.eligible_count as f64 / found.matched_count as f64),
        spillover: scenario.balancer.policy.zonal_affinity.spillover(),
        spillover_ratio: scenario.balancer.policy.zonal_affinity.spillover_ratio().map(f64::from),
        outcome: if own.is_some() { PlacementOutcome::OwnBackend.name() } else { decision.outcome.name() },
        because: match own {
            Some(_) => reaches_itself.to_owned(),
            None => because(scenario, roster, group.origin, &decision),
        },
        modified_eligible: own.unwrap_or_else(|| decision.modified.map(names).unwrap_or_default()),
        tracker: scenario.balancer.tracking.tracker,
        axes: axes.collect(),
    }
}

fn healthy_names(roster: &Roster) -> Vec<String> {
    let healthy = roster.all().iter().filter(|member| member.configured && member.healthy);
    healthy.map(|member| member.backend.name.clone()).collect()
}

/// The backends that `names` name, each a backend or a group.
fn backends_called(scenario: &Scenario, names: &[String]) -> Vec<BackendId> {
    let is_named = |spec: &BackendSpec| {
        names.iter().any(|name| spec.name == *name || scenario.groups[spec.group].name == *name)
    };
    scenario.backends.pairs().filter(|(_, spec)| is_named(spec)).map(|(id, _)| id).collect()
}

/// Checks that each of `names` names backends in some cell: arms may have different ones.
fn check_down(experiment: &Experiment, names: &[String]) -> anyhow::Result<()> {
    let mut unknown_names: Vec<&String> = names.iter().collect();
    for cell in experiment.cells() {
        if unknown_names.is_empty() {
            return Ok(());
        }
        let scenario = experiment.scenario(cell);
        unknown_names.retain(|name| backends_called(&scenario, std::slice::from_ref(name)).is_empty());
    }
    let (Some(name), Some(cell)) = (unknown_names.first(), experiment.cells().first()) else {
        return Ok(());
    };
    let scenario = experiment.scenario(cell);
    let known: Vec<&str> = scenario.backends.iter().map(|spec| spec.name.as_str()).collect();
    bail!(UsageError(unknown("backend", name, &known)))
}

fn check_name(what: &str, name: Option<&str>, known: &[&str]) -> anyhow::Result<()> {
    match name {
        Some(name) if !known.contains(&name) => bail!(UsageError(unknown(what, name, known))),
        _ => Ok(()),
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(near) => format!("there is no {what} {name:?}; did you mean {near:?}?"),
        None => format!("there is no {what} {name:?}; there are {}", known.join(", ")),
    }
}
