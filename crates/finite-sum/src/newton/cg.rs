//! Newton-CG: Newton steps by conjugate gradients, for smooth problems with many features.
//!
//! The step `w` minimises the model `g.w + (1/2) w'Hw`, `H = A' diag(phi''(t)) A / n + l2 I`, by products
//! `H v = A'(phi'' * (A v)) / n + l2 v` alone: a pass each, on all cores. The unpenalised intercept is the last variable.

use fenchel_linalg::{Design, Invalid, multiply, multiply_transposed};
use fenchel_optim::prox::Zero;
use fenchel_optim::{Certificate, Iterative, Loss, Observer, Solution, Status, Stop, run};
use serde::{Deserialize, Serialize};

use crate::gap::Gap;
use crate::{Error, Point, Problem};

/// Products in one Newton step, at most.
const PRODUCTS: usize = 200;
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

/// The vectors of the conjugate gradients.
#[derive(Debug, Clone)]
struct System {
    /// `w`
    step: Vec<f64>,
    /// `r = -g - H w`
    residual: Vec<f64>,
    /// `p`
    search: Vec<f64>,
    /// `H p`
    product: Vec<f64>,
    /// `A p`
    search_margins: Vec<f64>,
    /// `A w`
    step_margins: Vec<f64>,
    /// Scratch of a product.
    scaled: Vec<f64>,
}

/// What a solved system promises.
#[derive(Debug, Clone, Copy)]
struct Promise {
    /// `g.w < 0`
    slope: f64,
    /// `-g.w - w'Hw/2`: the decrease of the model.
    decrease: f64,
    /// `||w||_M`
    length: f64,
    /// Whether the step ended at the boundary of the region.
    bounded: bool,
    passes: f64,
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
    let system = System {
        step: vec![0.0; variables],
        residual: vec![0.0; variables],
        search: vec![0.0; variables],
        product: vec![0.0; variables],
        search_margins: vec![0.0; n],
        step_margins: vec![0.0; n],
        scaled: vec![0.0; n],
    };
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
        system,
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

    /// Solves `H w = -g` up to the forcing term, inside the region where there is one.
    fn solve(&mut self) -> Promise {
        let (problem, m) = (self.problem, &self.diagonal);
        let System { step, residual, search, product, search_margins, step_margins, scaled } =
            &mut self.system;
        let radius = match self.globalisation {
            Globalisation::LineSearch => f64::INFINITY,
            Globalisation::TrustRegion => self.radius.unwrap_or(f64::INFINITY),
        };
        step.fill(0.0);
        step_margins.fill(0.0);
        for ((r, p), (g, m)) in
            residual.iter_mut().zip(search.iter_mut()).zip(self.gradient.iter().zip(m))
        {
            *r = -g;
            *p = -g / m;
        }
        let mut size: f64 = residual.iter().zip(m).map(|(r, m)| r * r / m).sum();
        let goal = self.forcing * self.forcing * size;
        let (mut passes, mut bounded) = (0.0, false);
        for _ in 0..PRODUCTS {
            if size <= goal {
                break;
            }
            product_with_hessian(problem, &self.h, search, search_margins, scaled, product);
            passes += 1.0;
            let curvature = dot(search, product);
            // Flat along p up to rounding: nothing more to gain, or (in the first place) no scale to go by.
            if !(curvature > 0.0) {
                if passes == 1.0 {
                    step.copy_from_slice(search);
                    step_margins.copy_from_slice(search_margins);
                    axpy(-1.0, product, residual);
                }
                break;
            }
            let mut along = size / curvature;
            if radius.is_finite() {
                let furthest = to_the_boundary(step, search, m, radius);
                bounded = along >= furthest;
                along = along.min(furthest);
            }
            axpy(along, search, step);
            axpy(along, search_margins, step_margins);
            axpy(-along, product, residual);
            if bounded {
                break;
            }
            let next: f64 = residual.iter().zip(m).map(|(r, m)| r * r / m).sum();
            for ((p, r), m) in search.iter_mut().zip(residual.iter()).zip(m) {
                *p = r / m + next / size * *p;
            }
            size = next;
        }
        let slope = dot(&self.gradient, step);
        Promise {
            slope,
            decrease: -0.5 * (slope - dot(step, residual)),
            length: step.iter().zip(m).map(|(w, m)| m * w * w).sum::<f64>().sqrt(),
            bounded,
            passes,
        }
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
        let promise = self.solve();
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

/// `margins = A v + v_b`, `out = A'(h * margins) + l2 v`; the intercept, where there is one, comes last. A pass.
fn product_with_hessian<D: Design, L: Loss>(
    problem: &Problem<'_, D, L, Zero>,
    h: &[f64],
    v: &[f64],
    margins: &mut [f64],
    scaled: &mut [f64],
    out: &mut [f64],
) {
    let (weights, intercept) = v.split_at(problem.d());
    let (out, out_intercept) = out.split_at_mut(problem.d());
    multiply(problem.design(), weights, margins);
    if let Some(b) = intercept.first() {
        margins.iter_mut().for_each(|t| *t += b);
    }
    for ((s, t), h) in scaled.iter_mut().zip(margins.iter()).zip(h) {
        *s = h * t;
    }
    multiply_transposed(problem.design(), scaled, out);
    for (o, v) in out.iter_mut().zip(weights) {
        *o += problem.l2() * v;
    }
    if let Some(o) = out_intercept.first_mut() {
        *o = scaled.iter().sum();
    }
}

/// The `a >= 0` with `||w + a p||_M = radius`, in a form that does not cancel.
fn to_the_boundary(w: &[f64], p: &[f64], m: &[f64], radius: f64) -> f64 {
    let (mut ww, mut wp, mut pp) = (0.0, 0.0, 0.0);
    for ((w, p), m) in w.iter().zip(p).zip(m) {
        ww += m * w * w;
        wp += m * w * p;
        pp += m * p * p;
    }
    let room = (radius * radius - ww).max(0.0);
    let root = (wp * wp + pp * room).sqrt();
    if wp >= 0.0 { room / (wp + root) } else { (root - wp) / pp }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn axpy(scale: f64, a: &[f64], out: &mut [f64]) {
    for (o, a) in out.iter_mut().zip(a) {
        *o += scale * a;
    }
}
