//! A recommendation as a text: the answer first, then the table that it comes from.

use crate::answers::recommend::{
    Check, Constraint, ConstraintStanding, RankedCandidate, RecommendRequest, Section, more_replications,
};
use crate::cli::table::{Table, cells_text, count_text, interval, signed, with_ends};
use crate::metrics::Metric;
use crate::metrics::unit::Unit;
use crate::results::observed::Observed;
use crate::results::policies::SamePolicy;

pub(super) fn render(
    observed: &Observed,
    request: &RecommendRequest,
    sections: &[Section],
    same: &[SamePolicy],
) -> String {
    let most = if request.maximize { "most" } else { "least" };
    let mut text = format!("{}: {most} {}", observed.results().description.name, request.objective);
    for (index, constraint) in request.constraints.iter().enumerate() {
        text += &format!(" {} {constraint}", if index == 0 { "with" } else { "and" });
    }
    text += "\n\n";
    for section in sections {
        text += &section_text(observed, request, section);
        text.push('\n');
    }
    text += "All bounds and differences of a table hold together with 95 % confidence: half of the error is that of the\n\
             bounds of all its constraints and cells, half that of the differences of any two cells, paired by replication.\n";
    if !same.is_empty() {
        text.push('\n');
        text += &same_text(observed, same);
    }
    text
}

fn section_text(observed: &Observed, request: &RecommendRequest, section: &Section) -> String {
    let values: Vec<String> =
        section.values.iter().map(|(axis, value)| format!("{axis} = {value}")).collect();
    let place = if values.is_empty() { String::new() } else { format!("with {}: ", values.join(", ")) };
    let name = |index: usize| cells_text(observed.results(), &section.candidates[index].cells);
    let mut text = match section.recommended {
        Some(best) => format!("{place}=> {}\n", name(best)),
        None => format!("{place}=> no cell keeps to all constraints with confidence\n"),
    };
    for index in &section.binding {
        text += &format!("   binds: {}\n", request.constraints[*index]);
    }
    if section.binding.is_empty() && !request.constraints.is_empty() {
        text += if section.is_best_of_all() {
            "   nothing binds: it is the best of all cells\n"
        } else {
            "   nothing binds; cells that are not told apart from it may be better\n"
        };
    }
    text += &table(observed, request, section);
    for (index, candidate) in section.candidates.iter().enumerate() {
        if section.standing(index) != "undecided" {
            continue;
        }
        text += &match more_replications(&candidate.checks) {
            Some(more) if is_unseen(candidate) => format!(
                "   {}: not known; about {} more replications would show it if there are none\n",
                name(index),
                count_text(more)
            ),
            Some(more) => {
                let more = count_text(more);
                format!(
                    "   {}: about {more} more replications would decide if means are as they look\n",
                    name(index)
                )
            }
            None if is_unseen(candidate) => {
                format!("   {}: not known; that no replication has any bounds no mean\n", name(index))
            }
            None => format!("   {}: no number of replications would decide\n", name(index)),
        };
    }
    text
}

/// Whether all that is undecided of `candidate` is what no replication has any of.
fn is_unseen(candidate: &RankedCandidate) -> bool {
    let undecided = candidate.checks.iter().filter(|check| check.standing == ConstraintStanding::Undecided);
    undecided.into_iter().all(|check| check.value == Some(0.0))
}

fn table(observed: &Observed, request: &RecommendRequest, section: &Section) -> String {
    let mut header = vec!["", "cell", request.objective.as_str(), "behind the best"];
    header.extend(request.constraints.iter().map(|constraint| constraint.metric.as_str()));
    header.push("");
    let mut table = Table::new(&header);
    for (index, candidate) in section.candidates.iter().enumerate() {
        let standing = section.standing(index);
        let sign = match standing {
            "recommended" => "=>",
            "feasible" => "+",
            "infeasible" => "-",
            _ => "?",
        };
        let unit = Metric::of(&request.objective).format;
        let mut row = vec![
            sign.to_owned(),
            cells_text(observed.results(), &candidate.cells),
            candidate.objective.map_or_else(|| "–".to_owned(), |value| unit.text(value)),
            behind(unit, candidate),
        ];
        let checks = request.constraints.iter().zip(&candidate.checks);
        row.extend(checks.map(|(constraint, check)| check_text(constraint, check)));
        row.push(standing.to_owned());
        table.row(row);
    }
    table.render("   ", &[false, false, true])
}

fn behind(unit: Unit, candidate: &RankedCandidate) -> String {
    let Some(rank) = candidate.behind else { return String::new() };
    let ends = rank.ends.map(|ends| format!(" ({})", interval(unit, ends)));
    let doubt = if rank.told_apart { "" } else { ", not told apart" };
    format!("{}{}{doubt}", signed(unit, rank.difference), ends.unwrap_or_default())
}

/// The estimate and the bound that is held against the limit.
pub(in crate::cli) fn check_text(constraint: &Constraint, check: &Check) -> String {
    let unit = Metric::of(&constraint.metric).format;
    let Some(value) = check.value else { return "missing".to_owned() };
    let Some((low, high)) = check.ends else { return unit.text(value) };
    match check.standing {
        ConstraintStanding::Undecided => with_ends(unit, value, check.ends),
        standing => {
            let upper = constraint.at_most == (standing == ConstraintStanding::Kept);
            let (word, bound) = if upper { ("at most", high) } else { ("at least", low) };
            format!("{} ({word} {})", unit.text(value), unit.text(bound))
        }
    }
}

/// The swept cells that are the same policy by the rules.
fn same_text(observed: &Observed, same: &[SamePolicy]) -> String {
    let position = |number: &usize| observed.cells().iter().position(|cell| cell.number == *number);
    let mut text =
        "The same policy whatever fails, so that a sweep needs only one of each line:\n".to_owned();
    for group in same {
        let cells: Vec<usize> = group.cells.iter().filter_map(position).collect();
        let thresholds: Vec<String> =
            group.thresholds.iter().map(|(needed, size)| format!("{needed} of {size}")).collect();
        text += &format!(
            "  {}: connections stay while at least {} backends of the zone are eligible\n",
            cells_text(observed.results(), &cells),
            thresholds.join(", "),
        );
    }
    text + "With n backends a zone, all ratios above (k-1)/n and up to k/n are one policy; 0 acts as 1/n.\n"
}
