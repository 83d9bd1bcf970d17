//! Explanations as the documents' own table: one row for each set, from configured to modified.

use crate::answers::explain::{ExplainedStep, Explanation};
use crate::answers::gather::{distinct, grouped};

/// The widest list of names before it is cut.
const NAMES_WIDTH: usize = 72;

/// Every explanation; cells of an arm in which the sets are the same are shown together.
pub(crate) fn render(explanations: &[Explanation]) -> String {
    let sections = grouped(explanations, |a, b| same_sets(a, b));
    sections.iter().map(|cells| section(cells)).collect::<Vec<_>>().join("\n")
}

/// Whether two explanations differ in nothing but their ratios, axes and last reasons, which are shown one by one.
fn same_sets(a: &Explanation, b: &Explanation) -> bool {
    let strip = |explanation: &Explanation| {
        let last = explanation.steps.len().saturating_sub(1);
        let unexplained = |(position, step): (usize, &ExplainedStep)| match position == last {
            true => ExplainedStep { because: String::new(), ..step.clone() },
            false => step.clone(),
        };
        Explanation {
            spillover_ratio: None,
            because: String::new(),
            policy: None,
            steps: explanation.steps.iter().enumerate().map(unexplained).collect(),
            axes: serde_json::Map::new(),
            ..explanation.clone()
        }
    };
    strip(a) == strip(b)
}

fn section(cells: &[&Explanation]) -> String {
    let explanation = cells[0];
    let mut text = format!("{}\n", title(explanation));
    let last = explanation.steps.len().saturating_sub(1);
    for (label, names) in rows(explanation) {
        text += &row(label, Some(&names));
    }
    for (position, step) in explanation.steps.iter().enumerate() {
        let kind = step.kind.map_or(String::new(), |kind| format!(" ({})", kind.replace('_', " ")));
        // What is sent to itself goes to nobody else, whatever the policy says.
        let names =
            if position == last { Some(&explanation.modified_eligible) } else { step.backends.as_ref() };
        text += &row(&format!("{}{kind}", step.name), names.map(Vec::as_slice));
        if position < last && !step.because.is_empty() {
            text += &format!("       {}\n", step.because);
        }
    }
    let reason = |cell: &&Explanation| {
        let axes = cell.axes.iter().map(|(axis, value)| format!("{axis} {value}")).collect::<Vec<_>>();
        let place = if axes.is_empty() { String::new() } else { format!(" with {}", axes.join(", ")) };
        format!("  => {}{place}: {}\n", cell.outcome, cell.because)
    };
    text + &distinct(cells.iter().map(reason)).concat()
}

/// Whom it is about. A policy of one step that is the load balancer's own looks at no zone.
fn title(explanation: &Explanation) -> String {
    let Explanation { arm, client, client_zone, .. } = explanation;
    let client = match &explanation.rule {
        Some(rule) => format!("{client} to {rule}"),
        None => client.clone(),
    };
    let compatible = if explanation.compatible { "compatible" } else { "not compatible with zonal affinity" };
    match &explanation.policy {
        Some(policy) => format!("arm {arm} ({}) · client {client} in {client_zone}", policy.name),
        None if explanation.steps.len() > 1 => {
            let spillover = explanation.spillover.trim_start_matches("ZONAL_AFFINITY_");
            format!("arm {arm} ({spillover}) · client {client} in {client_zone}, {compatible}")
        }
        None => format!("arm {arm} · client {client} in {client_zone}"),
    }
}

/// What the policy begins with.
fn rows(explanation: &Explanation) -> [(&'static str, Vec<String>); 3] {
    let configured = &explanation.configured;
    let all = configured.primary.iter().chain(&configured.failover);
    let down = all.filter(|name| !explanation.healthy.contains(name)).cloned().collect();
    let [primary, failover] = explanation.role_labels;
    [(primary, configured.primary.clone()), (failover, configured.failover.clone()), ("unhealthy", down)]
}

fn row(label: &str, names: Option<&[String]>) -> String {
    let Some(names) = names else { return format!("  {label:40}   –  not computed\n") };
    let runs = shortened(names);
    let mut list = String::new();
    for (position, (run, _)) in runs.iter().enumerate() {
        if position > 0 && list.len() + run.len() > NAMES_WIDTH {
            let rest: usize = runs[position..].iter().map(|(_, count)| count).sum();
            list += &format!(" … and {rest} more");
            break;
        }
        list += if position == 0 { "" } else { " " };
        list += run;
    }
    let line = format!("  {label:40} {:3}  {list}", names.len());
    format!("{}\n", line.trim_end())
}

/// The names, with members of a group that follow each other drawn together (`ig-a-1..4`), and how many each stands for.
fn shortened(names: &[String]) -> Vec<(String, usize)> {
    let parts = |name: &str| -> Option<(String, u64)> {
        let (group, member) = name.rsplit_once('-')?;
        Some((group.to_owned(), member.parse().ok()?))
    };
    let follows = |a: &String, b: &String| match (parts(a), parts(b)) {
        (Some((group, member)), Some((other, next))) => group == other && next == member + 1,
        _ => false,
    };
    let shown = |run: &[String]| match (run, parts(&run[run.len() - 1])) {
        ([first, _, ..], Some((_, last))) => format!("{first}..{last}"),
        _ => run[0].clone(),
    };
    names.chunk_by(follows).map(|run| (shown(run), run.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_follow_each_other_are_drawn_together() {
        let names = ["ig-a-1", "ig-a-2", "ig-a-4", "ig-b-5", "ig-b-6", "single"].map(str::to_owned);
        let shown: Vec<String> = shortened(&names).into_iter().map(|(run, _)| run).collect();
        assert_eq!(shown, ["ig-a-1..2", "ig-a-4", "ig-b-5..6", "single"]);
    }

    #[test]
    fn long_lists_are_cut_and_say_so() {
        let names: Vec<String> = (0..50).map(|number| format!("backend-{number}0")).collect();
        let text = row("x", Some(names.as_slice()));
        assert!(text.contains("… and") && text.len() < 200, "{text}");
    }
}
