//! What the policy of a load balancer does in one state of health, for each client group: every set on the way from
//! configured backends to those that new connections go to, and why.
//!
//! The steps come from [`AnyPolicy::explain`](crate::lb::policy::any::AnyPolicy::explain), by which the engine decides too;
//! nothing is decided here.

mod down;

use serde::Serialize;
use serde_json::{Map, Value};

use super::situation::Situation;
use crate::experiment::{Cell, Experiment};
use crate::ids::{BackendId, BalancerId, ClientId, RuleId};
use crate::lb::backend::Role;
use crate::lb::policy::backend_service::{INTERSECTION, ZONAL_MATCH_TEST, ZONAL_MATCHED};
use crate::lb::policy::{PlacementOutcome, PolicyState, PolicyStep, TrafficOrigin};
use crate::lb::roster::Roster;
use crate::lb::sets::Choice;
use crate::lb::zonal_affinity::ZonalAffinity;
use crate::results::observed::QuestionError;
use crate::sim::scenario::Scenario;
use crate::time::SimTime;
use down::Down;
pub use down::unnoticed;

/// Primaries and failovers apart; of a target pool, its own instances and those of its backup pool.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the roles")]
pub struct ByRole {
    pub primary: Vec<String>,
    pub failover: Vec<String>,
}

/// The backends that may serve at all.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct EligibleNames {
    pub kind: &'static str,
    pub backends: Vec<String>,
    /// Why these, where there are failover backends.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub because: String,
}

/// A step of a policy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedStep {
    /// Its name.
    pub name: &'static str,
    /// What kind of set it leads to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<&'static str>,
    /// Where connections could go after it; absent if it is not taken.
    pub backends: Option<Vec<String>>,
    /// The parts of a split; none of anything else.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub split: Vec<SplitPart>,
    /// Why, with numbers.
    pub because: String,
}

/// A set with its share of the connections.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SplitPart {
    /// From 0 to 1.
    pub share: f64,
    /// Who is in the set.
    pub backends: Vec<String>,
}

/// A policy that is not of the load balancer's own.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ExplainedPolicy {
    pub name: &'static str,
    pub steps: Vec<ExplainedStep>,
}

/// One client group in one cell. A set that is not computed is absent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names are those of the sets of the rules, and of the JSON's keys")]
pub struct Explanation {
    pub arm: String,
    pub client: String,
    /// Where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub client_zone: String,
    pub compatible: bool,
    pub configured: ByRole,
    pub healthy: Vec<String>,
    pub original_eligible: EligibleNames,
    pub zonal_match_test: Option<Vec<String>>,
    pub zonal_matched: Option<Vec<String>>,
    pub intersection: Option<Vec<String>>,
    pub healthy_share: Option<f64>,
    pub spillover: &'static str,
    pub spillover_ratio: Option<f64>,
    pub modified_eligible: Vec<String>,
    pub outcome: &'static str,
    pub because: String,
    /// A policy that has a name of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub policy: Option<ExplainedPolicy>,
    /// The steps of any policy.
    #[serde(skip)]
    pub steps: Vec<ExplainedStep>,
    /// What the configured backends of each role are called.
    #[serde(skip)]
    pub role_labels: [&'static str; 2],
    /// The cell's other axis values, where its arm or the experiment sweeps any.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub axes: Map<String, Value>,
}

/// What is to be explained: all of everything that is not said.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExplainQuestion<'a> {
    /// The backends, ranges, groups and zones that are unhealthy.
    pub down: &'a [String],
    /// The arm.
    pub arm: Option<&'a str>,
    /// The client group.
    pub client: Option<&'a str>,
    /// The forwarding rule.
    pub rule: Option<&'a str>,
    /// When: after the operations until then, and with the faults that last then. At the beginning, with none of either, if
    /// absent.
    pub at: Option<SimTime>,
}

/// Explains cell by cell what becomes of new connections.
///
/// # Errors
/// If a name is of nothing that there is, or the time is after the end.
pub fn explain(
    experiment: &Experiment,
    question: ExplainQuestion<'_>,
) -> Result<Vec<Explanation>, QuestionError> {
    let ExplainQuestion { down, arm, client, rule, at } = question;
    check_name("arm", arm, experiment.arms())?;
    let down = Down::read(experiment, down)?;
    let mut explanations = Vec::new();
    for cell in experiment.cells().iter().filter(|cell| arm.is_none_or(|arm| arm == cell.arm)) {
        let scenario = experiment.scenario(cell);
        check_name("client", client, scenario.clients.iter().map(|client| client.name.as_str()))?;
        check_name("rule", rule, scenario.rules.iter().map(|rule| rule.name.as_str()))?;
        let situation = situation(&scenario, &down.in_world(&scenario), at)?;
        let wanted =
            scenario.clients.pairs().filter(|(_, group)| client.is_none_or(|name| name == group.name));
        for (client, group) in wanted {
            let rules = group.lanes.rules().into_iter();
            let wanted = rules.filter(|id| rule.is_none_or(|name| name == scenario.rules[*id].name));
            explanations.extend(wanted.map(|rule| Explanation {
                arm: cell.arm.clone(),
                axes: axes(experiment, cell),
                ..explain_client(&situation, client, rule)
            }));
        }
    }
    Ok(explanations)
}

/// The moment of the world of `scenario`, a cell of `experiment`, at time `at`, or its beginning, while what is called `down` is
/// unhealthy too.
///
/// # Errors
/// If a name is of nothing that there is, or the time is after the end.
pub(super) fn moment<'a>(
    experiment: &Experiment,
    scenario: &'a Scenario,
    down: &[String],
    at: Option<SimTime>,
) -> Result<Situation<'a>, QuestionError> {
    situation(scenario, &Down::read(experiment, down)?.in_world(scenario), at)
}

/// The moment of the world of `scenario` at time `at`, or its beginning, while `down` are unhealthy too.
fn situation<'a>(
    scenario: &'a Scenario,
    down: &[BackendId],
    at: Option<SimTime>,
) -> Result<Situation<'a>, QuestionError> {
    let end = scenario.timing.window_end();
    if let Some(at) = at.filter(|at| *at > end) {
        let what = format!("{} is after the end of the run at {}", at - SimTime::ZERO, end - SimTime::ZERO);
        return Err(QuestionError(format!("{what}; write an earlier time")));
    }
    let mut situation = at.map_or_else(|| Situation::new(scenario), |at| Situation::at(scenario, at));
    down.iter().for_each(|backend| situation.set_health(*backend, false));
    Ok(situation)
}

/// Explains where the connections of `client` to its first rule go while `down` are unhealthy and all others are healthy.
#[cfg(test)]
pub(crate) fn explain_down(scenario: &Scenario, down: &[BackendId], client: ClientId) -> Explanation {
    let rule = scenario.clients[client].lanes.rules()[0];
    explain_client(&situation(scenario, down, None).expect("the beginning"), client, rule)
}

/// Explains where the connections of `client` to `rule` go.
fn explain_client(situation: &Situation<'_>, client: ClientId, rule: RuleId) -> Explanation {
    let scenario = situation.scenario;
    let explanation = match situation.target(rule, scenario.clients[client].origin) {
        Some(balancer) => explain_balancer(situation, client, balancer),
        None => led_nowhere(situation, client, rule),
    };
    let name = || scenario.rules[rule].name.clone();
    Explanation { rule: (scenario.rules.len() > 1).then(name), ..explanation }
}

/// Of a rule that its clients do not reach, or that leads nowhere.
fn led_nowhere(situation: &Situation<'_>, client: ClientId, rule: RuleId) -> Explanation {
    let scenario = situation.scenario;
    let group = &scenario.clients[client];
    let because = if situation.leads_anywhere(rule) {
        "a client of another region reaches the load balancer only with allow_global_access"
    } else if group.next_hop.is_some() {
        "as a next hop a rule of protocol L3_DEFAULT, or one that shares its address, drops everything (NHOP-2)"
    } else {
        "the forwarding rule does not exist at this time"
    };
    Explanation {
        arm: String::new(),
        client: group.name.clone(),
        rule: None,
        client_zone: scenario.places[group.place].name.clone(),
        compatible: false,
        configured: ByRole { primary: Vec::new(), failover: Vec::new() },
        healthy: Vec::new(),
        original_eligible: EligibleNames { kind: "none", backends: Vec::new(), because: String::new() },
        zonal_match_test: None,
        zonal_matched: None,
        intersection: None,
        healthy_share: None,
        spillover: ZonalAffinity::Disabled.spillover(),
        spillover_ratio: None,
        modified_eligible: Vec::new(),
        outcome: PlacementOutcome::Dropped.name(),
        because: because.to_owned(),
        policy: None,
        steps: Vec::new(),
        role_labels: ["primary", "failover"],
        axes: Map::new(),
    }
}

/// Explains where the connections of `client` go that are led to `balancer`.
fn explain_balancer(situation: &Situation<'_>, client: ClientId, balancer: BalancerId) -> Explanation {
    let scenario = situation.scenario;
    let group = &scenario.clients[client];
    let view = &situation.balancers[balancer];
    let policy = &view.policy;
    let roster = &policy.roster(scenario.zones.len(), view.members.clone());
    let (placement, steps) = policy.explain(PolicyState { now: SimTime::ZERO, roster }, group.origin);
    let taken = |name| steps.iter().find(|step| step.name == name).and_then(|step| step.to.as_ref());
    let names_of = |name| taken(name).map(|choice| names(roster, choice));
    // What a backend sends to its own load balancer never leaves it (ELIG-14).
    let own: Vec<String> = group.own_backends.iter().map(|id| roster.name(*id).to_owned()).collect();
    let own = Some(own).filter(|own| !own.is_empty());
    let (first, last) = (steps.first(), steps.last());
    let named = |filter: &dyn Fn(Role, bool) -> bool| -> Vec<String> {
        let configured = roster.all().iter().filter(|member| member.configured);
        configured.filter(|member| filter(member.role, member.healthy)).map(|one| one.name.clone()).collect()
    };
    let zonal_affinity = policy.get().zonal_affinity();
    let shown: Vec<ExplainedStep> = steps.iter().map(|step| explained(roster, step)).collect();
    Explanation {
        arm: String::new(),
        client: group.name.clone(),
        rule: None,
        client_zone: scenario.places[group.place].name.clone(),
        compatible: matches!(group.origin, TrafficOrigin::Zone(_)),
        configured: ByRole {
            primary: named(&|role, _| role == Role::Primary),
            failover: named(&|role, _| role == Role::Failover),
        },
        healthy: named(&|_, healthy| healthy),
        original_eligible: EligibleNames {
            kind: first.and_then(|step| step.kind).unwrap_or("none"),
            backends: first.and_then(|step| step.to.as_ref()).map_or(Vec::new(), |to| names(roster, to)),
            because: first.filter(|_| steps.len() > 1).map_or(String::new(), |step| step.because.clone()),
        },
        zonal_match_test: names_of(ZONAL_MATCH_TEST),
        zonal_matched: names_of(ZONAL_MATCHED),
        intersection: names_of(INTERSECTION),
        healthy_share: taken(INTERSECTION).zip(taken(ZONAL_MATCHED)).map(|(eligible, matched)| {
            names(roster, eligible).len() as f64 / names(roster, matched).len() as f64
        }),
        spillover: zonal_affinity.spillover(),
        spillover_ratio: zonal_affinity.spillover_ratio().map(f64::from),
        outcome: own.as_ref().map_or(placement.outcome, |_| PlacementOutcome::OwnBackend).name(),
        because: match own {
            Some(_) => {
                "a backend that sends to its own load balancer reaches itself, healthy or not".to_owned()
            }
            None => last.map_or(String::new(), |step| step.because.clone()),
        },
        modified_eligible: own.unwrap_or_else(|| names(roster, &placement.choice)),
        policy: policy.get().name().map(|name| ExplainedPolicy { name, steps: shown.clone() }),
        steps: shown,
        role_labels: policy.get().role_labels(),
        axes: Map::new(),
    }
}

fn explained(roster: &Roster, step: &PolicyStep) -> ExplainedStep {
    let parts = match &step.to {
        Some(split @ Choice::Split(_)) => split.shares(),
        None | Some(Choice::Nothing | Choice::One(_)) => Vec::new(),
    };
    let part = |(set, share)| SplitPart { share, backends: names(roster, &Choice::One(set)) };
    ExplainedStep {
        name: step.name,
        kind: step.kind,
        backends: step.to.as_ref().map(|to| names(roster, to)),
        split: parts.into_iter().map(part).collect(),
        because: step.because.clone(),
    }
}

/// The backends that a choice leads to, in configuration order.
fn names(roster: &Roster, choice: &Choice) -> Vec<String> {
    let mut members: Vec<BackendId> =
        choice.shares().iter().flat_map(|(set, _)| roster.members(*set)).collect();
    members.sort_unstable();
    members.dedup();
    members.into_iter().map(|id| roster.name(id).to_owned()).collect()
}

/// The values of a cell's axes but for the ratio, which is a field of every explanation.
fn axes(experiment: &Experiment, cell: &Cell) -> Map<String, Value> {
    let values = experiment.axes().iter().zip(&cell.values);
    let others = values.filter(|(axis, _)| axis.column != "spillover_ratio");
    others.filter_map(|(axis, value)| Some((axis.column.clone(), value.as_ref()?.to_json()))).collect()
}

/// Checks that the `what` called `name` is `known`, if one is asked for.
///
/// # Errors
/// If it is not.
pub fn check_name<'a>(
    what: &str,
    name: Option<&str>,
    known: impl Iterator<Item = &'a str>,
) -> Result<(), QuestionError> {
    let known: Vec<&str> = known.collect();
    match name {
        Some(name) if !known.contains(&name) => Err(QuestionError::unknown(what, name, known)),
        _ => Ok(()),
    }
}
