//! Reading parts of models from files.

/// Implements `TryFrom<Unchecked>`, for `#[serde(try_from = "Unchecked")]`: the fields as the file has them, then
/// `check(&self) -> Result<(), Invalid>`.
macro_rules! checked_file {
    ($made:ident { $($field:ident: $type:ty),+ }) => {
        /// The contents of a file.
        #[derive(serde::Deserialize)]
        struct Unchecked {
            $($field: $type),+
        }

        impl TryFrom<Unchecked> for $made {
            type Error = fenchel_linalg::Invalid;

            fn try_from(Unchecked { $($field),+ }: Unchecked) -> Result<Self, Self::Error> {
                let made = $made { $($field),+ };
                made.check()?;
                Ok(made)
            }
        }
    };
}
pub(crate) use checked_file;
