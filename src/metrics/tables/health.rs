//! What each health check saw of each machine.

use super::Field;
use crate::ids::{BackendId, JudgeId};
use crate::metrics::MeasuredRun;
use crate::sim::outcome::HealthRecord;

results_file! {
    HealthRow in "health.csv" by replication each resource, check, backend: "What one health check of one resource saw of one backend in one run.";
    of (run: &MeasuredRun<'a>, judge: JudgeId, backend: BackendId, seen: &HealthRecord)
    text resource "the backend service or target pool that it judges for; empty in a world with one"
        = run.scenario.judges[judge].name.split_once('/').map_or("", |(resource, _)| resource);
    text check "the health check"
        = run.scenario.judges[judge].name.split_once('/').map_or("default", |(_, check)| check);
    text backend "the backend" = &run.scenario.backends[backend].name;
    number judged_s ["s"] "seconds in which it judged the backend" = Some(seen.judged_nanos as f64 / 1e9);
    number unhealthy_s ["s"] "seconds of them in which it held the backend unhealthy"
        = Some(seen.unhealthy_nanos as f64 / 1e9);
    count changes ["changes"] "changes of what it held the backend to be" = seen.changes;
    number detection_mean_s ["s"] "the mean time from a failure to its being noticed; empty where none was"
        = seen.detections.mean_s();
    number detection_max_s ["s"] "the longest time from a failure to its being noticed"
        = seen.detections.longest_s();
}

impl HealthRow {
    pub(super) fn of<'a>(run: &MeasuredRun<'a>) -> Vec<Vec<Field<'a>>> {
        let seen = run.outcome.health.iter();
        seen.map(|seen| Self::fields(run, seen.judge, seen.backend, seen)).collect()
    }
}
