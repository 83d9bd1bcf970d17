//! Expectations as tables: the long-run means of all cells, then the likeliest states of each policy.

use super::{Expected, all_caveats};
use crate::answers::expect::{Shares, State};
use crate::answers::gather::{grouped, span_text};
use crate::answers::offered::OfferedLoads;
use crate::cli::offered::offered;
use crate::cli::table::Table;
use crate::experiment::Experiment;
use crate::metrics::unit::Unit;

/// The most states shown of a policy; the other formats have all.
const STATES_SHOWN: usize = 12;

/// Which columns are numbers.
const RIGHT: [bool; 9] = [false, true, true, true, true, true, true, true, true];

const LEGEND: &str = "
to dead: to backends that do not serve, whether a check sees it or not; hottest: the busiest backend
load: connections of one (healthy) backend over its fair share, all connections shared out over the primaries by their
workers as if all were well; offered: arriving work over the worker time that serves it, of the zone where it is highest
";

pub(super) fn render(experiment: &Experiment, cells: &[Expected<'_>], loads: &OfferedLoads) -> String {
    // Cells of which the same is expected are shown together.
    let groups: Vec<Vec<&Expected<'_>>> = grouped(cells, |a, b| a.expectation == b.expectation);
    let mut text = format!("{}: expected from the rules, without simulation\n\n", experiment.name());
    text += "Long-run mean\n";
    let mut means = header(&["policy"], cells);
    for group in &groups {
        means.row([name(group)].into_iter().chain(fields(&group[0].expectation.mean)));
    }
    text += &means.render("  ", &RIGHT[..8]);
    for group in &groups {
        text += &format!("\n{}\n{}", name(group), states(group[0]));
    }
    text += LEGEND;
    text += &format!("\n{}", offered(loads, usize::MAX));
    let caveats = all_caveats(cells);
    if !caveats.is_empty() {
        text += "Not included:\n";
        caveats.iter().for_each(|caveat| text += &format!("- {caveat}\n"));
    }
    text
}

fn name(group: &[&Expected<'_>]) -> String {
    span_text(&group.iter().map(|expected| expected.cell).collect::<Vec<_>>())
}

fn header(first: &[&str], cells: &[Expected<'_>]) -> Table {
    let pools = cells.first().into_iter().flat_map(|cell| &cell.pools);
    let loads: Vec<String> = pools.map(|pool| format!("load {pool}")).collect();
    let mut names = first.to_vec();
    names.extend(["cross-zone", "spilled", "to unhealthy", "to dead", "dropped", "hottest", "offered"]);
    names.extend(loads.iter().map(String::as_str));
    Table::new(&names)
}

fn fields(shares: &Shares) -> Vec<String> {
    let text =
        |unit: Unit, value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| unit.text(value));
    let always = [shares.spilled, shares.unhealthy, shares.dead, shares.dropped].map(Some);
    let of = [shares.cross_zone].into_iter().chain(always);
    let mut fields: Vec<String> = of.map(|share| text(Unit::Percent, share)).collect();
    fields.push(text(Unit::Number, shares.hottest));
    fields.push(text(Unit::Percent, shares.offered));
    fields.extend(shares.loads.iter().map(|load| text(Unit::Number, *load)));
    fields
}

/// The likeliest states; of equally likely ones those with more healthy backends first.
fn states(expected: &Expected<'_>) -> String {
    let mut order: Vec<&State> = expected.expectation.states.iter().collect();
    order.sort_by(|a, b| b.probability.total_cmp(&a.probability));
    let mut table = header(&["healthy", "share of time"], std::slice::from_ref(expected));
    for state in order.iter().take(STATES_SHOWN) {
        let counts: Vec<String> = state.healthy.iter().map(ToString::to_string).collect();
        let probability = Unit::Percent.text(state.probability);
        table.row([counts.join(" + "), probability].into_iter().chain(fields(&state.shares)));
    }
    let mut text = table.render("  ", &RIGHT);
    if order.len() > STATES_SHOWN {
        text += &format!("  … and {} more states; --format csv has all\n", order.len() - STATES_SHOWN);
    }
    text
}
