//! Shards: the runs of one experiment divided among machines.
//!
//! Who runs what follows from the experiment and the number of shards alone, so that shards need not talk to each other.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::cost::{costs, longest_first};
use super::runner::RunId;
use crate::experiment::Experiment;

/// The most shards of one experiment: as many as it may have runs.
pub const SHARDS_MAX: u32 = 1_000_000;

/// One of the parts that the runs of an experiment are divided into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    number: u32,
    count: u32,
}

impl Shard {
    /// Shard `number`, from 1, of `count`.
    ///
    /// # Errors
    /// If there is no such shard.
    pub fn new(number: u32, count: u32) -> Result<Self, String> {
        if !(1..=SHARDS_MAX).contains(&count) {
            return Err(format!("there can be 1 to {SHARDS_MAX} shards, not {count}"));
        }
        if !(1..=count).contains(&number) {
            return Err(format!(
                "there is no shard {number} of {count}: shards are numbered from 1 to {count}"
            ));
        }
        Ok(Self { number, count })
    }

    /// Which one, from 1.
    pub fn number(self) -> u32 {
        self.number
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.count
    }

    /// The name of its folder, of the experiment called `experiment`.
    pub fn folder(self, experiment: &str) -> String {
        format!("{experiment}.shard-{}-of-{}", self.number, self.count)
    }

    /// Those of `runs` that are its own, in order. There may be none.
    pub(super) fn of(self, experiment: &Experiment, runs: Vec<RunId>) -> Vec<RunId> {
        share(experiment, runs, self.count).swap_remove(self.number as usize - 1)
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').map(|(number, count)| (number.parse(), count.parse()));
        match numbers {
            Some((Ok(number), Ok(count))) => Self::new(number, count),
            _ => Err(format!("{text:?} is no shard; write I/N, such as 1/4")),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.count)
    }
}

impl TryFrom<String> for Shard {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> Self {
        shard.to_string()
    }
}

/// Divides `runs` among `count` shards, each in order: the longest run left goes to the shard with the least to do.
fn share(experiment: &Experiment, runs: Vec<RunId>, count: u32) -> Vec<Vec<RunId>> {
    let costs = costs(experiment);
    let mut shards = vec![Vec::new(); count as usize];
    let mut by_load: BTreeSet<(u64, usize)> = (0..shards.len()).map(|shard| (0, shard)).collect();
    for run in longest_first(experiment, runs) {
        let (load, shard) = by_load.pop_first().expect("there is a shard");
        shards[shard].push(run);
        by_load.insert((load.saturating_add(costs[run.cell]), shard));
    }
    shards.iter_mut().for_each(|runs| runs.sort_unstable());
    shards
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Overrides, Source};
    use crate::job::runner::all_runs;

    fn experiment(sweep: &str) -> Experiment {
        let text = format!(
            r#"
            name = "shards"
            simulation = {{ replications = 5, warmup = "10s", duration = "90s" }}
            region = {{ name = "r", zones = ["a"] }}
            backend_service.backends = [{{ group = "ig", zone = "a", size = 1 }}]
            clients = [{{ name = "web", kind = "vm", zone = "a", arrivals = {{ poisson = {{ rate = 1.0 }} }} }}]
            sweep = {{ "clients.web.arrivals.poisson.rate" = {sweep} }}
            "#
        );
        let source = Source { name: "test.toml".to_owned(), text };
        Experiment::parse(source, &Overrides::default())
            .unwrap_or_else(|error| panic!("{}", error.render(false)))
    }

    #[test]
    fn every_run_is_in_one_shard_and_loads_are_alike() {
        let rates = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
        let experiment = experiment("[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]");
        for count in 1..40 {
            let shards = share(&experiment, all_runs(&experiment), count);
            let mut all: Vec<RunId> = shards.iter().flatten().copied().collect();
            all.sort_unstable();
            assert_eq!(all, all_runs(&experiment));
            assert!(shards.iter().all(|runs| runs.is_sorted()));
            let loads: Vec<f64> =
                shards.iter().map(|runs| runs.iter().map(|run| 100.0 * rates[run.cell]).sum()).collect();
            let most = loads.iter().copied().fold(0.0, f64::max);
            let least = loads.iter().copied().fold(f64::INFINITY, f64::min);
            assert!(most - least <= 3200.0, "they differ by more than the longest run: {loads:?}");
            let second = Shard::new(count, count).unwrap();
            assert_eq!(second.of(&experiment, all_runs(&experiment)), shards[count as usize - 1]);
        }
    }

    #[test]
    fn long_runs_go_first_and_equal_ones_in_order() {
        let experiment = experiment("[2.0, 8.0, 2.0001]");
        let order = longest_first(&experiment, all_runs(&experiment));
        let cells: Vec<usize> = order.iter().map(|run| run.cell).collect();
        assert_eq!(cells, [1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2]);
        assert_eq!(costs(&experiment), [200, 800, 200]);
        assert!(order[..5].is_sorted());
    }

    #[test]
    fn what_is_no_shard() {
        for text in ["", "1", "1/", "/2", "0/2", "3/2", "1/0", "-1/2", "1/2/3", "1/1000001", "a/b"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
        let shard: Shard = "3/12".parse().unwrap();
        assert_eq!((shard.to_string(), shard.folder("x")), ("3/12".to_owned(), "x.shard-3-of-12".to_owned()));
    }
}
