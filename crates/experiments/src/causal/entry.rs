//! How an experiment of the thesis is registered.

use crate::documents::LE_PRIOL;
use crate::{Context, Experiment, Failure, Outcome};

/// An experiment of the thesis that needs no data.
pub(super) const fn entry(
    id: &'static str,
    title: &'static str,
    run: fn(&Context) -> Result<Outcome, Failure>,
) -> Experiment {
    Experiment { id, document: LE_PRIOL, title, needs: &[], run }
}
