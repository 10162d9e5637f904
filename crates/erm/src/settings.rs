//! Settings and hyper-parameters: plain structs whose fields are documented once, default and all.

/// Declares a struct of public fields with `Default` and serde. Each field is followed by its default, which ends its
/// documentation.
#[macro_export]
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$field_about:meta])* $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default)]
        pub struct $name {
            $(
                $(#[$field_about])*
                #[doc = concat!("Default: `", stringify!($default), "`.")]
                pub $field: $type,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                $name { $($field: $default,)* }
            }
        }
    };
}

pub(crate) use settings;
