//! Answers as records: named values in order, as CSV and as JSON.

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::number::number;
use super::{ResultCell, Results};

/// Named values in order. What is missing is null, in CSV empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(Vec<(String, Value)>);

impl Record {
    /// Adds a value.
    pub fn put(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.0.push((name.into(), value.into()));
    }

    /// Adds both ends of an interval, as `<name>_low` and `<name>_high`.
    pub fn put_ends(&mut self, name: &str, ends: Option<(f64, f64)>) {
        self.put(format!("{name}_low"), ends.map(|(low, _)| low));
        self.put(format!("{name}_high"), ends.map(|(_, high)| high));
    }

    /// Adds number, arm and axis values of a cell, as the results folder's own tables do.
    pub fn put_cell(&mut self, results: &Results, cell: &ResultCell) {
        self.put("cell", cell.number);
        self.put("arm", results.arms[cell.arm].as_str());
        for (axis, value) in results.axes.iter().zip(&cell.values) {
            let number: Option<f64> = value.parse().ok();
            let text = || if value.is_empty() { Value::Null } else { value.as_str().into() };
            self.put(axis, number.map_or_else(text, Value::from));
        }
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        self.0.iter().try_for_each(|(name, value)| map.serialize_entry(name, value))?;
        map.end()
    }
}

/// The records as CSV with a header. All have the same names.
pub fn csv_text(records: &[Record]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let in_memory = "memory takes what is written";
    if let Some(Record(first)) = records.first() {
        writer.write_record(first.iter().map(|(name, _)| name)).expect(in_memory);
    }
    for Record(values) in records {
        writer.write_record(values.iter().map(|(_, value)| field(value))).expect(in_memory);
    }
    let bytes = writer.into_inner().expect(in_memory);
    String::from_utf8(bytes).expect("made of text")
}

fn field(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Number(value) if value.is_f64() => value.as_f64().map(number).unwrap_or_default(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_missing_is_empty() {
        let mut record = Record::default();
        record.put("b", 0.1 + 0.2);
        record.put("a", "x, y");
        record.put_ends("ci", None);
        record.put("yes", true);
        assert_eq!(csv_text(&[record.clone()]), "b,a,ci_low,ci_high,yes\n0.3,\"x, y\",,,true\n");
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(json, r#"{"b":0.30000000000000004,"a":"x, y","ci_low":null,"ci_high":null,"yes":true}"#);
        assert_eq!(csv_text(&[]), "");
    }
}
