//! Names of variables and factors.

use serde::{Deserialize, Serialize};

/// A variable of a model: its position, counted from 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct VarId(pub u32);

impl VarId {
    /// The position as an index of slices.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl From<u32> for VarId {
    fn from(position: u32) -> Self {
        VarId(position)
    }
}

impl std::fmt::Display for VarId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "variable {}", self.0)
    }
}

/// A factor of a [`FactorGraph`](crate::FactorGraph): its position in the order of adding, counted from 0.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FactorId(pub u32);

impl FactorId {
    /// The position as an index of slices.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
