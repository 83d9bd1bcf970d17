//! Arrival processes against their theory, and impossible ones.

use std::sync::Arc;

use serde::de::{IgnoredAny, IntoDeserializer};

use super::*;
use crate::random::testing::{KS_CRITICAL, ks_distance};
use crate::random::{Purpose, RunSeed};
use crate::stats::Moments;

fn read(text: &str) -> Result<ArrivalSpec, String> {
    let value: toml_edit::Value = text.parse().unwrap();
    let spec: Result<ArrivalSpec<IgnoredAny>, _> = ArrivalSpec::deserialize(value.into_deserializer());
    let spec = spec.map_err(|error| error.message().to_owned())?;
    spec.with_trace(|_| Err("no trace".to_owned()))
}

fn start(spec: &ArrivalSpec, name: &str) -> Arrivals {
    spec.start(RunSeed::new(9, 0).stream(Purpose::Arrivals, name).generator())
}

/// The process that `text` describes, running.
fn process(text: &str) -> Arrivals {
    start(&read(text).unwrap(), text)
}

/// The time of its next connection; never if there is none.
fn next_time(arrivals: &mut Arrivals) -> SimTime {
    arrivals.next().map_or(SimTime::NEVER, |arrival| arrival.unwrap().at)
}

/// The times of its connections before `end`, in seconds.
fn seconds_before(arrivals: &mut Arrivals, end: f64) -> Vec<f64> {
    std::iter::from_fn(|| Some(next_time(arrivals).as_secs_f64()).filter(|at| *at < end)).collect()
}

/// How many connections come in each of `windows` windows of `length` seconds.
fn counts(arrivals: &mut Arrivals, length: f64, windows: usize) -> Vec<f64> {
    let mut counts = vec![0.0; windows];
    for at in seconds_before(arrivals, length * windows as f64) {
        counts[(at / length) as usize] += 1.0;
    }
    counts
}

/// Asserts that `samples` estimate `expected`, within four of their own standard errors. The seeds are fixed.
#[track_caller]
fn assert_estimates(what: &str, samples: impl IntoIterator<Item = f64>, expected: f64) {
    let samples: Vec<f64> = samples.into_iter().collect();
    let n = samples.len() as f64;
    let moments: Moments = samples.into_iter().collect();
    let (found, error) = (moments.mean(), moments.std_dev() / n.sqrt());
    assert!((found - expected).abs() <= 4.0 * error, "{what}: {found} +- {error}, expected {expected}");
}

#[track_caller]
fn assert_ks(what: &str, draws: Vec<f64>, cdf: impl Fn(f64) -> f64) {
    let distance = ks_distance(draws, cdf);
    assert!(distance < KS_CRITICAL, "{what}: {distance}");
}

fn gaps(times: &[f64]) -> Vec<f64> {
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

#[test]
fn deterministic_arrivals_do_not_drift() {
    let mut arrivals = process("{ deterministic = { rate = 3.0 } }");
    let times: Vec<SimTime> = (0..3_000_000).map(|_| next_time(&mut arrivals)).collect();
    assert_eq!(times[0], SimTime::from_nanos(333_333_333));
    assert_eq!(times[2_999_999], SimTime::from_nanos(1_000_000_000_000_000));
}

#[test]
fn poisson_arrivals_have_their_rate_and_spread() {
    let counts = counts(&mut process("{ poisson = { rate = 1000.0 } }"), 1.0, 2000);
    assert_estimates("mean", counts.iter().copied(), 1000.0);
    assert_estimates("variance", counts.iter().map(|count| (count - 1000.0).powi(2)), 1000.0);
    let times = seconds_before(&mut process("{ poisson = { rate = 100.0 } }"), 2000.0);
    assert_ks("gaps", gaps(&times), |gap| -(-100.0 * gap).exp_m1());
}

/// The variance of the number of connections in `t` seconds over its mean, of a process whose rate has this mean and
/// variance and forgets its past at this speed: 1 + 2 v / (m g) (1 - (1 - exp(-g t)) / (g t)).
fn dispersion(mean: f64, variance: f64, speed: f64, t: f64) -> f64 {
    1.0 + 2.0 * variance / (mean * speed) * (1.0 + (-speed * t).exp_m1() / (speed * t))
}

/// Asserts the mean rate, and the index of dispersion of counts in windows of three lengths, over independent starts:
/// each is stationary from the beginning.
fn check_modulated(text: &str, mean: f64, variance: f64, speed: f64) {
    let spec = read(text).unwrap();
    assert!((spec.mean_rate().unwrap() - mean).abs() < 1e-12 * mean);
    for (length, batches) in [(0.2, 400), (3.0, 100), (30.0, 40)] {
        let batch = |batch: usize| -> Moments {
            let count = |number: usize| {
                let mut arrivals = start(&spec, &format!("{length} {batch} {number}"));
                seconds_before(&mut arrivals, length).len() as f64
            };
            (0..250).map(count).collect()
        };
        let batches: Vec<Moments> = (0..batches).map(batch).collect();
        assert_estimates(text, batches.iter().map(|counts| counts.mean() / length), mean);
        let expected = dispersion(mean, variance, speed, length);
        let about_mean = |counts: &Moments| counts.std_dev().powi(2) / (mean * length);
        assert_estimates(&format!("{text}, {length} s"), batches.iter().map(about_mean), expected);
    }
}

#[test]
fn modulated_arrivals_have_their_rate_and_dispersion() {
    // Two states: shares of the time 1/4 and 3/4, and the rate forgets at the sum of the rates of leaving.
    let two = r#"{ mmpp = { rates = [50, 5], mean_dwell = ["2s", "6s"] } }"#;
    check_modulated(two, 16.25, 0.25 * 0.75 * 45.0 * 45.0, 1.0 / 2.0 + 1.0 / 6.0);
    // On and off.
    let on_off = r#"{ mmpp = { rates = [0.0, 40.0], mean_dwell = "1s" } }"#;
    check_modulated(on_off, 20.0, 400.0, 2.0);
    // n states of equal dwell d: it forgets at n / ((n - 1) d).
    let four = r#"{ mmpp = { rates = [0, 10, 20, 90], mean_dwell = "1500ms" } }"#;
    check_modulated(four, 30.0, 1250.0, 4.0 / (3.0 * 1.5));
}

#[test]
fn modulated_first_arrivals_follow_their_distribution() {
    // P(none before t) = p exp((Q - L) t) 1, of two states by the eigenvalues s +- q of the matrix.
    let (rates, leave) = ([50.0, 5.0], [1.0 / 2.0, 1.0 / 6.0]);
    let (a, d) = (-leave[0] - rates[0], -leave[1] - rates[1]);
    let (s, det) = ((a + d) / 2.0, a * d - leave[0] * leave[1]);
    let q = f64::sqrt(s * s - det);
    let none = |t: f64| {
        let (even, odd) = ((q * t).cosh() * (s * t).exp(), (q * t).sinh() * (s * t).exp() / q);
        let row = [a - s + leave[0], leave[1] + d - s];
        0.25 * (even + odd * row[0]) + 0.75 * (even + odd * row[1])
    };
    let spec = read(r#"{ mmpp = { rates = [50, 5], mean_dwell = ["2s", "6s"] } }"#).unwrap();
    let first = |number: u32| next_time(&mut start(&spec, &number.to_string())).as_secs_f64();
    assert_ks("first arrivals", (0..100_000).map(first).collect(), |t| 1.0 - none(t));
}

#[test]
fn diurnal_arrivals_follow_the_hour() {
    for (peak, amplitude) in [("1.0", 0.0), ("1.6", 0.6), ("2.0", 1.0)] {
        let text = format!("{{ diurnal = {{ mean_rate = 100, peak_to_mean = {peak}, period = \"20s\" }} }}");
        let spec = read(&text).unwrap();
        assert_eq!(spec.mean_rate(), Some(100.0));
        // Λ(t) over the mean rate, at any time.
        let integral = |t: f64| {
            t + amplitude * 20.0 / std::f64::consts::TAU * (1.0 - (t * 0.1 * std::f64::consts::PI).cos())
        };
        for t in [0.0, 5.0, 10.0, 15.0, 20.0, 27.5] {
            let expected =
                spec.expected_before(SimTime::ZERO + SimDuration::from_nanos_f64(t * 1e9)).unwrap();
            assert!(
                (expected - 100.0 * integral(t)).abs() < 1e-9 * (1.0 + expected),
                "{text}, {t}: {expected}"
            );
        }
        let times = seconds_before(&mut start(&spec, &text), 20.0 * 400.0);
        let phases: Vec<f64> = times.iter().map(|at| at % 20.0).collect();
        let mut bins = vec![vec![0.0; 400]; 10];
        for (at, phase) in times.iter().zip(&phases) {
            bins[(phase / 2.0) as usize][(at / 20.0) as usize] += 1.0;
        }
        for (bin, counts) in bins.into_iter().enumerate() {
            let (low, high) = (2.0 * bin as f64, 2.0 * (bin + 1) as f64);
            assert_estimates(&format!("{text}, {low} s"), counts, 100.0 * (integral(high) - integral(low)));
        }
        let periods = |counts: Vec<f64>| counts.into_iter().map(|count| count / 20.0);
        assert_estimates(&text, periods(counts(&mut start(&spec, &text), 20.0, 400)), 100.0);
        assert_ks(&text, phases, |phase| integral(phase) / 20.0);
    }
}

#[test]
fn closed_loops_have_no_arrivals_of_their_own() {
    let spec =
        read(r#"{ closed = { population = 500, think_time = { exponential = { mean = "2s" } } } }"#).unwrap();
    let ArrivalSpec::Closed(closed) = &spec else { panic!("{spec:?}") };
    assert_eq!((closed.population.get(), closed.think_time.mean()), (500, 2e9));
    assert_eq!((spec.mean_rate(), spec.expected_before(SimTime::from_nanos(1))), (None, None));
    let mut arrivals = start(&spec, "closed");
    assert_eq!(arrivals.next(), None);
}

/// A trace of three connections, at 1, 1 and 4 s.
fn trace() -> TraceSource {
    let row = |client_id| TraceRow { client_id, request_bytes: 10, response_bytes: None, duration: None };
    let at = |secs| SimTime::ZERO + SimDuration::from_secs(secs);
    TraceSource {
        name: "three".to_owned(),
        fingerprint: 3,
        connections: 3,
        last: at(4),
        rows: Arc::new(move || {
            Box::new([(at(1), row(7)), (at(1), row(8)), (at(4), row(7))].into_iter().map(Ok))
        }),
    }
}

#[test]
fn traces_end() {
    let spec = ArrivalSpec::Trace(trace());
    let clients: Vec<(u64, u64)> = start(&spec, "trace")
        .map(Result::unwrap)
        .map(|arrival| (arrival.at.as_nanos() / 1_000_000_000, arrival.trace.unwrap().client_id))
        .collect();
    assert_eq!(clients, [(1, 7), (1, 8), (4, 7)]);
    let mut again = start(&spec, "other");
    let times: Vec<f64> = seconds_before(&mut again, 1e9);
    assert_eq!(times, [1.0, 1.0, 4.0]);
    assert_eq!(again.next(), None);
    assert_eq!(spec.mean_rate(), Some(0.75));
    let expected = |secs| spec.expected_before(SimTime::ZERO + SimDuration::from_secs(secs));
    assert_eq!([expected(2), expected(4), expected(5)], [Some(1.5), Some(3.0), Some(3.0)]);
    let at_once = ArrivalSpec::Trace(TraceSource { last: SimTime::ZERO, ..trace() });
    assert_eq!((at_once.mean_rate(), at_once.expected_before(SimTime::from_nanos(1))), (None, Some(3.0)));
}

#[test]
fn the_same_stream_gives_the_same_arrivals() {
    for text in [
        "{ poisson = { rate = 20 } }",
        "{ deterministic = { rate = 20 } }",
        r#"{ mmpp = { rates = [50, 5, 0], mean_dwell = "2s" } }"#,
        r#"{ diurnal = { mean_rate = 20, peak_to_mean = 1.5, period = "1m" } }"#,
    ] {
        let spec = read(text).unwrap();
        let arrivals =
            |name: &str| start(&spec, name).take(5000).map(Result::unwrap).collect::<Vec<Arrival>>();
        let first = arrivals("a");
        assert!(
            first.is_sorted_by_key(|arrival| arrival.at)
                && first.iter().all(|arrival| arrival.trace.is_none())
        );
        assert_eq!(first, arrivals("a"));
        assert_eq!(first == arrivals("b"), text.contains("deterministic"), "{text}");
    }
}

#[test]
fn rare_connections_never_come() {
    for text in [
        "{ poisson = { rate = 1e-12 } }",
        r#"{ mmpp = { rates = [0, 1e-12], mean_dwell = "50000d" } }"#,
        r#"{ diurnal = { mean_rate = 1e-12, peak_to_mean = 2, period = "1ns" } }"#,
    ] {
        let mut arrivals = process(text);
        let late: Vec<SimTime> = (0..10).map(|_| next_time(&mut arrivals)).collect();
        assert!(late.is_sorted() && late[9] == SimTime::NEVER, "{text}: {late:?}");
    }
}

#[test]
fn impossible_processes_are_refused() {
    for (text, part) in [
        ("{ poisson = { rate = 0 } }", "0 is not a rate"),
        ("{ poisson = { rate = 2e9 } }", "at most 1e9"),
        ("{ mmpp = { rates = [5], mean_dwell = \"1s\" } }", "there are 1 rates; write at least 2"),
        ("{ mmpp = { rates = [5, -1], mean_dwell = \"1s\" } }", "-1 is not a rate; write connections"),
        ("{ mmpp = { rates = [5, nan], mean_dwell = \"1s\" } }", "NaN is not a rate"),
        ("{ mmpp = { rates = [5, inf], mean_dwell = \"1s\" } }", "inf is not a rate"),
        ("{ mmpp = { rates = [0, 0], mean_dwell = \"1s\" } }", "all rates are 0; let one"),
        ("{ mmpp = { rates = [5, 1], mean_dwell = [\"1s\"] } }", "2 rates and 1 dwell times; write one"),
        ("{ mmpp = { rates = [5, 1], mean_dwell = [\"1s\", \"0s\"] } }", "can't be 0s"),
        ("{ mmpp = { rates = [5, 1], mean_dwell = \"0s\" } }", "can't be 0s"),
        ("{ mmpp = { rates = [5, 1], mean_dwell = 5 } }", "a duration such as \"10s\", or a list"),
        ("{ mmpp = { rates = [5, 1], mean_dwell = \"5\" } }", "has no unit"),
        ("{ mmpp = { rates = [5, 1], mean_dwell = [5, 6] } }", "duration with a unit"),
        ("{ mmpp = { rates = [0, 1e-4], mean_dwell = \"1ms\" } }", "write poisson with rate = 0.00005"),
        ("{ mmpp = { rates = [5, 1] } }", "mean_dwell"),
        ("{ mmpp = { rates = [5, 1], mean_dwell = \"1s\", peak = 1 } }", "peak"),
        ("{ diurnal = { mean_rate = 5, peak_to_mean = 0.9, period = \"1d\" } }", "0.9 is no ratio"),
        ("{ diurnal = { mean_rate = 5, peak_to_mean = 2.1, period = \"1d\" } }", "2.1 is no ratio"),
        ("{ diurnal = { mean_rate = 5, peak_to_mean = nan, period = \"1d\" } }", "NaN is no ratio"),
        ("{ diurnal = { mean_rate = 0, peak_to_mean = 1.1, period = \"1d\" } }", "0 is not a rate"),
        (
            "{ diurnal = { mean_rate = 5, peak_to_mean = 1.1, period = \"0s\" } }",
            "a period can't be 0s; write",
        ),
        (
            "{ closed = { population = 0, think_time = { constant = \"1s\" } } }",
            "0 is not a population; write",
        ),
        ("{ closed = { population = 10000001, think_time = { constant = \"1s\" } } }", "from 1 to 10000000"),
        ("{ closed = { population = -1, think_time = { constant = \"1s\" } } }", "-1 is not a population"),
        ("{ closed = { population = 1.5, think_time = { constant = \"1s\" } } }", "invalid type"),
        ("{ closed = { population = 5, think_time = { exponential = { mean = \"0s\" } } } }", "mean above 0"),
        ("{ closed = { population = 5 } }", "think_time"),
    ] {
        let error = read(text).unwrap_err();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn a_load_multiplies_rates_and_clients_and_keeps_everything_else() {
    let load = |factor: f64| Load::try_from(factor).unwrap();
    for (name, arrivals) in [
        ("poisson", "{ poisson = { rate = 4.0 } }"),
        ("deterministic", "{ deterministic = { rate = 4.0 } }"),
        ("mmpp", "{ mmpp = { rates = [0.0, 8.0], mean_dwell = \"10s\" } }"),
        ("diurnal", "{ diurnal = { mean_rate = 4.0, peak_to_mean = 1.5, period = \"1m\" } }"),
    ] {
        let spec = read(arrivals).unwrap();
        assert_eq!(spec.at_load(Load::default()).unwrap(), spec, "{name}");
        let tripled = spec.at_load(load(3.0)).unwrap();
        assert_eq!(tripled.mean_rate(), Some(12.0), "{name}");
        assert_estimates(name, counts(&mut start(&tripled, name), 60.0, 400), 12.0 * 60.0);
        assert!(spec.at_load(load(1e6)).is_ok() && tripled.at_load(load(1e6)).is_ok(), "{name}");
    }
    let rate = read("{ poisson = { rate = 2000.0 } }").unwrap().at_load(load(1e6)).unwrap_err();
    assert!(rate.to_string().contains("at most 1e9"), "{rate}");
    let slow = read("{ mmpp = { rates = [0.0, 8.0], mean_dwell = \"1us\" } }").unwrap().at_load(load(1e-3));
    assert!(slow.unwrap_err().to_string().contains("larger load"));
    let closed = read("{ closed = { population = 30, think_time = { constant = \"1s\" } } }").unwrap();
    let ArrivalSpec::Closed(tenth) = closed.at_load(load(0.1)).unwrap() else { panic!("a closed loop") };
    assert_eq!(tenth.population.get(), 3);
    for (factor, told) in [(0.05, "makes 1.5 clients"), (1e-3, "whole number"), (1e6, "1 to 10000000")] {
        let error = closed.at_load(load(factor)).unwrap_err().to_string();
        assert!(error.contains(told), "{factor}: {error}");
    }
}
