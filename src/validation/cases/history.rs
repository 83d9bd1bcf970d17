//! What happened: time without service, deaths as events tell them, and clients that move.

use super::{OneZone, check, group, poisson};
use crate::sim::history::Remapping;
use crate::sim::outcome::Outcome;
use crate::validation::law::DurationLaw;
use crate::validation::theory::{self, Checking};
use crate::validation::{Case, Part};

const INSTANT: &str = "workers = \"unlimited\", service_time = { constant = \"1us\" }";
const CHECK: &str = "check_interval = \"5s\", timeout = \"5s\", initial_state = \"HEALTHY\"";

pub(in super::super) fn history() -> Vec<Case> {
    vec![
        outage(91),
        deaths(92),
        moved(93, "Rendezvous", "INTERNAL", theory::remapped_by_rendezvous(BACKENDS)),
        moved(94, "Maglev", "EXTERNAL", theory::remapped_by_maglev(BACKENDS, TABLE)),
    ]
}

/// Two backends by themselves, of whose failures no probe tells.
fn outage(seed: u32) -> Case {
    let (up, down) = (DurationLaw::exponential(100.0), DurationLaw::exponential(25.0));
    let failures =
        format!("time_to_failure = {}, time_to_repair = {}, mode = \"serving_only\"", up.toml, down.toml);
    let server = format!("{INSTANT}, failures = {{ {failures} }}");
    let world = OneZone {
        warmup: 1000,
        duration: 60_000,
        backends: group(2),
        ..OneZone::new(seed, poisson(0.01), server)
    };
    let exact = 60_000.0 * theory::fewer_up(1, 2, theory::availability(up.mean, down.mean));
    let seconds = |outcome: &Outcome| {
        let nanos: u64 = outcome.history.outages.iter().map(|spans| spans.nanos).sum();
        Part { part: nanos as f64 / 1e9, whole: 1.0 }
    };
    let checks = vec![check("seconds without service", exact, 0.15, seconds)];
    world.case("Two backends that die unnoticed", "alternating renewal", checks)
}

/// Silent deaths at random moments, as the history has them.
fn deaths(seed: u32) -> Case {
    let failures = format!("time_to_failure = {}, time_to_repair = {{ constant = \"60s\" }}", {
        DurationLaw::exponential(100.0).toml
    });
    let server = format!("{INSTANT}, failures = {{ {failures} }}");
    let world = OneZone {
        duration: 6000,
        backends: group(4),
        check: CHECK.to_owned(),
        ..OneZone::new(seed, poisson(0.01), server)
    };
    let checking = Checking { interval: 5.0, timeout: 5.0, threshold: 2, round_trip: 1e-6, phase: 0.5 };
    let delay = |outcome: &Outcome| {
        let noticed = outcome.history.detections;
        Part { part: noticed.nanos as f64 / 1e9, whole: noticed.count as f64 }
    };
    let checks = vec![check("mean delay, s", checking.silence(), 0.02, delay)];
    world.case("Silent deaths in the history, probes of 5 s × 2", "HCK-10, random phase", checks)
}

const BACKENDS: u32 = 10;
/// Entries of a Maglev table.
const TABLE: usize = 65_537;

/// Each backend is unhealthy for a minute, one after the other.
fn moved(seed: u32, name: &str, scheme: &str, (exact, needless): (f64, f64)) -> Case {
    let fault = |number: u32| {
        format!(
            "[[faults]]\nat = \"{}s\"\nduration = \"60s\"\ntarget = {{ backends = [\"ig-{number}\"] }}\nkind = \"unhealthy_only\"\n",
            100 * number
        )
    };
    let world = OneZone {
        repetition: "replications = 60".to_owned(),
        duration: 100 * (BACKENDS + 1),
        backends: group(BACKENDS),
        check: CHECK.to_owned(),
        more: (1..=BACKENDS).map(fault).collect(),
        ..OneZone::new(seed, poisson(0.01), INSTANT.to_owned())
    };
    let share = |part: fn(Remapping) -> (u64, u64)| {
        move |outcome: &Outcome| {
            let (part, whole) = part(outcome.history.remapping);
            Part { part: part as f64, whole: whole as f64 }
        }
    };
    let mut checks =
        vec![check("share of clients that move", exact, 0.05, share(|found| (found.moved, found.keys)))];
    if needless > 0.0 {
        let found = share(|found| (found.needless, found.kept));
        checks.push(check("share of the others that moves", needless, 0.5, found));
    }
    let title = format!("{name}, one backend of {BACKENDS} goes or comes");
    let mut case = world.case(title, "HASH-1, HASH-4; Eisenbud et al., NSDI 2016", checks);
    let service = format!("[backend_service]\nload_balancing_scheme = \"{scheme}\"");
    case.text = case.text.replacen("[backend_service]", &service, 1);
    case
}
