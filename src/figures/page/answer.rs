//! The answer of a page: what is best, and what each arm changes against the baseline.

use super::Subject;
use super::tables::{note, verdict};
use crate::answers::compare::{Comparison, MetricRows};
use crate::figures::charts::spread;
use crate::figures::markup::escaped;
use crate::figures::wording::{capitalized, cells_text, interval, signed};
use crate::metrics::unit::Unit;

/// The most policies of an arm, and the most lines of all.
const MOST: (usize, usize) = (4, 16);
const MOST_NAMES: usize = 3;

pub(super) fn html(subject: &Subject) -> String {
    let none =
        |reason: &str| format!("<div class=\"answer\">\n<p>No verdict: {}.</p>\n</div>\n", escaped(reason));
    let comparison = match &subject.comparison {
        Ok(comparison) => comparison,
        Err(reason) => return none(reason),
    };
    let Some(circumstance) = circumstance(comparison) else { return none("there are no cells to compare") };
    let topics: Vec<&MetricRows> =
        comparison.metrics.iter().filter(|metric| !metric.metric.words.topic.is_empty()).collect();
    let best: Vec<String> =
        topics.iter().filter_map(|metric| best(subject, comparison, metric, circumstance)).collect();
    let values = &comparison.circumstances[circumstance].0.values;
    let values: Vec<String> = values.iter().map(|(axis, value)| format!("{axis} = {value}")).collect();
    let place =
        if values.is_empty() { String::new() } else { format!("At {}: ", escaped(&values.join(", "))) };
    let mut text = format!("<div class=\"answer\">\n<p>{}.</p>\n", capitalized(&(place + &best.join("; "))));
    let (lines, all) = lines(comparison, circumstance, subject);
    if lines.is_empty() {
        return text + "<p>There is nothing to compare it with.</p>\n</div>\n";
    }
    text += &format!("<p>Against {}:</p>\n<ul>\n", escaped(&baseline(comparison, circumstance, subject)));
    for policy in &lines {
        let clauses: Vec<String> = topics.iter().filter_map(|metric| clause(metric, *policy)).collect();
        let name = escaped(&cells_text(&subject.results, &comparison.policies[*policy].cells));
        text += &format!("<li><strong>{name}</strong>: {}</li>\n", clauses.join("; "));
    }
    text += "</ul>\n</div>\n";
    if lines.len() < all {
        text +=
            &note(&format!("{} of {all} policies stand here; the comparison below has more.", lines.len()));
    }
    text
}

/// The circumstance that the answer is about: the middle one, where there are several.
fn circumstance(comparison: &Comparison) -> Option<usize> {
    let mut found: Vec<usize> = comparison.policies.iter().map(|policy| policy.circumstance).collect();
    found.sort_unstable();
    found.dedup();
    spread(found, 1).first().copied()
}

/// What the others are compared with there: a cell, or the arm of several.
fn baseline(comparison: &Comparison, circumstance: usize, subject: &Subject) -> String {
    let own = comparison.policies.iter().filter(|policy| policy.circumstance == circumstance);
    let mut cells: Vec<usize> = own.map(|policy| policy.baseline).collect();
    cells.sort_unstable();
    cells.dedup();
    match cells[..] {
        [cell] => cells_text(&subject.results, &[cell]),
        _ => subject.results.arms[comparison.baseline.arm].clone(),
    }
}

/// Who has the lowest value of `metric`, and who may be as good.
fn best(
    subject: &Subject,
    comparison: &Comparison,
    metric: &MetricRows,
    circumstance: usize,
) -> Option<String> {
    let best = metric.best.iter().find(|best| best.circumstance == circumstance)?;
    let name = |policy: &usize| escaped(&cells_text(&subject.results, &comparison.policies[*policy].cells));
    let value =
        metric.rows[best.policy].value.map(|value| format!(" ({})", metric.metric.format.text(value)));
    // Percentages are shares of connections, which are few or many, not low or high.
    let least = if metric.metric.format == Unit::Percent { "fewest" } else { "lowest" };
    let topic = metric.metric.words.topic;
    let mut text =
        format!("{least} {topic}: <strong>{}</strong>{}", name(&best.policy), value.unwrap_or_default());
    if !best.rivals.is_empty() {
        let names: Vec<String> = best.rivals.iter().take(MOST_NAMES).map(name).collect();
        text += &format!(", not told apart from it: {}", names.join(", "));
        if best.rivals.len() > MOST_NAMES {
            text += &format!(" and {} more", best.rivals.len() - MOST_NAMES);
        }
    }
    Some(text)
}

/// The policies that get a line, some of every arm, and how many there are.
fn lines(comparison: &Comparison, circumstance: usize, subject: &Subject) -> (Vec<usize>, usize) {
    let policies = &comparison.policies;
    let others: Vec<usize> = (0..policies.len())
        .filter(|at| policies[*at].circumstance == circumstance && !policies[*at].is_baseline())
        .collect();
    let arm = |at: &usize| subject.results.cells[policies[*at].cells[0]].arm;
    let of_arms = others.chunk_by(|a, b| arm(a) == arm(b));
    let lines: Vec<usize> = of_arms.flat_map(|of_arm| spread(of_arm.to_vec(), MOST.0)).collect();
    (spread(lines, MOST.1), others.len())
}

fn clause(metric: &MetricRows, policy: usize) -> Option<String> {
    let row = metric.rows.get(policy)?;
    let unit = metric.metric.format;
    let size = row.effect.as_ref().map(|effect| {
        format!(", {} ({})", signed(unit, effect.difference), interval(unit, effect.corrected_ends))
    });
    Some(format!("{} {}{}", metric.metric.words.topic, verdict(row), size.unwrap_or_default()))
}
