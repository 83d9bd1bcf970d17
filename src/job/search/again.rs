//! The answers of a search that is finished, from its folder: nothing is simulated again.

use super::{Identity, LineAnswer, Search, SearchedLine, Sought, TriedValue};
use crate::job::error::JobError;
use crate::job::folder::Folder;
use crate::job::manifest::Manifest;
use crate::results::observed::Observed;
use crate::results::{ResultCell, is_unfinished};

impl Search {
    /// What the finished results of this very search in `folder` answer, if it holds those, and they are to be gone on with.
    pub(super) fn answered(
        &self,
        folder: &Folder,
        identity: &Identity,
    ) -> Result<Option<Vec<(String, LineAnswer)>>, JobError> {
        let is_this = |found: &Manifest| found.complete && found.search.is_some() && identity.is_of(found);
        let goes_on = folder.resume && !folder.force && !is_unfinished(&folder.path);
        if !goes_on || !Manifest::read(&folder.path).is_some_and(|found| is_this(&found)) {
            return Ok(None);
        }
        let observed = Observed::read(&folder.path).map_err(|error| JobError::Watcher(error.into()))?;
        let Some(axis) = self.experiment.axis_at(&self.request.path) else { return Ok(None) };
        let column = &self.experiment.axes()[axis].column;
        let searched = observed.results().axes.iter().position(|name| name == column);
        let Some(searched) = searched else { return Ok(None) };
        let mut lines: Vec<SearchedLine> = Vec::new();
        for cell in observed.cells() {
            let Some(at) = self.grid.iter().position(|value| value.as_str() == cell.values[searched]) else {
                continue;
            };
            let name = line_name(&observed, cell, searched);
            let index = lines.iter().position(|line| line.name == name).unwrap_or(lines.len());
            if index == lines.len() {
                lines.push(SearchedLine { name, ..SearchedLine::default() });
            }
            lines[index].points.insert(at, self.tried(&observed, cell)?);
        }
        // What was rounded may ask for a value more than was tried; then it is searched again.
        let found = lines.into_iter().map(|line| match self.question.ask(&line) {
            Sought::Found(answer) => Some((line.name, answer)),
            Sought::Missing(_) => None,
        });
        Ok(found.collect())
    }

    fn tried(&self, observed: &Observed, cell: &ResultCell) -> Result<TriedValue, JobError> {
        let varies = observed.results().description.health_varies.get(cell.number).copied().unwrap_or(true);
        let of_metric = |name: &str| {
            let metric = observed.metric(name)?;
            let of_run = |replication| observed.observation((cell.number, replication), metric);
            Ok((0..self.replications() as usize).map(of_run).collect())
        };
        let observations = self.question.metrics().map(of_metric).collect::<Result<_, JobError>>()?;
        Ok(TriedValue::of_strata(observed.strata(cell)).with(varies, observations))
    }
}

/// The arm of `cell` with its values of the axes that are not searched.
fn line_name(observed: &Observed, cell: &ResultCell, searched: usize) -> String {
    let others =
        cell.values.iter().enumerate().filter(|(axis, value)| *axis != searched && !value.is_empty());
    let arm = observed.results().arms[cell.arm].clone();
    others.fold(arm, |name, (_, value)| name + " " + value)
}
