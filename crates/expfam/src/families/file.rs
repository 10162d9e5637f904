//! Reading families from files. The fixed quantities go through the constructor, so they are checked.

/// Implements `TryFrom<Unchecked>`, for `#[serde(try_from = "Unchecked")]`, with the fields as the file has them.
macro_rules! checked_file {
    ($family:ident { $($field:ident: $type:ty),+ } $make:expr) => {
        /// The contents of a file.
        #[derive(serde::Deserialize)]
        struct Unchecked {
            $($field: $type),+
        }

        impl TryFrom<Unchecked> for $family {
            type Error = $crate::error::Error;

            fn try_from(Unchecked { $($field),+ }: Unchecked) -> Result<Self, $crate::error::Error> {
                $make
            }
        }
    };
}

pub(super) use checked_file;

/// A number of trials that a file has as a number.
pub(super) fn trials(value: f64) -> Result<u32, crate::error::Error> {
    if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) {
        return Ok(value as u32);
    }
    let (name, expected) = ("trials", "a whole number below 2^32");
    Err(fenchel_linalg::Invalid::Parameter { name, value, expected }.into())
}
