//! What happened, and when.

use std::borrow::Cow;

use super::Field;
use crate::lb::backend::Role;
use crate::metrics::MeasuredRun;
use crate::sim::history::{Happening, Subject, Trigger, Turnabout};
use crate::sim::scenario::{FailureMode, Scenario};
use crate::time::SimTime;

results_file! {
    EventRow in "events.csv" by replication: "Something that happened in the measured window of one run.";
    of (world: &'a Scenario, found: &Happening)
    number time_s ["s"] "simulated time" = Some(SimTime::from_nanos(found.at).as_secs_f64());
    text event "what happened" = found.kind.name();
    text subject "to which backend, client place, client group or role, or which operation" = subject(world, found.subject);
    text cause "how the backend failed, or which backend, operation or autoscaler brought it about; empty if unknown"
        = found.cause.map_or(Cow::Borrowed(""), |cause| cause_text(world, cause));
    number delay_s ["s"] "how long after the failure or recovery behind it; how long a failure or outage that ends has lasted"
        = found.delay.map(|nanos| nanos as f64 / 1e9);
    text detail "from what to what, or, of several load balancers, which" = found.turn.map_or_else(String::new, |turn| turn_text(world, turn));
}

impl EventRow {
    pub(super) fn of<'a>(run: &MeasuredRun<'a>) -> Vec<Vec<Field<'a>>> {
        let happenings = run.outcome.history.happenings.iter();
        happenings.map(|found| Self::fields(run.scenario, found)).collect()
    }
}

fn subject(world: &Scenario, subject: Subject) -> Cow<'_, str> {
    let name: &str = match subject {
        Subject::Backend(backend) => &world.backends[backend].name,
        Subject::Place(place) => &world.places[place].name,
        Subject::Clients(client) => &world.clients[client].name,
        Subject::Role(balancer, role) if world.balancers.len() > 1 => {
            return format!("{} of {}", role_name(role), world.balancers[balancer].name).into();
        }
        Subject::Role(_, role) => role_name(role),
        Subject::Operation(number) => operation(world, number),
    };
    name.into()
}

fn operation(world: &Scenario, number: u32) -> &str {
    world.operations.get(number as usize).map_or("", |operation| &operation.words)
}

fn cause_text(world: &Scenario, cause: Trigger) -> Cow<'_, str> {
    match cause {
        Trigger::Failure(mode) => mode_name(mode).into(),
        Trigger::Backend(backend) => world.backends[backend].name.as_str().into(),
        Trigger::Operation(number) => operation(world, number).into(),
        Trigger::Autoscaler => "autoscaler".into(),
    }
}

fn turn_text(world: &Scenario, turn: Turnabout) -> String {
    match turn {
        Turnabout::Outcome(before, after) => format!("{} → {}", before.name(), after.name()),
        Turnabout::Role(before, after) => format!("{} → {}", role_name(before), role_name(after)),
        Turnabout::Added => "added".to_owned(),
        Turnabout::Of(balancer) => world.balancers[balancer].name.clone(),
        Turnabout::Removed => "removed".to_owned(),
    }
}

fn role_name(role: Role) -> &'static str {
    match role {
        Role::Primary => "primary",
        Role::Failover => "failover",
    }
}

fn mode_name(mode: FailureMode) -> &'static str {
    match mode {
        FailureMode::Silent => "silent",
        FailureMode::Refuse => "refuse",
        FailureMode::UnhealthyOnly => "unhealthy_only",
        FailureMode::ServingOnly => "serving_only",
    }
}
