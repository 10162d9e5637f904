//! Padded rows, and the check of labellings.

use fenchel_linalg::Invalid;

use crate::Error;

/// Length of a padded row for `states` states: the next multiple of 8.
pub const fn stride(states: usize) -> usize {
    states.next_multiple_of(8)
}

pub(super) fn check_path(states: usize, path: &[usize]) -> Result<(), Error> {
    match path.iter().position(|&k| k >= states) {
        None => Ok(()),
        Some(row) => {
            let expected = "a state below the number of states";
            Err(Invalid::Label { row, value: path[row] as f64, expected }.into())
        }
    }
}
