//! `zonesim expect`: what the rules alone say of every state of health, without simulating.

mod text;

use clap::Args;
use serde::Serialize;

use super::console::Console;
use super::offered::warn_of_overload;
use super::{AnswerFormat, ExperimentArgs, Status};
use crate::answers::expect::{
    Caveat, Expectation, STATES_MAX, Shares, State, ZonePool, caveats, expect_watched,
};
use crate::answers::explain::check_name;
use crate::answers::gather::distinct;
use crate::answers::offered::{OfferedLoad, OfferedLoads, OfferedRow};
use crate::experiment::{Cell, Experiment};
use crate::lb::backend::Role;
use crate::results::observed::QuestionError;
use crate::results::record::{Record, csv_text};
use crate::sim::scenario::Scenario;
use crate::time::SimDuration;

#[derive(Debug, Args)]
pub(super) struct ExpectArgs {
    #[command(flatten)]
    experiment: ExperimentArgs,
    /// A table to read, JSON, or CSV with one row for each cell and state of health.
    #[arg(long, value_enum, default_value_t = AnswerFormat::Table)]
    format: AnswerFormat,
}

/// A warm-up after which no world remembers how it began: ten years.
const LONG_WARMUP: SimDuration = SimDuration::from_secs(3650 * 86_400);

/// So many parts of the bar are a cell's.
const PARTS: u64 = 1000;

/// What is expected of one cell.
struct Expected<'a> {
    cell: &'a Cell,
    pools: Vec<String>,
    expectation: Expectation,
    caveats: Vec<Caveat>,
}

pub(super) fn expect(args: &ExpectArgs, console: &Console) -> anyhow::Result<Status> {
    let experiment = args.experiment.read()?;
    // A warm-up that is to be found is taken to be long enough.
    let experiment = if experiment.finds_warmup() { experiment.with_warmup(LONG_WARMUP) } else { experiment };
    let arm = args.experiment.arm.as_deref();
    check_name("arm", arm, experiment.arms())?;
    let wanted = |cell: &&Cell| arm.is_none_or(|arm| arm == cell.arm);
    let count = experiment.cells().iter().filter(wanted).count();
    let bar = console.bar(PARTS * count as u64);
    let cells = (0..).zip(experiment.cells().iter().filter(wanted)).map(|(number, cell)| {
        let scenario = experiment.scenario(cell);
        let watch = |done| bar.set_position(PARTS * number + (done * PARTS as f64) as u64);
        let (expectation, caveats) = (expect_watched(&scenario, STATES_MAX, watch)?, caveats(&scenario));
        Ok(Expected { cell, pools: pool_names(&scenario, &expectation.pools), expectation, caveats })
    });
    let cells = cells.collect::<Result<Vec<_>, QuestionError>>();
    bar.finish_and_clear();
    let cells = cells?;
    let offered =
        OfferedLoads::of(&experiment, &cells.iter().map(|expected| expected.cell).collect::<Vec<_>>());
    console.data(&match args.format {
        AnswerFormat::Table => text::render(&experiment, &cells, &offered),
        AnswerFormat::Csv => csv_text(&csv_records(&experiment, &cells)),
        AnswerFormat::Json => serde_json::to_string_pretty(&json(&experiment, &cells))? + "\n",
    })?;
    warn_of_overload(&offered, console);
    if cells.iter().any(|expected| expected.expectation.has_left_out()) {
        console.note(
            "note: states of health that are as good as impossible (10^-17 for each zone) are left out",
        );
    }
    if args.format == AnswerFormat::Csv {
        all_caveats(&cells).iter().for_each(|caveat| console.note(&format!("note: {caveat}")));
    }
    Ok(Status::Done)
}

/// What is left out in any of the cells, each once.
fn all_caveats<'a>(cells: &'a [Expected<'_>]) -> Vec<&'a str> {
    distinct(cells.iter().flat_map(|cell| &cell.caveats).map(|caveat| caveat.text.as_str()))
}

/// The pools' names: their zones, the role if it is not the primary one, and the first group where a zone and role has
/// several pools.
fn pool_names(scenario: &Scenario, pools: &[ZonePool]) -> Vec<String> {
    let name = |pool: &ZonePool| {
        let role = if pool.role == Role::Failover { "_failover" } else { "" };
        let alone =
            pools.iter().filter(|other| (other.zone, other.role) == (pool.zone, pool.role)).count() == 1;
        let group = &scenario.groups[scenario.backends[pool.members[0]].group].name;
        let group = if alone { String::new() } else { format!("_{group}") };
        format!("{}{role}{group}", scenario.zones[pool.zone])
    };
    pools.iter().map(name).collect()
}

#[derive(Debug, Serialize)]
struct JsonCell {
    #[serde(flatten)]
    cell: Record,
    mean: Record,
    states: Vec<Record>,
    offered_load: Vec<Record>,
    not_included: Vec<String>,
}

fn json(experiment: &Experiment, cells: &[Expected<'_>]) -> Vec<JsonCell> {
    let one = |expected: &Expected<'_>| {
        let pools = &expected.pools;
        let state = |state: &State| {
            let mut record = Record::default();
            let counts = state.healthy.iter().map(|count| (*count).into());
            record.put("healthy", pools.iter().cloned().zip(counts).collect::<serde_json::Map<_, _>>());
            record.put("probability", state.probability);
            put_shares(&mut record, pools, &state.shares);
            record
        };
        let mut mean = Record::default();
        put_shares(&mut mean, pools, &expected.expectation.mean);
        JsonCell {
            cell: cell_record(experiment, expected.cell),
            mean,
            states: expected.expectation.states.iter().map(state).collect(),
            offered_load: OfferedLoads::of(experiment, &[expected.cell])
                .rows
                .iter()
                .map(offered_record)
                .collect(),
            not_included: expected.caveats.iter().map(|caveat| caveat.text.clone()).collect(),
        }
    };
    cells.iter().map(one).collect()
}

/// One record for each cell and state, and one for each cell's mean. Pools of all cells have their columns.
fn csv_records(experiment: &Experiment, cells: &[Expected<'_>]) -> Vec<Record> {
    let names: Vec<String> = distinct(cells.iter().flat_map(|cell| cell.pools.iter().cloned()));
    let mut records = Vec::new();
    for expected in cells {
        let at = |name: &String| expected.pools.iter().position(|other| other == name);
        let record = |kind: &str, healthy: Option<&[usize]>, probability: f64, shares: &Shares| {
            let mut record = cell_record(experiment, expected.cell);
            record.put("kind", kind);
            for name in &names {
                let count = healthy.and_then(|healthy| at(name).map(|pool| healthy[pool]));
                record.put(format!("healthy_{name}"), count);
            }
            record.put("probability", probability);
            let of = |values: &[Option<f64>]| {
                names.iter().map(|name| at(name).and_then(|pool| values[pool])).collect::<Vec<_>>()
            };
            let (loads, offered_loads) = (of(&shares.loads), of(&shares.offered_loads));
            put_shares(&mut record, &names, &Shares { loads, offered_loads, ..shares.clone() });
            record
        };
        let Expectation { states, mean, .. } = &expected.expectation;
        records.push(record("mean", None, 1.0, mean));
        let state = |state: &State| record("state", Some(&state.healthy), state.probability, &state.shares);
        records.extend(states.iter().map(state));
    }
    records
}

fn offered_record(row: &OfferedRow) -> Record {
    let mut record = Record::default();
    record.put("when", row.when.as_str());
    let load = |load: &OfferedLoad| {
        let mut record = Record::default();
        record.put("before", load.before);
        record.put("during", load.during);
        serde_json::to_value(record).map(|value| (load.place.clone(), value))
    };
    let loads = row.loads.iter().filter_map(|entry| load(entry).ok());
    record.put("loads", loads.collect::<serde_json::Map<_, _>>());
    record
}

fn cell_record(experiment: &Experiment, cell: &Cell) -> Record {
    let mut record = Record::default();
    record.put("cell", cell.index);
    record.put("arm", cell.arm.as_str());
    for (axis, value) in experiment.axes().iter().zip(&cell.values) {
        record.put(axis.column.as_str(), value.as_ref().map(|value| value.to_json()));
    }
    record
}

fn put_shares(record: &mut Record, pools: &[String], shares: &Shares) {
    shares.as_metrics().into_iter().for_each(|(metric, share)| record.put(metric.name, share));
    record.put("dead_connection_ratio", shares.dead);
    record.put("dropped_connection_ratio", shares.dropped);
    shares.load_metrics().into_iter().for_each(|(metric, load)| record.put(metric.name, load));
    for (name, (load, offered)) in pools.iter().zip(shares.loads.iter().zip(&shares.offered_loads)) {
        record.put(format!("load_{name}"), *load);
        record.put(format!("offered_load_{name}"), *offered);
    }
}
