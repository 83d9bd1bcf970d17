//! Explanations as the documents' own table: one row for each set, from configured to modified.

use super::Explanation;
use crate::lb::tracking::Tracker;

/// The widest list of names before it is cut.
const NAMES_WIDTH: usize = 72;

/// Every explanation; cells of an arm in which the sets are the same are shown together.
pub(super) fn render(explanations: &[Explanation]) -> String {
    let mut sections: Vec<Vec<&Explanation>> = Vec::new();
    for explanation in explanations {
        match sections.iter_mut().find(|section| same_sets(section[0], explanation)) {
            Some(section) => section.push(explanation),
            None => sections.push(vec![explanation]),
        }
    }
    sections.iter().map(|cells| section(cells)).collect::<Vec<_>>().join("\n")
}

/// Whether two explanations differ in nothing but their ratios and axes.
fn same_sets(a: &Explanation, b: &Explanation) -> bool {
    let strip = |explanation: &Explanation| Explanation {
        spillover_ratio: None,
        because: String::new(),
        axes: serde_json::Map::new(),
        ..explanation.clone()
    };
    strip(a) == strip(b)
}

fn section(cells: &[&Explanation]) -> String {
    let explanation = cells[0];
    let spillover = explanation.spillover.trim_start_matches("ZONAL_AFFINITY_");
    let kind = if explanation.compatible { "compatible" } else { "not compatible with zonal affinity" };
    let Explanation { arm, client, client_zone, .. } = explanation;
    let mut text = if explanation.tracker == Tracker::Internal {
        format!("arm {arm} ({spillover}) · client {client} in {client_zone}, {kind}\n")
    } else {
        format!("arm {arm} · client {client} in {client_zone}\n")
    };
    for (label, names) in rows(explanation) {
        text += &row(&label, names.as_deref());
    }
    let mut reasons: Vec<String> = Vec::new();
    for cell in cells {
        let axes = cell.axes.iter().map(|(axis, value)| format!("{axis} {value}")).collect::<Vec<_>>();
        let place = if axes.is_empty() { String::new() } else { format!(" with {}", axes.join(", ")) };
        let reason = format!("  => {}{place}: {}\n", cell.outcome, cell.because);
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    text + &reasons.concat()
}

/// The sets on the way, those that are not computed absent. External load balancers have no zonal step.
fn rows(explanation: &Explanation) -> Vec<(String, Option<Vec<String>>)> {
    let configured = &explanation.configured;
    let all = configured.primary.iter().chain(&configured.failover);
    let down: Vec<String> = all.filter(|name| !explanation.healthy.contains(name)).cloned().collect();
    let kind = explanation.original_eligible.kind.replace('_', " ");
    let (primary, failover) = match explanation.tracker {
        Tracker::Internal | Tracker::External => ("configured: primary", "configured: failover"),
        Tracker::TargetPool => ("target pool", "backup pool"),
    };
    let mut rows = vec![
        (primary.to_owned(), Some(configured.primary.clone())),
        (failover.to_owned(), Some(configured.failover.clone())),
        ("unhealthy".to_owned(), Some(down)),
    ];
    let modified = Some(explanation.modified_eligible.clone());
    if explanation.tracker == Tracker::Internal {
        let eligible = Some(explanation.original_eligible.backends.clone());
        rows.extend([
            (format!("A    original eligible ({kind})"), eligible),
            ("B    zonal match test".to_owned(), explanation.zonal_match_test.clone()),
            ("C    zonal matched".to_owned(), explanation.zonal_matched.clone()),
            ("A∩C  intersection".to_owned(), explanation.intersection.clone()),
            ("modified eligible".to_owned(), modified),
        ]);
    } else {
        rows.push((format!("eligible ({kind})"), modified));
    }
    rows
}

fn row(label: &str, names: Option<&[String]>) -> String {
    let pad = 40_usize.saturating_sub(label.chars().count());
    let Some(names) = names else {
        return format!("  {label}{:pad$}   –  not computed\n", "");
    };
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
    let line = format!("  {label}{:pad$} {:3}  {list}", "", names.len());
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
