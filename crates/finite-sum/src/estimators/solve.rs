//! Solving the problem that the hyper-parameters and the data define.

use fenchel_erm::parts::term_scales;
use fenchel_linalg::labels::{Label, binary_signs};
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::{Loss, Report, Solution, Stop, Watch};
use ndarray::{Array1, ArrayView1};

use crate::auto::{AutoSettings, Choice, auto};
use crate::methods::lag::Composite;
use crate::{Error, Point, Problem};

/// A linear model with any loss and any regulariser, such as those of your own:
///
/// ```text
/// min_{x, b}  (1/n) sum_i phi(a_i.x + b; y_i) + (l2/2) ||x||^2 + h(x)
/// ```
///
/// For a regulariser of your own implement [`Regulariser`](fenchel_optim::Regulariser), and write
/// `impl Composite for MyPenalty {}`; [`Composite`] says what more a sum over coordinates gains. For a loss of your own implement
/// [`Loss`].
///
/// ```
/// use fenchel_finite_sum::{Penalised, loss::Huber, prox::SortedL1};
/// use ndarray::array;
///
/// let x = array![[1.0, 0.3], [2.0, -0.1], [3.0, 0.2], [4.0, -0.3]];
/// let fit = Penalised::new(Huber { delta: 1.0 }, SortedL1 { weights: vec![0.1, 0.05] });
/// let model = fit.fit(&x, &[2.0, 4.1, 5.9, 80.0])?;
/// assert_eq!(model.weights.len(), 2);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Penalised<L, R> {
    /// `phi`.
    pub loss: L,
    /// `h`.
    pub regulariser: R,
    /// Weight of `||x||^2 / 2`; 0 unless set.
    pub l2: f64,
    /// Whether to fit an unpenalised intercept; so unless set.
    pub intercept: bool,
    /// The stopping rule; see [`Stop`].
    pub stop: Stop,
    /// Seed of the visiting order; 0 unless set.
    pub seed: u64,
}

impl<L, R> Penalised<L, R> {
    /// With an intercept and the stopping rule by default, and without l2.
    pub fn new(loss: L, regulariser: R) -> Self {
        Penalised { loss, regulariser, l2: 0.0, intercept: true, stop: Stop::default(), seed: 0 }
    }
}

/// What comes out of a fit.
pub(super) struct Fitted {
    pub(super) weights: Array1<f64>,
    pub(super) intercept: f64,
    pub(super) report: Report,
    pub(super) choice: Option<Choice>,
}

impl<L: Loss + Copy, R: Composite> Penalised<L, R> {
    /// Fits labels that have two values, and returns these values. The labels of a start must be the same.
    pub(super) fn classify<X: AsDesign + ?Sized, Y: Label>(
        &self,
        x: &X,
        y: ArrayView1<Y>,
        weights: Option<ArrayView1<f64>>,
        start: Option<(Point, [Y; 2])>,
        watch: &mut Watch<'_>,
    ) -> Result<(Fitted, [Y; 2]), Error> {
        let design = x.as_design_with_norms()?;
        Invalid::check_length("labels", design.0.rows(), y.len())?;
        let (classes, targets) = binary_signs(&y.to_vec())?;
        // The intercept is not penalised: without a row of one class there is no minimiser.
        let codes = targets.iter().map(|&target| usize::from(target > 0.0));
        check_rows_per_class(&classes, codes, weights, 1)?;
        let start = start.map(|(point, known)| same_classes(&known, &classes).map(|()| point));
        Ok((self.solve(design, &targets, weights, start.transpose()?, watch)?, classes))
    }

    /// Fits numbers.
    pub(super) fn regress<X: AsDesign + ?Sized>(
        &self,
        x: &X,
        y: ArrayView1<f64>,
        weights: Option<ArrayView1<f64>>,
        start: Option<Point>,
        watch: &mut Watch<'_>,
    ) -> Result<Fitted, Error> {
        self.solve(x.as_design_with_norms()?, &y.to_vec(), weights, start, watch)
    }

    /// Fits numbers or signs, given a design and the squared norms of its rows.
    pub(super) fn solve<D: Design + Copy>(
        &self,
        design: (D, Vec<f64>),
        targets: &[f64],
        weights: Option<ArrayView1<f64>>,
        start: Option<Point>,
        watch: &mut Watch<'_>,
    ) -> Result<Fitted, Error> {
        let (loss, regulariser) = (self.loss, self.regulariser.clone());
        let problem = Problem::with_norms(design, targets, loss, regulariser, self.l2)?;
        self.run(problem, weights, start, watch)
    }

    /// Solves a problem that has been checked.
    pub(super) fn run<D: Design + Copy, S: Composite>(
        &self,
        problem: Problem<'_, D, L, S>,
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

/// Returns an error if fewer than `least` rows of a class have a weight above 0, or for weights out of range; `codes` are places in
/// `classes`, one a row.
pub(super) fn check_rows_per_class<Y: Label>(
    classes: &[Y],
    codes: impl ExactSizeIterator<Item = usize>,
    weights: Option<ArrayView1<f64>>,
    least: usize,
) -> Result<(), Invalid> {
    let weights = weights.map(|weights| weights.to_vec());
    if let Some(weights) = &weights {
        term_scales(weights, codes.len())?;
    }
    let mut counts = vec![0; classes.len()];
    for (row, class) in codes.enumerate() {
        counts[class] += usize::from(weights.as_ref().is_none_or(|weights| weights[row] > 0.0));
    }
    let Some(class) = counts.iter().position(|&count| count < least) else { return Ok(()) };
    let label = &classes[class];
    let (what, reason) = match counts[class] {
        0 => (
            "sample weights",
            format!(
                "all rows of class {label:?} have weight 0; give one of them a positive weight, or leave the rows out"
            ),
        ),
        _ => (
            "labels",
            format!(
                "class {label:?} has one row of positive weight, which is held out in one of the folds; expected two rows or more of every class"
            ),
        ),
    };
    Err(Invalid::Layout { what, reason })
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
