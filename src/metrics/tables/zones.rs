//! How loaded zones and roles were.

use super::Field;
use crate::ids::ZoneId;
use crate::lb::backend::Role;
use crate::metrics::MeasuredRun;
use crate::metrics::load::{MeasuredLoad, zone_loads};

results_file! {
    ZoneRow in "zones.csv" by replication each zone, role: "How loaded the backends of one zone and role were in one run.";
    of (run: &MeasuredRun<'a>, zone: Option<ZoneId>, role: Role, load: &MeasuredLoad)
    text zone "the zone; `all` for all zones together"
        = zone.map_or("all", |zone| &run.scenario.zones[zone]);
    text role "`primary` or `failover`: a target pool is primary, its backup pool failover" = role.name();
    number backends ["backends"] "configured backends, on average over time" = Some(load.backends);
    count connections ["connections"] "connections" = load.connections;
    count arrived_requests ["requests"] "requests that were sent to them in the window" = load.asked;
    number load_multiple ["1"] "connections over their fair share, as if all were well" = load.multiple;
    number offered_load ["1"] "arriving work over available worker time" = load.offered;
    number utilization ["1"] "busy over available worker time" = load.utilization;
}

impl ZoneRow {
    pub(super) fn of<'a>(run: &MeasuredRun<'a>) -> Vec<Vec<Field<'a>>> {
        let loads = zone_loads(run).into_iter();
        loads.map(|(zone, role, load)| Self::fields(run, zone, role, &load)).collect()
    }
}
