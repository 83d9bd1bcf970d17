//! What all parts of resources have in common.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The fields of a resource that have no meaning here.
pub type OtherFields = Map<String, Value>;

/// Declares a part of a resource: its fields are called as in the API, left out where they have their default, and those
/// that are not among them are kept as they are in `other`.
macro_rules! fields {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)* }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $(
                $(#[$field_about])*
                #[serde(skip_serializing_if = "super::fields::is_default")]
                pub $field: $type,
            )*
            /// The fields that have no meaning here, kept as they are.
            #[serde(flatten)]
            pub other: super::fields::OtherFields,
        }
    };
}
pub(super) use fields;

pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The resource `base` with the fields that `change` has; those of objects within it one by one.
#[must_use]
pub(super) fn patched<T: Serialize + DeserializeOwned>(base: &T, change: &T) -> T {
    let json = |resource: &T| serde_json::to_value(resource).expect("names and numbers");
    let mut patched = json(base);
    merge(&mut patched, json(change));
    serde_json::from_value(patched).expect("each field comes of such a resource")
}

/// Puts the values of `change` into `base`, those of objects one by one.
fn merge(base: &mut Value, change: Value) {
    match (base, change) {
        (Value::Object(base), Value::Object(change)) => {
            for (key, value) in change {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, change) => *base = change,
    }
}
