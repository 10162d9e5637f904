//! Newton-CG: Newton steps by conjugate gradients, for smooth problems with many features.
//!
//! The step `w` minimises the model `g.w + (1/2) w'Hw`, `H = A' diag(phi''(t)) A / n + l2 I`, by products
//! `H v = A'(phi'' * (A v)) / n + l2 v` alone: a pass each, on all cores. The unpenalised intercept is the last variable.

use fenchel_linalg::{Design, Invalid};
use fenchel_optim::prox::Zero;
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Solution, Status, Stop, run};
use serde::{Deserialize, Serialize};

use super::system::{Promise, Quadratic, System};
use crate::gap::Gap;
use crate::{Error, Point, Problem};

/// The objective cannot show a decrease below this fraction of itself.
const INVISIBLE: f64 = 1e-16;

/// How far to trust the quadratic model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Globalisation {
    /// Halves the step until the objective falls by a hundredth of what its slope promises.
    #[default]
    LineSearch,
    /// Ends the conjugate gradients at the boundary of a region, which grows and shrinks with the quality of the
    /// model (Steihaug's method). About as many passes as the line search.
    TrustRegion,
}

/// What stands for the Hessian while its system is solved.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Preconditioner {
    /// The identity.
    None,
    /// The diagonal of the Hessian, for half a pass a step. Passes without it to passes with it: 2.2 to 2.9 on generated
    /// text, census data and web pages for small `l2`, down to 0.6 on Reuters.
    #[default]
    Diagonal,
}

/// Settings of [`newton_cg`](fn@newton_cg).
///
/// | field | default | meaning |
/// |---|---|---|
/// | `globalisation` | `LineSearch` | how far to trust the model |
/// | `preconditioner` | `Diagonal` | what stands for the Hessian in its system |
/// | `forcing` | 0.1 | the conjugate gradients end when the residual has fallen to this fraction |
/// | `stop` | see [`Stop`] | when to end; a product with the Hessian is a pass |
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct NewtonCgSettings {
    /// How far to trust the model.
    pub globalisation: Globalisation,
    /// What stands for the Hessian in its system.
    pub preconditioner: Preconditioner,
    /// Relative residual at which the conjugate gradients end, in (0, 1).
    pub forcing: f64,
    /// When to end.
    pub stop: Stop,
}

impl Default for NewtonCgSettings {
    fn default() -> Self {
        NewtonCgSettings {
            globalisation: Globalisation::default(),
            preconditioner: Preconditioner::default(),
            forcing: 0.1,
            stop: Stop::default(),
        }
    }
}

/// The state of Newton-CG: a point, and the radius of the trust region. Another run goes on from it bit for bit
/// (with an intercept, up to rounding: its optimum is found anew).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NewtonCgState {
    /// The point.
    pub point: Point,
    /// Radius in the norm of the preconditioner; `None` before the first step, and for the line search.
    pub radius: Option<f64>,
}

impl From<Point> for NewtonCgState {
    fn from(point: Point) -> Self {
        NewtonCgState { point, radius: None }
    }
}

/// Newton-CG on one problem: what an observer of [`newton_cg`](fn@newton_cg) sees.
#[derive(Debug, Clone)]
pub struct NewtonCg<'p, 'a, D, L> {
    problem: &'p Problem<'a, D, L, Zero>,
    globalisation: Globalisation,
    preconditioner: Preconditioner,
    forcing: f64,
    point: Point,
    radius: Option<f64>,
    gap: Gap,
    certificate: Option<Certificate>,
    objective: f64,
    /// `phi''(t_i) / n`
    h: Vec<f64>,
    /// `M`
    diagonal: Vec<f64>,
    gradient: Vec<f64>,
    system: System,
    /// `||g||_{M^-1}` of the last step, once a decrease is invisible.
    last_size: f64,
    steps: u64,
    stalled: bool,
}

/// Newton-CG for twice differentiable losses with `l2 >= 0` and no other regulariser.
///
/// The batch method for many features and small `l2`: a step costs `1.5` passes and one for each product, at most 200,
/// whatever `d` is, and all of it runs on all cores. Memory: `6 n + 6 d` numbers. Certifies a duality gap where
/// `l2 > 0`, else the norm of the gradient. Ends as `Stalled` when the model's decrease is below the rounding of the
/// objective and the gradient no longer halves.
///
/// Papers: Steihaug, SIAM Journal on Numerical Analysis 20 (1983); Lin, Weng and Keerthi, "Trust region Newton method
/// for large-scale logistic regression", JMLR 9 (2008); Hsia, Chiang and Lin, "Preconditioned conjugate gradient
/// methods in truncated Newton frameworks for large-scale linear classification", ACML 2018.
///
/// ```
/// use fenchel_finite_sum::loss::Logistic;
/// use fenchel_finite_sum::prox::Zero;
/// use fenchel_finite_sum::{AsDesign, Problem, Status, NewtonCgSettings, newton_cg};
///
/// let a = ndarray::array![[1.0, 0.5], [-0.3, 2.0], [0.7, -1.0], [-1.5, 0.2]];
/// let y = [1.0, -1.0, 1.0, -1.0];
/// let problem = Problem::new(a.as_design()?, &y, Logistic, Zero, 0.1)?;
/// let solution = newton_cg(&problem, &NewtonCgSettings::default(), None, &mut ())?;
/// assert_eq!(solution.report.status, Status::Converged);
/// # Ok::<(), fenchel_finite_sum::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`] for a loss with a kink; [`Error::Invalid`] for a start of another shape or settings out of
/// range.
pub fn newton_cg<'p, 'a, D, L, O>(
    problem: &'p Problem<'a, D, L, Zero>,
    settings: &NewtonCgSettings,
    start: Option<NewtonCgState>,
    observer: &mut O,
) -> Result<Solution<NewtonCgState>, Error>
where
    D: Design,
    L: Loss,
    O: Observer<NewtonCg<'p, 'a, D, L>>,
{
    settings.stop.check()?;
    problem.check_twice_differentiable("newton_cg")?;
    let forcing = settings.forcing;
    if !(forcing > 0.0 && forcing < 1.0) {
        let (name, expected) = ("forcing", "a number in (0, 1)");
        return Err(Invalid::Parameter { name, value: forcing, expected }.into());
    }
    let (n, d) = (problem.n(), problem.d());
    let NewtonCgState { point, radius } = start.unwrap_or_else(|| Point::zero(d).into());
    problem.check_point(&point)?;
    if let Some(radius) = radius {
        Invalid::check_positive("radius", radius)?;
    }
    let mut gap = Gap::new(problem);
    problem.margins(&point, &mut gap.margins);
    let variables = d + usize::from(problem.intercept());
    let mut method = NewtonCg {
        problem,
        globalisation: settings.globalisation,
        preconditioner: settings.preconditioner,
        forcing,
        point,
        radius,
        gap,
        certificate: None,
        objective: f64::INFINITY,
        h: vec![0.0; n],
        diagonal: vec![1.0; variables],
        gradient: vec![0.0; variables],
        system: System::new(n, variables),
        last_size: f64::INFINITY,
        steps: 0,
        stalled: false,
    };
    let report = run(&mut method, &settings.stop, observer)?;
    Ok(Solution { state: NewtonCgState { point: method.point, radius: method.radius }, report })
}

impl<D: Design, L: Loss> NewtonCg<'_, '_, D, L> {
    /// The current point.
    pub fn point(&self) -> &Point {
        &self.point
    }

    /// Objective, gradient and certificate at the current point, unless they are known.
    fn measure(&mut self) -> Certificate {
        if let Some(certificate) = self.certificate {
            return certificate;
        }
        let problem = self.problem;
        problem.margins(&self.point, &mut self.gap.margins);
        let certificate = self.gap.at_margins(problem, &mut self.point);
        self.objective = certificate.objective().unwrap_or(f64::INFINITY);
        // With the intercept at its optimum the dual point was feasible as it stood: v = -(1/n) A' phi'.
        let weights = self.gap.correlation.iter().zip(&self.point.weights);
        for (g, (v, x)) in self.gradient.iter_mut().zip(weights) {
            *g = problem.l2() * x - v;
        }
        if problem.intercept() {
            self.gradient[problem.d()] =
                problem.sum_derivatives(&self.gap.margins) / problem.n() as f64;
        }
        self.certificate = Some(certificate);
        certificate
    }

    /// `phi''` at the margins and the preconditioner. Half a pass for the diagonal.
    fn prepare(&mut self) -> f64 {
        let problem = self.problem;
        let (n, d) = (problem.n() as f64, problem.d());
        problem.seconds(&self.gap.margins, 1.0 / n, &mut self.h);
        if self.preconditioner == Preconditioner::None {
            return 0.0;
        }
        self.diagonal.fill(problem.l2());
        for (i, &h) in self.h.iter().enumerate() {
            problem.design().row_entries(i, |c, a| self.diagonal[c] += h * a * a);
        }
        if problem.intercept() {
            self.diagonal[d] = self.h.iter().sum();
        }
        // An empty column, or margins so large that all curvature is rounded away.
        for m in self.diagonal.iter_mut().filter(|m| !(**m > 0.0)) {
            *m = 1.0;
        }
        0.5
    }

    /// Moves to `x + scale w`, with its margins. Returns the objective there.
    fn go(&mut self, from: &Point, margins: &[f64], scale: f64) -> f64 {
        let step = &self.system.step;
        for ((x, old), w) in self.point.weights.iter_mut().zip(&from.weights).zip(step) {
            *x = old + scale * w;
        }
        if self.problem.intercept() {
            self.point.intercept = from.intercept + scale * step[self.problem.d()];
        }
        let moves = margins.iter().zip(&self.system.step_margins);
        for (t, (old, a)) in self.gap.margins.iter_mut().zip(moves) {
            *t = old + scale * a;
        }
        self.problem.objective_at(&self.gap.margins, &self.point.weights)
    }

    /// One Newton step. Returns its cost in passes.
    fn newton_step(&mut self) -> f64 {
        self.measure();
        let mut passes = 1.0 + self.prepare();
        let size: f64 =
            self.gradient.iter().zip(&self.diagonal).map(|(g, m)| g * g / m).sum::<f64>().sqrt();
        let first = self.radius.is_none();
        if first && self.globalisation == Globalisation::TrustRegion && size > 0.0 {
            self.radius = Some(size);
        }
        let radius = match self.globalisation {
            Globalisation::LineSearch => f64::INFINITY,
            Globalisation::TrustRegion => self.radius.unwrap_or(f64::INFINITY),
        };
        let (gradient, h, diagonal) = (&self.gradient, &self.h, &self.diagonal);
        let model = Quadratic { gradient, h, diagonal, radius };
        let promise = self.system.solve(self.problem, model, self.forcing);
        passes += promise.passes;
        // Where the objective shows nothing any more, the gradient still may.
        let invisible = !(promise.decrease > INVISIBLE * self.objective.abs());
        if !(promise.slope < 0.0) || (invisible && size > 0.5 * self.last_size) {
            self.stalled = true;
            return passes;
        }
        self.last_size = if invisible { size } else { f64::INFINITY };
        // A sum of n terms is known up to eps sqrt(n) or so; within that, the model is trusted.
        let rounding = f64::EPSILON * (4.0 + (self.problem.n() as f64).sqrt());
        let slack = rounding * self.objective.abs();
        let (from, margins) = (self.point.clone(), self.gap.margins.clone());
        let accepted = match self.globalisation {
            Globalisation::LineSearch => self.search(promise, &from, &margins, slack),
            Globalisation::TrustRegion => self.try_region(promise, first, &from, &margins, slack),
        };
        if accepted {
            self.steps += 1;
            self.certificate = None;
        } else {
            self.point = from;
            self.gap.margins = margins;
        }
        passes
    }

    /// Halves the step until the objective falls enough; stalls where it never does.
    fn search(&mut self, promise: Promise, from: &Point, margins: &[f64], slack: f64) -> bool {
        let mut scale = 1.0;
        while scale > 1e-12 {
            let value = self.go(from, margins, scale);
            if value - self.objective <= 0.01 * scale * promise.slope + slack {
                return true;
            }
            scale *= 0.5;
        }
        self.stalled = true;
        false
    }

    /// Tries the step, and moves the radius by what comes of it.
    fn try_region(
        &mut self,
        promise: Promise,
        first: bool,
        from: &Point,
        margins: &[f64],
        slack: f64,
    ) -> bool {
        let Promise { slope, decrease, length, bounded, .. } = promise;
        let old = self.radius.unwrap_or(length);
        let actual = self.objective - self.go(from, margins, 1.0);
        if decrease <= slack && actual >= -slack {
            // Both are rounding: no evidence against the model, none for another radius.
            return true;
        }
        // The minimiser of the parabola through the two values with the known slope.
        let excess = -actual - slope;
        let reach = if excess <= 0.0 { 4.0 } else { f64::max(0.25, -0.5 * slope / excess) };
        let target = reach * length;
        let radius = if first { old.min(length) } else { old };
        let next = if !(actual >= 1e-4 * decrease) {
            target.min(0.5 * radius)
        } else if actual < 0.25 * decrease {
            target.clamp(0.25 * radius, 0.5 * radius)
        } else if actual < 0.75 * decrease {
            target.clamp(0.25 * radius, 4.0 * radius)
        } else if bounded {
            4.0 * radius
        } else {
            radius.max(target.min(4.0 * radius))
        };
        // A value that is not finite gives no parabola.
        let next = if next.is_finite() { next } else { 0.25 * radius };
        self.radius = Some(next);
        if !(next > 1e-300) {
            self.stalled = true;
        }
        actual > 1e-4 * decrease
    }
}

impl<D: Design, L: Loss> Iterative for NewtonCg<'_, '_, D, L> {
    const FREE_CERTIFICATE: bool = true;

    /// One Newton step, whatever it costs.
    fn advance(&mut self, _: f64) -> f64 {
        self.newton_step()
    }

    /// The next step needs all of this anyway.
    fn certify(&mut self) -> Certificate {
        self.measure()
    }

    /// Accepted steps.
    fn oracle_calls(&self) -> u64 {
        self.steps
    }

    fn verdict(&self) -> Option<Status> {
        self.stalled.then_some(Status::Stalled)
    }
}
