//! Entries of binary data.

use serde::{Deserialize, Serialize};

/// How missing cells are treated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum MissingPolicy {
    /// The first missing cell is an [`Error::Entry`](crate::Error::Entry).
    #[default]
    Error,
    /// Missing cells count as 0, as in Geng et al. (UAI 2018), section 7.3.
    AsZero,
    /// Rows with a missing cell are left out.
    DropRow,
    /// Missing cells stay missing: [`Spg`](crate::Spg) draws new values for them in every iteration (stochastic EM).
    /// Elsewhere they count as 0.
    Impute,
}

/// An entry of binary data.
pub trait BinaryEntry: Copy + std::fmt::Debug {
    /// `Ok(None)` for a missing value, `Err` for what is no binary value.
    ///
    /// # Errors
    /// What was expected.
    fn bit(self) -> Result<Option<bool>, &'static str>;
}

impl BinaryEntry for bool {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        Ok(Some(self))
    }
}

impl BinaryEntry for Option<bool> {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        Ok(self)
    }
}

impl BinaryEntry for u8 {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        match self {
            0 => Ok(Some(false)),
            1 => Ok(Some(true)),
            u8::MAX => Ok(None),
            _ => Err("0, 1, or 255 for a missing value"),
        }
    }
}

impl BinaryEntry for i8 {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        match self {
            0 => Ok(Some(false)),
            1 => Ok(Some(true)),
            -1 => Ok(None),
            _ => Err("0, 1, or -1 for a missing value"),
        }
    }
}

impl BinaryEntry for f64 {
    fn bit(self) -> Result<Option<bool>, &'static str> {
        if self == 0.0 {
            Ok(Some(false))
        } else if self == 1.0 {
            Ok(Some(true))
        } else if self.is_nan() {
            Ok(None)
        } else {
            Err("0, 1, or NaN for a missing value")
        }
    }
}
