//! Findings: what an experiment says that does nothing, or something else than it seems to.
//!
//! Each is found in the world of a cell; `world/findings.rs` has the table.

use std::fmt;

/// How grave a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Something does nothing.
    Note,
    /// Results may mislead.
    Warning,
}

/// What the author of an experiment should know before it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingFinding {
    /// Which kind it is: a name that stays.
    pub id: &'static str,
    /// How grave it is.
    pub severity: Severity,
    /// The path of the key that it is about.
    pub key: String,
    /// What is the matter, to be read after the key.
    pub what: String,
    /// What to do.
    pub help: &'static str,
    /// The arms that it holds for; none if it holds for all.
    pub arms: Vec<String>,
}

/// A finding in the world of one cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CellFinding {
    pub id: &'static str,
    pub severity: Severity,
    pub key: Vec<String>,
    pub what: String,
    pub help: &'static str,
}

impl fmt::Display for SettingFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { id, key, what, help, arms, .. } = self;
        let arms = match &arms[..] {
            [] => String::new(),
            [arm] => format!("in arm {arm} "),
            several => format!("in arms {} ", several.join(", ")),
        };
        write!(f, "{arms}`{key}` {what}; {help} [{id}]")
    }
}
