//! How connections were placed.

use super::Field;
use crate::ids::ClientId;
use crate::lb::policy::PlacementOutcome;
use crate::metrics::MeasuredRun;

results_file! {
    DecisionRow in "decisions.csv" by replication each client, outcome: "How many connections of one client group were placed so in one run.";
    of (run: &MeasuredRun<'a>, client: ClientId, outcome: PlacementOutcome, connections: u64)
    text client "the client group" = &run.scenario.clients[client].name;
    text outcome "the outcome of the placing decision" = outcome.name();
    count connections ["connections"] "connections" = connections;
}

impl DecisionRow {
    pub(super) fn of<'a>(run: &MeasuredRun<'a>) -> Vec<Vec<Field<'a>>> {
        let lanes = run.scenario.lanes();
        let pairs = lanes.iter().map(|(client, _)| *client).zip(&run.outcome.decisions);
        let all = pairs.flat_map(|(client, counts)| {
            let outcomes = PlacementOutcome::ALL.into_iter().zip(counts);
            outcomes.map(move |(outcome, count)| (client, outcome, *count))
        });
        let shown = all.filter(|(.., count)| *count > 0);
        shown.map(|(client, outcome, count)| Self::fields(run, client, outcome, count)).collect()
    }
}
