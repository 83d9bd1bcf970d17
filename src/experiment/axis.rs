//! The values of a sweep axis: a list, or a range in exact decimals.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Error, IgnoredAny, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use toml_edit::{InlineTable, Value};

use super::bounded::{is_run, scalar};
use super::decimal::Decimal;
use super::node::Node;
use super::path::KeyPath;
use super::problem::{Problem, refuse, shown};
use super::reader::read;
use crate::compute::is_hidden;
use crate::time::SimDuration;

const VALUES_MAX: usize = 10_000;

/// One value of an axis, shown as the file writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisValue {
    text: String,
    /// Whether it is a text in TOML too; otherwise a number, true or false.
    is_text: bool,
}

impl AxisValue {
    /// The value as a cell of a table: `0.15`, `200`, `100ms`, `true`.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The value as a number, durations in seconds; absent if it is neither.
    pub fn number(&self) -> Option<f64> {
        if self.is_text {
            return self.text.parse().ok().map(SimDuration::as_secs_f64);
        }
        self.text.parse().ok()
    }

    /// The value as JSON: a number, true or false, or a text.
    pub fn to_json(&self) -> serde_json::Value {
        match self.to_toml() {
            Value::Integer(number) => (*number.value()).into(),
            Value::Float(number) => (*number.value()).into(),
            Value::Boolean(value) => (*value.value()).into(),
            _ => self.text.as_str().into(),
        }
    }

    pub(super) fn to_toml(&self) -> Value {
        if self.is_text {
            return Value::from(self.text.as_str());
        }
        self.text.parse().expect("numbers are kept as TOML has them")
    }

    fn new(is_text: bool, text: impl Into<String>) -> Self {
        Self { text: text.into(), is_text }
    }

    /// A listed value; `None` if it is a table, a list or a date.
    fn listed(node: Node<'_>) -> Option<Self> {
        let Node::Scalar(value) = node else { return None };
        match value {
            Value::String(text) => Some(Self::new(true, text.value())),
            Value::Boolean(value) => Some(Self::new(false, value.value().to_string())),
            Value::Integer(number) => Some(Self::new(false, number.value().to_string())),
            Value::Float(number) => {
                let written = number.display_repr();
                let plain = written.bytes().all(|byte| byte.is_ascii_digit() || b"-.".contains(&byte));
                let text = if plain { written.into_owned() } else { format!("{:?}", number.value()) };
                number.value().is_finite().then(|| Self::new(false, text))
            }
            Value::Datetime(_) | Value::Array(_) | Value::InlineTable(_) => None,
        }
    }

    /// A text that two values share if and only if they are equal.
    fn canonical(&self) -> String {
        match (self.text.parse::<SimDuration>(), self.number()) {
            (Ok(duration), _) if self.is_text => format!("{duration} of time"),
            (_, Some(number)) if self.text.parse::<i64>().is_err() => number.to_string(),
            (_, Some(_)) => self.text.clone(),
            _ => format!("text {}", self.text),
        }
    }
}

impl fmt::Display for AxisValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// What an axis is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AxisRole {
    /// Its values are alternatives, of which one is to be chosen.
    Choice,
    /// Its values are what may come: an answer is given at each.
    Circumstance,
}

impl AxisRole {
    /// What an axis of the key at `path` is for, where the file does not say it: rates, byte sizes and faults come as they
    /// do, and all else, sizes of groups too, can be chosen.
    pub(super) fn usual(path: &[String]) -> Self {
        let comes = |part: &String| {
            ["arrivals", "load", "faults", "request_bytes", "response_bytes"].contains(&part.as_str())
        };
        if path.iter().any(comes) { Self::Circumstance } else { Self::Choice }
    }
}

/// What the file says of an axis.
#[derive(Debug)]
pub(super) struct AxisValues {
    /// At least one, each once.
    pub(super) values: Vec<AxisValue>,
    /// What it is for, if the file says so.
    pub(super) role: Option<AxisRole>,
    /// Where the file has the values.
    pub(super) place: KeyPath,
    /// Whether it lists them there.
    pub(super) is_list: bool,
}

/// The axis that `node`, at `path`, describes.
pub(super) fn axis_values(node: Node<'_>, path: &KeyPath) -> Result<AxisValues, Problem> {
    let axis = match (node.members(), node.get("values")) {
        (Some(members), _) => {
            AxisValues { values: listed(&members, path)?, role: None, place: path.clone(), is_list: true }
        }
        (None, Some(values)) => {
            let AxisList { role, .. } = read(node, path)?;
            let place = path.key("values");
            let Some(members) = values.members() else {
                return refuse(
                    place,
                    format!("can't be {}", shown(values.found())),
                    "write a list of values",
                );
            };
            AxisValues { values: listed(&members, &place)?, role, place, is_list: true }
        }
        (None, None) => {
            let (values, role) = ranged(node, path)?;
            AxisValues { values, role, place: path.clone(), is_list: false }
        }
    };
    let mut seen = BTreeSet::new();
    if let Some(index) = axis.values.iter().position(|value| !seen.insert(value.canonical())) {
        let what = format!("has the value {} twice", axis.values[index]);
        return refuse(axis.place.member(index), what, "leave one of the two out");
    }
    Ok(axis)
}

/// The values from `low` to at most `high` in steps of `step`, each a number or a duration as the command line has it.
///
/// # Errors
/// If there are fewer than two, or more than an axis may have, or the three don't go together.
pub fn grid(low: &str, high: &str, step: &str) -> Result<Vec<AxisValue>, String> {
    let bound = |text: &str| match text.trim().parse() {
        Ok(value @ (Value::Integer(_) | Value::Float(_))) => value,
        _ => Value::from(text.trim()),
    };
    let keys = [("from", low), ("to", high), ("step", step)];
    let table: InlineTable = keys.into_iter().map(|(key, text)| (key, bound(text))).collect();
    let range = format!("the range {low}..{high} in steps of {step}");
    let refuse = |problem: Problem| {
        let help = problem.help.map(|help| format!("; {help}")).unwrap_or_default();
        format!("{range}{}{help}", problem.what)
    };
    let number =
        |text: &str| AxisValue::listed(Node::of_value(&bound(text))).and_then(|value| value.number());
    if number(low) >= number(high) && number(low).is_some() {
        return Err(format!("{range} is empty; write LOW..HIGH with LOW below HIGH"));
    }
    let axis =
        axis_values(Node::of_value(&Value::InlineTable(table)), &KeyPath::default()).map_err(refuse)?;
    let values = axis.values;
    if values.len() < 2 {
        return Err(format!("{range} has one value only; write a smaller --resolution"));
    }
    Ok(values)
}

fn listed(members: &[Node<'_>], path: &KeyPath) -> Result<Vec<AxisValue>, Problem> {
    if members.is_empty() {
        return refuse(path.clone(), "is empty", "list at least one value");
    }
    check_count(members.len() as i128, path)?;
    let values = members.iter().enumerate().map(|(index, member)| {
        let value = AxisValue::listed(*member).ok_or_else(|| {
            let what = format!("can't be {}", shown(member.found()));
            Problem::that(path.member(index), what, "list finite numbers, texts, true or false")
        })?;
        // It stands in every table.
        if is_run(&value.text) || value.text.contains(is_hidden) {
            let what = format!(
                "is {:?}, which a spreadsheet would run, or has characters that are not seen",
                value.text
            );
            return refuse(
                path.member(index),
                what,
                "write it in other words, beginning with a letter or figure",
            );
        }
        Ok(value)
    });
    values.collect()
}

fn check_count(count: i128, path: &KeyPath) -> Result<(), Problem> {
    if count <= VALUES_MAX as i128 {
        return Ok(());
    }
    refuse(path.clone(), format!("has {count} values"), format!("an axis has at most {VALUES_MAX}"))
}

/// The values of an axis: a list of them, or `{ from, to, step }`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("x-type" = "list of values, also as `{ values = […], role = … }`, or a range", "examples" = [[0.25, 0.5]]))]
pub(super) struct AxisRange {
    /// The first value.
    #[schemars(example = 0.0)]
    from: Bound,
    /// What no value goes beyond.
    #[schemars(example = 1.0)]
    to: Bound,
    /// From one value to the next.
    #[schemars(example = 0.1)]
    step: Bound,
    /// The values themselves, in place of `from`, `to` and `step`. Default: a range.
    // A table that has them is read as an `AxisList`; here they have their row.
    #[serde(default, rename = "values")]
    #[schemars(with = "Option<Vec<f64>>", extend("x-type" = "list of values", "examples" = [[0.25, 0.5]]))]
    _values: Option<IgnoredAny>,
    /// Whether the values are alternatives, of which `recommend` and `compare` choose the best, or circumstances, at each of
    /// which they answer anew. Default: circumstances for rates, byte sizes and faults, and else choices.
    #[schemars(example = &"choice")]
    role: Option<AxisRole>,
}

/// An axis that lists its values in a table, which has room for its role.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct AxisList {
    /// They are read one by one, each where it stands.
    #[serde(rename = "values")]
    _values: IgnoredAny,
    role: Option<AxisRole>,
}

#[derive(Clone, Copy, Debug, JsonSchema)]
#[schemars(with = "f64", extend("x-type" = "number or duration"))]
enum Bound {
    Integer(i64),
    Float(f64),
    Duration(SimDuration),
}

impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = "a number, or a duration such as \"5s\"";
        match scalar(deserializer, expected)? {
            Unexpected::Signed(value) => Ok(Self::Integer(value)),
            Unexpected::Float(value) => Ok(Self::Float(value)),
            Unexpected::Str(text) => text.parse().map(Self::Duration).map_err(D::Error::custom),
            other => Err(D::Error::invalid_type(other, &expected)),
        }
    }
}

impl Bound {
    /// It as a decimal number, a duration in nanoseconds; `None` if it has too many digits.
    fn decimal(self) -> Option<Decimal> {
        match self {
            Self::Integer(value) => Some(Decimal::from(i128::from(value))),
            // The shortest text that reads back as this number is what was written, if that had 15 digits or fewer.
            Self::Float(value) => Decimal::parse(&value.to_string()),
            Self::Duration(value) => Some(Decimal::from(i128::from(value.as_nanos()))),
        }
    }
}

fn ranged(node: Node<'_>, path: &KeyPath) -> Result<(Vec<AxisValue>, Option<AxisRole>), Problem> {
    if node.as_table().is_none() {
        let help = "write a list of values, or { from = 0.0, to = 1.0, step = 0.1 }";
        return refuse(path.clone(), format!("can't be {}", shown(node.found())), help);
    }
    if node.entries().all(|(_, value)| matches!(value, Node::Table(_) | Node::Inline(_))) {
        let help = "put the whole path in quotes, such as \"clients.web-a.addresses\" = [100, 200]";
        return refuse(path.clone(), "is a table without from, to and step", help);
    }
    let AxisRange { from, to, step, role, .. } = read(node, path)?;
    let form: fn(Decimal) -> AxisValue = match (from, to, step) {
        (Bound::Duration(_), Bound::Duration(_), Bound::Duration(_)) => |value| {
            let nanos = u64::try_from(value.to_integer()).expect("between two durations");
            AxisValue::new(true, SimDuration::from_nanos(nanos).to_string())
        },
        (Bound::Integer(_), Bound::Integer(_), Bound::Integer(_)) => {
            |value| AxisValue::new(false, value.to_integer().to_string())
        }
        (Bound::Duration(_), ..) | (_, Bound::Duration(_), _) | (.., Bound::Duration(_)) => {
            let help = "write all of from, to and step as durations, or all as numbers";
            return refuse(path.clone(), "mixes numbers and durations", help);
        }
        _ => |value| AxisValue::new(false, value.to_float_string()),
    };
    let decimal = |key, bound: Bound| {
        let help = "write at most 15 digits, none of them beyond 1e-15";
        bound.decimal().ok_or_else(|| Problem::that(path.key(key), "is too long a number", help))
    };
    let (from, to, step) = (decimal("from", from)?, decimal("to", to)?, decimal("step", step)?);
    let Some(steps) = Decimal::steps(from, to, step) else {
        let turn = "turn its sign round, or swap from and to";
        let help = if step.is_zero() { "write a step other than 0" } else { turn };
        return refuse(path.key("step"), "never leads from `from` to `to`", help);
    };
    check_count(steps + 1, path)?;
    Ok(((0..=steps).map(|index| form(from.plus(step, index))).collect(), role))
}

#[cfg(test)]
mod tests {
    use toml_edit::DocumentMut;

    use super::*;

    fn values(axis: &str) -> Vec<AxisValue> {
        axis_of(axis).unwrap().values
    }

    fn axis_of(text: &str) -> Result<AxisValues, Problem> {
        let document: DocumentMut = format!("axis = {text}").parse().unwrap();
        axis_values(Node::of_item(&document["axis"]).unwrap(), &KeyPath::default())
    }

    #[test]
    fn an_axis_may_say_what_it_is_for() {
        for (text, role, count) in [
            ("{ values = [1, 2], role = \"circumstance\" }", Some(AxisRole::Circumstance), 2),
            ("{ from = 1, to = 3, step = 1, role = \"choice\" }", Some(AxisRole::Choice), 3),
            ("{ values = [1] }", None, 1),
            ("[1, 2]", None, 2),
        ] {
            let axis = axis_of(text).unwrap();
            assert_eq!((axis.role, axis.values.len()), (role, count), "{text}");
        }
        for text in [
            "{ values = [1, 2], role = \"choise\" }",
            "{ values = 3, role = \"choice\" }",
            "{ values = [1], form = 2 }",
            "{ values = [1, 1] }",
            "{ from = 1, to = 2, step = 1, values = [3] }",
        ] {
            assert!(axis_of(text).is_err(), "{text}");
        }
        let usual = |path: &str| AxisRole::usual(&path.split('.').map(str::to_owned).collect::<Vec<_>>());
        for path in [
            "load",
            "clients.web.arrivals.poisson.rate",
            "clients.web.connection.response_bytes",
            "faults.0.at",
        ] {
            assert_eq!(usual(path), AxisRole::Circumstance, "{path}");
        }
        for path in
            ["backend_service.zonal_affinity.spillover_ratio", "groups.a.size", "clients.web.addresses"]
        {
            assert_eq!(usual(path), AxisRole::Choice, "{path}");
        }
    }

    #[test]
    fn values_are_shown_as_written() {
        for (axis, texts) in [
            ("[100.0, 2e2, 0.50, 1_000]", vec!["100.0", "200.0", "0.50", "1000"]),
            ("[\"100ms\", \"1h30m\", \"ZONAL\"]", vec!["100ms", "1h30m", "ZONAL"]),
            ("[true, false]", vec!["true", "false"]),
            ("{ from = 100, to = 300, step = 100 }", vec!["100", "200", "300"]),
            ("{ from = 0, to = 1, step = 0.5 }", vec!["0.0", "0.5", "1.0"]),
            ("{ from = 1.0, to = 0.7, step = -0.2 }", vec!["1.0", "0.8"]),
            ("{ from = \"500ms\", to = \"1.5s\", step = \"500ms\" }", vec!["500ms", "1s", "1.5s"]),
            ("[9007199254740992, 9007199254740993]", vec!["9007199254740992", "9007199254740993"]),
        ] {
            let values = values(axis);
            assert_eq!(values.iter().map(AxisValue::as_str).collect::<Vec<_>>(), texts, "{axis}");
            for value in &values {
                assert_eq!(value.to_toml().to_string().trim_matches('"'), value.as_str(), "{axis}");
            }
        }
    }

    #[test]
    fn a_grid_is_as_exact_as_an_axis_and_says_what_it_cannot_be() {
        let texts = |low, high, step| -> Vec<String> {
            grid(low, high, step).unwrap().iter().map(ToString::to_string).collect()
        };
        assert_eq!(texts("100", "300", "100"), ["100", "200", "300"]);
        assert_eq!(texts("0.1", "0.35", "0.1"), ["0.1", "0.2", "0.3"]);
        assert_eq!(texts("500ms", "1.5s", "500ms"), ["500ms", "1s", "1.5s"]);
        for (low, high, step, part) in [
            ("5", "1", "1", "LOW below HIGH"),
            ("1", "1", "1", "LOW below HIGH"),
            ("1", "2", "5", "one value only"),
            ("1", "2", "0", "step other than 0"),
            ("1", "2", "-1", "turn its sign"),
            ("1", "2", "1s", "as durations, or all as numbers"),
            ("a", "b", "c", "\"a\" is not a duration"),
            ("1", "1000000", "1", "at most 10000"),
        ] {
            let error = grid(low, high, step).unwrap_err();
            assert!(error.contains(part), "{low}..{high} by {step}: {error}");
        }
    }

    #[test]
    fn durations_and_numbers_have_a_number() {
        let numbers: Vec<_> =
            values("[2, 0.5, \"1500ms\", \"x\", true]").iter().map(AxisValue::number).collect();
        assert_eq!(numbers, [Some(2.0), Some(0.5), Some(1.5), None, None]);
    }

    #[test]
    fn values_keep_their_type_in_json() {
        let json: Vec<_> = values("[2, 0.50, \"1500ms\", true]").iter().map(AxisValue::to_json).collect();
        assert_eq!(json, [2.into(), 0.5.into(), "1500ms".into(), serde_json::Value::from(true)]);
    }
}
