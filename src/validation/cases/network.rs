//! Packets that are lost, and connections that outlive their backend's removal.

use super::{OneZone, check, failed, poisson};
use crate::experiment::Overrides;
use crate::sim::outcome::{FailureCause, Latency, Outcome};
use crate::stats::Histogram;
use crate::validation::law::DurationLaw;
use crate::validation::theory;
use crate::validation::{Case, Check, Part};

pub(in super::super) fn network() -> Vec<Case> {
    vec![lossy_handshakes(), lossy_requests(), drain()]
}

fn lossy(seed: u32, lost: f64, round_trip: f64) -> OneZone {
    let server = format!("workers = \"unlimited\", service_time = {}", DurationLaw::exponential(0.01).toml);
    OneZone {
        // Handshakes count when they end: as many begin before the window as end behind it.
        warmup: 30,
        duration: 200,
        round_trip: DurationLaw::constant(round_trip).toml,
        more: format!(
            "[[faults]]\nat = \"0s\"\ntarget = {{ link = [\"a\", \"a\"] }}\nkind = \"link_loss\"\nprobability = {lost:?}"
        ),
        ..OneZone::new(seed, poisson(100.0), server)
    }
}

/// The mean of the values of one kind of latency, in milliseconds.
fn latency(kind: impl Fn(&Latency) -> &Histogram) -> impl Fn(&Outcome) -> Part {
    move |outcome| {
        let latency = outcome.latency_overall();
        let values = kind(&latency);
        Part { part: values.sum() / 1e6, whole: values.count() as f64 }
    }
}

/// Clients give up after 10 s.
fn lossy_handshakes() -> Case {
    let (lost, round_trip) = (0.2, 0.01);
    let handshake = theory::handshake(lost, 10.0);
    let connect = round_trip + handshake.wait;
    lossy(81, lost, round_trip).case(
        "Handshakes at 20 % loss, given up after 10 s",
        "RFC 6298: both sides again after 1, 2, 4 s",
        vec![
            check("mean connect time, ms", connect * 1e3, 0.02, latency(|latency| &latency.connect)),
            check(
                "share of connect timeouts",
                handshake.given_up,
                0.15,
                failed(FailureCause::ConnectTimeout),
            ),
        ],
    )
}

/// A request is sent again until it gets through, and so is its response. After a handshake whose SYN-ACK was lost the client
/// takes a round trip for a second longer than it is.
fn lossy_requests() -> Case {
    let (lost, round_trip) = (0.1, 0.01);
    let usual = theory::data_wait(round_trip + 0.2, round_trip + 0.2, lost);
    let late = round_trip + 1.0;
    let after_late = theory::data_wait(2.0 * late + 0.2, late + 2.0, lost);
    let share = theory::handshake(lost, 10.0).late;
    let exact = round_trip + 0.01 + usual + (1.0 - share) * usual + share * after_late;
    lossy(82, lost, round_trip).case(
        "Requests and responses at 10 % loss",
        "RFC 8985, 7.2; RFC 6298, 2.3",
        vec![check("mean response time, ms", exact * 1e3, 0.03, latency(|latency| &latency.request))],
    )
}

/// The experiment of draining timeouts, with fewer of them and over a shorter time.
const DRAIN: &str = include_str!("../../../experiments/drain.toml");
/// The shortest and the longest wait of that experiment; between them waits are Pareto of shape 1.
const WAITS: (f64, f64) = (30.0, 540.0);

/// Of the connections open when a zone is drained, those with longer residual lives than the timeout break.
fn drain() -> Case {
    let sweep = r#"sweep."backend_service.connection_draining.draining_timeout""#;
    let timeouts = r#"["0s", "60s", "180s", "300s"]"#;
    let set = [("simulation.duration", "17m"), ("operations.0.at", "11m"), (sweep, timeouts)];
    let set = set.map(|(path, value)| (path.to_owned(), value.to_owned())).to_vec();
    let checks = [(1, 60.0, 0.05), (2, 180.0, 0.1), (3, 300.0, 0.2)].map(|(cell, seconds, bound)| Check {
        quantity: format!("share of open connections broken, timeout {seconds} s"),
        theory: theory::residual_survival(WAITS.0, WAITS.1, seconds),
        bound,
        measure: Box::new(move |outcomes| {
            let broken = |cell: usize| outcomes[cell].failed(FailureCause::Reset) as f64;
            Part { part: broken(cell), whole: broken(0) }
        }),
    });
    Case {
        name: "A drained zone, waits of experiments/drain.toml".to_owned(),
        source: "residual life; Ross, 3.4",
        text: DRAIN.to_owned(),
        overrides: Overrides { set, replications: Some(20), ..Overrides::default() },
        checks: checks.into(),
    }
}
