//! A results folder as one HTML page that loads nothing: the question, the answer, tables, charts, and what made them.

mod answer;
mod tables;

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::error::FiguresError;
use super::markup::escaped;
use super::{charts, draw};
use crate::answers::compare::{Comparison, compare};
use crate::answers::offered::OfferedLoads;
use crate::job::manifest::{Manifest, WarmupEntry};
use crate::results::disk::write_whole;
use crate::results::observed::Observed;
use crate::results::{Results, description, missing_details, text_if_there};

/// A page may load nothing at all: browsers hold it to that.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// What a page is made of.
struct Subject {
    results: Results,
    /// Nothing where no two cells or no two replications can be compared; then why.
    comparison: Result<Comparison, String>,
    experiment: Option<String>,
    /// What keeps the page from being whole.
    gaps: Vec<String>,
    /// The load that is offered from the rules alone.
    offered: OfferedLoads,
}

/// Writes the page of the folder `dir` to the file `out`.
///
/// # Errors
/// If the folder can't be read, is unfinished or of another version, or the page can't be written.
pub fn write(dir: &Path, out: &Path) -> Result<(), FiguresError> {
    Ok(write_whole(out, html(dir)?.as_bytes())?)
}

/// The page of the folder `dir`.
///
/// # Errors
/// If the folder can't be read, is unfinished or of another version, or asks for a chart that can't be drawn.
pub fn html(dir: &Path) -> Result<String, FiguresError> {
    Ok(Subject::read(dir)?.html())
}

impl Subject {
    fn read(dir: &Path) -> Result<Self, FiguresError> {
        let observed = Observed::read(dir)?;
        let results = Results::read_with_timeline(dir, charts::with_timeline)?;
        let experiment = text_if_there(&dir.join(description::EXPERIMENT))?;
        charts::check_requests(dir, &results)?;
        let mut gaps: Vec<String> = missing_details(dir)
            .map(|name| format!("{name} is not there: what it shows is missing."))
            .collect();
        if experiment.is_none() {
            let unknown = results.description.name.is_empty();
            let missing = if unknown { "question and setup are missing" } else { "it can't be shown" };
            gaps.push(format!("experiment.toml is not there: {missing}."));
        }
        if results.manifest.is_none() {
            gaps.push(
                "manifest.json is not there: which version made these results is not known.".to_owned(),
            );
        }
        let manifest = Manifest::read(dir);
        let overload = manifest.iter().flat_map(Manifest::overload);
        let warnings = manifest.iter().flat_map(Manifest::warnings).chain(overload);
        gaps.extend(warnings.map(|line| format!("Warning: {line}.")));
        let offered = manifest.map(|manifest| manifest.offered).unwrap_or_default();
        let comparison = compare(&observed, None, &[]).map_err(|error| error.to_string());
        if let Ok(comparison) = &comparison {
            gaps.extend(comparison.notes.iter().cloned());
        }
        Ok(Self { results, comparison, experiment, gaps, offered })
    }

    fn html(&self) -> String {
        let name = escaped(match self.results.description.name.as_str() {
            "" => "zonesim",
            name => name,
        });
        let mut page = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{name}: zonesim report</title>\n<style>\n{}</style>\n</head>\n<body>\n<header>\n<h1>{name}</h1>\n",
            include_str!("page/style.css")
        );
        let description = self.results.description.question.trim();
        if !description.is_empty() {
            page += &format!("<p class=\"question\">{}</p>\n", escaped(description));
        }
        let sections = [
            ("answer", "Answer", Some(answer::html(self))),
            ("thresholds", "Thresholds", tables::thresholds(&self.results)),
            ("summary", "Summary", Some(tables::summary(self))),
            ("comparison", "Comparison", Some(tables::comparison(self))),
            ("load", "Offered load", tables::offered_load(&self.offered)),
            ("charts", "Charts", Some(self.charts())),
            ("experiment", "Experiment", Some(self.provenance())),
        ];
        let sections = sections
            .into_iter()
            .filter_map(|(id, title, content)| Some((id, title, content?)))
            .collect::<Vec<_>>();
        page += "<nav>";
        for (id, title, _) in &sections {
            page += &format!("<a href=\"#{id}\">{title}</a>");
        }
        page += "</nav>\n</header>\n<main>\n";
        for (id, title, content) in sections {
            page += &format!("<section id=\"{id}\">\n<h2>{title}</h2>\n{content}</section>\n");
        }
        page + "</main>\n</body>\n</html>\n"
    }

    /// How long the warm-up is, and who says so.
    fn warmup(&self) -> String {
        let entry = self.results.manifest.as_ref().and_then(|manifest| manifest.get("warmup"));
        match entry.and_then(|entry| WarmupEntry::deserialize(entry).ok()) {
            Some(found) => found.text(),
            None => {
                let length = self.results.description.warmup();
                length.map_or("as the experiment says".to_owned(), |length| length.to_string())
            }
        }
    }

    fn charts(&self) -> String {
        let mut text = String::new();
        for (_, figure) in charts::figures(&self.results) {
            let (title, svg) = (escaped(&figure.title), draw::svg(&figure, draw::BELOW_TITLE));
            text += &format!("<figure>\n<figcaption>{title}</figcaption>\n{svg}</figure>\n");
        }
        if text.is_empty() { "<p>Nothing to draw.</p>\n".to_owned() } else { text }
    }

    fn provenance(&self) -> String {
        let entry = |key: &str| match self.results.manifest.as_ref().and_then(|manifest| manifest.get(key)) {
            Some(Value::String(text)) => text.clone(),
            Some(value) => value.to_string(),
            None => "not known".to_owned(),
        };
        let mut text = String::from("<dl>\n");
        for (term, value) in [
            ("zonesim", entry("zonesim")),
            ("experiment hash", entry("experiment_hash")),
            ("seed", entry("seed")),
            ("replications", replications(&self.results)),
            ("warm-up", self.warmup()),
            ("cells", self.results.cells.len().to_string()),
            ("runs", self.results.runs.len().to_string()),
            ("connections", entry("connections")),
            ("events", entry("events")),
        ] {
            text += &format!("<dt>{term}</dt><dd>{}</dd>\n", escaped(&value));
        }
        text += "</dl>\n";
        for gap in &self.gaps {
            text += &format!("<p class=\"note\">{}</p>\n", escaped(gap));
        }
        if let Some(experiment) = &self.experiment {
            text += &format!(
                "<details>\n<summary>The experiment file, as run</summary>\n<pre>{}</pre>\n</details>\n",
                escaped(experiment)
            );
        }
        text
    }
}

fn replications(results: &Results) -> String {
    let counts = results.cells.iter().map(|cell| cell.replications);
    match (counts.clone().min().unwrap_or(0), counts.max().unwrap_or(0)) {
        (fewest, most) if fewest == most => most.to_string(),
        (fewest, most) => format!("{fewest} to {most}, until cells were known well enough"),
    }
}

#[cfg(test)]
mod tests;
