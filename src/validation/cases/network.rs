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

/// A SYN is answered if both ways let it through. It is sent at 0, 1, 3 and 7 s before the client gives up after 10 s.
fn lossy_handshakes() -> Case {
    let (lost, round_trip, sendings) = (0.2, 0.01, 4);
    let unanswered = 1.0 - (1.0 - lost) * (1.0 - lost);
    let connect = round_trip + theory::doubling_wait_of(sendings, 1.0, unanswered);
    let given_up = libm::pow(unanswered, f64::from(sendings));
    lossy(81, lost, round_trip).case(
        "Handshakes at 20 % loss, given up after 10 s",
        "RFC 6298: 1, 2, 4 s",
        vec![
            check("mean connect time, ms", connect * 1e3, 0.02, latency(|latency| &latency.connect)),
            check("share of connect timeouts", given_up, 0.06, failed(FailureCause::ConnectTimeout)),
        ],
    )
}

/// A request is sent again until it gets through, and so is its response.
fn lossy_requests() -> Case {
    let (lost, round_trip) = (0.1, 0.01);
    let exact = round_trip + 0.01 + 2.0 * theory::doubling_wait(0.2, lost);
    lossy(82, lost, round_trip).case(
        "Requests and responses at 10 % loss",
        "retransmission after 0.2, 0.4, 0.8 s",
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
