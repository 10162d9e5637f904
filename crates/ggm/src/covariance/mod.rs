//! Covariance matrices from data that are not complete, not normal or too few.
//!
//! | data | use |
//! |---|---|
//! | fewer rows than variables | [`ledoit_wolf`] |
//! | skewed or ordinal columns, outliers | [`nonparanormal`], [`rank`], then [`nearest_correlation`] |
//! | missing entries | [`missing`] |

pub mod missing;
pub mod rank;
pub mod shrinkage;

pub use rank::{nearest_correlation, nonparanormal};
pub use shrinkage::ledoit_wolf;
