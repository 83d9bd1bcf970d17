//! A read-only view of a TOML tree in which tables and inline tables, lists and lists of tables are the same.

use std::ops::Range;

use serde::de::Unexpected;
use toml_edit::{Array, ArrayOfTables, InlineTable, Item, Table, TableLike, Value};

use super::path::{KeyPath, Step};

/// One value of the tree.
#[derive(Clone, Copy)]
pub(super) enum Node<'a> {
    /// `[table]`, or the whole file.
    Table(&'a Table),
    /// `{ key = value }`
    Inline(&'a InlineTable),
    /// `[[table]]`
    Tables(&'a ArrayOfTables),
    /// `[value, value]`
    List(&'a Array),
    /// Anything else.
    Scalar(&'a Value),
}

impl<'a> Node<'a> {
    pub(super) fn of_item(item: &'a Item) -> Option<Self> {
        match item {
            Item::None => None,
            Item::Value(value) => Some(Self::of_value(value)),
            Item::Table(table) => Some(Self::Table(table)),
            Item::ArrayOfTables(tables) => Some(Self::Tables(tables)),
        }
    }

    pub(super) fn of_value(value: &'a Value) -> Self {
        match value {
            Value::Array(list) => Self::List(list),
            Value::InlineTable(table) => Self::Inline(table),
            _ => Self::Scalar(value),
        }
    }

    pub(super) fn as_table(self) -> Option<&'a dyn TableLike> {
        match self {
            Self::Table(table) => Some(table),
            Self::Inline(table) => Some(table),
            Self::Tables(_) | Self::List(_) | Self::Scalar(_) => None,
        }
    }

    /// The keys and values of a table, in the order of the file; none if it is no table.
    pub(super) fn entries(self) -> impl Iterator<Item = (&'a str, Self)> {
        let entries = self.as_table().into_iter().flat_map(TableLike::iter);
        entries.filter_map(|(key, item)| Some((key, Self::of_item(item)?)))
    }

    pub(super) fn members(self) -> Option<Vec<Self>> {
        match self {
            Self::Tables(tables) => Some(tables.iter().map(Self::Table).collect()),
            Self::List(list) => Some(list.iter().map(Self::of_value).collect()),
            Self::Table(_) | Self::Inline(_) | Self::Scalar(_) => None,
        }
    }

    pub(super) fn get(self, key: &str) -> Option<Self> {
        self.as_table()?.get(key).and_then(Self::of_item)
    }

    /// What a path calls it, if it is a member of the list `list` and that has names: the value of `name` or `group`.
    pub(super) fn name_in(self, list: &str) -> Option<&'a str> {
        // Operations have groups too, but those are not their names.
        let name = self.get("name").or_else(|| self.get("group")).filter(|_| list != "operations")?;
        if let Self::Scalar(value) = name { value.as_str() } else { None }
    }

    pub(super) fn found(self) -> Unexpected<'a> {
        match self {
            Self::Table(_) | Self::Inline(_) => Unexpected::Map,
            Self::Tables(_) | Self::List(_) => Unexpected::Seq,
            Self::Scalar(Value::String(text)) => Unexpected::Str(text.value()),
            Self::Scalar(Value::Integer(number)) => Unexpected::Signed(*number.value()),
            Self::Scalar(Value::Float(number)) => Unexpected::Float(*number.value()),
            Self::Scalar(Value::Boolean(value)) => Unexpected::Bool(*value.value()),
            Self::Scalar(_) => Unexpected::Other("a date"),
        }
    }

    pub(super) fn to_value(self) -> Value {
        let mut value = match self {
            Self::Table(table) => Value::InlineTable(table.clone().into_inline_table()),
            Self::Inline(table) => Value::InlineTable(table.clone()),
            Self::Tables(tables) => Value::Array(tables.clone().into_array()),
            Self::List(list) => Value::Array(list.clone()),
            Self::Scalar(value) => value.clone(),
        };
        value.decor_mut().clear();
        value
    }

    /// Writes keys and values in the order of the file, without comments and layout: two ways to write the same give the same.
    pub(super) fn write_bare(self, text: &mut String) {
        if let Some(members) = self.members() {
            text.push('[');
            for member in members {
                member.write_bare(text);
                text.push(',');
            }
            text.push(']');
        } else if let Self::Scalar(Value::String(string)) = self {
            *text += &format!("{:?}", string.value());
        } else if let Self::Scalar(_) = self {
            *text += &self.to_value().to_string();
        } else {
            text.push('{');
            for (key, node) in self.entries() {
                *text += &format!("{key:?}=");
                node.write_bare(text);
                text.push(',');
            }
            text.push('}');
        }
    }

    /// The value at `path`, where members of lists go by their names or numbers.
    pub(super) fn at(self, path: &[String]) -> Option<Self> {
        let (mut node, mut list) = (self, "");
        for part in path {
            node = match node.members() {
                None => node.get(part)?,
                Some(members) => {
                    let named = members.iter().find(|member| member.name_in(list) == Some(part));
                    *named.or_else(|| members.get(part.parse::<usize>().ok()?))?
                }
            };
            list = part;
        }
        Some(node)
    }

    fn child(self, step: &Step) -> Option<Self> {
        match step {
            Step::Key(key) => self.get(key),
            Step::Member(index) => self.members()?.get(*index).copied(),
        }
    }

    /// Where it stands in the text: a table by its header.
    fn span(self) -> Option<Range<usize>> {
        match self {
            Self::Table(table) => table.span(),
            Self::Inline(table) => table.span(),
            Self::Tables(tables) => tables.iter().next().and_then(Table::span),
            Self::List(list) => list.span(),
            Self::Scalar(value) => value.span(),
        }
    }

    /// Where the value at `path` stands, or its key if `at_key`; else where its nearest existing parent stands.
    /// `None` is the whole text.
    pub(super) fn place(self, path: &KeyPath, at_key: bool) -> Option<Range<usize>> {
        let mut node = self;
        let mut place = None;
        for (depth, step) in path.steps().iter().enumerate() {
            let key_span = match step {
                Step::Key(key) => node.as_table().and_then(|table| table.key(key)?.span()),
                Step::Member(_) => None,
            };
            let Some(child) = node.child(step) else {
                return place;
            };
            let last = depth + 1 == path.steps().len();
            place = if last && at_key { key_span.or(child.span()) } else { child.span().or(key_span) };
            node = child;
        }
        place
    }

    /// `path` with the names of members for their positions, as an override writes it.
    pub(super) fn names(self, path: &KeyPath) -> Vec<String> {
        let mut node = Some(self);
        let mut names: Vec<String> = Vec::new();
        for step in path.steps() {
            node = node.and_then(|node| node.child(step));
            let list = names.last().map_or("", String::as_str);
            let name = match step {
                Step::Key(key) => key.clone(),
                Step::Member(index) => {
                    node.and_then(|node| node.name_in(list)).map_or_else(|| index.to_string(), str::to_owned)
                }
            };
            names.push(name);
        }
        names
    }
}
