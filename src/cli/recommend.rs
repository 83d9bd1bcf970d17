//! `zonesim recommend`: the cell that is best and keeps to constraints with confidence.

mod text;

pub(super) use text::check_text;

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use serde_json::{Map, Value};

use super::console::Console;
use super::{Status, TextFormat, check_has_results, say_conditions};
use crate::answers::compare::FAMILY_ERROR;
use crate::answers::recommend::{
    Constraint, RankedCandidate, RecommendRequest, Section, more_replications, recommend as recommend_all,
};
use crate::results::observed::Observed;
use crate::results::policies::SamePolicy;
use crate::results::record::Record;

#[derive(Debug, Args)]
pub(super) struct RecommendArgs {
    /// A results folder.
    #[arg(value_name = "RESULTS_DIR")]
    folder: PathBuf,
    /// The metric that is to be low; a column of `runs.csv`.
    #[arg(long, value_name = "METRIC")]
    objective: String,
    /// The objective is to be high.
    #[arg(long)]
    maximize: bool,
    /// A limit to keep to with confidence, such as `failure_ratio<=0.1%` or `request_p99_ms<20ms`. May be repeated.
    #[arg(long, value_name = "METRIC<=VALUE")]
    subject_to: Vec<String>,
    /// A text to read, or JSON.
    #[arg(long, value_enum, default_value_t = TextFormat::Text)]
    format: TextFormat,
}

pub(super) fn recommend(args: &RecommendArgs, console: &Console) -> anyhow::Result<Status> {
    check_has_results(&args.folder)?;
    say_conditions(&args.folder, console);
    let constraints = args.subject_to.iter().map(|text| text.parse::<Constraint>());
    let constraints = constraints.collect::<Result<Vec<_>, _>>()?;
    let request =
        RecommendRequest { objective: args.objective.clone(), maximize: args.maximize, constraints };
    let observed = Observed::read(&args.folder)?;
    let sections = recommend_all(&observed, &request)?;
    let policies = observed.results().description.policies.as_ref();
    if policies.is_none() {
        console.note("note: without a resolved.json of its rows, equal policies can't be told by the rules");
    }
    let same = policies.map_or(&[][..], |policies| &policies.same);
    console.data(&match args.format {
        TextFormat::Text => text::render(&observed, &request, &sections, same),
        TextFormat::Json => serde_json::to_string_pretty(&json(&observed, &request, &sections, same))? + "\n",
    })?;
    let all = sections.iter().all(|section| section.recommended.is_some());
    Ok(if all { Status::Done } else { Status::ThresholdMissed })
}

/// The answer as JSON.
#[derive(Debug, Serialize)]
struct Answer {
    experiment: String,
    objective: String,
    direction: &'static str,
    constraints: Vec<Record>,
    confidence: f64,
    correction: &'static str,
    sections: Vec<JsonSection>,
    same_policies: Vec<JsonSame>,
}

#[derive(Debug, Serialize)]
struct JsonSection {
    #[serde(skip_serializing_if = "Map::is_empty")]
    axes: Map<String, Value>,
    /// The first cell of the recommended candidate.
    recommended: Option<usize>,
    binding: Vec<String>,
    candidates: Vec<JsonCandidate>,
}

#[derive(Debug, Serialize)]
struct JsonCandidate {
    #[serde(flatten)]
    fields: Record,
    constraints: Vec<Record>,
    more_replications: Option<u64>,
}

#[derive(Debug, Serialize)]
struct JsonSame {
    cells: Vec<usize>,
    keep: usize,
    thresholds: Vec<Record>,
}

fn json(
    observed: &Observed,
    request: &RecommendRequest,
    sections: &[Section],
    same: &[SamePolicy],
) -> Answer {
    let constraint = |constraint: &Constraint| {
        let mut record = Record::default();
        record.put("metric", constraint.metric.as_str());
        record.put("bound", constraint.bound());
        record.put("limit", constraint.limit);
        record
    };
    let number = |candidate: &RankedCandidate| observed.cells()[candidate.cells[0]].number;
    let section = |section: &Section| JsonSection {
        axes: section.values.iter().map(|(axis, value)| (axis.clone(), value.as_str().into())).collect(),
        recommended: section.recommended.map(|index| number(&section.candidates[index])),
        binding: section.binding.iter().map(|index| request.constraints[*index].to_string()).collect(),
        candidates: (0..section.candidates.len())
            .map(|index| json_candidate(observed, request, section, index))
            .collect(),
    };
    let threshold = |(needed, size): &(usize, usize)| {
        let mut record = Record::default();
        record.put("eligible", *needed);
        record.put("backends", *size);
        record
    };
    let policy = |same: &SamePolicy| JsonSame {
        cells: same.cells.clone(),
        keep: same.cells[same.cells.len() - 1],
        thresholds: same.thresholds.iter().map(threshold).collect(),
    };
    Answer {
        experiment: observed.results().description.name.clone(),
        objective: request.objective.clone(),
        direction: if request.maximize { "maximize" } else { "minimize" },
        constraints: request.constraints.iter().map(constraint).collect(),
        confidence: 1.0 - FAMILY_ERROR,
        correction: "bonferroni",
        sections: sections.iter().map(section).collect(),
        same_policies: same.iter().map(policy).collect(),
    }
}

fn json_candidate(
    observed: &Observed,
    request: &RecommendRequest,
    section: &Section,
    index: usize,
) -> JsonCandidate {
    let (cells, candidate) = (observed.cells(), &section.candidates[index]);
    let (behind, more_replications) = (candidate.behind, more_replications(&candidate.checks));
    let mut fields = Record::default();
    fields.put_cell(observed.results(), &cells[candidate.cells[0]]);
    let same: Vec<usize> = candidate.cells[1..].iter().map(|cell| cells[*cell].number).collect();
    fields.put("same_cells", same);
    fields.put("standing", section.standing(index));
    fields.put("objective", candidate.objective);
    fields.put("behind", behind.map(|rank| rank.difference));
    fields.put_ends("behind_ci", behind.and_then(|rank| rank.ends));
    fields.put("told_apart", behind.map(|rank| rank.told_apart));
    let checks = request.constraints.iter().zip(&candidate.checks).map(|(constraint, check)| {
        let mut record = Record::default();
        record.put("metric", constraint.metric.as_str());
        record.put("value", check.value);
        record.put_ends("bound", check.ends);
        record.put("standing", check.standing.name());
        record.put("more_replications", check.more_replications);
        record
    });
    JsonCandidate { fields, constraints: checks.collect(), more_replications }
}
