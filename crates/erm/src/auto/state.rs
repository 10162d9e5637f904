//! Where `auto` ends.

use serde::{Deserialize, Serialize};

use super::choice::Choice;
use crate::Point;

/// Where [`auto`](super::auto()) ended, and what it chose. Its point is a warm start of another run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AutoState<P = Point> {
    /// The point; of a general sum with what its method goes on from.
    pub point: P,
    /// What was chosen and why.
    pub choice: Choice,
}
