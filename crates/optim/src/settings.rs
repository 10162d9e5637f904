//! Settings and hyper-parameters: plain structs whose fields are documented once, default and all.

/// Declares a struct of public fields with `Default` and serde. Each field is followed by its default, which ends its
/// documentation. The documentation of the struct ends with a table of all defaults. Read by serde, a field that is left out has its
/// default, and one that does not exist is an error.
///
/// ```
/// fenchel_optim::settings! {
///     /// Settings of a method.
///     pub struct Settings {
///         /// Weight of the penalty.
///         l2: f64 = 1.0,
///         /// Seed of the visiting order.
///         seed: u64 = 0,
///     }
/// }
/// assert_eq!(Settings { seed: 3, ..Settings::default() }.l2, 1.0);
/// assert_eq!(serde_json::from_str::<Settings>(r#"{"seed": 3}"#).unwrap().l2, 1.0);
/// let error = serde_json::from_str::<Settings>(r#"{"lambda": 3.0}"#).unwrap_err().to_string();
/// assert!(error.starts_with("unknown field `lambda`, expected `l2` or `seed`"));
/// ```
#[macro_export]
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $name:ident {
            $($(#[$field_about:meta])* $field:ident: $type:ty = $default:expr,)*
        }
    ) => {
        $(#[$about])*
        ///
        /// | field | default |
        /// |---|---|
        $(#[doc = concat!("| `", stringify!($field), "` | `", stringify!($default), "` |")])*
        #[derive(Debug, Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
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
