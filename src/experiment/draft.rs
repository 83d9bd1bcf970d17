//! An experiment file with the overrides of the command line, before it is known to be right.

use toml_edit::{Document, DocumentMut, Table, Value};

use super::assignment::{Assignment, Origin};
use super::error::{ExperimentError, Whereabouts};
use super::node::Node;
use super::path::{KeyPath, NamePath, dotted};
use super::plan;
use super::problem::Problem;
use super::{AxisValue, Overrides, Source};

/// A file that is TOML, and what overrides it.
pub(super) struct Draft<'a> {
    source: &'a Source,
    /// The file as it stands, which knows where everything is.
    file: Document<&'a str>,
    /// The same as a tree that can be changed.
    root: DocumentMut,
    /// What the command line overrides, in order: later ones win.
    flags: Vec<Assignment>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(source: &'a Source, overrides: &Overrides) -> Result<Self, ExperimentError> {
        let file = Document::parse(source.text.as_str()).map_err(|error| {
            let place = error.span().map_or(Whereabouts::File, Whereabouts::Span);
            let help =
                "write key = value, texts in double quotes, tables as [name], lists of tables as [[name]]";
            ExperimentError::new(source, place, format!("this is not TOML: {}", error.message()), help)
        })?;
        let root = file.clone().into_mut();
        let flags = flags(source, &file, overrides)?;
        Ok(Self { source, file, root, flags })
    }

    pub(super) fn document(&self) -> Result<DocumentMut, ExperimentError> {
        let mut document = self.root.clone();
        for flag in &self.flags {
            flag.apply(&mut document).map_err(|problem| self.report(problem, &[], None, |_| Ok(())))?;
        }
        Ok(document)
    }

    /// The error that says `problem`, which `check` finds in the experiment with the assignments of the command
    /// line and then `cell`'s.
    ///
    /// What is to blame is found by leaving things out: if the file alone has the problem, it is the file;
    /// otherwise the last assignment without which the problem is gone.
    pub(super) fn report(
        &self,
        problem: Problem,
        cell: &[Assignment],
        context: Option<String>,
        check: impl Fn(&Table) -> Result<(), Problem>,
    ) -> ExperimentError {
        let all: Vec<&Assignment> = self.flags.iter().chain(cell).collect();
        let persists = |without: &dyn Fn(usize) -> bool| {
            let kept = all.iter().enumerate().filter(|(index, _)| !without(*index));
            let mut root = self.root.as_table().clone();
            let applied = kept.map(|(_, assignment)| *assignment).try_for_each(|kept| kept.apply(&mut root));
            applied.and_then(|()| check(&root)).err().as_ref() == Some(&problem)
        };
        let culprit = if persists(&|_| true) {
            None
        } else {
            let needed = (0..all.len()).rev().find(|left_out| !persists(&|index| index == *left_out));
            needed.or(all.len().checked_sub(1))
        };
        let mut root = self.root.as_table().clone();
        // One that can't be applied is the problem itself, and it gives its path in names.
        all.iter().for_each(|assignment| drop(assignment.apply(&mut root)));
        let names = Node::Table(&root).names(&problem.path);
        let place = match culprit.map(|index| &all[index].origin) {
            None => self.place(&problem.path, problem.at_key),
            Some(Origin::Flag(flag)) => Whereabouts::Flag(flag.clone()),
            Some(Origin::File(path)) => self.place_of_assignment(path, problem.at_key, &root),
        };
        let subject =
            if names.is_empty() { "the experiment".to_owned() } else { format!("`{}`", dotted(&names)) };
        let help = match problem.help {
            Some(key) if problem.names_missing_key => Some(with_example(&names, &key)),
            help => help,
        };
        let context = context.filter(|_| culprit.is_some_and(|index| index >= self.flags.len()));
        ExperimentError {
            source: Box::new(self.source.clone()),
            place,
            title: format!("{subject}{}", problem.what),
            notes: problem.note.into_iter().chain(context).collect(),
            help,
        }
    }

    pub(super) fn source(&self) -> &Source {
        self.source
    }

    /// What the command line overrides, in order.
    pub(super) fn flags(&self) -> &[Assignment] {
        &self.flags
    }

    /// The error that says `problem` of a value that every arm replaces; `root` is the file where one doesn't.
    pub(super) fn report_replaced(&self, problem: &Problem, root: &Table) -> ExperimentError {
        let names = Node::Table(root).names(&problem.path);
        ExperimentError {
            source: Box::new(self.source.clone()),
            place: self.place_of_assignment(&problem.path, problem.at_key, root),
            title: format!("`{}`{}", dotted(&names), problem.what),
            notes: problem.note.iter().cloned().chain(["every arm sets it anew".to_owned()]).collect(),
            help: problem.help.clone(),
        }
    }

    fn place(&self, path: &KeyPath, at_key: bool) -> Whereabouts {
        Node::Table(self.file.as_table()).place(path, at_key).map_or(Whereabouts::File, Whereabouts::Span)
    }

    /// Where an arm or an axis of the experiment `root` sets a value: in the file, unless a flag says it.
    fn place_of_assignment(&self, path: &KeyPath, at_key: bool, root: &Table) -> Whereabouts {
        let names = Node::Table(root).names(path);
        let flag = self.flags.iter().rev().find(|flag| names.starts_with(flag.path.parts()));
        match flag.map(|flag| &flag.origin) {
            Some(Origin::Flag(flag)) => Whereabouts::Flag(flag.clone()),
            _ if at_key => self.place(&path.to_last_key(), true),
            _ => self.place(path, false),
        }
    }
}

/// What to write for `key`, which the table at `path` lacks.
fn with_example(path: &[String], key: &str) -> String {
    let row = plan::key(&[path, &[key.to_owned()]].concat());
    format!("add {key} = {}", row.map_or("…", |row| &row.example))
}

fn flags(
    source: &Source,
    file: &Document<&str>,
    overrides: &Overrides,
) -> Result<Vec<Assignment>, ExperimentError> {
    let error = |flag: &str, title: String, help: &str| {
        ExperimentError::new(source, Whereabouts::Flag(flag.to_owned()), title, help)
    };
    let parse = |flag: &str, path: &str, example: &str| {
        let help = format!("write keys with dots between them, such as {example}");
        NamePath::parse(path).ok_or_else(|| error(flag, format!("{path:?} is not a path"), &help))
    };
    let mut flags = Vec::new();
    for (path, value) in &overrides.set {
        let flag = format!("--set {path}={value}");
        let example = "server.workers=8, and quote a key with other characters than letters, digits, - and _";
        let path = parse(&flag, path, example)?;
        let value = value.trim().parse().unwrap_or_else(|_| Value::from(value.as_str()));
        flags.push(Assignment { path, value, origin: Origin::Flag(flag) });
    }
    let mut simulation = |key: &str, number: i64, flag: String| {
        let path = NamePath::parse(&format!("simulation.{key}")).expect("a dotted key");
        flags.push(Assignment { path, value: Value::from(number), origin: Origin::Flag(flag) });
    };
    if let Some(seed) = overrides.seed {
        let flag = format!("--seed {seed}");
        let Ok(seed) = i64::try_from(seed) else {
            let title = format!("the seed {seed} is too large for a TOML file");
            return Err(error(&flag, title, "write at most 9223372036854775807"));
        };
        simulation("seed", seed, flag);
    }
    if let Some(replications) = overrides.replications {
        simulation("replications", i64::from(replications), format!("--replications {replications}"));
    }
    if let Some(axis) = &overrides.search {
        let flag = format!("--search {}", axis.path);
        let path = parse(&flag, &axis.path, "clients.web-a.arrivals.poisson.rate=100..4000")?;
        for (arm, values) in &axis.arms {
            // An experiment without arms has the one sweep of all.
            let has_arms = file.contains_key("arms");
            let sweep = if has_arms { format!("arms.{}.sweep", dotted(&[arm])) } else { "sweep".to_owned() };
            let place = format!("{sweep}.{}", dotted(&[dotted(path.parts())]));
            let path = NamePath::parse(&place).expect("quoted keys");
            let value = Value::Array(values.iter().map(AxisValue::to_toml).collect());
            flags.push(Assignment { path, value, origin: Origin::Flag(flag.clone()) });
        }
    }
    Ok(flags)
}
