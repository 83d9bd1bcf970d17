//! The answers of a search as a text: a row for each line, and what has to be said of it.

use crate::answers::compare::FAMILY_ERROR;
use crate::answers::recommend::{Constraint, ConstraintStanding, more_replications, standing};
use crate::answers::search::{Goal, JudgedValue, LineAnswer, LineOutcome};
use crate::cli::recommend::check_text;
use crate::cli::table::{Table, count_text, with_ends};
use crate::job::search::Search;
use crate::metrics::Metric;

const NONE: &str = "–";

const BOUNDARY_LEGEND: &str = "\
A value counts as kept if its confidence bound is, not its estimate. All that is said of a line holds together with 95 %
confidence: the error is shared out over the constraints and all values that may be tried.
";
const BEST_LEGEND: &str = "\
The bracket holds the best value if there is only one valley (or hill). Values are told apart by differences paired by
replication; all of a line hold together with 95 % confidence. The interval beside a mean has 95 % by itself.
";

/// A line by its name, and the answer for it.
type Found = (String, LineAnswer);

pub(super) fn render(search: &Search, name: &str, found: &[Found]) -> String {
    let (low, high) = (value_at(search, 0), value_at(search, search.grid.len() - 1));
    let range = format!("{} from {low} to {high} in steps of {}", search.request.path, search.request.step);
    let goal = &search.question.goal;
    let (sought, table, legend) = match goal {
        Goal::Boundary(constraints) => {
            let limits: Vec<String> = constraints.iter().map(ToString::to_string).collect();
            let sought = format!("where {} is kept", limits.join(" and "));
            (sought, boundaries(search, constraints, found), BOUNDARY_LEGEND)
        }
        Goal::Best { metric, maximize } => {
            let most = if *maximize { "most" } else { "least" };
            (format!("{most} {metric}"), bests(search, metric, found), BEST_LEGEND)
        }
    };
    let mut text = format!("{name}: {sought}, along {range}\n\n{table}");
    for (name, answer) in found {
        for note in notes(search, answer) {
            text += &format!("{name}: {note}\n");
        }
    }
    text + "\n" + legend
}

fn value_at(search: &Search, at: usize) -> &str {
    search.grid[at].as_str()
}

fn values_at(search: &Search, positions: &[usize]) -> String {
    positions.iter().map(|at| value_at(search, *at)).collect::<Vec<_>>().join(", ")
}

/// Whether there is an answer, and not that there is none.
pub(super) fn is_answered(answer: &LineAnswer) -> bool {
    !matches!(answer.outcome, LineOutcome::Nowhere(_) | LineOutcome::Missing)
}

fn boundaries(search: &Search, constraints: &[Constraint], found: &[Found]) -> String {
    let mut header = vec!["line", "kept", "bracket", "tried", "at"];
    header.extend(constraints.iter().map(|constraint| constraint.metric.as_str()));
    header.push("");
    let mut table = Table::new(&header);
    for (name, answer) in found {
        let (kept, bracket, judged) = boundary(search, &answer.outcome);
        let mut begin = [name.clone(), kept, bracket, answer.tried.to_string()];
        for judged in judged {
            let checks = constraints.iter().zip(&judged.checks);
            let checks = checks.map(|(constraint, check)| check_text(constraint, check));
            let mut row = std::mem::take(&mut begin).to_vec();
            row.push(value_at(search, judged.at).to_owned());
            row.extend(checks);
            row.push(standing(&judged.checks).name().to_owned());
            table.row(row);
        }
    }
    table.render("", &[])
}

/// Where a line is kept, the bracket, and the values that show it.
fn boundary<'a>(search: &Search, outcome: &'a LineOutcome) -> (String, String, Vec<&'a JudgedValue>) {
    match outcome {
        LineOutcome::Between { inside, beyond } => {
            let (last, first) = (value_at(search, inside.at), value_at(search, beyond.at));
            match inside.at < beyond.at {
                true => (format!("up to {last}"), format!("{last} to {first}"), vec![inside, beyond]),
                false => (format!("from {last}"), format!("{first} to {last}"), vec![beyond, inside]),
            }
        }
        LineOutcome::Everywhere(ends) => ("at both ends".to_owned(), NONE.to_owned(), ends.iter().collect()),
        LineOutcome::Nowhere(ends) => ("at neither end".to_owned(), NONE.to_owned(), ends.iter().collect()),
        LineOutcome::Best { .. } | LineOutcome::Missing => (NONE.to_owned(), NONE.to_owned(), Vec::new()),
    }
}

fn bests(search: &Search, metric: &str, found: &[Found]) -> String {
    let unit = Metric::of(metric).format;
    let mut table = Table::new(&["line", "best", "bracket", metric, "tried"]);
    for (name, answer) in found {
        let [best, bracket, value] = match &answer.outcome {
            LineOutcome::Best { at, estimate, bracket: (low, high), .. } => {
                let bracket = format!("{} to {}", value_at(search, *low), value_at(search, *high));
                let value = with_ends(unit, estimate.value, estimate.ends(FAMILY_ERROR));
                [value_at(search, *at).to_owned(), bracket, value]
            }
            _ => ["missing", NONE, NONE].map(str::to_owned),
        };
        table.row([name.clone(), best, bracket, value, answer.tried.to_string()]);
    }
    table.render("", &[])
}

/// What has to be said of an answer beside its row.
fn notes(search: &Search, answer: &LineAnswer) -> Vec<String> {
    let mut notes = Vec::new();
    match &answer.outcome {
        LineOutcome::Everywhere(_) => notes.push(
            "feasible at both ends of the range: everywhere in it, unless it is broken and kept again between; widen the \
             range to find a boundary"
                .to_owned(),
        ),
        LineOutcome::Nowhere(ends) => {
            let undecided: Vec<String> = ends.iter().filter_map(|end| undecided_note(search, end)).collect();
            let help = if undecided.is_empty() { "" } else { "add replications, " };
            notes.push(format!(
                "shown to be feasible at neither end of the range; {help}widen the range, or loosen the limit"
            ));
            notes.extend(undecided);
        }
        LineOutcome::Between { beyond, .. } => notes.extend(undecided_note(search, beyond)),
        LineOutcome::Best { at, bracket, rivals, .. } => {
            if bracket.0 == *at || bracket.1 == *at {
                notes.push("the best lies at the end of the range: there may be a better one beyond it".to_owned());
            }
            if !rivals.is_empty() {
                notes.push(format!("not told apart from it: {}", values_at(search, rivals)));
            }
        }
        LineOutcome::Missing => notes.push("the metric has no value anywhere".to_owned()),
    }
    if !answer.strays.is_empty() {
        notes.push(format!(
            "not monotone: {} kept beyond the boundary, or broken inside it; there may be another",
            values_at(search, &answer.strays)
        ));
    }
    for (metric, name) in search.question.metrics().enumerate() {
        let own = answer.turns.iter().filter(|(of, _)| *of == metric).map(|(_, turn)| {
            let verb = if turn.rises { "rises" } else { "falls" };
            format!("{verb} from {} to {}", value_at(search, turn.from), value_at(search, turn.to))
        });
        let turns: Vec<String> = own.collect();
        if !turns.is_empty() {
            let what = match answer.outcome {
                LineOutcome::Best { .. } => "more than one valley or hill",
                _ => "not monotone",
            };
            notes.push(format!("{what}: {name} {}; there may be another answer", turns.join(", ")));
        }
    }
    notes
}

/// That a value is not shown to break its limits, and what would decide.
fn undecided_note(search: &Search, judged: &JudgedValue) -> Option<String> {
    let value = value_at(search, judged.at);
    match standing(&judged.checks) {
        ConstraintStanding::Broken => return None,
        ConstraintStanding::Missing => {
            return Some(format!("{value} has no value of a metric, and counts as not kept"));
        }
        ConstraintStanding::Kept | ConstraintStanding::Undecided => {}
    }
    let more = more_replications(&judged.checks)
        .map_or_else(String::new, |more| format!("; about {} more replications would", count_text(more)));
    Some(format!("the replications do not decide whether {value} is kept{more}"))
}
