//! Verdicts: how often what answers claim is wrong, over many made-up folders of which the truth is known.
//!
//! A folder holds the runs of a few alternatives under common random numbers: what all of them meet, and a noise of their
//! own. The answers are those of `zonesim recommend` and `zonesim compare`, by the same code.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::table::number;
use crate::answers::compare::{ComparisonVerdict, compare};
use crate::answers::recommend::{RecommendRequest, recommend};
use crate::metrics::Metric;
use crate::random::{Purpose, RunSeed, exponential, normal};
use crate::results::observed::Observed;
use crate::results::{ResultCell, Results, Run};
use crate::stats::{Confidence, Interval, Observation, Sample};

/// How many studies there are of each claim: seeds from 1 on.
const STUDIES: u64 = 1000;
/// What is claimed may be wrong so often.
const ALLOWED: f64 = 0.05;
/// A folder has so many replications of each alternative.
const REPLICATIONS: usize = 10;
/// Connections of a run.
const CONNECTIONS: f64 = 10_000.0;
/// The mean share of a run that fails.
const FAILURES: f64 = 0.02;
/// What an outage fails, on average, of a run.
const OUTAGE: f64 = 0.05;

const COST: &str = "cross_zone_usd_per_month";
const LOST: &str = "failure_ratio";

/// How a run's failures come about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum FailureLaw {
    /// A share with a deviation of a third.
    Smooth,
    /// So many outages a run, each of an exponential size.
    Outages(f64),
}

impl FailureLaw {
    fn mean(self) -> f64 {
        match self {
            Self::Smooth => FAILURES,
            Self::Outages(rate) => rate * OUTAGE,
        }
    }

    fn draw(self, rng: &mut Xoshiro256PlusPlus) -> f64 {
        match self {
            Self::Smooth => (FAILURES * (1.0 + normal(rng) / 3.0)).max(0.0),
            Self::Outages(rate) => {
                let (mut clock, mut sum) = (exponential(rng), 0.0);
                while clock < rate {
                    clock += exponential(rng);
                    sum += OUTAGE * exponential(rng);
                }
                sum.min(1.0)
            }
        }
    }
}

/// How the costs of an alternative differ from those of the others in a run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum CostNoise {
    Normal,
    /// Skewed: exponential.
    Exponential,
}

/// A folder of alternatives: the means of their costs, and how what happens varies.
#[derive(Clone, Debug)]
struct MadeUp {
    costs: Vec<f64>,
    noise: CostNoise,
    failures: FailureLaw,
}

impl MadeUp {
    fn equals(count: usize, noise: CostNoise) -> Self {
        Self { costs: vec![100.0; count], noise, failures: FailureLaw::Smooth }
    }

    fn observed(&self, study: u64) -> Observed {
        let mut rng = RunSeed::new(study, 0).stream(Purpose::Connections, "verdicts").generator();
        let mut runs = Vec::new();
        for replication in 0..REPLICATIONS {
            let (common, lost) = (2.0 * normal(&mut rng), self.failures.draw(&mut rng));
            for (cell, cost) in self.costs.iter().enumerate() {
                let own = match self.noise {
                    CostNoise::Normal => normal(&mut rng),
                    CostNoise::Exponential => exponential(&mut rng) - 1.0,
                };
                // All alternatives lose the same in an outage, but for a hundredth of it.
                let lost = lost * (1.0 + 0.01 * normal(&mut rng)).max(0.0);
                let values = [CONNECTIONS, lost.min(1.0), cost + common + own].map(Some).to_vec();
                runs.push(Run { cell, replication, stratum_weight: None, values });
            }
        }
        let cell =
            |number| ResultCell { number, arm: number, values: Vec::new(), replications: REPLICATIONS };
        Observed::of(Results {
            arms: (0..self.costs.len()).map(|arm| format!("arm-{arm}")).collect(),
            cells: (0..self.costs.len()).map(cell).collect(),
            metrics: ["connections", LOST, COST].map(str::to_owned).to_vec(),
            runs,
            ..Results::default()
        })
    }
}

/// A claim, and how often it was wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdicts {
    /// What would be wrong.
    pub name: String,
    /// In how many studies it was.
    pub wrong: u64,
    /// How many studies there were.
    pub studies: u64,
}

impl Verdicts {
    /// The share of studies in which it was wrong.
    pub fn share(&self) -> f64 {
        self.wrong as f64 / self.studies as f64
    }

    /// Whether that is as seldom as is claimed.
    pub fn is_right(&self) -> bool {
        self.share() <= ALLOWED
    }
}

/// A study: what would be wrong, and whether it is in the study of this number.
type Study = (String, Box<dyn Fn(u64) -> bool>);

fn studies() -> Vec<Study> {
    let mut all: Vec<Study> = Vec::new();
    for count in [2, 3, 5, 8, 21] {
        for (noise, law) in [(CostNoise::Normal, "normal"), (CostNoise::Exponential, "exponential")] {
            let folder = MadeUp::equals(count, noise);
            let name =
                format!("recommend: one of {count} equal cells is told apart from the best ({law} noise)");
            all.push((name, Box::new(move |study| is_told_apart(&folder.observed(study)))));
        }
    }
    for count in [3, 8] {
        let folder = MadeUp::equals(count, CostNoise::Normal);
        let name =
            format!("compare: any of {count} equal cells differs from the baseline in any of two metrics");
        all.push((name, Box::new(move |study| is_any_shown(&folder.observed(study)))));
    }
    let graded = |noise| MadeUp {
        costs: (0..8).map(|cell| 100.0 + f64::from(cell)).collect(),
        ..MadeUp::equals(8, noise)
    };
    for (noise, law) in [(CostNoise::Normal, "normal"), (CostNoise::Exponential, "exponential")] {
        let folder = graded(noise);
        let name =
            format!("recommend: an interval of the difference from the best of 8 misses it ({law} noise)");
        all.push((name, Box::new(move |study| is_any_missed(&folder, study))));
    }
    for (failures, law) in laws() {
        for count in [1, 8] {
            let folder = MadeUp { failures, ..MadeUp::equals(count, CostNoise::Normal) };
            let name =
                format!("recommend: a limit just below the failures of {count} equal cells is kept ({law})");
            all.push((name, Box::new(move |study| is_certified(&folder, study))));
        }
    }
    for (failures, law) in laws() {
        let name = format!("summary: the interval of the failure ratio misses it, 10 replications ({law})");
        all.push((name, Box::new(move |study| is_missed(failures, study))));
    }
    all
}

fn laws() -> [(FailureLaw, &'static str); 5] {
    [
        (FailureLaw::Smooth, "smooth"),
        (FailureLaw::Outages(0.1), "an outage in 10 replications"),
        (FailureLaw::Outages(0.5), "an outage in 2 replications"),
        (FailureLaw::Outages(1.0), "an outage a replication"),
        (FailureLaw::Outages(3.0), "3 outages a replication"),
    ]
}

fn request(constraints: &[String]) -> RecommendRequest {
    let constraints = constraints.iter().map(|text| text.parse().expect("a limit of a metric"));
    RecommendRequest { objective: COST.to_owned(), maximize: false, constraints: constraints.collect() }
}

fn is_told_apart(observed: &Observed) -> bool {
    let sections = recommend(observed, &request(&[])).expect("there are costs");
    sections[0].candidates.iter().any(|candidate| candidate.behind.is_some_and(|rank| rank.told_apart))
}

fn is_any_shown(observed: &Observed) -> bool {
    let metrics = [COST, LOST].map(str::to_owned);
    let found = compare(observed, None, &metrics).expect("there are both metrics");
    let shown = [ComparisonVerdict::Better, ComparisonVerdict::Worse];
    found.metrics.iter().flat_map(|metric| &metric.rows).any(|row| shown.contains(&row.verdict))
}

fn is_any_missed(folder: &MadeUp, study: u64) -> bool {
    let sections = recommend(&folder.observed(study), &request(&[])).expect("there are costs");
    let cost = |candidate: usize| folder.costs[sections[0].candidates[candidate].cells[0]];
    let best = sections[0].recommended.expect("nothing is limited");
    sections[0].candidates.iter().enumerate().any(|(index, candidate)| {
        let ends = candidate.behind.and_then(|rank| rank.ends);
        let truth = cost(index) - cost(best);
        ends.is_some_and(|(low, high)| truth < low || high < truth)
    })
}

fn is_certified(folder: &MadeUp, study: u64) -> bool {
    let limit = format!("{LOST}<={}", folder.failures.mean() * 0.999);
    let sections =
        recommend(&folder.observed(study), &request(&[limit])).expect("there are costs and failures");
    sections[0].recommended.is_some()
}

fn is_missed(failures: FailureLaw, study: u64) -> bool {
    let mut rng = RunSeed::new(study, 1).stream(Purpose::Connections, "verdicts").generator();
    let one = |_| Observation::Ratio { part: failures.draw(&mut rng) * CONNECTIONS, whole: CONNECTIONS };
    let sample: Sample = (0..REPLICATIONS).map(one).collect();
    let interval = Interval::of(&sample, Metric::of(LOST).nature(true), Confidence::P95);
    let (low, high) = interval.and_then(|interval| interval.ends).expect("there are ten replications");
    failures.mean() < low || high < failures.mean()
}

/// Makes every study, and hands what is found of each claim to `done`.
pub fn measure(mut done: impl FnMut(&Verdicts)) -> Vec<Verdicts> {
    let one = |(name, is_wrong): Study| {
        let wrong = (1..=STUDIES).filter(|study| is_wrong(*study)).count() as u64;
        let found = Verdicts { name, wrong, studies: STUDIES };
        done(&found);
        found
    };
    studies().into_iter().map(one).collect()
}

pub(super) const HEADING: &str = "## Verdicts";

const HEAD: &str = "\
`zonesim validate --coverage` made this part too. Each row is a claim of an answer, asked of 1000 made-up results folders of
which the truth is known, with ten replications under common random numbers, and in how many of them it is wrong. A claim may
be wrong in 5 % of them. Where few replications have an outage, less is: what was not seen is bounded by the number of
replications alone.

| what would be wrong | wrong | share | at most 5 %? |
|---|---|---|---|
";

/// The part of the file about verdicts.
pub fn render(verdicts: &[Verdicts]) -> String {
    let rows: String = verdicts.iter().map(row).collect();
    format!("\n{HEADING}\n\n{HEAD}{rows}")
}

fn row(verdicts: &Verdicts) -> String {
    let Verdicts { name, wrong, studies } = verdicts;
    let right = if verdicts.is_right() { "yes" } else { "no" };
    format!("| {name} | {wrong} of {studies} | {} % | {right} |\n", number(verdicts.share() * 100.0))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// What is committed has a row of every claim, and says that it is right.
    #[test]
    fn the_committed_table_is_whole_and_right() {
        let committed =
            fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("results/validation.md"));
        let committed = committed.unwrap();
        let (_, part) = committed.split_once(HEADING).expect("`zonesim validate --coverage` adds this part");
        for (name, _) in studies() {
            let row = part.lines().find(|line| line.starts_with(&format!("| {name} | "))).expect(&name);
            assert!(row.ends_with("| yes |"), "{row}");
        }
    }

    /// Some studies of each claim: few are wrong, and a claim that is wrong nearly always is seen to be.
    #[test]
    fn few_claims_are_wrong_and_a_false_one_is_seen() {
        const FEW: u64 = 40;
        for (name, is_wrong) in studies() {
            // 5 % of 40 and four standard errors of 1.4.
            assert!((1..=FEW).filter(|study| is_wrong(*study)).count() <= 7, "{name}");
        }
        let far = MadeUp { costs: vec![100.0, 110.0], ..MadeUp::equals(2, CostNoise::Normal) };
        assert!((1..=FEW).all(|study| is_told_apart(&far.observed(study))));
        let half = |study| {
            let folder = MadeUp::equals(1, CostNoise::Normal);
            let limit = format!("{LOST}<={}", FAILURES * 2.0);
            recommend(&folder.observed(study), &request(&[limit])).unwrap()[0].recommended.is_some()
        };
        assert!((1..=FEW).all(half), "a limit far above the truth is kept");
    }
}
