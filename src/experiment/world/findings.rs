//! What the file of a cell says that does nothing there, or something else than it seems to: the table of all such cases.

use toml_edit::Table;

use crate::experiment::finding::{CellFinding, Severity};
use crate::experiment::node::Node;
use crate::ids::{JudgeId, RuleId};
use crate::lb::Settings;
use crate::lb::backend::Role;
use crate::lb::change::{Change, RegionChange};
use crate::lb::health::HealthChecking;
use crate::lb::policy::any::AnyPolicy;
use crate::lb::selection::SelectionHash;
use crate::lb::tracking::TrackingMode;
use crate::lb::zonal_affinity::ZonalAffinity;
use crate::sim::scenario::{BalancerSpec, ClientGroup, InitialHealth, Membership, Scenario, Workers};
use crate::time::{SimDuration, SimTime};

/// A setting that has no effect in some worlds.
struct IdleSetting {
    id: &'static str,
    /// The paths of its keys, where `*` stands for every member of a list.
    keys: &'static [&'static str],
    /// Values that ask for nothing, in TOML.
    asks_for_nothing: &'static [&'static str],
    why: &'static str,
    help: &'static str,
    is_idle: fn(&Site<'_>) -> bool,
}

/// Where a setting stands.
struct Site<'a> {
    scenario: &'a Scenario,
    /// The name of the last member of a list on the way to it.
    member: &'a str,
}

const NO_FAILOVER: &str = "there are no failover backends";
const ADD_FAILOVER: &str = "add a group with failover = true, or leave it out";

const IDLE_SETTINGS: &[IdleSetting] = &[
    IdleSetting {
        id: "drop-without-failover-backends",
        keys: &[
            "backend_service.failover_policy.drop_traffic_if_unhealthy",
            "operations.*.drop_traffic_if_unhealthy",
        ],
        asks_for_nothing: &["false"],
        why: "there are no failover backends, and without them the last resort is all primaries (ELIG-10)",
        help: ADD_FAILOVER,
        is_idle: |site| !site.has_failover(),
    },
    IdleSetting {
        id: "failover-ratio-without-failover-backends",
        keys: &["backend_service.failover_policy.failover_ratio", "operations.*.failover_ratio"],
        asks_for_nothing: &["0.0", "0"],
        why: NO_FAILOVER,
        help: ADD_FAILOVER,
        is_idle: |site| site.is_service() && !site.has_failover(),
    },
    IdleSetting {
        id: "failover-drain-without-failover-backends",
        keys: &[
            "backend_service.failover_policy.disable_connection_drain_on_failover",
            "operations.*.disable_connection_drain_on_failover",
            "semantics.failover_drain",
        ],
        asks_for_nothing: &["false"],
        why: NO_FAILOVER,
        help: ADD_FAILOVER,
        is_idle: |site| !site.has_failover(),
    },
    IdleSetting {
        id: "spillover-ratio-without-spilling",
        keys: &["backend_service.zonal_affinity.spillover_ratio", "operations.*.spillover_ratio"],
        asks_for_nothing: &[],
        why: "spillover is not ZONAL_AFFINITY_SPILL_CROSS_ZONE (ZON-1)",
        help: "write spillover = \"ZONAL_AFFINITY_SPILL_CROSS_ZONE\", or leave it out",
        is_idle: |site| {
            !site.any(|settings| settings.policy.get().zonal_affinity().spillover_ratio().is_some())
        },
    },
    IdleSetting {
        id: "affinity-text-without-zonal-affinity",
        keys: &["semantics.zonal_affinity_text"],
        asks_for_nothing: &[],
        why: "zonal affinity is disabled",
        help: "leave it out",
        is_idle: |site| {
            !site.any(|settings| settings.policy.get().zonal_affinity() != ZonalAffinity::Disabled)
        },
    },
    IdleSetting {
        id: "draining-timeout-without-removal",
        keys: &["backend_service.connection_draining.draining_timeout"],
        asks_for_nothing: &["\"0s\""],
        why: "no operation and no autoscaler removes a backend, and nothing else drains (CTE-9)",
        help: "add [[operations]] with do = \"drain\" or \"remove_instances\", or leave it out",
        is_idle: |site| !site.removes(),
    },
    IdleSetting {
        id: "capacity-scaler",
        keys: &["backend_service.backends.*.capacity_scaler"],
        asks_for_nothing: &["1.0", "1"],
        why: "passthrough load balancers do not look at it (ELIG-12)",
        help: "leave it out; remove_instances and weights shift load",
        is_idle: |_| true,
    },
    IdleSetting {
        id: "service-timeout",
        keys: &["backend_service.timeout_sec"],
        asks_for_nothing: &[],
        why: "passthrough load balancers do not look at it (ELIG-12)",
        help: "leave it out; request_timeout of [[clients]] says when clients give up",
        is_idle: |_| true,
    },
    IdleSetting {
        id: "subsetting",
        keys: &["backend_service.subsetting.policy"],
        asks_for_nothing: &["\"NONE\""],
        why: "subsetting is not simulated: every client sees all backends",
        help: "leave it out",
        is_idle: |_| true,
    },
    IdleSetting {
        id: "queue-limit-beside-unlimited-workers",
        keys: &["server.queue_limit"],
        asks_for_nothing: &[],
        why: "unlimited workers have no queue",
        help: "write a number of workers, or leave it out",
        is_idle: |site| site.scenario.groups.iter().all(|group| group.server.workers == Workers::Unlimited),
    },
    IdleSetting {
        id: "queue-limit-beside-unlimited-workers",
        keys: &[
            "backend_service.backends.*.server.queue_limit",
            "target_pools.*.instances.*.server.queue_limit",
        ],
        asks_for_nothing: &[],
        why: "unlimited workers have no queue",
        help: "write a number of workers, or leave it out",
        is_idle: |site| {
            let mut own = site.scenario.groups.iter().filter(|group| group.name == site.member);
            own.any(|group| group.server.workers == Workers::Unlimited)
        },
    },
    IdleSetting {
        id: "through-queue-beside-unlimited-workers",
        keys: &["health_check.through_queue"],
        asks_for_nothing: &["false"],
        why: "unlimited workers have no queue that a probe could wait in",
        help: "write a number of workers, or leave it out",
        is_idle: |site| site.scenario.groups.iter().all(|group| group.server.workers == Workers::Unlimited),
    },
    IdleSetting {
        id: "stationary-without-random-failures",
        keys: &["simulation.initial_health"],
        asks_for_nothing: &["\"all_up\""],
        why: "nothing fails at random, and health begins as it stays",
        help: "add failures to a server, or a fault at random times, or leave it out",
        is_idle: |site| {
            let cold = site.checks_anybody() && !site.all_checks(|check| check.initially_healthy);
            site.scenario.renewals().next().is_none() && !cold
        },
    },
    IdleSetting {
        id: "initial-state-beside-stationary",
        keys: &["health_check.initial_state"],
        asks_for_nothing: &[],
        why: "simulation.initial_health is \"stationary\", and no backend comes later",
        help: "leave one of the two out",
        is_idle: |site| {
            let comes = |change: &Change| matches!(change, Change::Add(_) | Change::SetJudge(_, Some(_)));
            site.scenario.initial_health == InitialHealth::Stationary
                && !site.changes().any(comes)
                && site.scenario.groups.iter().all(|group| group.autoscaling.is_none())
        },
    },
    IdleSetting {
        id: "probe-that-times-out-before-its-second-syn",
        keys: &["health_check.probe_retransmission"],
        asks_for_nothing: &["false"],
        why: "a probe sends its SYN again after 1 s, and its timeout is not longer",
        help: "write a timeout of at least \"2s\", or leave it out",
        is_idle: |site| site.all_checks(|check| check.timeout <= SimDuration::from_secs(1)),
    },
    IdleSetting {
        id: "syn-after-the-connect-timeout",
        keys: &["clients.*.syn_retransmission"],
        asks_for_nothing: &["[]"],
        why: "the client gives up connecting before it sends a SYN again",
        help: "write a longer connect_timeout, or leave it out",
        is_idle: |site| {
            let mut groups = site.scenario.clients.iter();
            let group = groups.find(|group| group.name == site.member);
            group.is_some_and(|group| {
                group.syn_retransmission.wait(0).is_some_and(|wait| wait >= group.connect_timeout)
            })
        },
    },
    IdleSetting {
        id: "grace-that-no-check-sees",
        keys: &["faults.*.grace"],
        asks_for_nothing: &["\"0s\""],
        why: "a TCP or SSL check finds the port open until the restart (REG-7)",
        help: "write health_check.type = \"HTTP\", or leave it out",
        is_idle: |site| site.all_checks(|check| !check.wants_reply),
    },
    IdleSetting {
        id: "table-size-without-maglev",
        keys: &["backend_service.maglev_table_size"],
        asks_for_nothing: &[],
        why: "rendezvous hashing has no table",
        help: "leave it out, or write load_balancing_scheme = \"EXTERNAL\"",
        is_idle: |site| !site.any(|settings| matches!(settings.hash, SelectionHash::Maglev(_))),
    },
    IdleSetting {
        id: "health-check-of-nobody",
        keys: &["health_check"],
        asks_for_nothing: &[],
        why: "no target pool has it, so that no backend is ever found unhealthy (TPA-4)",
        help: "write health_checks = [\"default\"] in [[target_pools]], or leave it out",
        is_idle: |site| !site.checks_anybody(),
    },
];

/// What stands in the file of a cell, `root`, without effect on its `scenario`, and what else its author should know.
pub(in crate::experiment) fn findings(root: &Table, scenario: &Scenario) -> Vec<CellFinding> {
    let mut found = Vec::new();
    for setting in IDLE_SETTINGS {
        for pattern in setting.keys {
            let parts: Vec<&str> = pattern.split('.').collect();
            for (key, node) in written(Node::Table(root), &parts, &[]) {
                let member = match pattern.rfind('*') {
                    Some(end) => &key[pattern[..end].matches('.').count()],
                    None => "",
                };
                if !asks_for_nothing(node, setting) && (setting.is_idle)(&Site { scenario, member }) {
                    let what = format!("has no effect: {}", setting.why);
                    let (id, help) = (setting.id, setting.help);
                    found.push(CellFinding { id, severity: Severity::Note, key, what, help });
                }
            }
        }
    }
    found.extend(cold_start(scenario));
    found.extend(strict_rule(Node::Table(root)));
    found.extend(late_faults(scenario));
    found.extend(dropping_hops(scenario));
    found
}

/// Faults that begin after the window.
fn late_faults(scenario: &Scenario) -> impl Iterator<Item = CellFinding> {
    let end = scenario.timing.window_end();
    let late = scenario.faults.iter().enumerate().filter(move |(_, fault)| fault.schedule.start() >= end);
    late.map(move |(number, _)| CellFinding {
        id: "fault-after-the-window",
        severity: Severity::Note,
        key: ["faults", &number.to_string(), "at"].map(str::to_owned).to_vec(),
        what: format!(
            "is not before the measured window ends, at {}: the fault meets only connections that are open still, and nothing \
             if none is",
            end.since(SimTime::ZERO)
        ),
        help: "write an earlier time, on the clock that starts with the warm-up, if that is not meant",
    })
}

/// Next hops that drop everything (NHOP-2).
fn dropping_hops(scenario: &Scenario) -> impl Iterator<Item = CellFinding> {
    let drops = |rule: RuleId| scenario.rules[rule].balancer.is_none();
    let hops = scenario.clients.iter().flat_map(move |group| {
        let next_hop = group.next_hop.iter().flat_map(|_| group.lanes.rules().into_iter().take(1));
        let hops = next_hop.map(|rule| (rule, "its packets"));
        let hops = hops.chain(group.answer_hop().map(|hop| (hop.rule, "answers to it")));
        hops.filter(move |(rule, _)| drops(*rule)).map(move |hop| (group, hop))
    });
    hops.map(|(group, (rule, whose))| CellFinding {
        id: "next-hop-drops-everything",
        severity: Severity::Note,
        key: ["clients", &group.name, "destination_range"].map(str::to_owned).to_vec(),
        what: format!(
            "has {:?} as the next hop of {whose}: of protocol L3_DEFAULT, or with an address that it shares, it drops everything (NHOP-2)",
            scenario.rules[rule].name
        ),
        help: "write a rule of protocol TCP or UDP with an address of its own, if that is not meant",
    })
}

/// A rule of protocol TCP or UDP on a service of protocol UNSPECIFIED (REG-2).
fn strict_rule(root: Node<'_>) -> Option<CellFinding> {
    let text = |table: &str, key: &str| match root.get(table)?.get(key)? {
        Node::Scalar(value) => value.as_str(),
        _ => None,
    };
    let rule = text("forwarding_rule", "ip_protocol").unwrap_or("TCP");
    if text("backend_service", "protocol") != Some("UNSPECIFIED") || rule == "L3_DEFAULT" {
        return None;
    }
    let what = format!(
        "has a forwarding rule of protocol {rule}: public configurations do, the documents are silent (O22)"
    );
    let help = "write forwarding_rule.ip_protocol = \"L3_DEFAULT\" for all protocols";
    let key = ["backend_service", "protocol"].map(str::to_owned).to_vec();
    Some(CellFinding {
        id: "strict-rule-of-an-unspecified-service",
        severity: Severity::Note,
        key,
        what,
        help,
    })
}

/// The values at `pattern` below `node`, which stands at `path`, each with its own path.
fn written<'a>(node: Node<'a>, pattern: &[&str], path: &[String]) -> Vec<(Vec<String>, Node<'a>)> {
    let Some((first, rest)) = pattern.split_first() else { return vec![(path.to_vec(), node)] };
    let below = |name: &str, child| written(child, rest, &[path, &[name.to_owned()]].concat());
    if *first != "*" {
        return node.get(first).map_or(Vec::new(), |child| below(first, child));
    }
    let list = path.last().map_or("", String::as_str);
    let members = node.members().unwrap_or_default().into_iter().enumerate();
    let members = members.flat_map(|(number, member)| match member.name_in(list) {
        Some(name) => below(name, member),
        None => below(&number.to_string(), member),
    });
    members.collect()
}

fn asks_for_nothing(node: Node<'_>, setting: &IdleSetting) -> bool {
    let Node::Scalar(value) = node else { return false };
    setting.asks_for_nothing.contains(&value.to_string().trim())
}

impl Site<'_> {
    fn changes(&self) -> impl Iterator<Item = &Change> {
        let changes = self.scenario.operations.iter().flat_map(|operation| &operation.changes);
        changes.filter_map(|change| match change {
            RegionChange::Balancer(_, change) => Some(change),
            RegionChange::Retarget(..) | RegionChange::Reach(..) => None,
        })
    }

    /// Whether a load balancer is ever configured so that `holds`.
    fn any(&self, holds: impl Fn(&Settings) -> bool) -> bool {
        let configured = self.changes().filter_map(|change| match change {
            Change::Configure(settings) => Some(settings),
            _ => None,
        });
        configured.chain(self.scenario.balancers.iter().map(|balancer| &balancer.settings)).any(holds)
    }

    fn is_service(&self) -> bool {
        self.any(|settings| matches!(settings.policy, AnyPolicy::BackendService(_)))
    }

    /// Whether all health checks are so that `holds`.
    fn all_checks(&self, holds: impl Fn(&HealthChecking) -> bool) -> bool {
        self.scenario.judges.iter().all(|judge| holds(&judge.check))
    }

    fn memberships(&self) -> impl Iterator<Item = &Membership> {
        self.scenario.balancers.iter().flat_map(|balancer| balancer.members.iter())
    }

    fn has_failover(&self) -> bool {
        self.memberships().any(|member| member.role == Role::Failover)
            || self.changes().any(|change| matches!(change, Change::SetRole(_, Role::Failover)))
    }

    fn removes(&self) -> bool {
        self.scenario.groups.iter().any(|group| group.autoscaling.is_some())
            || self.changes().any(|change| matches!(change, Change::Remove(_)))
    }

    fn checks_anybody(&self) -> bool {
        self.memberships().any(|member| member.judge.is_some())
            || self.changes().any(|change| matches!(change, Change::SetJudge(_, Some(_))))
    }
}

/// A start with unhealthy backends that sessions keep to: those that are found healthy first get more of them for good.
fn cold_start(scenario: &Scenario) -> Option<CellFinding> {
    scenario.balancers.iter().find_map(|balancer| cold_start_of(balancer, scenario))
}

fn cold_start_of(balancer: &BalancerSpec, scenario: &Scenario) -> Option<CellFinding> {
    let Settings { tracking, session_affinity, .. } = &balancer.settings;
    let keeps_sessions = tracking.mode == TrackingMode::PerSession && !session_affinity.is_five_tuple();
    let begins_unhealthy = |judge: JudgeId| !scenario.judges[judge].check.initially_healthy;
    let starts_cold = |member: &&Membership| member.configured && member.judge.is_some_and(begins_unhealthy);
    let several = balancer.members.iter().filter(starts_cold).count() > 1;
    let is_cold = scenario.initial_health == InitialHealth::AllUp;
    if !keeps_sessions || !several || !is_cold {
        return None;
    }
    let (idle, warmup) = (tracking.idle_timeout, scenario.timing.warmup);
    let mut clients = scenario.clients.iter();
    clients.find(|group| group.own_backends.is_empty() && remembers(group, idle, warmup))?;
    Some(CellFinding {
        id: "cold-start-of-sessions",
        severity: Severity::Warning,
        key: ["health_check", "initial_state"].map(str::to_owned).to_vec(),
        what: format!(
            "is UNHEALTHY: sessions that begin while only some backends have been found healthy stay with those \
             (PER_SESSION), their clients return within {idle}, and a warm-up of {warmup} does not forget them, so that loads \
             are uneven"
        ),
        help: "write health_check.initial_state = \"HEALTHY\"",
    })
}

/// Whether sessions of `group`, which last until they are `idle` for that long, are likely to outlive the `warmup`.
fn remembers(group: &ClientGroup, idle: SimDuration, warmup: SimDuration) -> bool {
    // How often a client of a closed loop returns depends on how fast its connections end.
    let Some(rate) = group.arrivals.mean_rate() else { return true };
    let gap = f64::from(group.addresses.get()) / rate;
    let gaps_in_timeout = idle.as_secs_f64() / gap;
    // Gaps that are exponential outlast the timeout once in so many.
    gaps_in_timeout > 1.0 && warmup.as_secs_f64() < 3.0 * gap * libm::exp(gaps_in_timeout.min(700.0))
}
