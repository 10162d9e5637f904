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

/// A count in a file, `5` or `5.0`: JSON has one kind of numbers, and many programs write the second.
#[derive(serde::Deserialize)]
#[serde(try_from = "f64")]
pub(super) struct Count(pub(super) u32);

impl TryFrom<f64> for Count {
    type Error = fenchel_linalg::Invalid;

    fn try_from(value: f64) -> Result<Self, Self::Error> {
        if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) {
            return Ok(Count(value as u32));
        }
        let (name, expected) = ("count", "a whole number below 2^32");
        Err(fenchel_linalg::Invalid::Parameter { name, value, expected })
    }
}
