//! Coverage: how often the intervals of 95 % hold the exact value, over many experiments that differ in their seeds alone.
//!
//! Intervals come about as `zonesim run` and `zonesim compare` make them: a metric of each run, Student's t over
//! replications, ratios as ratios of means, differences paired by replication, and as many replications as a precision
//! takes, where there is one.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::cases::{OneZone, poisson};
use super::theory::mmck_loss;
use crate::experiment::Overrides;
use crate::job::agenda::Agenda;
use crate::job::cost::longest_first;
use crate::job::runner::{RunFailure, RunId, RunnerEvent, measured, run_growing};
use crate::metrics::Metric;
use crate::stats::{Confidence, Interval, Observation, Paired, Sample, Strata};

/// How many experiments there are of each world: seeds from 1 on.
const EXPERIMENTS: u64 = 1000;
/// What an interval of 95 % misses.
const ERROR: f64 = 0.05;
/// Coverage from the one to the other is right.
const RIGHT: (f64, f64) = (0.93, 0.97);

struct Claim {
    name: &'static str,
    metric: &'static str,
    exact: f64,
    /// Whether it is of the second cell minus the first, and not of the first.
    is_difference: bool,
    /// Whether what few replications have is bounded by their number, so that intervals cover more than they say.
    is_rare: bool,
}

/// How often intervals held the exact value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// What they are of, and how they are made.
    pub name: &'static str,
    /// The exact value.
    pub exact: f64,
    /// How many experiments there were.
    pub experiments: u64,
    /// How many replications they had, on average.
    pub replications: f64,
    /// How many intervals held it.
    pub covered: u64,
    /// Half the width that they had, on average.
    pub half_width: f64,
    /// Whether they may cover more than they claim.
    pub is_rare: bool,
}

impl Coverage {
    /// The share of intervals that held the exact value.
    pub fn share(&self) -> f64 {
        self.covered as f64 / self.experiments as f64
    }

    /// Whether that is close to what they claim.
    pub fn is_right(&self) -> bool {
        (RIGHT.0..=if self.is_rare { 1.0 } else { RIGHT.1 }).contains(&self.share())
    }
}

/// Connections of several requests, few of them in a run, so that the number of requests is skewed. All complete.
fn sessions(repetition: &str) -> String {
    let server = "workers = \"unlimited\", service_time = { constant = \"1ms\" }";
    let connection = "requests = { geometric = { mean = 3.0 } }, think_time = { constant = \"1ms\" }";
    OneZone {
        repetition: repetition.to_owned(),
        warmup: 0,
        duration: 20,
        connection: connection.to_owned(),
        ..OneZone::new(0, poisson(2.0), server.to_owned())
    }
    .text()
}

/// The load of the queue below, in Erlang.
const LOAD: f64 = 1.0;

/// M/M/2/5, and in a second arm M/M/2/3, both with the same arrivals and the same work.
fn losses(repetition: &str, arms: &str) -> String {
    let server = "workers = 2, queue_limit = 3, service_time = { exponential = { mean = \"10ms\" } }";
    OneZone {
        repetition: repetition.to_owned(),
        warmup: 1,
        duration: 5,
        more: arms.to_owned(),
        ..OneZone::new(0, poisson(100.0), server.to_owned())
    }
    .text()
}

const TWO_ARMS: &str =
    "[[arms]]\nname = \"five\"\n[[arms]]\nname = \"three\"\nset = { \"server.queue_limit\" = 1 }\n";

/// From the end of one outage to the next, how long it lasts, and the measured window, in seconds.
const OUTAGES: (f64, f64) = (3600.0, 100.0);
const WINDOW: (u32, u32) = (20, 320);

/// A zone whose backend refuses everything now and then, with clients that stay in it; `asked` says in which replications.
fn rare_outages(repetition: &str, asked: &str) -> String {
    let (between, lasts) = OUTAGES;
    let random = format!(
        "random = {{ time_between = {{ exponential = {{ mean = \"{between}s\" }} }}, duration = {{ constant = \"{lasts}s\" }}{asked} }}"
    );
    OneZone {
        repetition: repetition.to_owned(),
        warmup: WINDOW.0,
        duration: WINDOW.1 - WINDOW.0,
        more: format!("[[faults]]\ntarget = {{ zone = \"a\" }}\nkind = \"refuse\"\n{random}\n"),
        ..OneZone::new(
            0,
            poisson(2.0),
            "workers = \"unlimited\", service_time = { constant = \"1ms\" }".to_owned(),
        )
    }
    .text()
}

/// Outages in every other replication, in the long run.
const IN_TURN: &str = ", at_least_one = true, stratified = true";

/// The share of the window of which such a zone is down: it begins up, and is down at a moment if an outage began less than
/// its length before. The k-th begins at k exponential times and k - 1 outages (alternating renewal process; Cox, Renewal
/// Theory, 1962, chapter 7).
fn share_of_outages() -> f64 {
    let (between, lasts) = OUTAGES;
    let begins = |time: f64| -> f64 {
        let one = |before: i32| {
            let up = time - f64::from(before) * lasts;
            let orders: f64 = (1..=before).map(f64::from).product();
            if up < 0.0 {
                0.0
            } else {
                (up / between).powi(before) / orders * (-up / between).exp() / between
            }
        };
        (0..=(time / lasts) as i32).map(one).sum()
    };
    const STEP: f64 = 0.05;
    let between_times = |from: f64, to: f64, of: &dyn Fn(f64) -> f64| -> f64 {
        let steps = ((to - from) / STEP).ceil().max(1.0);
        let width = (to - from) / steps;
        (0..steps as usize).map(|step| of(from + (step as f64 + 0.5) * width) * width).sum()
    };
    let (from, to) = (f64::from(WINDOW.0), f64::from(WINDOW.1));
    // An outage that begins at a moment counts for what of it lies in the window.
    let inside = |begin: f64| ((begin + lasts).min(to) - begin.max(from)).max(0.0);
    between_times(0.0, to, &|time| begins(time) * inside(time)) / (to - from)
}

/// Worlds whose failures come in rare outages.
fn outages() -> Vec<(String, Vec<Claim>)> {
    let share = |name, exact| {
        vec![Claim { name, metric: "failure_ratio", exact, is_difference: false, is_rare: true }]
    };
    let stratified = |repetition: &str, name| {
        let repetition = format!("{repetition}\ninitial_health = \"stationary\"");
        let exact = OUTAGES.1 / (OUTAGES.0 + OUTAGES.1);
        (rare_outages(&repetition, IN_TURN), share(name, exact))
    };
    let exact = share_of_outages();
    let rare = |name| share(name, exact);
    vec![
        (
            rare_outages("replications = 10", ""),
            rare("rare outages, 10 replications: share that a zone fails, hit one time in 12"),
        ),
        (
            rare_outages("replications = 40", ""),
            rare("rare outages, 40 replications: share that a zone fails, hit one time in 12"),
        ),
        (
            rare_outages("precision = { metric = \"failure_ratio\", absolute = 0.02 }", ""),
            rare("precision of ±2 points: share that a zone fails, hit one time in 12"),
        ),
        (
            rare_outages(
                "precision = { metric = \"failure_ratio\", relative = 0.8, max_replications = 400 }",
                "",
            ),
            rare("precision of 80 %: share that a zone fails, hit one time in 12"),
        ),
        stratified(
            "replications = 20",
            "two strata, 20 replications: share that a zone fails in the long run, hit one time in 10",
        ),
        stratified(
            "precision = { metric = \"failure_ratio\", relative = 0.2 }",
            "two strata, precision of 20 %: share that a zone fails in the long run, hit one time in 10",
        ),
    ]
}

fn worlds() -> Vec<(String, Vec<Claim>)> {
    let (five, three) = (mmck_loss(2, 3, LOAD), mmck_loss(2, 1, LOAD));
    let requests = 2.0 * 20.0 * 3.0;
    let claim = |name, metric, exact| Claim { name, metric, exact, is_difference: false, is_rare: false };
    let difference = |name, metric, exact| Claim { is_difference: true, ..claim(name, metric, exact) };
    let one = |text, name, metric, exact| (text, vec![claim(name, metric, exact)]);
    let [tenth, fifth] = ["0.1", "0.2"].map(|relative| {
        losses(&format!("precision = {{ metric = \"failure_ratio\", relative = {relative} }}"), "")
    });
    let within_6 = sessions("precision = { metric = \"requests\", absolute = 6.0 }");
    let (lost, share) = ("failed_queue_full", "failure_ratio");
    let two_arms = vec![
        claim("mean, 10 replications: requests that M/M/2/5 loses", lost, 500.0 * five),
        claim("ratio of means, 10 replications: share that M/M/2/5 loses", share, five),
        difference(
            "paired difference of means, 10 replications: requests that M/M/2/3 loses more",
            lost,
            500.0 * (three - five),
        ),
        difference(
            "paired difference of ratios, 10 replications: share that M/M/2/3 loses more",
            share,
            three - five,
        ),
    ];
    let others = vec![
        one(sessions("replications = 5"), "mean, 5 replications: requests of sessions", "requests", requests),
        one(
            sessions("replications = 10"),
            "mean, 10 replications: requests of sessions",
            "requests",
            requests,
        ),
        (losses("replications = 10", TWO_ARMS), two_arms),
        one(tenth, "precision of 10 %: share that M/M/2/5 loses", share, five),
        one(fifth, "precision of 20 %: share that M/M/2/5 loses", share, five),
        one(within_6, "precision of ±6: requests of sessions", "requests", requests),
    ];
    outages().into_iter().chain(others).collect()
}

/// Runs every experiment on `jobs` threads, and hands each world's coverage to `done`.
///
/// # Errors
/// The first failure of a run.
pub fn measure(jobs: usize, mut done: impl FnMut(&[Coverage])) -> Result<Vec<Coverage>, RunFailure> {
    let mut all = Vec::new();
    for (text, claims) in worlds() {
        let found = measure_world(&text, &claims, jobs, EXPERIMENTS)?;
        done(&found);
        all.extend(found);
    }
    Ok(all)
}

fn measure_world(
    text: &str,
    claims: &[Claim],
    jobs: usize,
    experiments: u64,
) -> Result<Vec<Coverage>, RunFailure> {
    let begin = |claim: &Claim| Coverage {
        name: claim.name,
        exact: claim.exact,
        is_rare: claim.is_rare,
        experiments,
        ..Coverage::default()
    };
    let mut coverages: Vec<Coverage> = claims.iter().map(begin).collect();
    for seed in 1..=experiments {
        let (cells, each) = observe(text, claims, seed, jobs)?;
        for (claim, coverage) in claims.iter().zip(&mut coverages) {
            let sample = |cell: usize| -> Sample { cells[&(claim.metric, cell)].iter().copied().collect() };
            let ends = if claim.is_difference {
                Paired::new(sample(0), sample(1)).test(false).and_then(|test| test.ends(ERROR))
            } else {
                let nature = Metric::of(claim.metric).nature(claim.is_rare);
                Interval::of(&sample(0), nature, Confidence::P95).and_then(|found| found.ends)
            };
            let (low, high) = ends.expect("every experiment measures something, several times");
            coverage.covered += u64::from(low <= claim.exact && claim.exact <= high);
            coverage.replications += (sample(0).len() * each) as f64 / experiments as f64;
            coverage.half_width += (high - low) / 2.0 / experiments as f64;
        }
    }
    Ok(coverages)
}

/// What the replications of an experiment say, by metric and cell, in order of replications, or of those that are one
/// observation.
type Observed = BTreeMap<Sampled, Vec<Observation>>;
/// A metric, and the number of a cell.
type Sampled = (&'static str, usize);

/// Runs an experiment; gives too how many replications are one observation.
fn observe(text: &str, claims: &[Claim], seed: u64, jobs: usize) -> Result<(Observed, usize), RunFailure> {
    let overrides = Overrides { seed: Some(seed), ..Overrides::default() };
    let experiment = Arc::new(super::experiment("coverage", text, &overrides));
    let mut agenda = Agenda::new(&experiment, None);
    let first = longest_first(&experiment, agenda.runs().iter().copied().collect());
    let mut found: BTreeMap<(&'static str, RunId), Observation> = BTreeMap::new();
    run_growing(&experiment, first, jobs, |event| -> Result<_, RunFailure> {
        let RunnerEvent::Finished(id, outcome) = event else { return Ok(ControlFlow::Continue(Vec::new())) };
        Ok(ControlFlow::Continue(measured(&experiment, id, &outcome, |run| {
            for claim in claims {
                let observation = Metric::of(claim.metric).observe(run).expect("every run has a value");
                found.insert((claim.metric, id), observation);
            }
            agenda.observe(id, run)
        })))
    })?;
    let mut observed: BTreeMap<Sampled, Vec<_>> = BTreeMap::new();
    for ((metric, id), observation) in found {
        observed.entry((metric, id.cell)).or_default().push((id.replication as usize, Some(observation)));
    }
    let strata = experiment.strata();
    let joined = |((metric, cell), found): (Sampled, Vec<(usize, Option<Observation>)>)| {
        let found = match &strata {
            Some(strata) => strata[cell].joined(found),
            None => found,
        };
        ((metric, cell), found.into_iter().filter_map(|(_, observation)| observation).collect())
    };
    let each = if strata.is_some() { Strata::ROUND } else { 1 };
    Ok((observed.into_iter().map(joined).collect(), each))
}

pub(super) const HEADING: &str = "## Coverage";

const HEAD: &str = "\
`zonesim validate --coverage` made this part. Each row is an interval of 95 % that 1000 experiments make, which differ in
their seeds alone, and how many of them hold the exact value. Half-widths and replications are means. By chance 1000 right
intervals cover from 93.6 to 96.4 % in 95 of 100 rows. A precision stops where the interval happens to be narrow, so that
it may cover a little less than a fixed number of replications does. Of rare outages the number of replications without one
bounds what was not seen, so that those intervals may cover more.

| interval | exact value | replications | half-width | covered | share | right? |
|---|---|---|---|---|---|---|
";

/// The part of the file about coverage.
pub fn render(coverages: &[Coverage]) -> String {
    let rows: String = coverages.iter().map(row).collect();
    format!("\n{HEADING}\n\n{HEAD}{rows}")
}

pub(super) fn row(coverage: &Coverage) -> String {
    let Coverage { name, exact, experiments, replications, covered, half_width, .. } = coverage;
    let [exact, half_width] = [exact, half_width].map(|value| super::table::number(*value));
    let right = if coverage.is_right() { "yes" } else { "no" };
    let share = coverage.share() * 100.0;
    format!(
        "| {name} | {exact} | {replications:.1} | {half_width} | {covered} of {experiments} | {share:.1} % | {right} |\n"
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    fn committed() -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/validation.md");
        fs::read_to_string(path).unwrap()
    }

    /// Takes minutes: `cargo test --release -- --ignored coverage`.
    #[test]
    #[ignore = "it takes minutes; `zonesim validate --coverage` does the same"]
    fn intervals_cover_as_the_committed_table_says() {
        let committed = committed();
        for coverage in measure(2, |_| ()).unwrap() {
            assert!(coverage.is_right(), "{coverage:?}");
            assert!(committed.contains(&row(&coverage)), "results/validation.md is old: {}", row(&coverage));
        }
    }

    /// What is committed has a row of every interval, and says that it is right.
    #[test]
    fn the_committed_table_is_whole_and_right() {
        let committed = committed();
        let (_, part) = committed.split_once(HEADING).expect("`zonesim validate --coverage` adds this part");
        for claim in worlds().iter().flat_map(|(_, claims)| claims) {
            let row = part.lines().find(|line| line.starts_with(&format!("| {} | ", claim.name)));
            let fields: Vec<&str> = row.expect(claim.name).split(" | ").collect();
            assert_eq!(fields[1], super::super::table::number(claim.exact), "{}", claim.name);
            let share: f64 = fields[5].trim_end_matches(" %").parse().unwrap();
            let most = if claim.is_rare { 100.0 } else { 97.0 };
            assert!((93.0..=most).contains(&share) && fields[6] == "yes |", "{fields:?}");
        }
    }

    /// A few experiments of each world: intervals miss now and then, and a wrong value nearly always.
    #[test]
    fn a_wrong_value_is_not_covered() {
        const FEW: u64 = 8;
        for (text, mut claims) in worlds() {
            let right = claims.len();
            let wrong = |claim: &Claim| Claim { exact: claim.exact * 2.0, ..*claim };
            // Twice as many of what is rare are not ruled out by a few replications.
            let wrong: Vec<Claim> = claims.iter().filter(|claim| !claim.is_rare).map(wrong).collect();
            claims.extend(wrong);
            let found = measure_world(&text, &claims, 1, FEW).unwrap();
            assert!(found[..right].iter().all(|coverage| coverage.covered > FEW / 2), "{found:?}");
            assert!(found[right..].iter().all(|coverage| coverage.covered <= 1), "{found:?}");
            assert!(found.iter().all(|coverage| coverage.replications >= 5.0), "{found:?}");
        }
    }
}
