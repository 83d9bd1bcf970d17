//! Which experiments a laboratory can be.

use super::scenarios::Forwarding;
use crate::lb::change::{Change, RegionChange};
use crate::lb::packet::Protocol;
use crate::sim::retransmission::SynRetransmission;
use crate::sim::scenario::{
    BackendFault, ClientGroup, FailureMode, Fault, FaultEffect, FaultSchedule, LinkFault, Scenario, Server,
    Workers,
};
use crate::time::SimDuration;
use crate::workload::ArrivalSpec;

/// How many backends a laboratory has at most.
pub(super) const BACKENDS_MAX: usize = 60;
/// How many zones: the number of one fits into 6 bits.
const ZONES_MAX: usize = 60;
/// How many client groups.
pub(super) const CLIENTS_MAX: usize = 15;
/// How many addresses a client group has.
pub(super) const ADDRESSES_MAX: u32 = 4000;
/// How many new connections there are a second, all together: beyond that the machine has a say in the result.
const RATE_MAX: f64 = 400.0;
/// How long it runs.
const TIME_MAX: SimDuration = SimDuration::from_secs(900);

/// What of `scenario` no laboratory can be, each with what to write instead; nothing if it can be one.
pub fn beyond(scenario: &Scenario, forwarding: Forwarding) -> Vec<String> {
    let mut found = Vec::new();
    let mut no = |wrong: bool, words: &str| {
        if wrong {
            found.push(words.to_owned());
        }
    };
    no(scenario.backends.len() > BACKENDS_MAX, "it has more than 60 backends; write smaller groups");
    no(scenario.clients.len() > CLIENTS_MAX, "it has more than 15 client groups; write fewer [[clients]]");
    no(scenario.zones.len() > ZONES_MAX, "it has more than 60 zones; write a smaller region");
    let end = scenario.timing.window_end() - crate::time::SimTime::ZERO;
    no(end > TIME_MAX, "it takes more than 15 minutes of real time; write a shorter warmup and duration");
    let rate: f64 = scenario.clients.iter().filter_map(|group| group.arrivals.mean_rate()).sum();
    no(rate > RATE_MAX, "it opens more than 400 connections per second; write lower rates");
    no(
        scenario.balancers.len() > 1 || scenario.rules.len() > 1,
        "it has several load balancers or rules; write one",
    );
    let settings = &scenario.first_balancer().settings;
    let tracking = settings.tracking;
    let follows_syns = !tracking.syn_is_new(settings.session_affinity);
    no(
        follows_syns && forwarding == Forwarding::Marks,
        "SYNs follow entries of sessions; write tracking_mode = \"PER_CONNECTION\"",
    );
    no(settings.weighted, "backends report weights; leave locality_lb_policy out");
    let check = scenario.first_check();
    no(
        !check.probe_retransmission && check.timeout > SimDuration::from_secs(1),
        "a laboratory's probes are TCP connections, whose SYNs are sent again within the timeout; write \
         health_check.probe_retransmission = true",
    );
    no(check.through_queue, "probes wait for workers; write health_check.through_queue = false");
    no(
        scenario
            .first_balancer()
            .members
            .iter()
            .any(|member| member.role != crate::lb::backend::Role::Primary),
        "it has failover backends; leave failover = true out",
    );
    scenario.groups.iter().for_each(|group| {
        found.extend(beyond_server(&group.server).map(|words| format!("group {}: {words}", group.name)));
        if group.autoscaling.is_some() {
            found.push(format!("group {} scales by itself; leave autoscaling out", group.name));
        }
    });
    scenario.clients.iter().for_each(|group| {
        found.extend(beyond_clients(group).map(|words| format!("clients {}: {words}", group.name)));
    });
    scenario.faults.iter().for_each(|fault| found.extend(beyond_fault(fault).map(str::to_owned)));
    let changes = || scenario.operations.iter().flat_map(|operation| &operation.changes);
    let is_simple = |change: &RegionChange| {
        matches!(change, RegionChange::Balancer(_, Change::Add(_) | Change::Remove(_)))
    };
    if changes().any(|change| !is_simple(change)) {
        found.push(
            "an operation does more than to add and remove backends; write none but drain and add".to_owned(),
        );
    }
    found
}

fn beyond_server(server: &Server) -> Option<&'static str> {
    if server.workers != Workers::Unlimited {
        return Some("a laboratory measures no capacity; write server.workers = \"unlimited\"");
    }
    if server.failures.is_some() {
        return Some("backends fail by themselves; write [[faults]] instead of server.failures");
    }
    server.slow_start.map(|_| "backends start slowly; leave slow_start out")
}

fn beyond_clients(group: &ClientGroup) -> Option<&'static str> {
    if group.lanes.iter().any(|lane| lane.protocol != Protocol::Tcp) {
        return Some("a laboratory speaks TCP; leave protocol out");
    }
    if !group.own_backends.is_empty() {
        return Some("a laboratory's clients are no backends; write kind = \"vm\"");
    }
    if matches!(group.arrivals, ArrivalSpec::Trace(_) | ArrivalSpec::Closed(_)) {
        return Some("a laboratory's connections come at a rate; write arrivals = { poisson = … }");
    }
    if group.retries > 0 || group.max_age.is_some() {
        return Some(
            "a laboratory's clients neither retry nor renew; write retries = 0, and leave max_age out",
        );
    }
    if matches!(group.syn_retransmission, SynRetransmission::After(_)) {
        return Some(
            "a kernel sends SYNs again by rules of its own; write syn_retransmission = \"rfc6298\" or \"linux\"",
        );
    }
    if group.next_hop.is_some() {
        return Some("a laboratory has no routes; leave destination_range out");
    }
    if group.destinations.get() > 1 {
        return Some("a laboratory has one forwarding rule; leave destinations out");
    }
    (group.addresses.get() > ADDRESSES_MAX).then_some("they have more than 4000 addresses; write fewer")
}

fn beyond_fault(fault: &Fault) -> Option<&'static str> {
    if matches!(fault.schedule, FaultSchedule::Random { .. } | FaultSchedule::Rolling { .. }) {
        return Some(
            "a fault comes at random, or in batches; write at = …, perhaps with duration or flapping",
        );
    }
    match fault.effect {
        FaultEffect::Link { kind: LinkFault::Delay(_), .. } => Some(
            "a link delays packets for a while, and a laboratory's distances stay as they are; leave the fault out",
        ),
        FaultEffect::Link { kind: LinkFault::Loss(_), .. } => None,
        FaultEffect::Backends { kind, .. } => match kind {
            BackendFault::Fails(FailureMode::Silent | FailureMode::Refuse) | BackendFault::BlocksProbes => {
                None
            }
            _ => Some(
                "a fault is of a kind that a laboratory can't make; write silent, refuse, probe_block or link_loss",
            ),
        },
    }
}
