//! Explanations as the documents' own table: one row for each set, from configured to modified.

use super::Explanation;

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
    let mut text = format!(
        "arm {} ({spillover}) · client {} in {}, {kind}\n",
        explanation.arm, explanation.client, explanation.client_zone
    );
    let configured = &explanation.configured;
    let all = configured.primary.iter().chain(&configured.failover);
    let down: Vec<String> = all.filter(|name| !explanation.healthy.contains(name)).cloned().collect();
    let kind = explanation.original_eligible.kind.replace('_', " ");
    for (label, names) in [
        ("configured: primary", Some(&configured.primary)),
        ("configured: failover", Some(&configured.failover)),
        ("unhealthy", Some(&down)),
        (&format!("A    original eligible ({kind})"), Some(&explanation.original_eligible.backends)),
        ("B    zonal match test", explanation.zonal_match_test.as_ref()),
        ("C    zonal matched", explanation.zonal_matched.as_ref()),
        ("A∩C  intersection", explanation.intersection.as_ref()),
        ("modified eligible", Some(&explanation.modified_eligible)),
    ] {
        text += &row(label, names);
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

fn row(label: &str, names: Option<&Vec<String>>) -> String {
    let pad = 40_usize.saturating_sub(label.chars().count());
    let Some(names) = names else {
        return format!("  {label}{:pad$}    –  not computed\n", "");
    };
    let mut list = String::new();
    for (position, name) in names.iter().enumerate() {
        if list.len() + name.len() > NAMES_WIDTH {
            list += &format!(" … and {} more", names.len() - position);
            break;
        }
        list += if position == 0 { "" } else { " " };
        list += name;
    }
    let line = format!("  {label}{:pad$} {:4}  {list}", "", names.len());
    format!("{}\n", line.trim_end())
}
