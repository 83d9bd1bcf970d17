//! What all parts of resources have in common.

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
