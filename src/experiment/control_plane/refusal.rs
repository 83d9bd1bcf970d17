//! Why the Compute API refuses a resource or a call.

use crate::experiment::path::KeyPath;
use crate::experiment::problem::Problem;
use crate::experiment::reason::Reason;
use crate::time::SimDuration;

/// Something that can't be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Refusal {
    /// The fields that contradict each other, or the one that is wrong, as paths from the resource.
    fields: &'static [&'static str],
    /// What is wrong, in a clause of its own.
    what: String,
    /// What to write instead.
    help: String,
    /// The API's reason; absent for what is wrong for zonesim alone.
    reason: Option<Reason>,
}

impl Refusal {
    /// What only zonesim refuses.
    pub(in super::super) fn own(
        fields: &'static [&'static str],
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { fields, what: what.into(), help: help.into(), reason: None }
    }

    /// What the API refuses.
    pub(in super::super) fn because(
        reason: Reason,
        fields: &'static [&'static str],
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { reason: Some(reason), ..Self::own(fields, what, help) }
    }

    /// What the API calls invalid.
    pub(super) fn invalid(
        fields: &'static [&'static str],
        what: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self::because(Reason::Invalid, fields, what, help)
    }

    /// The problem of a resource at `path` that is created so.
    pub(in super::super) fn of_resource(self, path: &KeyPath) -> Problem {
        let field = self.fields.first().copied().unwrap_or_default();
        let path = field.split('.').filter(|key| !key.is_empty()).fold(path.clone(), KeyPath::key);
        let problem = self.problem(path);
        match self.reason {
            Some(reason) => problem.refused(reason),
            None => problem,
        }
    }

    /// The problem of an operation at `path`, which happens at time `at` and has the keys that `has` tells.
    pub(in super::super) fn of_operation(
        self,
        path: &KeyPath,
        at: SimDuration,
        has: impl Fn(&str) -> bool,
    ) -> Problem {
        let key = |field: &&'static str| field.rsplit('.').next().filter(|key| has(key));
        let path = self.fields.iter().find_map(key).map_or(path.clone(), |key| path.clone().key(key));
        let problem = self.problem(path);
        match self.reason {
            Some(reason) => problem.refused_at(reason, at),
            None => problem,
        }
    }

    fn problem(&self, path: KeyPath) -> Problem {
        let Self { what, help, .. } = self;
        Problem {
            path,
            at_key: false,
            what: format!(": {what}"),
            note: None,
            help: Some(help.clone()),
            names_missing_key: false,
        }
    }
}
