//! Explanations as the documents' own table: one row for each set, from configured to modified.

use super::Explanation;

/// The widest list of names before it is cut.
const NAMES_WIDTH: usize = 72;

/// Every explanation; those that say the same for several cells of an arm are shown once.
pub(super) fn render(explanations: &[Explanation]) -> String {
    let mut shown: Vec<(&Explanation, Vec<String>)> = Vec::new();
    for explanation in explanations {
        let cell = cell_label(explanation);
        match shown.iter_mut().find(|(other, _)| same_decision(other, explanation)) {
            Some((_, cells)) if !cells.contains(&cell) => cells.push(cell),
            Some(_) => {}
            None => shown.push((explanation, vec![cell])),
        }
    }
    shown.iter().map(|(explanation, cells)| section(explanation, cells)).collect::<Vec<_>>().join("\n")
}

/// What tells a cell from the others of its arm.
fn cell_label(explanation: &Explanation) -> String {
    let ratio = explanation.spillover_ratio.map(|ratio| format!("spillover ratio {ratio:?}"));
    let axes = explanation.axes.iter().map(|(axis, value)| format!("{axis} {value}"));
    ratio.into_iter().chain(axes).collect::<Vec<_>>().join(", ")
}

/// Whether two explanations of an arm differ in nothing but their ratios and axes.
fn same_decision(a: &Explanation, b: &Explanation) -> bool {
    let strip = |explanation: &Explanation| Explanation {
        spillover_ratio: None,
        because: String::new(),
        axes: serde_json::Map::new(),
        ..explanation.clone()
    };
    strip(a) == strip(b)
}

fn section(explanation: &Explanation, cells: &[String]) -> String {
    let spillover = explanation.spillover.trim_start_matches("ZONAL_AFFINITY_");
    let kind = if explanation.compatible { "compatible" } else { "not compatible with zonal affinity" };
    let mut text = format!(
        "arm {} ({spillover}) · client {} in {}, {kind}\n",
        explanation.arm, explanation.client, explanation.client_zone
    );
    for cell in cells.iter().filter(|cell| !cell.is_empty()) {
        text += &format!("  {cell}\n");
    }
    let configured = &explanation.configured;
    let all: Vec<String> = configured.primary.iter().chain(&configured.failover).cloned().collect();
    let down: Vec<String> = all.iter().filter(|name| !explanation.healthy.contains(name)).cloned().collect();
    let kind = explanation.original_eligible.kind.replace('_', " ");
    let mut rows = vec![
        ("configured: primary", Some(&configured.primary)),
        ("configured: failover", Some(&configured.failover)),
        ("unhealthy", Some(&down)),
    ];
    let eligible = format!("A  original eligible ({kind})");
    rows.extend([
        (eligible.as_str(), Some(&explanation.original_eligible.backends)),
        ("B  zonal match test", explanation.zonal_match_test.as_ref()),
        ("C  zonal matched", explanation.zonal_matched.as_ref()),
        ("A∩C  intersection", explanation.intersection.as_ref()),
        ("modified eligible", Some(&explanation.modified_eligible)),
    ]);
    for (label, names) in rows {
        text += &row(label, names);
    }
    text + &format!("  => {}: {}\n", explanation.outcome, explanation.because)
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
