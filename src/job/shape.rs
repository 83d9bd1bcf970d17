//! Whether an outcome that was kept is one of a scenario: as many of everything as that has.

use crate::experiment::Experiment;
use crate::ids::{BackendId, ClientId, Id, IdVec, JudgeId, PlaceId};
use crate::sim::history::{Subject, Trigger};
use crate::sim::outcome::{ByZone, Outcome};
use crate::sim::scenario::Scenario;

/// Whether `outcome` can be one of the cell number `cell` of `experiment`, which has it.
pub(super) fn is_of(outcome: &Outcome, experiment: &Experiment, cell: usize) -> bool {
    let scenario = &experiment.scenario(&experiment.cells()[cell]);
    has_shape(outcome, scenario) && has_samples(outcome, scenario) && has_subjects(outcome, scenario)
}

fn has_shape(outcome: &Outcome, scenario: &Scenario) -> bool {
    let (zones, lanes) = (scenario.zones.len(), scenario.lanes().len());
    outcome.traffic.len() == lanes
        && outcome.traffic.iter().all(|row| is_wide(row, zones))
        && outcome.decisions.len() == lanes
        && outcome.latency.len() == scenario.places.len()
        && outcome.latency.iter().all(|row| row.len() == zones)
        && outcome.backends.len() == scenario.backends.len()
}

fn is_wide<T>(row: &ByZone<T>, zones: usize) -> bool {
    row.zones.len() == zones
}

fn has_samples(outcome: &Outcome, scenario: &Scenario) -> bool {
    let (timeline, samples, zones) = (&outcome.timeline, scenario.timing.samples(), scenario.zones.len());
    let is_row = |row: &IdVec<PlaceId, ByZone<_>>| {
        row.len() == scenario.places.len() && row.iter().all(|row| is_wide(row, zones))
    };
    timeline.traffic.len() == samples
        && timeline.traffic.iter().all(is_row)
        && timeline.zones.len() == samples
        && timeline.zones.iter().all(|row| row.len() == zones)
        && timeline.failover_switches.len() == samples
        && timeline.responses.len() == samples
}

/// Whether everything that happened has happened to somebody.
fn has_subjects(outcome: &Outcome, scenario: &Scenario) -> bool {
    let is_backend = |id: BackendId| id.index() < scenario.backends.len();
    let is_operation = |number: u32| (number as usize) < scenario.operations.len();
    let is_there = |subject| match subject {
        Subject::Backend(id) => is_backend(id),
        Subject::Place(id) => id.index() < scenario.places.len(),
        Subject::Clients(id) => id.index() < scenario.clients.len(),
        Subject::Role(id, _) => id.index() < scenario.balancers.len(),
        Subject::Operation(number) => is_operation(number),
    };
    let is_known = |cause| match cause {
        Trigger::Backend(id) => is_backend(id),
        Trigger::Operation(number) => is_operation(number),
        Trigger::Failure(_) | Trigger::Autoscaler => true,
    };
    let is_judge = |id: JudgeId| id.index() < scenario.judges.len();
    let health_is_known = outcome.health.iter().all(|it| is_judge(it.judge) && is_backend(it.backend));
    let outages: &IdVec<ClientId, _> = &outcome.history.outages;
    health_is_known
        && outages.len() == scenario.clients.len()
        && outcome.history.happenings.iter().all(|it| is_there(it.subject) && it.cause.is_none_or(is_known))
}
