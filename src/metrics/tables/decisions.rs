//! How connections were placed.

use super::Field;
use crate::ids::{ClientId, RuleId};
use crate::lb::policy::PlacementOutcome;
use crate::metrics::MeasuredRun;

results_file! {
    DecisionRow in "decisions.csv" by replication each client, rule, outcome: "How many connections of one client group were placed so in one run.";
    of (run: &MeasuredRun<'a>, client: ClientId, rule: RuleId, outcome: PlacementOutcome, connections: u64)
    text client "the client group" = &run.scenario.clients[client].name;
    label rule "the forwarding rule; a column where there are several" = &run.scenario.rules[rule].name;
    text outcome "the outcome of the placing decision" = outcome.name();
    count connections ["connections"] "connections" = connections;
}

impl DecisionRow {
    pub(super) fn of<'a>(run: &MeasuredRun<'a>) -> Vec<Vec<Field<'a>>> {
        type Counts = [u64; PlacementOutcome::ALL.len()];
        let mut found: Vec<((ClientId, RuleId), Counts)> = Vec::new();
        let lanes = run.scenario.lanes();
        for ((client, lane), counts) in lanes.iter().zip(&run.outcome.decisions) {
            match found.last_mut().filter(|(key, _)| *key == (*client, lane.rule)) {
                Some((_, sum)) => sum.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count),
                None => found.push(((*client, lane.rule), *counts)),
            }
        }
        let all = found.into_iter().flat_map(|((client, rule), counts)| {
            let outcomes = PlacementOutcome::ALL.into_iter().zip(counts);
            outcomes.map(move |(outcome, count)| (client, rule, outcome, count))
        });
        let shown = all.filter(|(.., count)| *count > 0);
        shown.map(|(client, rule, outcome, count)| Self::fields(run, client, rule, outcome, count)).collect()
    }
}
