//! Errors as people see them: where, what, and what to write instead.

use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet};

use super::Source;

/// Why a text is not an experiment.
#[derive(Clone, PartialEq, Eq)]
pub struct ExperimentError {
    pub(super) source: Box<Source>,
    pub(super) place: Whereabouts,
    /// What is wrong, in a sentence without a full stop.
    pub(super) title: String,
    /// In which cell it is wrong, and what the Compute API says to it.
    pub(super) notes: Vec<String>,
    pub(super) help: Option<String>,
}

/// Where an error is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Whereabouts {
    File,
    /// At these bytes of the file.
    Span(Range<usize>),
    Flag(String),
}

impl ExperimentError {
    pub(super) fn new(source: &Source, place: Whereabouts, title: String, help: &str) -> Self {
        let (source, help) = (Box::new(source.clone()), Some(help.to_owned()));
        Self { source, place, title, notes: Vec::new(), help }
    }

    /// The error with file, line, the text there and the remedy, for a terminal with or without colour.
    pub fn render(&self, color: bool) -> String {
        let Self { source, place, title, notes, help } = self;
        let place = match place {
            Whereabouts::File => Element::from(Origin::path(&source.name)),
            Whereabouts::Span(span) => {
                let span = AnnotationKind::Primary.span(first_line(&source.text, span));
                Snippet::source(&source.text).path(&source.name).annotation(span).into()
            }
            Whereabouts::Flag(flag) => Origin::path(format!("{}, overridden by {flag}", source.name)).into(),
        };
        let notes = notes.iter().map(|note| Level::NOTE.message(note));
        let help = help.iter().map(|help| Level::HELP.message(help));
        let group: Group<'_> =
            Level::ERROR.primary_title(title).element(place).elements(notes).elements(help);
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        renderer.render(&[group])
    }
}

/// The part of `span` that lies on its first line, between characters.
fn first_line(text: &str, span: &Range<usize>) -> Range<usize> {
    let floor = |at: usize| text.floor_char_boundary(at.min(text.len()));
    let start = floor(span.start);
    let end = floor(span.end).max(start);
    let length = text[start..end].find(['\r', '\n']);
    start..length.map_or(end, |length| start + length)
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

/// As it is shown, so that a failed `unwrap` can be read.
impl fmt::Debug for ExperimentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\n{self}")
    }
}

impl std::error::Error for ExperimentError {}
