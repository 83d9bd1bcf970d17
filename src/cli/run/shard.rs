//! `--shard`: as written, or as the cluster says.

use std::str::FromStr;

use crate::cli::UsageError;
use crate::job::shard::Shard;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShardArg {
    Given(Shard),
    Auto(Option<u32>),
}

impl FromStr for ShardArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let Some(rest) = text.strip_prefix("auto") else { return text.parse().map(Self::Given) };
        if rest.is_empty() {
            return Ok(Self::Auto(None));
        }
        let count = rest.strip_prefix('/').and_then(|count| count.parse().ok());
        let count = count.ok_or_else(|| format!("{text:?} is no shard; write I/N, auto or auto/N"))?;
        Shard::new(1, count).map(|_| Self::Auto(Some(count)))
    }
}

impl ShardArg {
    /// The shard meant, where `variable` looks up variables of the environment.
    pub(super) fn resolve(self, variable: impl Fn(&str) -> Option<String>) -> Result<Shard, UsageError> {
        match self {
            Self::Given(shard) => Ok(shard),
            Self::Auto(count) => auto(count, &variable).map_err(UsageError),
        }
    }
}

/// A system that tells its tasks which of how many they are, by these variables.
struct System {
    name: &'static str,
    index: &'static str,
    /// Of the count, and of the first index (else 0) and the step from one to the next (else 1).
    others: &'static [&'static str],
}

const SYSTEMS: [System; 4] = [
    System {
        name: "Slurm",
        index: "SLURM_ARRAY_TASK_ID",
        others: &["SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"],
    },
    System { name: "Cloud Run", index: "CLOUD_RUN_TASK_INDEX", others: &["CLOUD_RUN_TASK_COUNT"] },
    System { name: "Batch", index: "BATCH_TASK_INDEX", others: &["BATCH_TASK_COUNT"] },
    System { name: "Kubernetes", index: "JOB_COMPLETION_INDEX", others: &[] },
];

/// The shard that the environment names, of `count` if that is given.
fn auto(count: Option<u32>, variable: &impl Fn(&str) -> Option<String>) -> Result<Shard, String> {
    let mut found: Vec<(&System, Shard)> = Vec::new();
    for system in &SYSTEMS {
        if let Some(index) = variable(system.index) {
            found.push((system, system.shard(&index, count, variable)?));
        }
    }
    let Some((system, shard)) = found.first() else {
        let names: Vec<&str> = SYSTEMS.iter().map(|system| system.index).collect();
        let names = names.join(", ");
        return Err(format!("--shard auto finds none of {names} in the environment; write --shard I/N"));
    };
    match found.iter().find(|(_, other)| other != shard) {
        None => Ok(*shard),
        Some((other, differs)) => Err(format!(
            "--shard auto: {} says {shard} ({}), but {} says {differs} ({}); write --shard I/N",
            system.name, system.index, other.name, other.index
        )),
    }
}

impl System {
    fn shard(
        &self,
        index: &str,
        given: Option<u32>,
        variable: &impl Fn(&str) -> Option<String>,
    ) -> Result<Shard, String> {
        let number = |name: &str, text: &str| {
            text.parse::<u32>().map_err(|_| format!("--shard auto: {name} is {text:?}, no number"))
        };
        let other = |at: usize| {
            let text = self.others.get(at).and_then(|name| Some((name, variable(name)?)));
            text.map(|(name, text)| number(name, &text)).transpose()
        };
        let index = number(self.index, index)?;
        let count = match (other(0)?, given) {
            (Some(found), Some(given)) if found != given => {
                let name = self.others[0];
                return Err(format!("--shard auto/{given}: {name} says {found}; write --shard I/N"));
            }
            (Some(count), _) | (None, Some(count)) => count,
            (None, None) => {
                let name = self.name;
                return Err(format!(
                    "--shard auto: {name} does not say how many tasks there are; write auto/N"
                ));
            }
        };
        let (first, step) = (other(1)?.unwrap_or(0), other(2)?.unwrap_or(1).max(1));
        let place = index.checked_sub(first).filter(|offset| offset % step == 0).map(|offset| offset / step);
        let shard = place.and_then(|place| Shard::new(place.checked_add(1)?, count).ok());
        shard.ok_or_else(|| {
            let name = self.index;
            format!(
                "--shard auto: {name} is {index}, which is none of {count} tasks from {first} in steps of {step}; \
                 write --shard I/N"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `--shard text` means with these variables set.
    fn resolved(text: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let find =
            |name: &str| variables.iter().find(|(set, _)| *set == name).map(|(_, to)| (*to).to_owned());
        let shard = text.parse::<ShardArg>()?.resolve(find);
        shard.map(|shard| shard.to_string()).map_err(|error| error.to_string())
    }

    const SLURM: [&str; 4] =
        ["SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_STEP"];

    #[test]
    fn every_system_is_understood() {
        let slurm =
            |values: [&'static str; 4]| -> Vec<(&str, &str)> { SLURM.into_iter().zip(values).collect() };
        assert_eq!(resolved("auto", &slurm(["1", "4", "1", "1"])).unwrap(), "1/4");
        assert_eq!(resolved("auto", &slurm(["3", "4", "0", "1"])).unwrap(), "4/4");
        assert_eq!(resolved("auto/3", &slurm(["14", "3", "10", "2"])).unwrap(), "3/3");
        let cloud_run = [("CLOUD_RUN_TASK_INDEX", "0"), ("CLOUD_RUN_TASK_COUNT", "2")];
        assert_eq!(resolved("auto", &cloud_run).unwrap(), "1/2");
        let batch = [("BATCH_TASK_INDEX", "9"), ("BATCH_TASK_COUNT", "10")];
        assert_eq!(resolved("auto", &batch).unwrap(), "10/10");
        assert_eq!(resolved("auto/7", &[("JOB_COMPLETION_INDEX", "6")]).unwrap(), "7/7");
        // Two that agree are no doubt, and what is written needs no system.
        let both = [&cloud_run[..], &[("JOB_COMPLETION_INDEX", "0")]].concat();
        assert_eq!(resolved("auto/2", &both).unwrap(), "1/2");
        assert_eq!(resolved("2/3", &cloud_run).unwrap(), "2/3");
    }

    #[test]
    fn what_is_not_clear_is_an_error() {
        let error = |text: &str, variables: &[(&str, &str)]| resolved(text, variables).unwrap_err();
        assert!(error("auto", &[]).contains("finds none of SLURM_ARRAY_TASK_ID"));
        let index = ("JOB_COMPLETION_INDEX", "1");
        assert!(error("auto", &[index]).contains("write auto/N"));
        assert!(error("auto/1", &[index]).contains("none of 1 tasks"));
        let cloud_run = [("CLOUD_RUN_TASK_INDEX", "0"), ("CLOUD_RUN_TASK_COUNT", "2")];
        assert!(error("auto/2", &[&cloud_run[..], &[index]].concat()).contains("Cloud Run says 1/2"));
        assert!(error("auto/3", &cloud_run).contains("CLOUD_RUN_TASK_COUNT says 2"));
        assert!(error("auto/2", &[("JOB_COMPLETION_INDEX", "x")]).contains("no number"));
        // One task of an array alone, sent again.
        let alone: Vec<(&str, &str)> = SLURM.into_iter().zip(["3", "1", "3", "1"]).collect();
        assert!(error("auto/4", &alone).contains("says 1"));
        let list: Vec<(&str, &str)> = SLURM.into_iter().zip(["7", "3", "1", "1"]).collect();
        assert!(error("auto", &list).contains("none of 3 tasks"));
        for text in ["auto/0", "auto/x", "automatic", "5/4", "x"] {
            assert!(resolved(text, &cloud_run).is_err(), "{text}");
        }
    }
}
