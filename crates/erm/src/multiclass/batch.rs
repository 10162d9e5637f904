//! Batch methods for multinomial logistic regression.

use fenchel_linalg::Design;
use fenchel_linalg::special::softmax_in_place;
use fenchel_optim::fista::{Fista, FistaSettings, FistaState};
use fenchel_optim::lbfgs::{Lbfgs, LbfgsSettings, LbfgsState, Smooth};
use fenchel_optim::{Certificate, Observer, Regulariser, Solution};

use super::gap::Gap;
use super::problem::{MulticlassPoint, MulticlassProblem};
use super::product::multiply_transposed_rows;
use crate::Error;
use crate::methods::OnWeights;

/// The smooth part of a multinomial problem as a function of one vector, which contains `d r` weights and then `r`
/// intercepts.
#[derive(Debug, Clone)]
pub struct MulticlassSmooth<'p, 'a, D, R> {
    pub(super) problem: &'p MulticlassProblem<'a, D, R>,
    pub(super) gap: Gap,
    /// The probabilities `p_i`, stored if second derivatives are needed.
    pub(super) probabilities: Vec<f64>,
}

/// Converts the vector of variables to a point.
pub(super) fn read<D: Design, R: Regulariser>(
    problem: &MulticlassProblem<'_, D, R>,
    x: &[f64],
) -> MulticlassPoint {
    let (weights, rest) = x.split_at(problem.d() * problem.classes());
    let mut intercepts = vec![0.0; problem.classes()];
    intercepts[..rest.len()].copy_from_slice(rest);
    MulticlassPoint { weights: weights.to_vec(), intercepts }
}

pub(super) fn dimension<D: Design, R: Regulariser>(problem: &MulticlassProblem<'_, D, R>) -> usize {
    (problem.d() + usize::from(problem.intercepts())) * problem.classes()
}

impl<D: Design, R: Regulariser> MulticlassSmooth<'_, '_, D, R> {
    /// Computes `out = A'T + l2 v` for a table `T` of shape `n x r`. The sums of its columns are written for the
    /// intercepts. Half a pass.
    pub(super) fn transpose(&self, v: &[f64], out: &mut [f64]) {
        let (problem, r) = (self.problem, self.problem.classes());
        let (out, rest) = out.split_at_mut(problem.d() * r);
        multiply_transposed_rows(problem.design(), r, &self.gap.table, out);
        for (o, v) in out.iter_mut().zip(v) {
            *o += problem.l2() * v;
        }
        if !rest.is_empty() {
            rest.fill(0.0);
            for row in self.gap.table.chunks_exact(r) {
                rest.iter_mut().zip(row).for_each(|(o, t)| *o += t);
            }
        }
    }
}

impl<D: Design, R: Regulariser> Smooth for MulticlassSmooth<'_, '_, D, R> {
    fn dimension(&self) -> usize {
        dimension(self.problem)
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let value = self.value_only(x);
        let (problem, r) = (self.problem, self.problem.classes());
        let n = problem.n() as f64;
        let rows = self.gap.table.chunks_exact_mut(r).zip(problem.labels());
        for (i, (z, &y)) in rows.enumerate() {
            softmax_in_place(z);
            z[y] -= 1.0;
            let weight = problem.term_weight(i) / n;
            z.iter_mut().for_each(|u| *u *= weight);
        }
        self.transpose(x, gradient);
        value
    }

    fn value_only(&mut self, x: &[f64]) -> f64 {
        let point = read(self.problem, x);
        self.problem.scores(&point, &mut self.gap.table);
        self.problem.smooth_objective_at(&self.gap.table, &point.weights)
    }

    /// A duality gap for `l2 > 0`, else the norm of the gradient.
    fn certify(&mut self, x: &[f64], _: f64, _: &[f64]) -> Certificate {
        let point = read(self.problem, x);
        self.problem.certificate_at(&mut self.gap, &point)
    }

    fn certify_composite(&mut self, x: &[f64], _: f64) -> Option<Certificate> {
        let point = read(self.problem, x);
        Some(self.problem.certificate_at(&mut self.gap, &point))
    }
}

/// The function, and the vector of variables of a start.
pub(super) fn begin<'p, 'a, D: Design, R: Regulariser>(
    problem: &'p MulticlassProblem<'a, D, R>,
    start: Option<MulticlassPoint>,
) -> Result<(MulticlassSmooth<'p, 'a, D, R>, Vec<f64>), Error> {
    let point = start.unwrap_or_else(|| MulticlassPoint::zero(problem.d(), problem.classes()));
    problem.check_start(&point)?;
    let mut x = point.weights;
    if problem.intercepts() {
        x.extend(point.intercepts);
    }
    let (gap, probabilities) = (Gap::new(problem), Vec::new());
    Ok((MulticlassSmooth { problem, gap, probabilities }, x))
}

/// L-BFGS for multinomial logistic regression without regulariser (`l2 >= 0`). A pass is one evaluation of function
/// and gradient.
///
/// # Errors
/// [`Error::Refused`] for a regulariser that is not zero; [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn lbfgs<'p, 'a, D, R, O>(
    problem: &'p MulticlassProblem<'a, D, R>,
    settings: &LbfgsSettings,
    start: Option<LbfgsState<MulticlassPoint>>,
    observer: &mut O,
) -> Result<Solution<LbfgsState<MulticlassPoint>>, Error>
where
    D: Design,
    R: Regulariser,
    O: Observer<Lbfgs<MulticlassSmooth<'p, 'a, D, R>>>,
{
    problem.check_unpenalised("multiclass lbfgs")?;
    let (point, memory) = start.map(|start| (start.point, start.memory)).unzip();
    let (function, point) = begin(problem, point)?;
    let start = LbfgsState { point, memory: memory.unwrap_or_default() };
    let Solution { state, report } =
        fenchel_optim::lbfgs::lbfgs(function, settings, start, observer)?;
    let state = state.map(|x| read(problem, &x));
    Ok(Solution { report: problem.judged(report, &state.point), state })
}

/// FISTA for multinomial logistic regression with any regulariser of the `d r` weights, such as the group lasso
/// over features ([`feature_groups`](super::feature_groups)).
///
/// # Errors
/// [`Error::Invalid`] for a start of another shape or settings out of range.
pub fn fista<'p, 'a, D, R, O>(
    problem: &'p MulticlassProblem<'a, D, R>,
    settings: &FistaSettings,
    start: Option<FistaState<MulticlassPoint>>,
    observer: &mut O,
) -> Result<Solution<FistaState<MulticlassPoint>>, Error>
where
    D: Design,
    R: Regulariser,
    O: Observer<Fista<MulticlassSmooth<'p, 'a, D, R>, OnWeights<'p, R>>>,
{
    let (point, step) = start.map(|start| (start.point, start.step)).unzip();
    let (function, point) = begin(problem, point)?;
    let start = FistaState { point, step: step.flatten() };
    let weights = problem.d() * problem.classes();
    let regulariser = OnWeights { regulariser: problem.regulariser(), weights };
    let Solution { state, report } =
        fenchel_optim::fista::fista(function, regulariser, settings, start, observer)?;
    let state = state.map(|x| read(problem, &x));
    Ok(Solution { report: problem.judged(report, &state.point), state })
}
