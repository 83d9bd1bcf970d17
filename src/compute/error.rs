//! Why the Compute API refuses a resource or a call (RES-9): one kind of error, with the API's own reason.

use std::borrow::Cow;
use std::fmt;

/// A reason of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A value that the field can't have, or that other fields don't allow.
    Invalid,
    /// A name, or a method, that does not exist.
    NotFound,
    /// A name that is taken.
    AlreadyExists,
    /// Something that another resource needs.
    InUse,
    /// A field that has to be there.
    Required,
    /// A fingerprint of what the resource was before its last change.
    ConditionNotMet,
    /// An instance that a group has already.
    MemberAlreadyExists,
    /// An internal address that another rule has.
    AddressInUse,
}

impl Reason {
    /// The HTTP status, and the API's word.
    pub fn answer(self) -> (u16, &'static str) {
        match self {
            Self::Invalid => (400, "invalid"),
            Self::NotFound => (404, "notFound"),
            Self::AlreadyExists => (409, "alreadyExists"),
            Self::InUse => (400, "resourceInUseByAnotherResource"),
            Self::Required => (400, "required"),
            Self::ConditionNotMet => (412, "conditionNotMet"),
            Self::MemberAlreadyExists => (400, "memberAlreadyExists"),
            Self::AddressInUse => (409, "IP_IN_USE_BY_ANOTHER_RESOURCE"),
        }
    }
}

/// As answers show it: `404 notFound`.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (status, word) = self.answer();
        write!(f, "{status} {word}")
    }
}

/// Paths of fields from their resource.
pub type FieldPaths = &'static [&'static str];

/// What to do, with fields and values as the API has them, and durations with a unit.
pub type HelpText = Cow<'static, str>;

/// What can't be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiError {
    /// The API's reason; absent for what zonesim alone refuses.
    pub reason: Option<Reason>,
    /// The fields that contradict each other, or the one that is wrong.
    pub fields: FieldPaths,
    /// Which member of a list it is about, counted from 0, if the first field is a list or lies in the members of one.
    pub member: Option<u32>,
    /// What is wrong: a clause of its own, or said of the first field.
    pub what: String,
    /// Whether `what` is said of the first field, as `can't be combined with …` is.
    pub is_of_field: bool,
    /// What to do instead.
    pub help: Remedy,
}

/// What to do instead of what is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// This.
    Words(HelpText),
    /// Another name.
    Choose {
        /// The one that was given.
        found: String,
        /// What is named, in the plural.
        what: &'static str,
        /// Those that exist.
        known: Vec<String>,
    },
}

impl ApiError {
    /// What the API refuses for `reason`, in a clause of its own.
    pub fn because(
        reason: Reason,
        fields: FieldPaths,
        what: impl Into<String>,
        help: impl Into<HelpText>,
    ) -> Self {
        let help = Remedy::Words(help.into());
        Self { reason: Some(reason), fields, member: None, what: what.into(), is_of_field: false, help }
    }

    /// What the API calls invalid.
    pub fn invalid(fields: FieldPaths, what: impl Into<String>, help: impl Into<HelpText>) -> Self {
        Self::because(Reason::Invalid, fields, what, help)
    }

    /// What zonesim alone refuses.
    pub fn own(fields: FieldPaths, what: impl Into<String>, help: impl Into<HelpText>) -> Self {
        Self { reason: None, ..Self::invalid(fields, what, help) }
    }

    /// `found`, which a field names and which is none of the `known` ones; `kinds` is what they are, in the plural.
    pub fn not_found<'a>(
        fields: FieldPaths,
        found: &str,
        kinds: &'static str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let kind = kinds.trim_end_matches('s');
        let what = format!("there is no {kind} {}", quoted(found));
        Self::because(Reason::NotFound, fields, what, "").choosing(found, kinds, known)
    }

    /// The same with the remedy to name another than `found`.
    #[must_use]
    pub fn choosing<'a>(
        self,
        found: &str,
        what: &'static str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let known = known.into_iter().map(str::to_owned).collect();
        Self { help: Remedy::Choose { found: found.to_owned(), what, known }, ..self }
    }

    /// The same, about the member at `index` of a list.
    #[must_use]
    pub(super) fn of_member(self, index: usize) -> Self {
        Self { member: u32::try_from(index).ok(), ..self }
    }

    /// `value`, which the API does not take for the first field, in the words that it has for that; `why` is a sentence
    /// without its full stop.
    pub(super) fn bad_value(
        fields: FieldPaths,
        value: impl fmt::Display,
        why: impl fmt::Display,
        help: impl Into<HelpText>,
    ) -> Self {
        Self::invalid(
            fields,
            format!("Invalid value for field 'resource.{}': '{value}'. {why}", fields[0]),
            help,
        )
    }

    /// The same of the member at `index` of a list, which the first field is, or lies in the members of.
    pub(super) fn bad_member(
        fields: FieldPaths,
        index: usize,
        value: impl fmt::Display,
        why: impl fmt::Display,
        help: impl Into<HelpText>,
    ) -> Self {
        let (list, rest) = fields[0].split_at(fields[0].find('.').unwrap_or(fields[0].len()));
        let what = format!("Invalid value for field 'resource.{list}[{index}]{rest}': '{value}'. {why}");
        Self::invalid(fields, what, help).of_member(index)
    }

    /// The first field, which is absent and may not be, in the API's words.
    pub(super) fn required(fields: FieldPaths, help: impl Into<HelpText>) -> Self {
        let what = format!("Required field 'resource.{}' not specified", fields[0]);
        Self::because(Reason::Required, fields, what, help)
    }

    /// The same with what is wrong said of the first field.
    #[must_use]
    pub(super) fn of_field(self) -> Self {
        Self { is_of_field: true, ..self }
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let (true, Some(field)) = (self.is_of_field, self.fields.first()) {
            write!(f, "{field} ")?;
        }
        f.write_str(&self.what)
    }
}

impl std::error::Error for ApiError {}

/// Whether `letter` is not seen itself, but changes what is seen: a control character, a mark of direction, or one of no width.
pub(crate) fn is_hidden(letter: char) -> bool {
    let marks = ['\u{61c}', '\u{180e}', '\u{feff}'];
    let ranges =
        ['\u{200b}'..='\u{200f}', '\u{2028}'..='\u{202e}', '\u{2060}'..='\u{206f}', '\u{fff9}'..='\u{fffb}'];
    letter.is_control() || marks.contains(&letter) || ranges.iter().any(|range| range.contains(&letter))
}

/// `text` with the characters in it that are not seen written out, as `\u{202e}`; line breaks and tabs stay.
pub(crate) fn plain(text: &str) -> Cow<'_, str> {
    let is_odd = |letter: char| is_hidden(letter) && !matches!(letter, '\n' | '\t');
    if !text.contains(is_odd) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        if is_odd(letter) { plain.extend(letter.escape_unicode()) } else { plain.push(letter) }
    }
    Cow::Owned(plain)
}

/// `text` in quotes, shortened if it is long.
pub(crate) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
