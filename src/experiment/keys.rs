//! The one table of keys: every key of the experiment file, as the structs say it that the file is read into.
//!
//! Rows derive from the schema of those structs: names, types and defaults are serde's, a description is the doc comment
//! of its field, and with it the rules that it names. What neither says stands in the field's attributes: `examples`,
//! a range (`minimum`, `exclusiveMinimum` and the like; of durations `x-least`, `x-above`, `x-most`), `x-unit`, a word
//! that stands instead of a number (`x-or`), the table whose keys hold where this one is silent (`x-over`), and
//! `x-whole`, which no cell may change.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde_json::{Map, Value};
use toml_edit::ser::ValueSerializer;

/// A key of the experiment file.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyRow {
    /// Its path, where `<name>`, `<group>`, `<number>` and `<path>` stand for names and numbers, and the parameters of
    /// all distributions stand once, below `<distribution>`.
    pub path: String,
    /// What its value is.
    pub kind: String,
    /// The names that its value can be, if it is one of several.
    pub choices: Vec<String>,
    /// What a number counts.
    pub unit: Option<String>,
    /// What holds without it, in TOML. If there is none, the description says what holds, unless it is needed.
    pub default: Option<String>,
    /// Where its values begin.
    pub least: Option<KeyBound>,
    /// Where they end.
    pub most: Option<KeyBound>,
    /// What it does.
    pub description: String,
    /// The ids of the rules that it comes from.
    pub rules: Vec<String>,
    /// A value in TOML.
    pub example: String,
    /// Whether its table can't do without it.
    pub is_required: bool,
    /// Whether it holds for the whole experiment, so that no arm and no axis may set it.
    pub is_whole: bool,
    /// The path of the key that holds in its place if it is left out.
    pub base: Option<String>,
    /// The operations that have it, if not all members of its list do.
    pub operations: Vec<String>,
}

/// An end of the range of a key's values.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyBound {
    /// The number or the duration there.
    pub value: String,
    /// Whether it belongs to the range.
    pub is_included: bool,
}

/// Below which the parameters of distributions stand in the table.
const DISTRIBUTION: &str = "<distribution>";

#[derive(Debug)]
pub(super) struct KeyTable(Vec<KeyRow>);

impl KeyTable {
    pub(super) fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let schema = settings.into_generator().into_root_schema_for::<T>();
        let schema = plain(schema.as_value());
        let mut table = Self(Vec::new());
        table.below(&Above { is_whole: schema.contains_key("x-whole"), ..Above::default() }, &schema);
        table
    }

    /// Its rows, each table's in the order of the alphabet.
    pub(super) fn rows(&self) -> &[KeyRow] {
        &self.0
    }

    /// The names of the keys that stand at `place`: below the table whose path and a dot it is, or nothing in the root.
    pub(super) fn names_at<'a>(&'a self, place: &'a str) -> impl Iterator<Item = &'a str> {
        let names = self.0.iter().filter_map(move |row| row.path.strip_prefix(place));
        names.filter(|name| !name.contains('.'))
    }

    /// The row of the key that `path` leads to; a placeholder stands for any name or number.
    pub(super) fn find(&self, path: &[impl AsRef<str>]) -> Option<&KeyRow> {
        let path: Vec<&str> = path.iter().map(AsRef::as_ref).collect();
        let exact = self.0.iter().find(|row| row.is_at(&path));
        exact.or_else(|| {
            let is_distribution =
                |end: &usize| self.0.iter().any(|row| row.is_distribution() && row.is_at(&path[..*end]));
            let end = (1..path.len()).find(is_distribution)?;
            let parameter = [&[DISTRIBUTION], &path[end..]].concat().join(".");
            self.0.iter().find(|row| row.path == parameter)
        })
    }

    /// Whether the key at `path`, or one below it, holds for the whole experiment.
    pub(super) fn is_whole(&self, path: &[String]) -> bool {
        let below = format!("{}.", path.join("."));
        let mut whole = self.0.iter().filter(|row| row.is_whole);
        whole.any(|row| row.path.starts_with(&below)) || self.find(path).is_some_and(|row| row.is_whole)
    }
}

impl KeyRow {
    /// Whether its value is a distribution, with the parameters of one.
    pub fn is_distribution(&self) -> bool {
        self.kind.starts_with("distribution")
    }

    fn is_at(&self, path: &[&str]) -> bool {
        let same = |own: &str, part: &str| own == part || (own.starts_with('<') && own != DISTRIBUTION);
        let own: Vec<&str> = self.path.split('.').collect();
        own.len() == path.len() && own.iter().zip(path).all(|(own, part)| same(own, part))
    }
}

/// What the keys of a table have from the tables that it stands in.
#[derive(Clone, Default)]
struct Above {
    path: Vec<String>,
    is_whole: bool,
    /// Where the keys stand that hold where these are silent.
    over: Option<String>,
    operation: Option<String>,
}

impl KeyTable {
    /// Adds the keys below one whose value is as `schema` says.
    fn below(&mut self, above: &Above, schema: &Map<String, Value>) {
        for alternative in alternatives(schema) {
            let operation = alternative["properties"]["do"]["const"].as_str().map(str::to_owned);
            let mut one = plain(alternative);
            if operation.is_none() {
                // A form is a table of its own: what it is stands beside it, and nobody needs just this one.
                one.remove("required");
                let about = ["description", "examples"].map(|key| one.remove_entry(key));
                let forms = one.get_mut("properties").and_then(Value::as_object_mut);
                let form = forms.and_then(|forms| forms.values_mut().next()?.as_object_mut());
                form.into_iter().for_each(|form| form.extend(about.clone().into_iter().flatten()));
            }
            self.below(&Above { operation, ..above.clone() }, &one);
        }
        for (name, key) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_required = required(schema).any(|other| other == name);
            self.key(above, name, &plain(key), is_required);
        }
        if let Some(items) = schema.get("items") {
            let items = plain(items);
            let properties = items.get("properties").and_then(Value::as_object);
            let named = |name: &&str| properties.is_some_and(|keys| keys.contains_key(*name));
            let has = |name: &&str| required(&items).any(|other| other == *name);
            // A table that may stand alone needs no name there, and one in its list.
            let member =
                ["name", "group"].into_iter().find(|name| has(name) || *name == "name" && named(name));
            let member = member.unwrap_or("number");
            let mut above = above.clone();
            above.path.push(format!("<{member}>"));
            self.below(&above, &items);
        }
        if let Some(value @ (Value::Object(_) | Value::Bool(true))) = schema.get("additionalProperties") {
            let mut value = plain(value);
            if let Some(description) = schema.get("description") {
                value.entry("description").or_insert_with(|| description.clone());
            }
            self.key(above, "<path>", &value, false);
        }
    }

    fn key(&mut self, above: &Above, name: &str, schema: &Map<String, Value>, is_required: bool) {
        let mut below = above.clone();
        below.path.push(name.to_owned());
        below.is_whole |= schema.contains_key("x-whole");
        below.over = match (schema.get("x-over").and_then(Value::as_str), &above.over) {
            (Some(table), _) => Some(table.to_owned()),
            (None, over) => over.as_ref().map(|over| format!("{over}.{name}")),
        };
        let row = row(&below, schema, is_required);
        let is_distribution = row.is_distribution();
        match self.0.iter_mut().find(|other| other.path == row.path) {
            Some(known) => {
                if known.description.is_empty() {
                    known.description = row.description;
                }
                known.choices.extend(row.choices);
                known.operations.extend(row.operations);
            }
            None => self.0.push(row),
        }
        if !is_distribution {
            self.below(&below, schema);
        } else if !self.0.iter().any(|row| row.path.starts_with(DISTRIBUTION)) {
            self.below(&Above { path: vec![DISTRIBUTION.to_owned()], ..Above::default() }, schema);
        }
    }
}

fn row(place: &Above, schema: &Map<String, Value>, is_required: bool) -> KeyRow {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    // The tag of an alternative can't be described in the struct that it tells.
    let unsaid = if schema.contains_key("const") { "What it does." } else { "" };
    let mut description = text("description").unwrap_or(unsaid).replace('\n', " ");
    let base = place.over.as_ref().filter(|_| schema.get("x-over").is_none());
    if let Some(base) = base.filter(|_| !description.contains("Default:")) {
        description += &format!(" Default: that of `{base}`.");
    }
    let is_table = schema.contains_key("properties");
    let default = schema.get("default").filter(|value| !is_table && !value.is_null() && base.is_none());
    let values = schema.get("items").filter(|items| items.get("properties").is_none()).map(plain);
    let of = |key: &str| schema.get(key).or_else(|| values.as_ref()?.get(key));
    KeyRow {
        path: place.path.join("."),
        kind: kind(schema, place.path[0] == DISTRIBUTION),
        choices: choices(schema),
        unit: of("x-unit").and_then(Value::as_str).map(str::to_owned),
        default: default.map(toml),
        least: bound(of, ["minimum", "x-least"], ["exclusiveMinimum", "x-above"]),
        most: bound(of, ["maximum", "x-most"], ["exclusiveMaximum", "x-below"]),
        rules: rules(&description),
        example: toml(&example(schema)),
        description,
        is_required,
        is_whole: place.is_whole,
        base: base.cloned(),
        operations: place.operation.iter().cloned().collect(),
    }
}

/// A schema without what says that a value may be missing.
fn plain(schema: &Value) -> Map<String, Value> {
    let mut own = schema.as_object().cloned().unwrap_or_default();
    if let [only] = alternatives(&own)[..] {
        let mut merged = plain(only);
        own.retain(|key, _| !["anyOf", "oneOf"].contains(&key.as_str()));
        merged.extend(own);
        return merged;
    }
    if let Some(Value::Array(types)) = own.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            own.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = own.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    own
}

/// The schemas of which a value follows one, unless it is missing.
fn alternatives(schema: &Map<String, Value>) -> Vec<&Value> {
    let all = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema.get(key)?.as_array()).flatten();
    all.filter(|alternative| alternative["type"] != "null").collect()
}

fn kind(schema: &Map<String, Value>, is_parameter: bool) -> String {
    let word =
        match (schema.get("x-type").and_then(Value::as_str), schema.get("type").and_then(Value::as_str)) {
            // Of what a distribution is, its parameters are.
            (Some("duration"), _) if is_parameter => "number or duration",
            (Some(word), _) => word,
            (None, Some("boolean")) => "true or false",
            (None, Some("integer")) => "whole number",
            (None, Some("number")) => "number",
            (None, Some("string")) => "text",
            (None, Some("object")) => "table",
            (None, Some("array")) => {
                let members = schema.get("items").map(plain).unwrap_or_default();
                return format!("list: {}", kind(&members, is_parameter));
            }
            (None, _) => match &alternatives(schema)[..] {
                [] => "any value",
                [first, ..] if first.get("properties").is_some() => "table",
                [first, ..] if first.get("const").is_some() => "text",
                several => {
                    let kinds = several.iter().map(|one| kind(&plain(one), is_parameter));
                    let mut kinds: Vec<String> = kinds.collect();
                    kinds.dedup();
                    return kinds.join(", or ");
                }
            },
        };
    match schema.get("x-or").and_then(Value::as_str) {
        Some(other) => format!("{word}, or \"{other}\""),
        None => word.to_owned(),
    }
}

fn choices<'a>(schema: &'a Map<String, Value>) -> Vec<String> {
    let all = alternatives(schema).into_iter().filter_map(Value::as_object).chain([schema]);
    let listed =
        |one: &'a Map<String, Value>| one.get("enum").and_then(Value::as_array).into_iter().flatten();
    let names = all.flat_map(|one| listed(one).chain(one.get("const")));
    names.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

/// The end that one of these keys tells, `without` or `with` it. An attribute of the field is stricter than its type.
fn bound<'a>(
    of: impl Fn(&str) -> Option<&'a Value>,
    with: [&str; 2],
    without: [&str; 2],
) -> Option<KeyBound> {
    let found = |keys: [&str; 2]| keys.into_iter().find_map(&of);
    let (value, is_included) =
        found(without).map(|value| (value, false)).or(found(with).map(|value| (value, true)))?;
    Some(KeyBound { value: value.as_str().map_or_else(|| value.to_string(), str::to_owned), is_included })
}

/// The ids of rules, such as ZON-1, in a text.
fn rules(text: &str) -> Vec<String> {
    let is_rule = |word: &&str| {
        let (room, number) = word.split_once('-').unwrap_or_default();
        let is_room = room.len() >= 3 && room.bytes().all(|byte| byte.is_ascii_uppercase());
        is_room && number.parse::<u32>().is_ok()
    };
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(is_rule).map(str::to_owned).collect()
}

/// A value that `schema` allows: the one that it names, or what follows from its type.
fn example(schema: &Map<String, Value>) -> Value {
    let first = |key: &str| schema.get(key).and_then(|list| list.get(0)).cloned();
    let is_something =
        |value: &&Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    let default = schema.get("default").filter(is_something).cloned();
    let named = default.or_else(|| first("examples")).or_else(|| schema.get("const").cloned());
    let named = named.or_else(|| first("enum"));
    named.unwrap_or_else(|| match schema.get("type").and_then(Value::as_str) {
        Some("boolean") => true.into(),
        Some("integer") => schema.get("minimum").and_then(Value::as_i64).unwrap_or(1).max(1).into(),
        Some("number") => 1.0.into(),
        Some("string") => "some-name".into(),
        Some("array") => {
            let members = ["prefixItems", "items"].into_iter().find_map(|key| schema.get(key));
            let members = members
                .map_or(&[][..], |one| one.as_array().map_or(std::slice::from_ref(one), Vec::as_slice));
            members.iter().map(|member| example(&plain(member))).collect()
        }
        _ => match &alternatives(schema)[..] {
            [first, ..] => example(&plain(first)),
            [] => required(schema)
                .map(|name| (name.to_owned(), example(&plain(&schema["properties"][name]))))
                .collect::<Map<_, _>>()
                .into(),
        },
    })
}

fn required(schema: &Map<String, Value>) -> impl Iterator<Item = &str> {
    schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// The name that the file has for `value`, one of several.
pub(super) fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| Some(value.as_str()?.to_owned())).unwrap_or_default()
}

/// A value as the file writes it.
fn toml(value: &Value) -> String {
    let value = value.serialize(ValueSerializer::new());
    value.expect("a schema holds texts, numbers, lists and tables").to_string().trim().to_owned()
}
