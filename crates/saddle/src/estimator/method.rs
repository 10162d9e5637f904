//! A common interface to the methods of the estimator: advance, then return weights and the parts of a lower bound.

use fenchel_optim::{Iterative, StepSize};

use super::settings::Solver;
use super::weights::{Columns, by_classes};
use crate::Error;
use crate::methods::mirror_pdhg::{MirrorPdhg, MirrorPdhgSettings};
use crate::methods::mirror_prox::{MirrorProx, MirrorProxSettings};
use crate::methods::pdhg::{Pdhg, PdhgSettings, PdhgState};
use crate::multiclass::problem::DualParts;
use crate::multiclass::{HingeBilinear, Multiclass};

/// The weights, unless they are the same as the last time, and the parts of a lower bound.
pub(super) type Candidate = (Option<Columns>, DualParts);

pub(super) trait Method {
    /// The method at work. In a race, it is the one that is ahead.
    fn solver(&self) -> Solver;

    /// Makes at most this number of passes, up to a step. Returns the passes made.
    fn advance(&mut self, passes: f64) -> f64;

    /// The number of products or steps.
    fn calls(&self) -> u64;

    /// Weights and lower bounds that are new since the last call.
    fn candidates(&mut self) -> Vec<Candidate>;

    /// The current state of PDHG.
    fn state(&self) -> Option<PdhgState> {
        None
    }
}

fn of_averages((x, y): (&[f64], &[f64]), problem: &Multiclass) -> Vec<Candidate> {
    let columns = by_classes(&x[..x.len() - 1], problem.samples().classes());
    vec![(Some(columns), problem.dual_parts(y))]
}

/// [`Solver::MirrorProx`]
pub(super) struct Prox<'a> {
    problem: &'a Multiclass<'a>,
    method: MirrorProx<'a>,
}

impl<'a> Prox<'a> {
    pub(super) fn new(problem: &'a Multiclass<'a>) -> Result<Self, Error> {
        let settings = MirrorProxSettings { step: StepSize::Backtracking, ..Default::default() };
        Ok(Prox { problem, method: MirrorProx::new(problem, &settings, None)? })
    }
}

impl Method for Prox<'_> {
    fn solver(&self) -> Solver {
        Solver::MirrorProx
    }

    fn advance(&mut self, passes: f64) -> f64 {
        self.method.advance(passes)
    }

    fn calls(&self) -> u64 {
        self.method.oracle_calls()
    }

    fn candidates(&mut self) -> Vec<Candidate> {
        of_averages(self.method.averages(), self.problem)
    }
}

/// [`Solver::MirrorPdhg`]
pub(super) struct Mirror<'a> {
    problem: &'a Multiclass<'a>,
    pub(super) method: MirrorPdhg<'a>,
}

impl<'a> Mirror<'a> {
    pub(super) fn new(problem: &'a Multiclass<'a>) -> Result<Self, Error> {
        let method = MirrorPdhg::new(problem, &MirrorPdhgSettings::default(), None)?;
        Ok(Mirror { problem, method })
    }
}

impl Method for Mirror<'_> {
    fn solver(&self) -> Solver {
        Solver::MirrorPdhg
    }

    fn advance(&mut self, passes: f64) -> f64 {
        self.method.advance(passes)
    }

    fn calls(&self) -> u64 {
        self.method.oracle_calls()
    }

    fn candidates(&mut self) -> Vec<Candidate> {
        of_averages(self.method.averages(), self.problem)
    }
}

/// [`Solver::Pdhg`]. Weights and bounds are recomputed only after the best blocks have changed.
pub(super) struct Exact<'a> {
    problem: &'a Multiclass<'a>,
    pub(super) method: Pdhg<'a>,
    /// The numbers of changes of the best blocks at the last call, and the parts of the lower bound then.
    known: Option<((u64, u64), DualParts)>,
}

impl<'a> Exact<'a> {
    pub(super) fn new(
        problem: &'a Multiclass<'a>,
        bilinear: &'a HingeBilinear<'a>,
        start: Option<PdhgState>,
    ) -> Result<Self, Error> {
        let method = Pdhg::new(bilinear, PdhgSettings::default(), start)?;
        Ok(Exact { problem, method, known: None })
    }
}

impl Method for Exact<'_> {
    fn solver(&self) -> Solver {
        Solver::Pdhg
    }

    fn advance(&mut self, passes: f64) -> f64 {
        self.method.advance(passes)
    }

    fn calls(&self) -> u64 {
        self.method.oracle_calls()
    }

    fn candidates(&mut self) -> Vec<Candidate> {
        self.method.certify();
        let changes = self.method.changes();
        let (x, y) = self.method.best();
        let parts = match self.known {
            Some(((_, of_y), parts)) if of_y == changes.1 => parts,
            _ => self.problem.dual_parts(y),
        };
        let same = self.known.is_some_and(|((of_x, _), _)| of_x == changes.0);
        self.known = Some((changes, parts));
        let columns = (!same).then(|| by_classes(x, self.problem.samples().classes()));
        vec![(columns, parts)]
    }

    fn state(&self) -> Option<PdhgState> {
        let (x, y) = self.method.best();
        Some(PdhgState::at(x.to_vec(), y.to_vec()))
    }
}
