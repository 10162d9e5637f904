//! Text formats: CRFsuite's, and templates over columns.

mod crfsuite;
mod template;

pub use crfsuite::{InstanceReader, write_crfsuite};
pub use template::{Boundary, Template};

use crate::Error;

fn fault(line: u64, column: u64, reason: String) -> Error {
    Error::Format { line, column, reason }
}
