//! How metrics are computed of what happened in a run.

use super::MeasuredRun;
use crate::ids::BackendId;
use crate::lb::backend::Role;
use crate::sim::history::Spans;
use crate::sim::outcome::BackendOutcome;

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// The mean time from a failure to its being noticed.
pub(super) fn mean_detection(run: &MeasuredRun<'_>) -> Option<f64> {
    let Spans { count, nanos, .. } = run.outcome.history.detections;
    (count > 0).then(|| seconds(nanos) / count as f64)
}

/// The longest time from a failure to its being noticed.
pub(super) fn longest_detection(run: &MeasuredRun<'_>) -> Option<f64> {
    let Spans { count, longest, .. } = run.outcome.history.detections;
    (count > 0).then(|| seconds(longest))
}

/// The time in which a client group had no backend that works, over all groups.
pub(super) fn outage(run: &MeasuredRun<'_>) -> Option<f64> {
    let outages = run.outcome.history.outages.iter();
    Some(outages.map(|spans| u128::from(spans.nanos)).sum::<u128>() as f64 / 1e9)
}

/// The longest time without a break in which a client group had no backend that works.
pub(super) fn longest_outage(run: &MeasuredRun<'_>) -> Option<f64> {
    Some(seconds(run.outcome.history.outages.iter().map(|spans| spans.longest).max().unwrap_or(0)))
}

/// How long `role` served.
pub(super) fn serving(run: &MeasuredRun<'_>, role: Role) -> Option<f64> {
    Some(seconds(run.outcome.history.role_nanos[role as usize]))
}

/// The share of clients that get another backend, of those of a set of backends that changes.
pub(super) fn remapped(run: &MeasuredRun<'_>) -> Option<f64> {
    share(run.outcome.history.remapping.moved, run.outcome.history.remapping.keys)
}

/// The same of clients that could have kept theirs, between backends that were there before and after.
pub(super) fn needlessly_remapped(run: &MeasuredRun<'_>) -> Option<f64> {
    share(run.outcome.history.remapping.needless, run.outcome.history.remapping.kept)
}

/// The backends that were configured in some part of the window.
fn configured<'a>(run: &MeasuredRun<'a>) -> impl Iterator<Item = (BackendId, &'a BackendOutcome)> {
    let all = run.outcome.backends.pairs();
    all.filter(|(_, found)| found.configured_nanos > 0)
}

/// How many backends were configured and got no connection.
pub(super) fn idle_backends(run: &MeasuredRun<'_>) -> Option<f64> {
    Some(configured(run).filter(|(_, found)| found.traffic.connections == 0).count() as f64)
}

/// The coefficient of variation of the connections of the backends in the role that got most, each over the time that it was
/// configured.
pub(super) fn spread(run: &MeasuredRun<'_>) -> Option<f64> {
    let rates = |role: Role| {
        let of_role = configured(run).filter(move |(id, _)| run.scenario.role(*id) == role);
        of_role.map(|(_, found)| found.traffic.connections as f64 / seconds(found.configured_nanos))
    };
    let [primary, failover] = [Role::Primary, Role::Failover].map(|role| rates(role).sum::<f64>());
    let role = if failover > primary { Role::Failover } else { Role::Primary };
    let count = rates(role).count() as f64;
    let mean = primary.max(failover) / count;
    let variance = rates(role).map(|rate| (rate - mean).powi(2)).sum::<f64>() / count;
    (mean > 0.0).then(|| variance.sqrt() / mean)
}
