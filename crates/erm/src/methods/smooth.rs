//! A problem as one function of its weights and intercept, which batch methods minimise. The intercept is the last variable.

use fenchel_linalg::{Design, lanes, multiply, multiply_squares_transposed, multiply_transposed};
use fenchel_optim::lbfgs::Smooth;
use fenchel_optim::newton::{Preconditioned, TwiceDifferentiable};
use fenchel_optim::{Certificate, CertificateCost, Loss, Regulariser};

use crate::gap::Gap;
use crate::methods::hessian::{Sample, Variables, gram_cost};
use crate::{Error, Point, Problem};

/// The smooth part of a problem, which is the risk and the l2 term, as one function. The intercept is the last variable.
#[derive(Debug, Clone)]
pub struct SmoothPart<'p, 'a, D, L, R> {
    problem: &'p Problem<'a, D, L, R>,
    /// `phi_i' / n` of each row, where the function was evaluated last.
    rows: Vec<f64>,
    /// Room for margins.
    margins: Vec<f64>,
    /// The weights of the last products with the data, whose correlation is in `gap`.
    place: Vec<f64>,
    /// `phi''(t_i) / n`
    h: Vec<f64>,
    /// The rows of the preconditioner; `None` for all.
    sample: Option<Sample>,
    gap: Gap,
}

impl<'p, 'a, D: Design, L: Loss, R: Regulariser> SmoothPart<'p, 'a, D, L, R> {
    /// The function, and the variables of a start.
    pub(crate) fn new(
        problem: &'p Problem<'a, D, L, R>,
        start: Option<Point>,
    ) -> Result<(Self, Vec<f64>), Error> {
        let start = problem.start_point(start)?;
        let mut x = start.weights;
        if problem.intercept() {
            x.push(start.intercept);
        }
        let (rows, gap) = (vec![0.0; problem.n()], Gap::new(problem));
        let margins = rows.clone();
        let place = Vec::new();
        Ok((SmoothPart { problem, rows, margins, place, h: Vec::new(), sample: None, gap }, x))
    }

    /// The same function with a preconditioner of these rows.
    pub(crate) fn sampled(self, sample: Sample) -> Self {
        SmoothPart { sample: Some(sample), ..self }
    }

    /// From margins in `rows`: the value, with `phi_i' / n` in their place.
    fn differentiate(&mut self, x: &[f64]) -> f64 {
        let (d, share) = (self.problem.d(), 1.0 / self.problem.terms());
        self.problem.smooth_objective_through(&mut self.rows, &x[..d], share)
    }

    /// Value, margins and gradient at `x`, with `phi_i' / n` in `rows`. One pass.
    fn value_and_gradient(&mut self, x: &[f64], z: &mut [f64], gradient: &mut [f64]) -> f64 {
        let (weights, rest) = x.split_at(self.problem.d());
        let place = (weights, rest.first().copied().unwrap_or(0.0));
        let (out, rest) = gradient.split_at_mut(weights.len());
        let share = 1.0 / self.problem.terms();
        let value = self.problem.value_and_products(place, z, &mut self.rows, share, out);
        if !self.problem.regulariser().is_zero() {
            self.place.clear();
            self.place.extend_from_slice(weights);
            self.gap.correlation.iter_mut().zip(&*out).for_each(|(v, o)| *v = -o);
        }
        out.iter_mut().zip(weights).for_each(|(o, w)| *o += self.problem.l2() * w);
        if let Some(o) = rest.first_mut() {
            *o = sum(self.problem, &self.rows);
        }
        value
    }

    /// `out = A'rows + l2 v`, and the sum of the rows for the intercept. Half a pass.
    fn transpose(&self, v: &[f64], out: &mut [f64]) {
        let (out, rest) = out.split_at_mut(self.problem.d());
        multiply_transposed(self.problem.design(), &self.rows, out);
        for (o, v) in out.iter_mut().zip(v) {
            *o += self.problem.l2() * v;
        }
        if let Some(o) = rest.first_mut() {
            *o = sum(self.problem, &self.rows);
        }
    }
}

/// The point that the variables stand for.
pub(crate) fn point(d: usize, x: &[f64]) -> Point {
    let (weights, rest) = x.split_at(d);
    Point { weights: weights.to_vec(), intercept: rest.first().copied().unwrap_or(0.0) }
}

/// `A x + b`. Half a pass.
fn margins<D: Design, L: Loss, R: Regulariser>(
    problem: &Problem<'_, D, L, R>,
    x: &[f64],
    out: &mut [f64],
) {
    let (weights, rest) = x.split_at(problem.d());
    multiply(problem.design(), weights, out);
    if let Some(intercept) = rest.first() {
        out.iter_mut().for_each(|t| *t += intercept);
    }
}

/// The sum of one number a row.
fn sum<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>, rows: &[f64]) -> f64 {
    problem.design().sum_numbers(rows)
}

fn dimension<D: Design, L: Loss, R: Regulariser>(problem: &Problem<'_, D, L, R>) -> usize {
    problem.d() + usize::from(problem.intercept())
}

impl<D: Design, L: Loss, R: Regulariser> Smooth for SmoothPart<'_, '_, D, L, R> {
    /// With an intercept the gap takes a pass.
    fn certificate_cost(&self, gradient: &[f64]) -> CertificateCost {
        let l2 = self.problem.l2();
        match self.problem.regulariser().is_zero() {
            false => CertificateCost::Passes,
            true if self.problem.intercept() && l2 > 0.0 => {
                CertificateCost::Estimated(dot(gradient, gradient) / (2.0 * l2))
            }
            true => CertificateCost::Free,
        }
    }

    fn dimension(&self) -> usize {
        dimension(self.problem)
    }

    fn value_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let mut margins = std::mem::take(&mut self.margins);
        let value = self.value_and_gradient(x, &mut margins, gradient);
        self.margins = margins;
        value
    }

    /// `(l2 + (gamma/n) sum_i c_i a_ic^2)^(-1/2)`, the inverse root of the diagonal of the largest Hessian, that of the intercept last.
    /// The root is half way between the identity and the scale of each feature. With it L-BFGS takes half of the passes on generated
    /// text (36 for 72 at `l2 = 0.01/n`), about as many on pages and census data, and up to a third more on news stories, where the
    /// whole inverse takes three times as many.
    fn inverse_diagonal(&mut self) -> Option<Vec<f64>> {
        let (problem, share) = (self.problem, 1.0 / self.problem.terms());
        let curvature = |i: usize| share * problem.term_curvature(i);
        let curvatures: Vec<f64> = (0..problem.n()).map(curvature).collect();
        let mut diagonal = vec![0.0; problem.d()];
        multiply_squares_transposed(problem.design(), &curvatures, &mut diagonal);
        diagonal.iter_mut().for_each(|h| *h += problem.l2());
        if problem.intercept() {
            diagonal.push(sum(problem, &curvatures));
        }
        // A feature that is always 0 does not move.
        let largest = diagonal.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        diagonal.iter_mut().for_each(|h| *h = (*h / largest).max(f64::EPSILON).sqrt().recip());
        Some(diagonal)
    }

    fn value_only(&mut self, x: &[f64]) -> f64 {
        // The rows are no longer those of the last look.
        self.place.clear();
        margins(self.problem, x, &mut self.rows);
        self.problem.smooth_objective_at(&self.rows, &x[..self.problem.d()])
    }

    /// Of a problem without regulariser: a duality gap where `l2 > 0`, else the norm of the gradient. With one: the duality
    /// gap of the whole, without a pass where it was evaluated last.
    fn certify(&mut self, x: &[f64], value: f64, gradient: &[f64]) -> Certificate {
        let problem = self.problem;
        if !problem.regulariser().is_zero() {
            if problem.intercept() || x != self.place {
                return self.gap.at(problem, &point(problem.d(), x));
            }
            let n = problem.terms();
            return self.gap.conclude_with(problem, x, value, self.rows.iter().map(|u| n * u));
        }
        let norm_squared: f64 = gradient.iter().map(|g| g * g).sum();
        let l2 = self.problem.l2();
        if l2 == 0.0 {
            let (gradient, slope) = gradient.split_at(self.problem.d());
            self.gap.residual(problem, value, gradient, slope)
        } else if self.problem.intercept() && value.is_finite() {
            self.gap.at(self.problem, &point(self.problem.d(), x))
        } else {
            // For u = phi' the gap is ||F'||^2 / (2 l2): no further pass.
            Certificate::gap(value, value - norm_squared / (2.0 * l2))
        }
    }

    fn certify_composite(&mut self, x: &[f64], _: f64) -> Option<Certificate> {
        Some(self.gap.at(self.problem, &point(self.problem.d(), x)))
    }
}

impl<D: Design, L: Loss, R: Regulariser> TwiceDifferentiable for SmoothPart<'_, '_, D, L, R> {
    fn dimension(&self) -> usize {
        dimension(self.problem)
    }

    fn margins(&self) -> usize {
        self.problem.n()
    }

    fn terms(&self) -> usize {
        self.problem.design().all_rows()
    }

    fn quadratic(&self) -> bool {
        self.problem.loss().quadratic()
    }

    fn multiply(&self, v: &[f64], z: &mut [f64]) {
        margins(self.problem, v, z);
    }

    fn value(&mut self, x: &[f64], z: &[f64]) -> f64 {
        self.problem.smooth_objective_at(z, &x[..self.problem.d()])
    }

    /// A duality gap where `l2 > 0`, else the norm of the gradient, with the intercept at its optimum.
    fn measure(&mut self, x: &mut [f64], z: &mut Vec<f64>, gradient: &mut [f64]) -> Certificate {
        let (problem, d) = (self.problem, self.problem.d());
        if problem.l2() > 0.0 && !problem.intercept() {
            self.rows.copy_from_slice(z);
            let value = self.differentiate(x);
            self.transpose(x, gradient);
            return self.certify(x, value, gradient);
        }
        let mut point = point(d, x);
        std::mem::swap(z, &mut self.gap.margins);
        let certificate = self.gap.at_margins(problem, &mut point);
        std::mem::swap(z, &mut self.gap.margins);
        // With the intercept at its optimum the dual point was feasible as it stood: v = -(1/n) A' phi'.
        let weights = self.gap.correlation.iter().zip(&point.weights);
        for (g, (v, x)) in gradient.iter_mut().zip(weights) {
            *g = problem.l2() * x - v;
        }
        if problem.intercept() {
            x[d] = point.intercept;
            gradient[d] = problem.sum_derivatives(z) / problem.terms();
        }
        certificate
    }

    fn bend(&mut self, z: &[f64]) {
        self.h.resize(z.len(), 0.0);
        self.problem.seconds(z, 1.0 / self.problem.terms(), &mut self.h);
    }

    fn bend_most(&mut self) -> bool {
        let (problem, share) = (self.problem, 1.0 / self.problem.terms());
        self.h.iter_mut().enumerate().for_each(|(i, h)| *h = share * problem.term_curvature(i));
        problem.loss().curvature().is_finite()
    }

    fn diagonal(&mut self, out: &mut [f64]) {
        let (out, rest) = out.split_at_mut(self.problem.d());
        multiply_squares_transposed(self.problem.design(), &self.h, out);
        out.iter_mut().for_each(|o| *o += self.problem.l2());
        if let Some(o) = rest.first_mut() {
            *o = sum(self.problem, &self.h);
        }
    }

    fn curve(&mut self, v: &[f64], z: &[f64], out: &mut [f64]) {
        for ((s, t), h) in self.rows.iter_mut().zip(z).zip(&self.h) {
            *s = h * t;
        }
        self.transpose(v, out);
    }
}

impl<D: Design, L: Loss, R: Regulariser> Preconditioned for SmoothPart<'_, '_, D, L, R> {
    fn preconditioner(&mut self, z: &[f64]) -> (Vec<f64>, f64) {
        let (problem, design) = (self.problem, self.problem.design());
        self.bend(z);
        let set: Vec<usize> = (0..problem.d()).collect();
        let l2 = problem.l2();
        let variables = Variables { set: &set, intercept: problem.intercept(), l2 };
        let h = &self.h;
        let (rows, drawn) = match &mut self.sample {
            None => (h.iter().copied().enumerate().collect(), 0.0),
            Some(sample) => sample.weighted(design, h, variables),
        };
        let all = design.stored().max(1) as f64;
        let stored: usize = rows.iter().map(|&(i, _)| design.row_stored(i)).sum();
        let matrix = variables.gram(design, &rows, stored as f64);
        let m = variables.order();
        let cost = gram_cost(rows.len(), m, stored as f64) + (m as f64).powi(3) / 6.0;
        (matrix, drawn + cost / all)
    }

    fn value_and_gradient(&mut self, x: &[f64], z: &mut [f64], gradient: &mut [f64]) -> f64 {
        SmoothPart::value_and_gradient(self, x, z, gradient)
    }

    fn evaluate(&mut self, x: &[f64], z: &[f64]) -> f64 {
        self.rows.copy_from_slice(z);
        self.differentiate(x)
    }

    fn slope(&self, x: &[f64], w: &[f64], a: &[f64]) -> f64 {
        let d = self.problem.d();
        dot(&self.rows, a) + self.problem.l2() * dot(&x[..d], &w[..d])
    }

    fn gradient(&mut self, x: &[f64], out: &mut [f64]) {
        self.transpose(x, out);
    }

    fn certificate(&mut self, x: &[f64], value: f64, gradient: &[f64]) -> Option<Certificate> {
        let free = !self.problem.intercept() || self.problem.l2() == 0.0;
        free.then(|| self.certify(x, value, gradient))
    }

    fn estimate(&self, gradient: &[f64]) -> f64 {
        let gradient = &gradient[..self.problem.d()];
        dot(gradient, gradient) / (2.0 * self.problem.l2())
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    lanes::dispatch(|| lanes::dot(a, b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loss::Logistic;
    use fenchel_linalg::Dense;
    use fenchel_optim::prox::{L1, Zero};
    use ndarray::Array2;

    /// With weights, an intercept, and a feature that is always 0: `1 / sqrt(h_c)`, up to a multiple.
    #[test]
    fn the_first_matrix_of_lbfgs_is_the_inverse_root_of_the_curvatures() {
        let a = ndarray::array![[1.0, 0.0, 2.0], [3.0, 0.0, -1.0]];
        let design = Dense::new(a.view()).unwrap();
        let problem = Problem::new(design, &[1.0, -1.0], Logistic, Zero, 0.0).unwrap();
        let problem = problem.with_weights(&[3.0, 1.0]).unwrap().with_intercept();
        let (mut function, _) = SmoothPart::new(&problem, None).unwrap();
        let found = function.inverse_diagonal().unwrap();
        // The weights are 1.5 and 0.5.
        let h = [1.5 + 0.5 * 9.0, 1.5 * 4.0 + 0.5, 1.5 + 0.5].map(|sum: f64| sum / 8.0);
        let multiples = [(found[0], h[0]), (found[2], h[1]), (found[3], h[2])];
        for (found_c, h) in multiples {
            let expected = found[0] * (0.75 / h).sqrt();
            assert!((found_c - expected).abs() < 1e-14 * expected, "{found:?}");
        }
        assert!(found[1].is_finite() && found[1] > found[0]);
    }

    #[test]
    fn terms_are_those_of_all_rows() {
        use fenchel_linalg::spread::{Communicator, Shards, threads};

        let a = Array2::from_shape_fn((4, 1), |(i, _)| i as f64);
        let terms = threads::run(2, |ranks| {
            let rows = [0..1, 1..4][ranks.rank()].clone();
            let shards = Shards::new(ranks, &[rows.len()])?;
            let own = a.slice_axis(ndarray::Axis(0), rows.clone().into());
            let design = Dense::new(own)?.spread(&shards)?;
            let y = &[1.0, -1.0, 1.0, -1.0][rows];
            let problem = Problem::new(design, y, Logistic, Zero, 0.1)?;
            let (function, _) = SmoothPart::new(&problem, None)?;
            Ok::<_, Error>((function.margins(), function.terms()))
        });
        assert_eq!(terms.unwrap(), [(1, 4), (3, 4)]);
    }

    /// Whatever was evaluated in between, a certificate is that of the point it is asked for.
    #[test]
    fn a_value_elsewhere_does_not_change_a_certificate() {
        let a = Array2::from_shape_fn((9, 3), |(i, c)| ((3 * i + 5 * c) as f64).sin());
        let y: Vec<f64> = (0..9).map(|i| if i % 3 == 0 { 1.0 } else { -1.0 }).collect();
        let design = Dense::new(a.view()).unwrap();
        let problem = Problem::new(design, &y, Logistic, L1 { strength: 0.05 }, 0.0).unwrap();
        let x = [0.3, -0.2, 0.0];
        let expected = problem.certify(&Point { weights: x.to_vec(), intercept: 0.0 }).unwrap();
        let (mut function, _) = SmoothPart::new(&problem, None).unwrap();
        let mut gradient = [0.0; 3];
        let value = function.value_gradient(&x, &mut gradient) + 0.05 * 0.5;
        for elsewhere in [None, Some([2.0, 1.0, -1.0])] {
            elsewhere.map(|x| function.value_only(&x));
            let found = function.certify(&x, value, &gradient);
            assert!((found.value() - expected.value()).abs() <= 1e-14, "{found} {expected}");
        }
    }
}
