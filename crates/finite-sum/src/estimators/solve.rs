//! Solving the problem that the hyper-parameters and the data define.

use fenchel_linalg::labels::{Label, binary_signs};
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::prox::{L1, Zero};
use fenchel_optim::{Loss, Report, Solution, Stop, Watch};
use ndarray::{Array1, ArrayView1};

use crate::auto::{AutoSettings, Automatic, Choice, auto};
use crate::{Error, Point, Problem};

/// The hyper-parameters of a linear model, scaled for the mean loss.
pub(super) struct Hyper<L> {
    pub(super) loss: L,
    pub(super) l1: f64,
    pub(super) l2: f64,
    pub(super) intercept: bool,
    pub(super) stop: Stop,
    pub(super) seed: u64,
}

/// What comes out of a fit.
pub(super) struct Fitted {
    pub(super) weights: Array1<f64>,
    pub(super) intercept: f64,
    pub(super) report: Report,
    pub(super) choice: Option<Choice>,
}

impl<L: Loss + Copy> Hyper<L> {
    /// Fits labels that have two values, and returns these values. The labels of a start must be the same.
    pub(super) fn classify<X: AsDesign + ?Sized, Y: Label>(
        self,
        x: &X,
        y: ArrayView1<Y>,
        weights: Option<ArrayView1<f64>>,
        start: Option<(Point, [Y; 2])>,
        watch: &mut Watch<'_>,
    ) -> Result<(Fitted, [Y; 2]), Error> {
        let design = x.as_design_with_norms()?;
        Invalid::check_length("labels", design.0.rows(), y.len())?;
        let (classes, targets) = binary_signs(&y.to_vec())?;
        if let Some(weights) = weights.filter(|weights| weights.len() == y.len()) {
            check_both_weigh(&y, &targets, weights)?;
        }
        let start = start.map(|(point, known)| same_classes(&known, &classes).map(|()| point));
        Ok((self.fit(design, &targets, weights, start.transpose()?, watch)?, classes))
    }

    /// Fits numbers.
    pub(super) fn regress<X: AsDesign + ?Sized>(
        self,
        x: &X,
        y: ArrayView1<f64>,
        weights: Option<ArrayView1<f64>>,
        start: Option<Point>,
        watch: &mut Watch<'_>,
    ) -> Result<Fitted, Error> {
        self.fit(x.as_design_with_norms()?, &y.to_vec(), weights, start, watch)
    }

    /// Fits numbers or signs, given a design and the squared norms of its rows.
    pub(super) fn fit<D: Design + Copy>(
        self,
        design: (D, Vec<f64>),
        targets: &[f64],
        weights: Option<ArrayView1<f64>>,
        start: Option<Point>,
        watch: &mut Watch<'_>,
    ) -> Result<Fitted, Error> {
        let Hyper { loss, l1, l2, .. } = self;
        Invalid::check_nonnegative("l1", l1)?;
        if l1 > 0.0 {
            let problem = Problem::with_norms(design, targets, loss, L1 { strength: l1 }, l2)?;
            return self.run(problem, weights, start, watch);
        }
        self.run(Problem::with_norms(design, targets, loss, Zero, l2)?, weights, start, watch)
    }

    /// Solves a problem that has been checked.
    pub(super) fn run<D: Design + Copy, R: Automatic>(
        &self,
        problem: Problem<'_, D, L, R>,
        weights: Option<ArrayView1<f64>>,
        start: Option<Point>,
        watch: &mut Watch<'_>,
    ) -> Result<Fitted, Error> {
        let problem = if self.intercept { problem.with_intercept() } else { problem };
        let problem = match weights {
            None => problem,
            Some(weights) => problem.with_weights(&weights.to_vec())?,
        };
        let settings = AutoSettings { seed: self.seed, stop: self.stop, ..AutoSettings::default() };
        let Solution { state, report } = auto(&problem, &settings, start, watch)?;
        let Point { weights, intercept } = state.point;
        Ok(Fitted { weights: weights.into(), intercept, report, choice: Some(state.choice) })
    }
}

/// Returns an error if all rows with positive weight are in one class. Since the intercept is not penalised, there is
/// no minimiser then.
fn check_both_weigh<Y: Label>(
    labels: &ArrayView1<Y>,
    signs: &[f64],
    weights: ArrayView1<f64>,
) -> Result<(), Invalid> {
    let first = |sign: f64| signs.iter().zip(weights).position(|(s, w)| *s == sign && *w > 0.0);
    match (first(-1.0), first(1.0)) {
        (Some(row), None) | (None, Some(row)) => {
            let expected = "two distinct labels, but all rows of weight above 0 have this one";
            Err(Invalid::Class { row, label: format!("{:?}", labels[row]), expected })
        }
        _ => Ok(()),
    }
}

/// Returns an error if a start was fitted to other labels.
pub(super) fn same_classes<Y: Label>(known: &[Y], found: &[Y]) -> Result<(), Invalid> {
    let same =
        known.len() == found.len() && known.iter().zip(found).all(|(a, b)| a.order(b).is_eq());
    if same {
        return Ok(());
    }
    let reason = format!("its classes are {known:?}, those of the labels {found:?}");
    Err(Invalid::Layout { what: "start", reason })
}
