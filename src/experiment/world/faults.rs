//! `[[faults]]`: what the world does to backends and to the network between zones.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::operations::History;
use super::{before_the_end, group_id, not_forever, zone_id, zone_pair};
use crate::experiment::bounded::{Span, Whole};
use crate::experiment::keys::word;
use crate::experiment::path::KeyPath;
use crate::experiment::problem::{Problem, distinct, refuse};
use crate::experiment::worlds::FaultWords;
use crate::ids::{BackendId, IdVec, ZoneId};
use crate::lb::ratio::Ratio;
use crate::metrics::unit::Unit;
use crate::random::Distribution;
use crate::sim::builder::ScenarioBuilder;
use crate::sim::scenario::{
    BackendFault, BackendSpec, Factor, FailureMode, Fault, FaultEffect, FaultSchedule, InitialHealth,
    LinkFault, Occurrence, Timing,
};
use crate::time::{SimDuration, SimTime};

/// How often a fault may strike in a run: far more than anybody could look at.
const MOST_STRIKES: u64 = 100_000;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenFault {
    /// When it begins, on the clock that starts with the warm-up. Default: none; either it or `random` is needed.
    #[schemars(example = &"10m")]
    at: Option<SimDuration>,
    /// How long it lasts. Default: to the end of the run.
    duration: Option<Span>,
    /// Whom it can strike.
    #[schemars(extend("examples" = [{ "zone": "us-central1-a" }]))]
    target: FaultTarget,
    /// What it does.
    #[serde(default)]
    kind: Kind,
    /// Of `slow`: how many times longer requests take. Default: none, it is needed.
    factor: Option<Factor>,
    /// Of `link_delay`: how much longer round trips take. Default: none, it is needed.
    #[schemars(example = &"5ms")]
    added_rtt: Option<Span>,
    /// Of `link_loss`: the chance of each packet to be lost. Default: none, it is needed.
    #[schemars(example = 0.01)]
    probability: Option<Ratio>,
    /// Of `rolling_restart`: how many backends restart at once. Default: 1.
    batch: Option<Whole<1, 1_000_000>>,
    /// Of `rolling_restart`: from the end of one batch to the next. Default: 0 s.
    pause: Option<SimDuration>,
    /// Of `rolling_restart`: how long a backend serves, but answers HTTP, HTTPS, HTTP2 and gRPC checks with an error, before
    /// it restarts. A TCP or SSL check finds its port open, and sees nothing of that. Default: 0 s.
    grace: Option<SimDuration>,
    /// Of `rolling_restart`: how long a restart takes. Default: 30 s.
    restart: Option<Span>,
    /// On and off at a fixed rhythm. Default: on throughout.
    flapping: Option<Flapping>,
    /// At random times, instead of `at`. Default: none.
    random: Option<Random>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Backends do nothing with packets.
    #[default]
    Silent,
    /// Backends answer with RST.
    Refuse,
    /// Backends take longer.
    Slow,
    /// Probes get no answer, clients do.
    ProbeBlock,
    /// Probes of HTTP, HTTPS, HTTP2 and gRPC get an error, others no answer; clients are served.
    UnhealthyOnly,
    /// Clients get no answer, probes do.
    ServingOnly,
    /// Round trips take longer.
    LinkDelay,
    /// Packets are lost.
    LinkLoss,
    /// Backends restart, some at a time.
    RollingRestart,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Flapping {
    /// From one beginning to the next.
    #[schemars(example = &"1m")]
    period: Span,
    /// How long it lasts each time.
    #[schemars(example = &"20s")]
    active: Span,
}

/// `random`: an alternating renewal process.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Random {
    /// From the start of the run, or the end of the last time, to the next beginning.
    #[schemars(extend("examples" = [{ "exponential": { "mean": "6h" } }]))]
    time_between: Distribution<SimDuration>,
    /// How long it lasts each time.
    #[schemars(extend("examples" = [{ "exponential": { "mean": "10m" } }]))]
    duration: Distribution<SimDuration>,
    /// Whether only such replications are drawn in whose measured window it is on some time. It says how many of all windows
    /// those are; what is measured is of those alone. It needs an exponential `time_between` and `initial_health = "stationary"`.
    #[serde(default)]
    at_least_one: bool,
    /// With `at_least_one`: whether only every other replication is drawn so, and those between without it, which are weighted to
    /// how often both are: what is measured is of all windows.
    #[serde(default)]
    stratified: bool,
}

/// Backends, by one of `zone`, `group` and `backends`, or the network between two zones, by `link`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct FaultTarget {
    /// All backends of this zone. Default: none; one of `zone`, `group`, `backends` and `link` is needed.
    #[schemars(example = &"us-central1-a")]
    zone: Option<String>,
    /// All members of this group. Default: none.
    #[schemars(example = &"ig-a")]
    group: Option<String>,
    /// These members. Default: none.
    #[schemars(example = ["ig-a-1"])]
    backends: Option<Vec<String>>,
    /// The network between these two zones, or within one that is named twice. Default: none.
    #[schemars(example = ["us-central1-a", "us-central1-b"])]
    link: Option<[String; 2]>,
    /// The share of the backends that is struck. Default: 1.0.
    fraction: Option<Ratio>,
}

pub(super) fn faults(written: &[WrittenFault], history: &History<'_>) -> Result<Vec<Fault>, Problem> {
    let faults = written.iter().enumerate().map(|(index, fault)| {
        let path = KeyPath::to("faults").member(index);
        fault.has_its_keys(&path)?;
        let schedule = fault.schedule(history.world, &path)?;
        let effect = fault.effect(schedule.start(), history, &path)?;
        rolls_to_its_end(&schedule, &effect, &path)?;
        Ok(Fault { effect, schedule })
    });
    let faults: Vec<Fault> = faults.collect::<Result<_, _>>()?;
    let in_turn = |fault: &WrittenFault| fault.random.as_ref().is_some_and(|random| random.stratified);
    if let Some((second, _)) = written.iter().enumerate().filter(|(_, fault)| in_turn(fault)).nth(1) {
        let path = KeyPath::to("faults").member(second).key("random").key("stratified");
        return refuse(
            path,
            "stands in a second fault: replications are of two strata",
            "keep it in one of them",
        );
    }
    Ok(faults)
}

impl WrittenFault {
    pub(super) fn words(&self) -> FaultWords {
        FaultWords { kind: word(&self.kind), target: self.target.words() }
    }

    fn has_its_keys(&self, path: &KeyPath) -> Result<(), Problem> {
        let owned = [
            ("factor", self.factor.is_some(), Kind::Slow),
            ("added_rtt", self.added_rtt.is_some(), Kind::LinkDelay),
            ("probability", self.probability.is_some(), Kind::LinkLoss),
            ("batch", self.batch.is_some(), Kind::RollingRestart),
            ("pause", self.pause.is_some(), Kind::RollingRestart),
            ("grace", self.grace.is_some(), Kind::RollingRestart),
            ("restart", self.restart.is_some(), Kind::RollingRestart),
        ];
        let stray = owned.into_iter().find(|(_, is_there, owner)| *is_there && *owner != self.kind);
        if let Some((key, _, owner)) = stray {
            let help = format!("leave it out, or write kind = {:?}", word(&owner));
            return refuse(path.key(key), format!("means nothing to kind = {:?}", word(&self.kind)), help);
        }
        let (random, rolling) = (self.random.is_some(), self.kind == Kind::RollingRestart);
        let (lasts, flaps) = (self.duration.is_some(), self.flapping.is_some());
        let alone = [
            ("at", random && self.at.is_some(), "`random`"),
            ("duration", random && lasts, "`random`"),
            ("flapping", random && flaps, "`random`"),
            ("duration", rolling && lasts, "kind = \"rolling_restart\""),
            ("flapping", rolling && flaps, "kind = \"rolling_restart\""),
            ("random", rolling && random, "kind = \"rolling_restart\""),
        ];
        match alone.into_iter().find(|(_, is_there, _)| *is_there) {
            Some((key, _, other)) => {
                let what = format!("stands beside {other}, which says when the fault strikes");
                refuse(path.key(key), what, "keep one of the two")
            }
            None => Ok(()),
        }
    }

    fn schedule(&self, world: &ScenarioBuilder, path: &KeyPath) -> Result<FaultSchedule, Problem> {
        let timing = &world.timing;
        if let Some(random @ Random { time_between, duration, .. }) = &self.random {
            random.can_be_asked(world, || path.key("random"))?;
            let cycle = SimDuration::from_nanos_f64(time_between.mean() + duration.mean());
            rarely(cycle, timing, || path.key("random"))?;
            let (time_between, duration) = (time_between.clone(), duration.clone());
            return Ok(FaultSchedule::Random { time_between, duration, occurrence: random.occurrence() });
        }
        let at = self.at.ok_or_else(|| Problem::missing_key(path.clone(), "at"))?;
        // Those after the window meet connections that began in it.
        not_forever(at, path.key("at"))?;
        let start = SimTime::ZERO + at;
        let duration = self.duration.map(Span::get);
        if self.kind == Kind::RollingRestart {
            let batch = self.batch.map_or(1, Whole::get);
            for (key, length) in [("pause", self.pause), ("grace", self.grace)] {
                not_forever(length.unwrap_or_default(), path.key(key))?;
            }
            return Ok(FaultSchedule::Rolling {
                at: start,
                batch: batch.try_into().expect("at least one"),
                pause: self.pause.unwrap_or_default(),
                grace: self.grace.unwrap_or_default(),
                restart: self.restart.unwrap_or(Span::secs::<30>()).get(),
            });
        }
        let Some(Flapping { period, active }) = &self.flapping else {
            return Ok(FaultSchedule::Once { at: start, duration });
        };
        // A rhythm stops with the window.
        let at = before_the_end(at, timing, path)?;
        let path = path.key("flapping");
        let (period, active) = (period.get(), active.get());
        if active >= period {
            let what = format!("is {active}, but the period is {period}");
            return refuse(path.key("active"), what, "write less than the period");
        }
        rarely(period, timing, || path.key("period"))?;
        Ok(FaultSchedule::Flapping { at, duration, period, active })
    }

    fn effect(&self, start: SimTime, history: &History<'_>, path: &KeyPath) -> Result<FaultEffect, Problem> {
        let target = path.key("target");
        let missing = |key| Problem::missing_key(path.clone(), key);
        if matches!(self.kind, Kind::LinkDelay | Kind::LinkLoss) {
            let between = self.target.link(self.kind, history, target)?;
            let kind = match self.kind {
                Kind::LinkDelay => {
                    LinkFault::Delay(self.added_rtt.ok_or_else(|| missing("added_rtt"))?.get())
                }
                _ => LinkFault::Loss(self.probability.ok_or_else(|| missing("probability"))?),
            };
            return Ok(FaultEffect::Link { between, kind });
        }
        if self.target.link.is_some() {
            let what = format!("is the network, which can't be {}", word(&self.kind));
            let help =
                "write kind = \"link_delay\" or \"link_loss\", or name backends by zone, group or backends";
            return refuse(target.key("link"), what, help);
        }
        let kind = match self.kind {
            Kind::Slow => BackendFault::Slow(self.factor.ok_or_else(|| missing("factor"))?),
            Kind::Refuse => BackendFault::Fails(FailureMode::Refuse),
            Kind::ProbeBlock => BackendFault::BlocksProbes,
            Kind::UnhealthyOnly => BackendFault::Fails(FailureMode::UnhealthyOnly),
            Kind::ServingOnly => BackendFault::Fails(FailureMode::ServingOnly),
            _ => BackendFault::Fails(FailureMode::Silent),
        };
        let targets = self.target.members(start, history, target.clone())?;
        let is_autoscaled = |id: &BackendId| history.world.is_autoscaled(*id);
        if self.kind == Kind::RollingRestart && targets.iter().any(is_autoscaled) {
            let what =
                "names members of a group that has an autoscaling_policy, whose batches are not known ahead";
            let help = "name a group without one, or write kind = \"refuse\" with a fraction";
            return refuse(target, what, help);
        }
        let fraction = self.target.fraction.unwrap_or(Ratio::new(1.0).expect("one is a ratio"));
        Ok(FaultEffect::Backends { targets, fraction, kind })
    }
}

impl Random {
    fn occurrence(&self) -> Occurrence {
        match (self.at_least_one, self.stratified) {
            (false, _) => Occurrence::Free,
            (true, false) => Occurrence::Always,
            (true, true) => Occurrence::InTurn,
        }
    }

    /// Checks that how likely its being on in the window is, is known exactly, if it is asked to be on.
    fn can_be_asked(&self, world: &ScenarioBuilder, path: impl FnOnce() -> KeyPath) -> Result<(), Problem> {
        if !self.at_least_one {
            if self.stratified {
                let what = "says what replications are drawn between those with at least one";
                return refuse(path().key("stratified"), what, "write at_least_one = true beside it");
            }
            return Ok(());
        }
        if !self.time_between.is_memoryless() {
            let what = "is not exponential: how many windows have at least one is not known exactly";
            return refuse(
                path().key("time_between"),
                what,
                "write an exponential one, or at_least_one = false",
            );
        }
        if world.initial_health != InitialHealth::Stationary {
            let what = "needs a world that begins in its long run";
            return refuse(
                path().key("at_least_one"),
                what,
                "write simulation.initial_health = \"stationary\"",
            );
        }
        Ok(())
    }
}

fn rarely(cycle: SimDuration, timing: &Timing, path: impl FnOnce() -> KeyPath) -> Result<(), Problem> {
    let run = timing.window_end() - SimTime::ZERO;
    if cycle.as_nanos() >= run.as_nanos() / MOST_STRIKES {
        return Ok(());
    }
    let what = format!("strikes every {cycle}, more than {MOST_STRIKES} times in a run");
    refuse(path(), what, "write longer times, or a shorter run")
}

/// Checks that the last batch of a rolling restart comes within simulated time.
fn rolls_to_its_end(schedule: &FaultSchedule, effect: &FaultEffect, path: &KeyPath) -> Result<(), Problem> {
    let (FaultSchedule::Rolling { batch, pause, grace, restart, .. }, FaultEffect::Backends { targets, .. }) =
        (schedule, effect)
    else {
        return Ok(());
    };
    let length = *grace + *restart + *pause;
    let batches = (targets.len() as u64).div_ceil(u64::from(batch.get()));
    if length.as_nanos().checked_mul(batches).is_some_and(|nanos| nanos <= Span::LONGEST.as_nanos()) {
        return Ok(());
    }
    let what = format!("has {batches} batches, {length} each: together they are longer than any run");
    refuse(path.key("kind"), what, "restart more at a time, or write shorter times")
}

fn such(history: &History<'_>, at: SimTime, is_wanted: impl Fn(&BackendSpec) -> bool) -> Vec<BackendId> {
    let running = history.running(at);
    // An autoscaled group has members that come and go by themselves.
    let is_there = |id| running.contains(&id) || history.world.is_autoscaled(id);
    let found = history.world.backends().pairs().filter(|(id, spec)| is_wanted(spec) && is_there(*id));
    found.map(|(id, _)| id).collect()
}

impl FaultTarget {
    /// In words: `us-central1-a (50 %)`.
    fn words(&self) -> String {
        let lists = [
            &self.backends.as_ref().map(|names| names.join(", ")),
            &self.link.as_ref().map(|zones| zones.join("–")),
        ];
        let share = self.fraction.map(|fraction| format!("({})", Unit::Percent.text(fraction.value())));
        let words = [&self.zone, &self.group].into_iter().chain(lists).chain([&share]);
        words.flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The two zones between which a fault of `kind` is.
    fn link(&self, kind: Kind, history: &History<'_>, path: KeyPath) -> Result<[ZoneId; 2], Problem> {
        let others = [
            ("zone", self.zone.is_some()),
            ("group", self.group.is_some()),
            ("backends", self.backends.is_some()),
            ("fraction", self.fraction.is_some()),
        ];
        if let Some((key, _)) = others.into_iter().find(|(_, is_there)| *is_there) {
            let what = format!("means nothing to kind = {:?}", word(&kind));
            return refuse(path.key(key), what, "name two zones by link = [\"…\", \"…\"]");
        }
        let Some(names) = &self.link else {
            return refuse(path, "names no network", "add link = [\"…\", \"…\"], two zones");
        };
        zone_pair(history.world.zones(), names, &path.key("link"))
    }

    /// The backends that it means at time `at`; at least one.
    fn members(&self, at: SimTime, history: &History<'_>, path: KeyPath) -> Result<Vec<BackendId>, Problem> {
        let (members, key, what, help) = match (&self.zone, &self.group, &self.backends) {
            (Some(zone), None, None) => {
                let id = zone_id(history.world.zones(), zone, &path.key("zone"))?;
                let what = format!("is {zone:?}, where no backend is at that time");
                (such(history, at, |spec| spec.zone == id), "zone", what, "name a zone that has backends")
            }
            (None, Some(name), None) => {
                let id = group_id(history.world, name, path.key("group"))?;
                let what = format!("is {name:?}, which has no members at that time");
                (such(history, at, |spec| spec.group == id), "group", what, "name a group that has members")
            }
            (None, None, Some(names)) => return named(history.world.backends(), names, path.key("backends")),
            (None, None, None) => {
                let help = "add zone = \"…\", group = \"…\" or backends = [\"…\"]";
                return refuse(path, "names no backends", help);
            }
            _ => {
                let help = "keep one of zone, group and backends";
                return refuse(path, "names backends in several ways", help);
            }
        };
        if members.is_empty() { refuse(path.key(key), what, help) } else { Ok(members) }
    }
}

fn named(
    backends: &IdVec<BackendId, BackendSpec>,
    names: &[String],
    path: KeyPath,
) -> Result<Vec<BackendId>, Problem> {
    if names.is_empty() {
        return refuse(path, "is empty", "name at least one backend");
    }
    distinct(names, |index| path.member(index))?;
    let ids: BTreeMap<&str, BackendId> = backends.pairs().map(|(id, spec)| (&spec.name[..], id)).collect();
    let found = names.iter().enumerate().map(|(index, name)| {
        let known = backends.iter().map(|spec| spec.name.as_str());
        let id = ids.get(name.as_str()).copied();
        id.ok_or_else(|| Problem::unknown_name(path.member(index), name, "backends", known))
    });
    found.collect()
}
