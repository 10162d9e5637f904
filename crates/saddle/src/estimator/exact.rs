//! PDHG with the interface of the estimator. Weights and bounds are recomputed only after the best blocks have
//! changed.

use fenchel_optim::Iterative;

use super::engine::{Candidate, by_classes};
use crate::Error;
use crate::methods::pdhg::{Pdhg, PdhgSettings, PdhgState};
use crate::multiclass::problem::DualParts;
use crate::multiclass::{HingeBilinear, Multiclass};

pub(super) struct Exact<'a> {
    pub(super) method: Pdhg<'a>,
    /// The numbers of changes of the best blocks at the last call, and the parts of the lower bound then.
    known: Option<((u64, u64), DualParts)>,
}

impl<'a> Exact<'a> {
    pub(super) fn new(
        problem: &'a HingeBilinear<'a>,
        start: Option<PdhgState>,
    ) -> Result<Self, Error> {
        Ok(Exact { method: Pdhg::new(problem, PdhgSettings::default(), start)?, known: None })
    }

    pub(super) fn candidate(&mut self, problem: &Multiclass) -> Candidate {
        self.method.certify();
        let changes = self.method.changes();
        let (x, y) = self.method.best();
        let parts = match self.known {
            Some(((_, of_y), parts)) if of_y == changes.1 => parts,
            _ => problem.dual_parts(y),
        };
        let same = self.known.is_some_and(|((of_x, _), _)| of_x == changes.0);
        self.known = Some((changes, parts));
        let columns = (!same).then(|| by_classes(x, problem.samples().classes()));
        (columns, parts)
    }

    /// The current state.
    pub(super) fn state(&self) -> PdhgState {
        let (x, y) = self.method.best();
        PdhgState::at(x.to_vec(), y.to_vec())
    }
}
