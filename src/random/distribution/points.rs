//! The points of an empirical distribution, as a list or as the text of a data file.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::empirical::{Curve, Knot};
use super::quantity::Quantity;
use crate::unfit::Unfit;

/// The most points of one distribution.
const POINTS_MAX: usize = 1_000_000;
/// How far the last share may be from 1, of 1.
const TOLERANCE: f64 = 1e-9;

/// Values, and the share of draws up to each.
#[derive(Clone, Debug, PartialEq, JsonSchema)]
#[schemars(with = "Vec<(V, f64)>", extend("x-type" = "list of pairs"))]
pub(super) enum Points<V> {
    /// `[[value, share], …]`
    Listed(Arc<[(V, f64)]>),
    /// A row for each point: two columns with a comma, a semicolon, a tab or spaces between them, comments after `#`,
    /// perhaps names of the columns at the top. A duration without a unit is in seconds.
    Text(Arc<str>),
}

impl<V: Copy + fmt::Display> Points<V> {
    /// The distribution function through the points, which stand in `file` if that is given, and its mean.
    pub(super) fn curve<Q: Quantity<Written = V>>(&self, file: Option<&str>) -> Result<(Curve, f64), Unfit> {
        let place = |number: usize| match (file, self) {
            (Some(file), _) => format!("{file}:{number}"),
            (None, Self::Text(_)) => format!("points, line {number}"),
            (None, Self::Listed(_)) => format!("point {number}"),
        };
        let mut builder = Builder::<Q> { knots: Vec::new(), last: None };
        let added = match self {
            Self::Listed(points) => numbered(points.iter())
                .try_for_each(|(number, point)| builder.add(*point).map_err(|error| (number, error))),
            Self::Text(text) => numbered(text.trim_start_matches('\u{feff}').lines())
                .try_for_each(|(number, line)| builder.add_line(line).map_err(|error| (number, error))),
        };
        added.map_err(|(number, error)| Unfit(format!("{}: {error}", place(number))))?;
        let whole = file.unwrap_or("points");
        let curve = builder.finish().map_err(|error| Unfit(format!("{whole}: {error}")))?;
        let mean = curve.mean();
        Ok((curve, mean))
    }
}

fn numbered<T>(items: impl Iterator<Item = T>) -> impl Iterator<Item = (usize, T)> {
    (1..).zip(items)
}

/// Points that were found right so far.
struct Builder<Q: Quantity> {
    knots: Vec<Knot>,
    last: Option<Q::Written>,
}

impl<Q: Quantity> Builder<Q> {
    fn add(&mut self, (written, share): (Q::Written, f64)) -> Result<(), Unfit> {
        let unfit = |text: String| Err(Unfit(text));
        let value = Q::unit_value(written);
        if !(value >= 0.0 && value.is_finite()) {
            return unfit(format!("the value {written} is impossible; write a finite value of 0 or more"));
        }
        if value > Q::MOST {
            return unfit(format!("{written} is more than {} can be; write at most {}", Q::PLURAL, Q::MOST));
        }
        if !(0.0..=100.0 * (1.0 + TOLERANCE)).contains(&share) {
            return Err(no_share(share));
        }
        if let (Some(before), Some(last)) = (self.knots.last(), self.last) {
            if value < before.value {
                return unfit(format!(
                    "the value {written} comes after {last}; sort the points by their values"
                ));
            }
            if share < before.share {
                return unfit(format!(
                    "the share {share} comes after {}; write the share of all draws up to the value, which never falls",
                    before.share
                ));
            }
        }
        if self.knots.len() == POINTS_MAX {
            return Err(too_many());
        }
        self.knots.push(Knot { share, value });
        self.last = Some(written);
        Ok(())
    }

    fn add_line(&mut self, line: &str) -> Result<(), Unfit> {
        let row = line.split('#').next().unwrap_or_default().trim();
        if row.is_empty() {
            return Ok(());
        }
        let (value, share) = match [',', ';', '\t'].into_iter().find(|separator| row.contains(*separator)) {
            Some(separator) => pair(row.split(separator)),
            None => pair(row.split_whitespace()),
        }
        .map_err(|count| {
            Unfit(format!(
                "the row has {count} column(s); write two: a value, and the share of draws up to it"
            ))
        })?;
        match (Q::from_column(value), share.parse()) {
            (Ok(value), Ok(share)) => self.add((value, share)),
            // The names of the columns.
            (Err(_), Err(_)) if self.knots.is_empty() && !starts_like_a_number(value) => Ok(()),
            (Err(error), _) => Err(Unfit(error)),
            (Ok(_), Err(_)) => Err(no_share(format_args!("{share:?}"))),
        }
    }

    fn finish(self) -> Result<Curve, Unfit> {
        let Some(last) = self.knots.last() else {
            return Err(Unfit(
                "there are no points; write rows of a value and the share of draws up to it".to_owned(),
            ));
        };
        let full = if last.share > 1.0 + TOLERANCE { 100.0 } else { 1.0 };
        if (last.share - full).abs() > TOLERANCE * full {
            return Err(Unfit(format!(
                "the shares end at {}; let the last one be 1, or 100 if shares are percentages",
                last.share
            )));
        }
        Ok(Curve::new(self.knots, full))
    }
}

fn too_many() -> Unfit {
    Unfit(format!("there are more than {POINTS_MAX} points; leave some out"))
}

fn no_share(share: impl fmt::Display) -> Unfit {
    Unfit(format!("{share} is not a share; write a number from 0 to 1, or from 0 to 100"))
}

fn starts_like_a_number(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
}

/// The two fields of a row, without quotes; or how many it has instead.
fn pair<'a>(mut fields: impl Iterator<Item = &'a str>) -> Result<(&'a str, &'a str), usize> {
    let bare = |field: &'a str| field.trim().trim_matches('"').trim();
    match (fields.next(), fields.next(), fields.count()) {
        (Some(value), Some(share), 0) => Ok((bare(value), bare(share))),
        (first, second, more) => Err(usize::from(first.is_some()) + usize::from(second.is_some()) + more),
    }
}

impl<V: Serialize> Serialize for Points<V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Listed(points) => serializer.collect_seq(points.iter()),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Points<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Written<V>(PhantomData<fn() -> V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for Written<V> {
            type Value = Points<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of points, such as [[0, 0.0], [1460, 0.5], [1000000, 1.0]]")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut points = Vec::new();
                while let Some(point) = list.next_element()? {
                    if points.len() == POINTS_MAX {
                        return Err(A::Error::custom(too_many()));
                    }
                    points.push(point);
                }
                Ok(Points::Listed(points.into()))
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Points::Text(text.into()))
            }
        }
        deserializer.deserialize_any(Written(PhantomData))
    }
}
