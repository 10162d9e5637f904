//! The estimator: a sparse linear classifier of several classes, with its certificate.

mod choice;
mod engine;
mod fitting;
mod model;
mod race;

use std::ops::ControlFlow;

use fenchel_linalg::labels::{Classes, Label};
use fenchel_linalg::{AsDesign, Design, Invalid};
use fenchel_optim::{
    Budget, Cadence, Certificate, MAX_MEMORY, Progress, Refusal, Report, Status, StepSize, Stop,
    run,
};
use ndarray::ArrayView1;
use serde::{Deserialize, Serialize};

use self::engine::{Engine, by_rows, check_radius, choose, objective};
use self::fitting::Fitting;
pub use self::model::MulticlassL1Model;
use crate::Error;
use crate::multiclass::samples::Preparation;
use crate::multiclass::sublinear::steps_a_pass;
use crate::multiclass::{
    Dual, Geometry, HingeBilinear, Multiclass, MulticlassLoss, Primal, Samples,
};
use crate::pdhg::PdhgState;

/// How large the weights may be.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum Radius {
    /// `P(0) / penalty`: no bound beyond the penalty's own, since no loss is negative. Needs a penalty above 0.
    #[default]
    FromPenalty,
    /// A bound on the norm of the weights (of the scaled features where `standardise` is set).
    At(f64),
    /// The least of a doubling sequence at which the bound no longer holds the weights back (Remark 1 of the thesis). Limits of `stop` hold
    /// for all radii together.
    Search,
}

/// Which method fits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Solver {
    /// Chosen by the bounds of the theory and, where PDHG and the mirror method both may be cheapest, by a race of both.
    #[default]
    Auto,
    /// The sublinear method: a rough solution soon, for large `n`, `d`, `k`. Hinge and l1 norm only.
    Sublinear,
    /// [`mirror_pdhg`](fn@crate::mirror_pdhg) with its line search: two or three digits.
    MirrorPdhg,
    /// Mirror prox with a line search.
    MirrorProx,
    /// Restarted PDHG: many digits. Hinge only.
    Pdhg,
}

/// The step of the sublinear method.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub enum SaddleStep {
    /// Tries 1, 3, 10, ..., 1000 times the theory's step in short runs, keeps the better ones by their certificates, and goes on with the
    /// best in phases of doubling length.
    #[default]
    Pilot,
    /// A given step; `Theory` and `Scaled` in phases of doubling length.
    Size(StepSize),
}

/// How much each class weighs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub enum ClassWeights {
    /// Every row weighs the same.
    #[default]
    Uniform,
    /// Every class weighs the same.
    Balanced,
    /// A weight for the rows of each class, in ascending order of the labels.
    Each(Vec<f64>),
}

/// A multiclass linear classifier with sparse weights:
///
/// ```text
/// min_U  (1/n) sum_j w_j loss(U' x_j, y_j) + penalty norm(U),   norm(U) <= radius
/// ```
///
/// | field | default | meaning |
/// |---|---|---|
/// | `loss` | `Hinge` | or `Softmax` |
/// | `penalty` | 0.01 | weight of the norm |
/// | `radius` | `FromPenalty` | bound on the norm |
/// | `norm` | `Entries` | l1 of all entries; `Rows` keeps or drops whole features |
/// | `solver` | `Auto` | |
/// | `step` | `Pilot` | of the sublinear method |
/// | `intercept` | true | a constant feature; it is penalised like all others |
/// | `standardise` | true | features are divided by their root mean square for the fit: bounds depend on the largest |
/// | `class_weights` | `Uniform` | |
/// | `stop` | relative gap 0.05 | when to end; `max_seconds` is a time budget |
/// | `seed` | 0 | of draws |
/// | `max_memory` | 4 GiB | refused beforehand |
///
/// The model is the best of what the method has shown, the same without its smallest weights, and no weights at all. Its
/// certificate is computed from exactly these weights.
///
/// ```
/// use fenchel_datasets::embedded;
/// use fenchel_saddle::MulticlassL1;
///
/// let data = embedded::iris();
/// let model = MulticlassL1::default().fit(&data.x, &data.y)?;
/// assert!(model.score(&data.x, &data.y)? > 0.9);
/// println!("{}, {} weights", model.report, model.nonzeros());
/// # Ok::<(), fenchel_saddle::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MulticlassL1 {
    /// The loss.
    pub loss: MulticlassLoss,
    /// Weight of the norm.
    pub penalty: f64,
    /// Bound on the norm.
    pub radius: Radius,
    /// Which norm.
    pub norm: Primal,
    /// Which method.
    pub solver: Solver,
    /// The step of the sublinear method.
    pub step: SaddleStep,
    /// Whether to add a constant feature.
    pub intercept: bool,
    /// Whether to fit on features of root mean square 1.
    pub standardise: bool,
    /// How much each class weighs.
    pub class_weights: ClassWeights,
    /// When to end.
    pub stop: Stop,
    /// Seed of the draws.
    pub seed: u64,
    /// Most bytes to use; `None` for no limit.
    pub max_memory: Option<u64>,
}

impl Default for MulticlassL1 {
    fn default() -> Self {
        MulticlassL1 {
            loss: MulticlassLoss::Hinge,
            penalty: 0.01,
            radius: Radius::FromPenalty,
            norm: Primal::Entries,
            solver: Solver::Auto,
            step: SaddleStep::Pilot,
            intercept: true,
            standardise: true,
            class_weights: ClassWeights::Uniform,
            stop: Stop { relative: 0.05, max_passes: 1e5, ..Stop::default() },
            seed: 0,
            max_memory: MAX_MEMORY,
        }
    }
}

type Watch<'w> = Option<&'w mut dyn FnMut(&Progress) -> ControlFlow<()>>;

impl MulticlassL1 {
    /// Fits a model.
    ///
    /// # Errors
    /// [`Error::Invalid`] for data that are empty, not finite or of another shape, fewer than two classes, parameters out of range;
    /// [`Error::Refused`] for a solver that cannot treat the loss or the norm, and for more memory than `max_memory`.
    pub fn fit<'y, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
    ) -> Result<MulticlassL1Model<L>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        self.solve(x, y.into(), None, None)
    }

    /// The same with a weight for every row; weights are divided by their mean.
    ///
    /// # Errors
    /// As [`fit`](MulticlassL1::fit), and for weights that are negative, not finite or all 0.
    pub fn fit_weighted<'y, 'w, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        weights: impl Into<ArrayView1<'w, f64>>,
    ) -> Result<MulticlassL1Model<L>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        self.solve(x, y.into(), Some(weights.into()), None)
    }

    /// The same, watched: `watch` sees every look, and ends the fit with `Break`.
    ///
    /// # Errors
    /// As [`fit`](MulticlassL1::fit).
    pub fn fit_watched<'y, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        mut watch: impl FnMut(&Progress) -> ControlFlow<()>,
    ) -> Result<MulticlassL1Model<L>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        self.solve(x, y.into(), None, Some(&mut watch))
    }

    /// Models for several radii, in their order: accuracy against nonzeros. PDHG begins each from the last. The radii take the place of
    /// `radius`; limits of `stop` count for each.
    ///
    /// # Errors
    /// As [`fit`](MulticlassL1::fit).
    pub fn path<'y, X, L>(
        &self,
        x: &X,
        y: impl Into<ArrayView1<'y, L>>,
        radii: &[f64],
    ) -> Result<Vec<MulticlassL1Model<L>>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label + 'y,
    {
        let y = y.into();
        self.stop.check()?;
        let design = x.as_design()?;
        let posed = Posed::new(self, &design, y, None)?;
        let mut start = None;
        let mut models = vec![];
        for radius in radii {
            check_radius(*radius)?;
            let (model, state) = self.at_radius(&posed, *radius, &self.stop, start, &mut None)?;
            start = state;
            models.push(model);
        }
        Ok(models)
    }

    fn solve<X, L>(
        &self,
        x: &X,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
        mut watch: Watch,
    ) -> Result<MulticlassL1Model<L>, Error>
    where
        X: AsDesign + ?Sized,
        L: Label,
    {
        self.stop.check()?;
        Invalid::check_nonnegative("penalty", self.penalty)?;
        let design = x.as_design()?;
        let posed = Posed::new(self, &design, y, weights)?;
        let at_zero = self.loss.at_zero(posed.samples.classes());
        match self.radius {
            Radius::At(radius) => {
                Ok(self.at_radius(&posed, check_radius(radius)?, &self.stop, None, &mut watch)?.0)
            }
            Radius::FromPenalty => {
                Invalid::check_positive("penalty (or set radius)", self.penalty)?;
                Ok(self.at_radius(&posed, at_zero / self.penalty, &self.stop, None, &mut watch)?.0)
            }
            Radius::Search => self.search(&posed, at_zero, &mut watch),
        }
    }

    /// Doubles the radius while the objective falls. That the weights do not press against a radius is no reason to end: they may stop short of it
    /// because the tolerance is met there.
    fn search<L: Label>(
        &self,
        posed: &Posed<L>,
        at_zero: f64,
        watch: &mut Watch,
    ) -> Result<MulticlassL1Model<L>, Error> {
        let s = &posed.samples;
        // No weights of a norm below `P(0) / slope` can bring the loss to 0.
        let problem = Multiclass::new(s, self.loss, 1.0, 0.0)?;
        let uniform = vec![1.0 / s.classes() as f64; s.rows() * s.classes()];
        let slope = at_zero - problem.dual(&uniform);
        let mut radius = if slope > 0.0 { at_zero / slope } else { 1.0 };
        let most = if self.penalty > 0.0 { at_zero / self.penalty } else { f64::INFINITY };
        let mut start = None;
        let mut last: Option<MulticlassL1Model<L>> = None;
        let mut budget = Budget::new(self.stop);
        for _ in 0..40 {
            let left = budget.left();
            let (model, state) = self.at_radius(posed, radius.min(most), &left, start, watch)?;
            start = state;
            let spent = budget.spend(model.report);
            let value =
                |m: &MulticlassL1Model<L>| m.report.certificate.objective().unwrap_or(at_zero);
            let gained = last.as_ref().map_or(f64::INFINITY, |old| value(old) - value(&model));
            let enough = self.stop.tolerance(Some(value(&model))).max(1e-3 * at_zero);
            let ended = [Status::Stopped, Status::PassLimit, Status::TimeLimit];
            let stopped = ended.contains(&model.report.status);
            if gained > 0.0 {
                last = Some(model);
            }
            if let Some(last) = &mut last {
                let Report { passes, oracle_calls, seconds, .. } = spent;
                last.report = Report { passes, oracle_calls, seconds, ..last.report };
            }
            if gained < enough || radius >= most || stopped {
                break;
            }
            radius *= 2.0;
        }
        Ok(last.expect("the first model was kept"))
    }

    fn at_radius<L: Label>(
        &self,
        posed: &Posed<L>,
        radius: f64,
        stop: &Stop,
        start: Option<PdhgState>,
        watch: &mut Watch,
    ) -> Result<(MulticlassL1Model<L>, Option<PdhgState>), Error> {
        let s = &posed.samples;
        let geometry = Geometry { primal: self.norm, dual: Dual::Entropy };
        // Weights of a larger norm are worse than none.
        let most = self.loss.at_zero(s.classes()) / self.penalty;
        let bound = if self.penalty > 0.0 { radius.min(most) } else { radius };
        let problem = Multiclass::with_geometry(s, self.loss, bound, self.penalty, geometry)?;
        let solver = match (self.solver, &start) {
            // The radius before has left PDHG's pair.
            (Solver::Auto, Some(_)) => Some(Solver::Pdhg),
            (solver, _) => choose(solver, &problem, stop)?,
        };
        let mut stop = *stop;
        let dense = (s.rows() + s.features()) as u64 * s.classes() as u64 * 8;
        let room = |copies: u64| {
            let hint = "use Solver::Sublinear, or raise max_memory";
            let needed = dense.saturating_mul(copies);
            Refusal::check_memory("a method on whole matrices", needed, self.max_memory, hint)
        };
        // Both methods at once, where there is room for both.
        let solver =
            if solver.is_none() && room(22).is_err() { Some(Solver::Pdhg) } else { solver };
        let bilinear;
        let engine = match solver {
            Some(Solver::Sublinear) => {
                if stop.check == Cadence::Adaptive {
                    // A look costs as much as so many passes: half of the time at most.
                    let each = s.rows() + s.features() + s.classes();
                    let look = 2.0 * s.stored() as f64 * s.classes() as f64 / each as f64;
                    stop.check = Cadence::Doubling((look / steps_a_pass(s)).max(1.0));
                }
                Engine::sublinear(&problem, self.step, self.seed, self.max_memory)?
            }
            Some(Solver::MirrorPdhg) => {
                room(12)?;
                Engine::mirror(&problem)?
            }
            Some(Solver::MirrorProx) => {
                room(10)?;
                Engine::prox(&problem)?
            }
            Some(Solver::Pdhg) => {
                room(10)?;
                bilinear = HingeBilinear::new(&problem)?;
                Engine::pdhg(&bilinear, s.classes(), start)?
            }
            Some(Solver::Auto) | None => {
                bilinear = HingeBilinear::new(&problem)?;
                Engine::race(&problem, &bilinear)?
            }
        };
        if stop.check == Cadence::Adaptive {
            stop.check = Cadence::Every(20.0);
        }
        let mut fitting = Fitting::new(&problem, engine);
        let report = match watch {
            None => run(&mut fitting, &stop, &mut ())?,
            Some(watch) => run(&mut fitting, &stop, &mut |p: &Progress, _: &Fitting| watch(p))?,
        };
        let (state, solver) = (fitting.engine.state(), fitting.engine.solver());
        let best = fitting.thinned(&self.stop);
        // From exactly what is returned.
        let value = objective(&problem, &best);
        let lower_bound = match report.certificate {
            Certificate::Gap { lower_bound, .. } => lower_bound,
            _ => f64::NEG_INFINITY,
        };
        let report = Report { certificate: Certificate::gap(value, lower_bound), ..report };
        let u = by_rows(&best, s.features(), s.classes());
        let model =
            MulticlassL1Model::new(self, posed, radius, solver, &u, problem.norm(&u), report);
        Ok((model, state))
    }
}

/// Data and labels as the problem sees them.
pub(crate) struct Posed<L> {
    pub(crate) samples: Samples,
    pub(crate) classes: Classes<L>,
    /// What each column was multiplied by; empty where they were not.
    pub(crate) scales: Vec<f64>,
}

impl<L: Label> Posed<L> {
    pub(crate) fn new<D: Design>(
        estimator: &MulticlassL1,
        design: &D,
        y: ArrayView1<L>,
        weights: Option<ArrayView1<f64>>,
    ) -> Result<Self, Error> {
        Invalid::check_length("labels", design.rows(), y.len())?;
        let labels = y.to_vec();
        let (classes, codes) = Classes::from_labels(&labels)?;
        if classes.len() < 2 {
            let (label, expected) =
                (format!("{:?}", labels[0]), "two distinct labels, but all rows have this one");
            return Err(Invalid::Class { row: 0, label, expected }.into());
        }
        if let Some(weights) = weights {
            Invalid::check_length("weights", design.rows(), weights.len())?;
        }
        let k = classes.len();
        let of_class = match &estimator.class_weights {
            ClassWeights::Uniform => None,
            ClassWeights::Balanced => {
                let mut counts = vec![0.0; k];
                codes.iter().for_each(|c| counts[*c] += 1.0);
                Some(counts.iter().map(|c| 1.0 / f64::max(*c, 1.0)).collect::<Vec<f64>>())
            }
            ClassWeights::Each(each) => {
                Invalid::check_length("class_weights", k, each.len())?;
                if let Some(at) = each.iter().position(|w| !(*w >= 0.0 && w.is_finite())) {
                    let (weight, label) = (each[at], &classes.labels()[at]);
                    let reason =
                        format!("{weight} for label {label:?}; expected a finite number >= 0");
                    return Err(Invalid::Layout { what: "class_weights", reason }.into());
                }
                // Only their ratios matter: the largest is 1, so that none overflows or vanishes.
                let top = each.iter().fold(0.0_f64, |m, w| m.max(*w));
                Some(each.iter().map(|w| if top > 0.0 { w / top } else { *w }).collect())
            }
        };
        let weights: Option<Vec<f64>> = match (weights, of_class) {
            (None, None) => None,
            (Some(w), None) => Some(w.to_vec()),
            (w, Some(each)) => {
                Some((0..codes.len()).map(|j| each[codes[j]] * w.map_or(1.0, |w| w[j])).collect())
            }
        };
        let scales = if estimator.standardise { inverse_sizes(design) } else { vec![] };
        let preparation = Preparation { scales: scales.clone(), intercept: estimator.intercept };
        let samples = Samples::prepared(design, &codes, k, weights.as_deref(), &preparation)?;
        Ok(Posed { samples, classes, scales })
    }
}

/// One over the root mean square of each column; 1 where that is no number. Squares are of shares of the largest entry: they neither
/// overflow nor vanish.
fn inverse_sizes<D: Design>(design: &D) -> Vec<f64> {
    let mut tops = vec![0.0_f64; design.columns()];
    for j in 0..design.rows() {
        design.row_entries(j, |c, a| tops[c] = tops[c].max(a.abs()));
    }
    let mut squares = vec![0.0; design.columns()];
    for j in 0..design.rows() {
        design.row_entries(j, |c, a| {
            if tops[c] > 0.0 {
                squares[c] += (a / tops[c]).powi(2);
            }
        });
    }
    let n = design.rows() as f64;
    let inverse = |(square, top): (&f64, &f64)| {
        let scale = (n / square).sqrt() / top;
        // Weights are multiplied by it in the end, and stay numbers.
        if scale > 0.0 && scale < 1e304 { scale } else { 1.0 }
    };
    squares.iter().zip(&tops).map(inverse).collect()
}
