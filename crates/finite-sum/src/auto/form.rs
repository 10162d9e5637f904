//! Which methods a regulariser is open to.

use fenchel_linalg::Design;
use fenchel_optim::fista::FistaSettings;
use fenchel_optim::prox::{
    ElasticNet, FusedLasso, GroupLasso, GroupMax, Interval, L1, L1Ball, L2Ball, L2Norm,
    NonnegativeL1, Simplex, SparseGroupLasso, TotalVariation, WeightedL1, Zero,
};
use fenchel_optim::{Loss, Observer, Regulariser, Solution};

use super::choice::{Choice, Method};
use super::relay::{Show, relay};
use super::run::{AutoSettings, elastic_net, separable};
use super::state::{AutoStart, AutoState, own};
use crate::multiclass::{MulticlassAuto, MulticlassProblem, MulticlassStart, auto as multiclass};
use crate::{Error, Point, Problem, fista};

/// A regulariser that [`auto`](super::auto()) takes.
///
/// What it does by default is FISTA, which takes any regulariser: for one of your own,
/// `impl Automatic for MyPenalty {}`.
pub trait Automatic: Regulariser + Clone {
    /// Solves a problem by the methods that this regulariser is open to. The start has been checked.
    ///
    /// # Errors
    /// Those of the methods.
    fn solve<D, L, O>(
        problem: &Problem<'_, D, L, Self>,
        settings: &AutoSettings,
        start: Option<AutoStart>,
        observer: &mut O,
    ) -> Result<Solution<AutoState>, Error>
    where
        D: Design + Copy,
        L: Loss + Copy,
        O: Observer<Method>,
    {
        let by = |_, start, stop, show: &mut Show<'_, O>| {
            let settings = FistaSettings { stop, ..FistaSettings::default() };
            let start = own(start, Point::into);
            let Solution { state, report } = fista(problem, &settings, start, show)?;
            Ok((state.into(), report))
        };
        relay(Choice::joint(problem), settings.stop, start, observer, by)
    }

    /// The same for several classes.
    ///
    /// # Errors
    /// Those of the methods.
    fn solve_multiclass<D, O>(
        problem: &MulticlassProblem<'_, D, Self>,
        settings: &AutoSettings,
        start: Option<MulticlassStart>,
        observer: &mut O,
    ) -> Result<Solution<MulticlassAuto>, Error>
    where
        D: Design + Copy,
        O: Observer<Method>,
    {
        multiclass::joint(problem, settings, start, observer)
    }
}

macro_rules! solved_by {
    ($solver:ident, $multiclass:ident: $($regulariser:ty),*) => {$(
        impl Automatic for $regulariser {
            fn solve<D, L, O>(
                problem: &Problem<'_, D, L, Self>,
                settings: &AutoSettings,
                start: Option<AutoStart>,
                observer: &mut O,
            ) -> Result<Solution<AutoState>, Error>
            where
                D: Design + Copy,
                L: Loss + Copy,
                O: Observer<Method>,
            {
                $solver(problem, settings, start, observer)
            }

            fn solve_multiclass<D, O>(
                problem: &MulticlassProblem<'_, D, Self>,
                settings: &AutoSettings,
                start: Option<MulticlassStart>,
                observer: &mut O,
            ) -> Result<Solution<MulticlassAuto>, Error>
            where
                D: Design + Copy,
                O: Observer<Method>,
            {
                multiclass::$multiclass(problem, settings, start, observer)
            }
        }
    )*};
}

solved_by!(elastic_net, smooth: Zero);
solved_by!(elastic_net, separable: L1, ElasticNet);
solved_by!(separable, separable: Interval, WeightedL1, NonnegativeL1);
impl Automatic for GroupLasso {}
impl Automatic for GroupMax {}
impl Automatic for SparseGroupLasso {}
impl Automatic for L2Norm {}
impl Automatic for L1Ball {}
impl Automatic for L2Ball {}
impl Automatic for Simplex {}
impl Automatic for TotalVariation {}
impl Automatic for FusedLasso {}
impl<R: Regulariser> Automatic for &R {}
