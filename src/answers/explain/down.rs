//! Who is down: the names of `--down`, and why it may change nothing.

use crate::answers::gather::distinct;
use crate::experiment::Experiment;
use crate::ids::BackendId;
use crate::lb::MAX_BACKENDS;
use crate::results::observed::QuestionError;
use crate::sim::scenario::{BackendSpec, Scenario};

/// The most names in a sentence.
const NAMES_SHOWN: usize = 14;

/// Names of backends, of groups and of zones. A group comes before a zone of the same name.
#[derive(Clone, Debug)]
pub(super) struct Down(Vec<String>);

impl Down {
    /// Reads `names`, in which `ig-a-1..4` stands for four backends. Each must be of something in some cell: arms may have
    /// different backends.
    pub(super) fn read(experiment: &Experiment, names: &[String]) -> Result<Self, QuestionError> {
        let mut all = Vec::new();
        for name in names {
            all.extend(range(name)?.unwrap_or_else(|| vec![name.trim().to_owned()]));
        }
        let is_known = |name: &String| {
            experiment.cells().iter().any(|cell| !called(&experiment.scenario(cell), name).is_empty())
        };
        let unknown = all.iter().find(|name| !is_known(name));
        if let Some((name, cell)) = unknown.zip(experiment.cells().first()) {
            let scenario = experiment.scenario(cell);
            let backends = scenario.backends.iter().map(|spec| spec.name.as_str());
            let groups = scenario.groups.iter().map(|group| group.name.as_str());
            let known = backends.chain(groups).chain(scenario.zones.iter().map(String::as_str));
            return Err(QuestionError::unknown("backend, group or zone", name, known));
        }
        Ok(Self(all))
    }

    /// The backends that they are in the world of `scenario`, each once.
    pub(super) fn in_world(&self, scenario: &Scenario) -> Vec<BackendId> {
        let mut found: Vec<BackendId> = self.0.iter().flat_map(|name| called(scenario, name)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The members that a range such as `ig-a-1..4` names, if `text` is one.
fn range(text: &str) -> Result<Option<Vec<String>>, QuestionError> {
    let Some((from, to)) = text.trim().split_once("..") else { return Ok(None) };
    let wrong = || QuestionError(format!("{text:?} is no range of backends; write for example ig-a-1..4"));
    let (group, first) = from.rsplit_once('-').ok_or_else(wrong)?;
    // The end may repeat the group.
    let last = to.strip_prefix(group).and_then(|rest| rest.strip_prefix('-')).unwrap_or(to);
    let number = |text: &str| text.parse().ok().filter(|number| (1..=MAX_BACKENDS).contains(number));
    let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
    if first > last {
        let turned = format!("{group}-{last}..{first}");
        return Err(QuestionError(format!("{text:?} ends before it begins; write {turned}")));
    }
    Ok(Some((first..=last).map(|number| format!("{group}-{number}")).collect()))
}

/// The backend called `name`, the members of the group, or the backends in the zone.
fn called(scenario: &Scenario, name: &str) -> Vec<BackendId> {
    let forms: [&dyn Fn(&BackendSpec) -> bool; 3] =
        [&|spec| spec.name == name, &|spec| scenario.groups[spec.group].name == name, &|spec| {
            scenario.zones[spec.zone] == name
        }];
    let all = |form: &dyn Fn(&BackendSpec) -> bool| -> Vec<BackendId> {
        scenario.backends.pairs().filter(|(_, spec)| form(spec)).map(|(id, _)| id).collect()
    };
    forms.into_iter().map(all).find(|found| !found.is_empty()).unwrap_or_default()
}

/// Of which backends called `down` the failure has no effect, and why: a sentence for each reason. Of all arms, or only of
/// `arm`.
///
/// # Errors
/// If a name is of nothing that there is.
pub fn unnoticed(
    experiment: &Experiment,
    down: &[String],
    arm: Option<&str>,
) -> Result<Vec<String>, QuestionError> {
    let down = Down::read(experiment, down)?;
    let cells: Vec<_> =
        experiment.cells().iter().filter(|cell| arm.is_none_or(|arm| arm == cell.arm)).collect();
    let asked = distinct(cells.iter().map(|cell| cell.arm.as_str())).len();
    let mut sentences = Vec::new();
    for (reason, holds) in REASONS {
        let (mut names, mut arms) = (Vec::new(), Vec::new());
        for cell in &cells {
            let scenario = experiment.scenario(cell);
            let found = down.in_world(&scenario).into_iter().filter(|id| holds(&scenario, *id));
            let found: Vec<String> = found.map(|id| scenario.backends[id].name.clone()).collect();
            if !found.is_empty() {
                arms.push(cell.arm.as_str());
                names = if names.is_empty() { found } else { distinct(names.into_iter().chain(found)) };
            }
        }
        let arms = distinct(arms);
        let place = if arms.len() == asked { String::new() } else { format!(" in {}", arms.join(", ")) };
        let more = names.len().saturating_sub(NAMES_SHOWN);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        names.truncate(NAMES_SHOWN);
        if !names.is_empty() {
            sentences.push(format!("--down {}{more} has no effect{place}: {reason}", names.join(",")));
        }
    }
    Ok(sentences)
}

/// Why the failure of a backend has no effect.
type Reason = (&'static str, fn(&Scenario, BackendId) -> bool);

const REASONS: [Reason; 2] = [
    ("the load balancer does not have it at the beginning", |world, id| !world.is_configured(id)),
    (
        "no health check judges it, so that nobody would notice: it counts as healthy, and connections still go to it (TPA-4)",
        |world, id| world.is_configured(id) && !world.is_judged(id),
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_name_their_members() {
        let read = |text: &str| range(text).unwrap().unwrap();
        assert_eq!(read("ig-a-2..4"), ["ig-a-2", "ig-a-3", "ig-a-4"]);
        assert_eq!(read("ig-a-2..ig-a-3"), ["ig-a-2", "ig-a-3"]);
        assert_eq!(read("x-7..7"), ["x-7"]);
        assert_eq!(range("ig-a-2").unwrap(), None);
        for text in ["ig-a-4..2", "ig..4", "ig-a-1..", "ig-a-0..3", "..", "ig-a-1..ig-b-3", "a-1..4000000000"]
        {
            assert!(range(text).is_err(), "{text}");
        }
    }
}
