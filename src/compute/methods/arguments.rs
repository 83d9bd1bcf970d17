//! How the arguments of methods are declared: what creates a resource, and what changes the same fields of one.

/// Declares the keys that create a resource, and those of a patch: the same, but for the name of the resource that it
/// changes, which stands in the key of its kind.
macro_rules! arguments {
    ($(#[$about:meta])* $insert:ident, $patch:ident {
        $(#[$key_about:meta])* $key:ident,
        $($(#[$field_about:meta])* $field:ident: $type:ty,)*
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $insert {
            /// Its name.
            name: String,
            $(
                $(#[$field_about])*
                #[serde(default)]
                $field: $type,
            )*
        }

        /// What a patch changes of one. What is left out stays as it is.
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $patch {
            $(#[$key_about])*
            pub(super) $key: String,
            $(
                $(#[$field_about])*
                #[serde(default)]
                $field: $type,
            )*
        }

        impl $insert {
            /// As a patch of nothing.
            fn fields(&self) -> $patch {
                $patch { $key: self.name.clone(), $($field: self.$field.clone(),)* }
            }
        }
    };
}
pub(super) use arguments;
